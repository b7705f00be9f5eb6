//! A set of features over frames of one format.
//!
//! What must stay true: a plan has no state that one frame leaves for another but buffers whose
//! contents do not matter, so frames may come in any order and from any thread.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vmafx_api::{
    ApiError, ExtractorImpl, FrameFormat, FrameRef, HostView, Job, PairRef, Status, Ticket, Value,
    wire::MAX_HISTORY,
};
use vmafx_metrics::{Metric, Options, adm, motion, psnr, vif};

use crate::level::{Adm, Kernels, Level, Motion, Vif};

/// The settings of one feature and the number of its columns.
#[derive(Debug)]
pub(crate) struct Task {
    kind: Kind,
    columns: usize,
    /// How many earlier frames it reads.
    history: usize,
}

#[derive(Debug)]
enum Kind {
    Vif(vif::Settings),
    Adm(Box<adm::Settings>),
    Motion(motion::Settings),
    Psnr(psnr::Settings),
}

impl Task {
    /// Names of the metrics that [`new`](Task::new) takes.
    pub(crate) const METRICS: [&'static str; 5] = ["adm", "motion", "motion_v2", "psnr", "vif"];

    /// The task for a metric whose limits are met.
    pub(crate) fn new(
        metric: &dyn Metric,
        options: &Options,
        format: &FrameFormat,
    ) -> Result<Self, ApiError> {
        let name = metric.definition().name;
        let refused = |message: String| ApiError::new(Status::NOT_SUPPORTED, name, message);
        let kind = match name {
            "vif" => Kind::Vif(options.into()),
            "adm" => {
                let settings = adm::Settings::new(options);
                Kind::Adm(Box::new(
                    settings.map_err(|refusal| refused(refusal.to_string()))?,
                ))
            }
            "motion" | "motion_v2" => Kind::Motion(options.into()),
            "psnr" => Kind::Psnr(psnr::Settings::new(options, format)),
            _ => return Err(refused("the CPU backend has no such feature".to_owned())),
        };
        let columns = metric.columns(format, options).len();
        let history = metric.history(options);
        Ok(Task {
            kind,
            columns,
            history,
        })
    }

    /// Computes one frame. `earlier` is the reference as many frames back as
    /// `history` says, `None` at the start of the clip.
    fn run(
        &self,
        kernels: &Kernels,
        pair: [&HostView<'_>; 2],
        earlier: Option<&HostView<'_>>,
        scratch: &mut Scratch,
        values: &mut [Value],
    ) {
        let [reference, distorted] = pair;
        let format = reference.format();
        let (x, y, depth) = (reference.luma(), distorted.luma(), format.depth());
        match &self.kind {
            Kind::Vif(settings) => {
                let vif = scratch.vif.get_or_insert_with(|| (kernels.vif)(format));
                let sums = vif.sums([x, y], depth, settings);
                vif::finish(&sums, settings, values);
            }
            Kind::Adm(settings) => {
                let adm = scratch.adm.get_or_insert_with(|| (kernels.adm)(format));
                let sums = adm.sums([x, y], depth, settings);
                adm::finish(&sums, settings, format, values);
            }
            Kind::Motion(settings) => match earlier {
                Some(earlier) => {
                    let new = || (kernels.motion)(format);
                    let motion = scratch.motion.get_or_insert_with(new);
                    let sums = motion.sums([earlier.luma(), x], depth);
                    motion::finish(&sums, settings, format, values);
                }
                None => motion::finish_first(values),
            },
            Kind::Psnr(settings) => {
                let mut sums = psnr::Sums::default();
                for (plane, sse) in sums.sse.iter_mut().enumerate().take(settings.planes) {
                    if let (Some(x), Some(y)) = (reference.plane(plane), distorted.plane(plane)) {
                        *sse = (kernels.psnr)(x, y);
                    }
                }
                psnr::finish(&sums, settings, values);
            }
        }
    }
}

/// Buffers of the metrics, made when first needed. Two features of one metric share them.
#[derive(Default)]
struct Scratch {
    vif: Option<Box<dyn Vif>>,
    adm: Option<Box<dyn Adm>>,
    motion: Option<Box<dyn Motion>>,
}

/// A result that waits to be collected.
struct Slot {
    /// Counts the uses of the slot, so that an old ticket is known as such.
    uses: u32,
    ready: bool,
    values: Vec<Value>,
}

#[derive(Default)]
struct State {
    scratch: Vec<Scratch>,
    slots: Vec<Slot>,
    /// Numbers of slots that are not in use.
    free: Vec<u32>,
}

/// A plan made ready.
pub(crate) struct Plan {
    format: FrameFormat,
    tasks: Vec<Task>,
    history: usize,
    columns: usize,
    level: Level,
    kernels: Kernels,
    state: Mutex<State>,
}

impl Plan {
    pub(crate) fn new(
        format: FrameFormat,
        tasks: Vec<Task>,
        level: Level,
        kernels: Kernels,
    ) -> Self {
        Plan {
            format,
            history: tasks.iter().map(|task| task.history).max().unwrap_or(0),
            columns: tasks.iter().map(|task| task.columns).sum(),
            tasks,
            level,
            kernels,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host view of a frame, if it is one of this plan.
    fn view<'a>(
        &self,
        subject: &str,
        frame: &'a FrameRef<'_>,
    ) -> Result<&'a HostView<'a>, ApiError> {
        if *frame.format() != self.format {
            let message = format!("the frame is {}, the plan {}", frame.format(), self.format);
            return Err(ApiError::new(Status::INVALID, subject, message));
        }
        frame.host().ok_or_else(|| {
            let message = format!("the CPU reads host memory, not {}", frame.memory());
            ApiError::new(Status::NOT_SUPPORTED, subject, message)
        })
    }

    /// The host views of a pair.
    fn views<'a>(
        &self,
        [reference, distorted]: [&str; 2],
        pair: &'a PairRef<'_>,
    ) -> Result<[&'a HostView<'a>; 2], ApiError> {
        Ok([
            self.view(reference, &pair.reference)?,
            self.view(distorted, &pair.distorted)?,
        ])
    }
}

impl ExtractorImpl for Plan {
    fn history(&self) -> usize {
        self.history
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn admits(&self, frame: &FrameRef<'_>) -> Result<(), ApiError> {
        self.view("frame", frame).map(drop)
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        let pair = self.views(["job.reference", "job.distorted"], job.pair())?;
        let mut earlier = [None; MAX_HISTORY as usize];
        for (pair, slot) in job.look_back(self.history).zip(&mut earlier) {
            let subjects = ["job.earlier.reference", "job.earlier.distorted"];
            *slot = Some(self.views(subjects, pair?)?);
        }

        let (mut scratch, slot, mut values) = {
            let mut state = self.state();
            let scratch = state.scratch.pop().unwrap_or_default();
            let slot = state.free.pop().unwrap_or(state.slots.len() as u32);
            if slot as usize == state.slots.len() {
                let values = vec![Value::default(); self.columns];
                state.slots.push(Slot {
                    uses: 0,
                    ready: false,
                    values,
                });
            }
            let values = std::mem::take(&mut state.slots[slot as usize].values);
            (scratch, slot, values)
        };
        let mut rest = values.as_mut_slice();
        for task in &self.tasks {
            let (values, behind) = rest.split_at_mut(task.columns);
            rest = behind;
            let back = task.history.checked_sub(1);
            let earlier = back.and_then(|back| earlier[back]);
            let earlier = earlier.map(|[view, _]| view);
            task.run(&self.kernels, pair, earlier, &mut scratch, values);
        }
        let mut state = self.state();
        state.scratch.push(scratch);
        let entry = &mut state.slots[slot as usize];
        entry.uses = entry.uses.wrapping_add(1);
        entry.ready = true;
        entry.values = values;
        Ok(Ticket(u64::from(entry.uses) << 32 | u64::from(slot)))
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        if values.len() != self.columns {
            let message = format!("{} values, the plan has {}", values.len(), self.columns);
            return Err(ApiError::new(Status::INVALID, "values", message));
        }
        let (uses, slot) = ((ticket.0 >> 32) as u32, ticket.0 as u32);
        let mut state = self.state();
        let entry = state.slots.get_mut(slot as usize);
        let Some(entry) = entry.filter(|entry| entry.ready && entry.uses == uses) else {
            let message = format!("{ticket:?} is of no job, or was collected before");
            return Err(ApiError::new(Status::NOT_FOUND, "ticket", message));
        };
        values.copy_from_slice(&entry.values);
        entry.ready = false;
        state.free.push(slot);
        Ok(())
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("format", &self.format)
            .field("tasks", &self.tasks)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}
