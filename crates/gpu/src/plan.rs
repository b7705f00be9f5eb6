//! A set of features over frames of one format, several frames in flight.
//!
//! What must stay true: a plan has no state that one frame leaves for another but copies of
//! frames that are known by their identity, so frames may come in any order and from any thread;
//! no value is handed out that the accounts of its dispatches do not cover.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vmafx_api::{
    ApiError, ExtractorImpl, FrameFormat, FrameRef, Job, LogLevel, MemoryKind, Status, Ticket,
    Value, log,
};

use crate::args::{self, Plane};
use crate::card::Card;
use crate::frame::GpuFrame;
use crate::resources::{DeviceMemory, Event, Launch, PinnedMemory, Stream};
use crate::runtime::{Extent, RuntimeError};
use crate::slot::{Held, Lost, Slot};
use crate::twin::{self, Arena, KernelCall, Layout, Twin};
use crate::upload::Uploads;

/// Frames that are wanted in flight: many small ones fill a device that a few large ones fill.
fn wanted_in_flight(format: &FrameFormat) -> usize {
    match format.plane_size(0).area() {
        0..0x10_0000 => 8,
        0x10_0000..0x40_0000 => 6,
        _ => 4,
    }
}

/// How often a frame is computed again whose dispatches are not all accounted for.
const REPETITIONS: u32 = 3;

/// One feature of the plan.
pub(crate) struct Task {
    pub(crate) twin: Box<dyn Twin>,
    /// Number of its values.
    pub(crate) columns: usize,
}

/// A plan made ready.
pub(crate) struct Plan {
    state: Mutex<State>,
    uploads: Uploads,
    tables: Option<DeviceMemory>,
    card: Arc<Card>,
    format: FrameFormat,
    tasks: Vec<Task>,
    layout: Layout,
    history: usize,
    columns: usize,
    in_flight: usize,
    sequence: AtomicU64,
    repeated: AtomicU64,
}

#[derive(Default)]
struct State {
    places: Vec<Place>,
    /// Numbers of places that are not in use.
    free: Vec<u32>,
}

#[derive(Default)]
struct Place {
    /// Counts the uses of the place, so that an old ticket is known as such.
    uses: u32,
    /// Empty while the place is free and no slot was made yet, or while a call works on it.
    slot: Option<Box<Slot>>,
    /// The frame that waits to be collected.
    waiting: Option<Waiting>,
}

/// What is needed to finish a frame.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    index: u64,
    /// How many earlier frames there were.
    earlier: usize,
}

impl Plan {
    /// The launches of `tasks` over frames of `format` on `card`.
    pub(crate) fn new(
        card: &Arc<Card>,
        format: FrameFormat,
        mut tasks: Vec<Task>,
    ) -> Result<Self, ApiError> {
        let mut twins: Vec<_> = tasks.iter_mut().map(|task| &mut *task.twin).collect();
        let layout = Layout::of(&mut twins);
        let _current = card.enter()?;
        let history = tasks
            .iter()
            .map(|task| task.twin.history())
            .max()
            .unwrap_or(0);
        let planes = tasks
            .iter()
            .map(|task| task.twin.planes())
            .max()
            .unwrap_or(0);
        let in_flight = wanted_in_flight(&format);
        let remembered = if history > 0 { history + in_flight } else { 0 };
        Ok(Plan {
            state: Mutex::default(),
            uploads: Uploads::new(card, &format, planes, remembered)?,
            tables: tables(card, layout.tables())?,
            card: card.clone(),
            format,
            history,
            in_flight,
            columns: tasks.iter().map(|task| task.columns).sum(),
            tasks,
            layout,
            sequence: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_sequence(&self) -> u64 {
        // From 1: memory that nobody wrote reads as 0.
        self.sequence.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn new_slot(&self) -> Result<Slot, ApiError> {
        let tables = self.tables.as_ref().map_or(0, DeviceMemory::address);
        // Looked up first: a missing kernel is named.
        let mut failure = None;
        let slot = Slot::new(&self.card, &self.layout, tables, |arena| {
            match self.launches(arena) {
                Ok(launches) => Ok(launches),
                Err(error) => {
                    failure = Some(error);
                    Err(RuntimeError::not_offered("kernels"))
                }
            }
        });
        slot.map_err(|error| failure.unwrap_or_else(|| self.card.failed(error)))
    }

    fn launches(&self, arena: &Arena<'_>) -> Result<(Launch, Vec<Vec<Launch>>), ApiError> {
        let twins = self.tasks.iter().map(|task| &*task.twin);
        let (begin, twins) = twin::calls(twins, arena, self.format.depth());
        let twins = twins.into_iter();
        let twins = twins.map(|calls| calls.into_iter().map(|call| self.launch(call)).collect());
        Ok((self.launch(begin)?, twins.collect::<Result<_, ApiError>>()?))
    }

    fn launch(&self, call: KernelCall) -> Result<Launch, ApiError> {
        let KernelCall {
            kernel,
            grid,
            threads,
            arguments,
        } = call;
        Ok(Launch {
            kernel,
            function: self.card.function(kernel)?,
            grid,
            threads,
            arguments,
        })
    }

    /// The frame where the kernels read it.
    fn locate(&self, frame: &FrameRef<'_>, again: bool) -> Result<Held, ApiError> {
        match frame.host() {
            Some(_) => Ok(Held::Uploaded(self.uploads.bring(frame, again)?)),
            None => Ok(Held::OnDevice(Box::new(frame.keep()?))),
        }
    }

    /// A frame of this card, if it is one.
    fn own<'a>(&self, frame: &FrameRef<'a>) -> Option<&'a GpuFrame> {
        let device: &dyn Any = frame.device()?;
        let own = device.downcast_ref::<GpuFrame>()?;
        own.is_of(&self.card).then_some(own)
    }

    /// Whether a frame can be read, by the name `subject`.
    fn check(&self, subject: &str, frame: &FrameRef<'_>) -> Result<(), ApiError> {
        if *frame.format() != self.format {
            let message = format!("the frame is {}, the plan {}", frame.format(), self.format);
            return Err(ApiError::new(Status::INVALID, subject, message));
        }
        if frame.memory() == MemoryKind::HOST || self.own(frame).is_some() {
            return Ok(());
        }
        let message = format!(
            "the samples are in {}; host memory and frames that this device took in are read",
            frame.memory()
        );
        Err(ApiError::new(Status::NOT_SUPPORTED, subject, message))
    }

    fn planes(&self, located: &Held) -> [Plane; 3] {
        match located {
            Held::Uploaded(upload) => upload.planes(),
            Held::OnDevice(kept) => {
                let own = self.own(&kept.get());
                own.map_or([Plane::default(); 3], GpuFrame::planes)
            }
        }
    }

    /// Takes a free place with its slot, or makes one.
    fn take(&self) -> Result<(u32, Box<Slot>), ApiError> {
        let (number, slot) = {
            let mut state = self.state();
            let number = match state.free.pop() {
                Some(number) => number,
                None => {
                    state.places.push(Place::default());
                    (state.places.len() - 1) as u32
                }
            };
            (number, state.places[number as usize].slot.take())
        };
        let slot = match slot {
            Some(slot) => Ok(slot),
            None => self.new_slot().map(Box::new),
        };
        let slot = slot.inspect_err(|_| self.state().free.push(number))?;
        Ok((number, slot))
    }

    /// Waits for a frame and checks its accounts; computes it again if they do not add up.
    fn settle(&self, slot: &mut Slot, index: u64) -> Result<(), ApiError> {
        let _current = self.card.enter()?;
        let failed = |error| self.card.failed(error);
        let mut repetition = 0;
        loop {
            slot.finish().map_err(failed)?;
            let Err(lost) = slot.check() else {
                break;
            };
            if repetition == REPETITIONS {
                return Err(unaccounted(index, &lost));
            }
            repetition += 1;
            self.repeated.fetch_add(1, Ordering::Relaxed);
            let line = format!("frame {index} is computed again: {lost}");
            log(LogLevel::WARNING, &line);
            slot.run(self.next_sequence()).map_err(failed)?;
        }
        if slot.met_beyond_depth() {
            let (peak, depth) = (self.format.peak(), self.format.depth());
            let message =
                format!("frame {index} has samples above {peak}, the largest of {depth} bits");
            return Err(ApiError::new(Status::INVALID, "frame", message));
        }
        Ok(())
    }
}

fn unaccounted(index: u64, lost: &Lost) -> ApiError {
    let message = format!(
        "frame {index}: {lost}, also after {REPETITIONS} repetitions; the device or its driver \
         loses work"
    );
    ApiError::new(Status::DEVICE, "dispatch", message)
}

/// Brings tables to the device, once.
fn tables(card: &Card, tables: &[u8]) -> Result<Option<DeviceMemory>, ApiError> {
    if tables.is_empty() {
        return Ok(None);
    }
    let bring = || -> Result<DeviceMemory, RuntimeError> {
        let memory = DeviceMemory::new(card.runtime(), tables.len())?;
        let mut staging = PinnedMemory::new(card.runtime(), tables.len())?;
        // SAFETY: nothing is under way.
        unsafe { staging.bytes_mut() }.copy_from_slice(tables);
        let stream = Stream::new(card.runtime())?;
        let (from, extent) = (
            staging.pointer().cast_const(),
            Extent {
                width: tables.len(),
                rows: 1,
            },
        );
        // SAFETY: both ends outlive the copy, which is waited for here.
        unsafe {
            stream.upload(
                (memory.address(), tables.len()),
                (from, tables.len()),
                extent,
            )?;
        }
        stream.synchronize()?;
        Ok(memory)
    };
    bring().map(Some).map_err(|error| card.failed(error))
}

impl ExtractorImpl for Plan {
    fn columns(&self) -> usize {
        self.columns
    }

    fn history(&self) -> usize {
        self.history
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn memory_bytes(&self) -> u64 {
        // A host may have as many more submitted as it collects at once.
        let slots = 2 * self.in_flight - 1;
        let frames = (2 * slots + self.history) * self.uploads.frame_bytes();
        let tables = self.tables.as_ref().map_or(0, DeviceMemory::bytes);
        (slots * self.layout.arena_bytes() + frames + tables) as u64
    }

    fn admits(&self, frame: &FrameRef<'_>) -> Result<(), ApiError> {
        self.check("frame", frame)
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        let pair = job.pair();
        self.check("job.reference", &pair.reference)?;
        self.check("job.distorted", &pair.distorted)?;
        let earlier: Vec<_> = job.look_back(self.history).collect::<Result<_, _>>()?;
        for pair in &earlier {
            self.check("job.earlier.reference", &pair.reference)?;
        }

        let reference = self.locate(&pair.reference, true)?;
        let distorted = self.locate(&pair.distorted, false)?;
        let mut located = vec![reference, distorted];
        for pair in &earlier {
            located.push(self.locate(&pair.reference, true)?);
        }
        let mut planes = [Plane::default(); 2];
        for (slot, frame) in planes.iter_mut().zip(&located[2..]) {
            *slot = self.planes(frame)[0];
        }
        let arguments = args::Job {
            arrivals: self.arrivals(&located),
            reference: self.planes(&located[0]),
            distorted: self.planes(&located[1]),
            earlier: planes,
            ..args::Job::default()
        };

        let (number, mut slot) = self.take()?;
        let started = (|| {
            let _current = self.card.enter()?;
            let ready: Vec<Arc<Event>> = located.iter().filter_map(|l| self.ready(l)).collect();
            let after = ready.iter().map(|event| &**event);
            let started = slot.start(self.next_sequence(), arguments, after, located);
            started.map_err(|error| self.card.failed(error))
        })();
        let mut state = self.state();
        if let Err(error) = started {
            // What was enqueued may still run: the slot waits for it as it goes.
            state.free.push(number);
            drop(state);
            drop(slot);
            return Err(error);
        }
        let place = &mut state.places[number as usize];
        place.uses = place.uses.wrapping_add(1);
        place.slot = Some(slot);
        place.waiting = Some(Waiting {
            index: job.index(),
            earlier: earlier.len(),
        });
        Ok(Ticket(u64::from(place.uses) << 32 | u64::from(number)))
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        if values.len() != self.columns {
            let message = format!("{} values, the plan has {}", values.len(), self.columns);
            return Err(ApiError::new(Status::INVALID, "values", message));
        }
        let (number, uses) = (ticket.0 as u32, (ticket.0 >> 32) as u32);
        let taken = {
            let mut state = self.state();
            let place = state.places.get_mut(number as usize);
            let place = place.filter(|place| place.uses == uses);
            place.and_then(|place| Some((place.waiting.take()?, place.slot.take()?)))
        };
        let (waiting, mut slot) = taken.ok_or_else(|| {
            let message = format!("{} is of no job that waits", ticket.0);
            ApiError::new(Status::INVALID, "ticket", message)
        })?;
        if let Err(error) = self.settle(&mut slot, waiting.index) {
            // The slot may be of a device that failed: it goes, after what it still waits for.
            drop(slot);
            self.state().free.push(number);
            return Err(error);
        }
        let mut rest = values;
        for task in &self.tasks {
            let (values, behind) = rest.split_at_mut(task.columns);
            rest = behind;
            let compared = task.twin.history() <= waiting.earlier;
            task.twin.finish(slot.words(), compared, values);
        }
        slot.release();
        let mut state = self.state();
        state.places[number as usize].slot = Some(slot);
        state.free.push(number);
        Ok(())
    }

    fn repeats(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }
}

impl Plan {
    /// What shows that frames of host memory have arrived.
    fn arrivals(&self, located: &[Held]) -> [args::Arrival; 4] {
        let mut arrivals = [args::Arrival::default(); 4];
        for (arrival, frame) in arrivals.iter_mut().zip(located) {
            if let Held::Uploaded(upload) = frame {
                *arrival = upload.arrival();
            }
        }
        arrivals
    }

    /// What must be reached before a frame is read.
    fn ready(&self, located: &Held) -> Option<Arc<Event>> {
        match located {
            Held::Uploaded(upload) => upload.ready(),
            Held::OnDevice(kept) => self.own(&kept.get())?.ready(),
        }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("format", &self.format)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}
