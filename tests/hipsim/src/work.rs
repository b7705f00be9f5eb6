//! Work on the device: what a stream's thread does, and what goes wrong with it on request.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::abi::{Code, HostFn};
use crate::code_object::Function;
use crate::engine;
use crate::log::{Direction, Event, Fate, Place};
use crate::memory::Kind;
use crate::settings::Settings;
use crate::sim::sim;

/// One piece of work. A graph runs clones of it.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Copy(Copy),
    Fill(Fill),
    Launch {
        function: Arc<Function>,
        grid: [u32; 3],
        args: Arc<[u8]>,
    },
    Host(HostCall),
    Free(usize),
}

/// Rows from one place to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) width: usize,
    pub(crate) rows: usize,
    pub(crate) direction: Direction,
    pub(crate) pageable: bool,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) address: usize,
    pub(crate) pitch: usize,
}

/// Rows of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) to: Side,
    /// Bytes of a row.
    pub(crate) width: usize,
    pub(crate) rows: usize,
    pub(crate) value: u32,
    /// Bytes of the value: 1, 2 or 4.
    pub(crate) element: usize,
}

/// A function of the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCall {
    pub(crate) function: HostFn,
    pub(crate) data: usize,
}

/// Bytes from the first to the last of `rows` rows.
pub(crate) fn span(pitch: usize, width: usize, rows: usize) -> Option<usize> {
    match (width, rows.checked_sub(1)) {
        (0, _) | (_, None) => Some(0),
        (_, Some(before)) => pitch.checked_mul(before)?.checked_add(width),
    }
}

impl Work {
    /// Does it, on the thread of the stream.
    pub(crate) fn run(&self, place: &Place) {
        let settings = sim().settings();
        delay(&settings, place.stream);
        let broken = sim().failure().is_some();
        match self {
            Self::Free(address) => release(*address),
            _ if broken => {}
            Self::Copy(copy) => {
                let _shared = sim().changes.read();
                copy.run(place, &settings);
            }
            Self::Fill(fill) => {
                let _shared = sim().changes.read();
                fill.run(place, &settings);
            }
            Self::Launch {
                function,
                grid,
                args,
            } => launch(function, *grid, args, place, &settings),
            Self::Host(call) => {
                let place = *place;
                sim().log.add(Event::Host { place }, settings.log_limit);
                // SAFETY: the caller of hipLaunchHostFunc vouches for function and data.
                unsafe { (call.function)(call.data as *mut c_void) };
            }
        }
    }
}

impl Copy {
    fn run(&self, place: &Place, settings: &Settings) {
        let mut held = Vec::new();
        let on_device = [
            (
                &self.from,
                [Direction::DeviceToHost, Direction::DeviceToDevice],
            ),
            (
                &self.to,
                [Direction::HostToDevice, Direction::DeviceToDevice],
            ),
        ];
        for (side, directions) in on_device {
            let bytes = span(side.pitch, self.width, self.rows).unwrap_or(usize::MAX);
            let block = sim().memory.hold_range(side.address, bytes);
            // Pinned memory that was freed meanwhile is met here too.
            if block.is_none() && (directions.contains(&self.direction) || !self.pageable) {
                let address = side.address;
                let why = format!("a copy met no memory at {address:#x}: was it freed?");
                return sim().fail(Code::ILLEGAL_ADDRESS, why);
            }
            held.extend(block);
        }
        for row in 0..self.rows {
            let from = (self.from.address + row * self.from.pitch) as *const u8;
            let to = (self.to.address + row * self.to.pitch) as *mut u8;
            // SAFETY: device memory is held above; the host's memory is vouched for by the caller
            // of the copy until it is complete. `copy` and not `copy_nonoverlapping`, because
            // nobody checked that.
            unsafe { to.copy_from(from, self.width) };
        }
        drop(held);
        let event = Event::Copy {
            place: *place,
            direction: self.direction,
            bytes: (self.width * self.rows) as u64,
            pageable: self.pageable,
        };
        sim().log.add(event, settings.log_limit);
    }
}

impl Fill {
    fn run(&self, place: &Place, settings: &Settings) {
        let bytes = span(self.to.pitch, self.width, self.rows).unwrap_or(usize::MAX);
        let Some(held) = sim().memory.hold_range(self.to.address, bytes) else {
            let address = self.to.address;
            let why = format!("a fill met no memory at {address:#x}: was it freed?");
            return sim().fail(Code::ILLEGAL_ADDRESS, why);
        };
        let value = self.value.to_ne_bytes();
        for row in 0..self.rows {
            let start = self.to.address + row * self.to.pitch;
            // SAFETY: the range is held above.
            unsafe {
                if self.element == 1 {
                    (start as *mut u8).write_bytes(value[0], self.width);
                } else {
                    for at in (0..self.width).step_by(self.element) {
                        let to = (start + at) as *mut u8;
                        to.copy_from_nonoverlapping(value.as_ptr(), self.element);
                    }
                }
            }
        }
        drop(held);
        let event = Event::Fill {
            place: *place,
            bytes: (self.width * self.rows) as u64,
        };
        sim().log.add(event, settings.log_limit);
    }
}

/// Frees memory and notes what was wrong with its use.
pub(crate) fn release(address: usize) {
    match sim().memory.free(address, &[Kind::Device, Kind::Managed]) {
        Ok(wrong) => wrong.into_iter().for_each(|text| sim().trouble(text)),
        Err(_) => sim().trouble(format!("memory at {address:#x} was freed twice")),
    }
}

fn launch(function: &Function, grid: [u32; 3], args: &[u8], place: &Place, settings: &Settings) {
    let name = &function.name;
    let (nth, of_all) = sim().log.count_launch(name);
    let hit = |rules: &[crate::settings::LaunchRule]| {
        rules.iter().any(|rule| rule.hits(name, nth, of_all))
    };
    let fate = if hit(&settings.fail_launch) {
        Fate::Failed
    } else if hit(&settings.drop) {
        Fate::Dropped
    } else if hit(&settings.double) {
        Fate::Doubled
    } else {
        Fate::Ran
    };
    let event = Event::Launch {
        place: *place,
        kernel: name.clone(),
        grid,
        nth,
        fate,
    };
    sim().log.add(event, settings.log_limit);
    let times = match fate {
        Fate::Ran => 1,
        Fate::Doubled => 2,
        Fate::Dropped => 0,
        Fate::Failed => {
            let why = format!("launch {nth} of {name} failed on request");
            return sim().fail(Code::LAUNCH_FAILURE, why);
        }
    };
    for _ in 0..times {
        if let Err(fault) = engine::launch(function, grid, args, place.device, settings) {
            sim().fail(fault.code, fault.why);
            if settings.abort_on_fault {
                std::process::abort();
            }
            return;
        }
    }
}

fn delay(settings: &Settings, stream: u32) {
    let mut delay = settings.delay;
    if let Some(&more) = settings.delay_stream.get(&stream) {
        delay += more;
    }
    if let Some((seed, most)) = settings.delay_random {
        static DRAWN: AtomicU64 = AtomicU64::new(0);
        let n = DRAWN.fetch_add(1, Ordering::Relaxed);
        let drawn = vmafx_gcnsim::mix(seed ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        delay += Duration::from_micros(drawn % (most + 1));
    }
    if !delay.is_zero() {
        std::thread::sleep(delay);
    }
}
