//! What runs kernels: the library for the host, the instructions of the code objects, or both, of
//! which the second is then compared with the first in every byte of the device's memory.
//!
//! What must stay true: a launch that is compared has the device to itself, and its result is that
//! of the code object; whatever differs is a fault of the launch.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use vmafx_gcnsim::{self as gcnsim, Counts, Program, Region};

use crate::abi::Code;
use crate::blocks::{self, POISON};
use crate::code_object::Function;
use crate::memory::{Block, Reach};
use crate::settings::Settings;
use crate::sim::{lock, sim};

/// Which engine runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The library for the host.
    Host,
    /// The instructions of the code object.
    Gcnsim,
    /// Both, compared.
    Both,
}

/// Why a launch did not run to its end, and what the runtime answers then.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) why: String,
}

/// Runs a kernel over a grid on a device.
pub(crate) fn launch(
    function: &Function,
    grid: [u32; 3],
    args: &[u8],
    device: u32,
    settings: &Settings,
) -> Result<(), Fault> {
    let launch = Launch {
        function,
        grid,
        args,
        settings,
    };
    let changes = &sim().changes;
    if settings.engine == Engine::Both {
        let _alone = changes.write().unwrap_or_else(PoisonError::into_inner);
        return launch.both(&sim().memory.reach(device));
    }
    let _shared = changes.read().unwrap_or_else(PoisonError::into_inner);
    if settings.engine == Engine::Host {
        return launch.host();
    }
    launch.code_object(&sim().memory.reach(device), None)?;
    Ok(())
}

struct Launch<'a> {
    function: &'a Function,
    grid: [u32; 3],
    args: &'a [u8],
    settings: &'a Settings,
}

impl Launch<'_> {
    fn host(&self) -> Result<(), Fault> {
        let options = blocks::Options {
            order: self.settings.order,
            workers: self.settings.workers,
            poison_shared: true,
        };
        let kernels = self.function.kernels.ok_or_else(|| self.changed())?;
        let ended = kernels.launch(&self.function.name, self.grid, self.args, &options);
        ended.map_err(|error| Fault {
            code: match error {
                blocks::Error::Fault { .. } => Code::ILLEGAL_ADDRESS,
                _ => Code::LAUNCH_FAILURE,
            },
            why: error.to_string(),
        })
    }

    /// Executes the instructions. Counted, but where it is a second look at who wrote to `watch`.
    fn code_object(&self, reach: &Reach<'_>, watch: Option<u64>) -> Result<Counts, Fault> {
        let Function { name, metadata, .. } = self.function;
        let program = self.function.module.program.as_ref();
        let program = program.ok_or_else(|| self.changed())?;
        if self.settings.external_any {
            let why = format!(
                "{name}: pages of external memory that are not there would end the process; code objects run with external_size=checked alone"
            );
            return Err(Fault {
                code: Code::LAUNCH_FAILURE,
                why,
            });
        }
        let options = gcnsim::Options {
            order: self.settings.order,
            workers: self.settings.workers,
            estimates: self.settings.estimates,
            poison: POISON,
            watch: watch.map(|at| at..at + 1),
            // Kernels hand data over between launches alone.
            exclusive: true,
            ..gcnsim::Options::default()
        };
        let regions = reach.blocks().iter().map(|block| Region {
            start: block.start as u64,
            len: block.size as u64,
            writable: true,
        });
        // SAFETY: `reach` keeps the allocations mapped until this returns. They are the device's,
        // which nothing in Rust refers to, or the host's that the caller of the runtime told it
        // of; that the caller leaves alone what a kernel uses is HIP's rule for both.
        let memory = unsafe { gcnsim::Memory::new(regions.collect()) };
        let threads = [metadata.max_threads, 1, 1];
        let begin = processor_time();
        // A thread of a stream that ended would let everybody wait for ever.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            program.launch(name, self.grid, threads, self.args, &memory, &options)
        }));
        let ended = ended.map_err(|panic| {
            let said = panic.downcast_ref::<&str>().copied();
            let said = said.or(panic.downcast_ref::<String>().map(String::as_str));
            Fault {
                code: Code::LAUNCH_FAILURE,
                why: format!("{name}: the interpreter panicked: {}", said.unwrap_or("?")),
            }
        })?;
        let counts = ended.map_err(|error| Fault {
            code: match &error {
                gcnsim::Error::Fault { fault, .. } => code_of(fault),
                _ => Code::LAUNCH_FAILURE,
            },
            why: error.to_string(),
        })?;
        if watch.is_none() {
            sim()
                .executed
                .add(name, program, &counts, processor_time() - begin);
        }
        Ok(counts)
    }

    /// Executes the instructions and keeps what they made, runs the kernel for the host on what
    /// was there before, and compares.
    fn both(&self, reach: &Reach<'_>) -> Result<(), Fault> {
        let before = Image::of(reach);
        self.code_object(reach, None)?;
        let ours = Image::of(reach);
        before.restore();
        let ended = self.host();
        let difference = ours.difference(&Image::of(reach));
        let mut written = None;
        if let (Ok(()), Some((at, _))) = (&ended, &difference) {
            before.restore();
            written = self.code_object(reach, Some(*at as u64))?.written;
        }
        ours.restore();
        ended?;
        let Some((_, difference)) = difference else {
            return Ok(());
        };
        let who = match written {
            Some((at, text)) => format!("last written at {at:#x} `{text}`"),
            None => "which no instruction writes".to_owned(),
        };
        Err(Fault {
            code: Code::LAUNCH_FAILURE,
            why: format!("{}: {difference}; {who}", self.function.name),
        })
    }

    /// A function that was looked up while another engine ran kernels.
    fn changed(&self) -> Fault {
        let name = &self.function.name;
        Fault {
            code: Code::LAUNCH_FAILURE,
            why: format!(
                "{name}: the setting `engine` was changed after its module was loaded; load it again"
            ),
        }
    }
}

/// Processor time of the calling thread, which others that run beside it do not lengthen.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is whole; every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn code_of(fault: &gcnsim::Fault) -> Code {
    match fault {
        gcnsim::Fault::Memory { .. } | gcnsim::Fault::Misaligned { .. } => Code::ILLEGAL_ADDRESS,
        _ => Code::LAUNCH_FAILURE,
    }
}

/// What the device's memory holds. (The host's is not looked at: its owner may write to it at any
/// time.)
struct Image(Vec<(Arc<Block>, Vec<u8>)>);

impl Image {
    fn of(reach: &Reach<'_>) -> Self {
        let of_device = reach.blocks().iter().filter(|block| block.on_device());
        let copy = |block: &Arc<Block>| {
            // SAFETY: `reach` keeps the block mapped, and nothing on the device changes it while
            // the caller has the device to itself.
            let bytes = unsafe { std::slice::from_raw_parts(block.start as *const u8, block.size) };
            (block.clone(), bytes.to_vec())
        };
        Self(of_device.map(copy).collect())
    }

    fn restore(&self) {
        for (block, bytes) in &self.0 {
            // SAFETY: as in `of`, whose caller still holds the block.
            unsafe {
                (block.start as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
            };
        }
    }

    /// The address of the first byte that is another one in `other`, which the host's kernel made
    /// of the same memory, and what to say of it.
    fn difference(&self, other: &Self) -> Option<(usize, String)> {
        let pairs = || {
            let blocks = self.0.iter().zip(&other.0);
            blocks.map(|((block, a), (_, b))| (block, a.iter().zip(b)))
        };
        let (block, offset, (ours, theirs)) = pairs().find_map(|(block, bytes)| {
            let first = bytes.enumerate().find(|(_, (a, b))| a != b);
            first.map(|(offset, bytes)| (block, offset, bytes))
        })?;
        let of_block =
            |(_, bytes): (_, std::iter::Zip<_, _>)| bytes.filter(|(a, b)| a != b).count();
        let all: usize = pairs().map(of_block).sum();
        let Block {
            start, size, kind, ..
        } = &**block;
        let at = start + offset;
        let kind = format!("{kind:?}").to_lowercase();
        let text = format!(
            "{all} bytes of the device's memory differ from those of the kernel for the host, first the one at {at:#x}, {offset} into {size} bytes of {kind} memory: {ours:#04x}, not {theirs:#04x}"
        );
        Some((at, text))
    }
}

/// What code objects have executed.
#[derive(Debug, Default)]
pub(crate) struct Executed(Mutex<Sums>);

#[derive(Debug, Default)]
struct Sums {
    kernels: BTreeMap<String, Sum>,
    /// Processor time of all launches together, but of further workers.
    time: Duration,
}

#[derive(Debug, Default)]
struct Sum {
    dispatches: u64,
    instructions: u64,
    waves: u64,
    blocks: u64,
    /// Address and text of each instruction, and whether it ran.
    code: Vec<(u64, String, bool)>,
}

impl Sum {
    /// The instructions that none has executed: how many of how many, and the first. What stands
    /// behind the last end of the program is padding.
    fn idle(&self) -> Value {
        let ends = |(_, text, _): &(u64, String, bool)| text.starts_with("s_endpgm");
        let end = self.code.iter().rposition(ends).map_or(0, |at| at + 1);
        let code = &self.code[..end];
        let idle = || code.iter().filter(|(_, _, ran)| !ran);
        let first = idle()
            .next()
            .map(|(at, text, _)| format!("{at:#x} `{text}`"));
        json!({ "idle": idle().count(), "of": code.len(), "first": first })
    }
}

impl Executed {
    /// Makes kernels known, so that those that never run are there too.
    pub(crate) fn know<'a>(&self, kernels: impl Iterator<Item = &'a String>) {
        let mut sums = lock(&self.0);
        for kernel in kernels {
            sums.kernels.entry(kernel.clone()).or_default();
        }
    }

    pub(crate) fn clear(&self) {
        *lock(&self.0) = Sums::default();
    }

    pub(crate) fn json(&self) -> Value {
        let sums = lock(&self.0);
        let kernels = sums.kernels.iter().map(|(name, sum)| {
            let value = json!({
                "dispatches": sum.dispatches, "instructions": sum.instructions,
                "waves": sum.waves, "blocks": sum.blocks, "idle": sum.idle(),
            });
            (name.clone(), value)
        });
        let kernels: serde_json::Map<_, _> = kernels.collect();
        json!({ "kernels": kernels, "seconds": sums.time.as_secs_f64() })
    }

    fn add(&self, kernel: &str, program: &Program, counts: &Counts, time: Duration) {
        let mut sums = lock(&self.0);
        let sum = sums.kernels.entry(kernel.to_owned()).or_default();
        sum.dispatches += 1;
        sum.instructions += counts.instructions;
        sum.waves += counts.waves;
        sum.blocks += counts.blocks;
        if sum.code.is_empty() {
            let code = program.instructions(kernel).iter().cloned();
            sum.code = code.map(|(at, text)| (at, text, false)).collect();
        }
        for ((_, _, ran), too) in sum.code.iter_mut().zip(&counts.ran) {
            *ran |= too;
        }
        sums.time += time;
    }
}
