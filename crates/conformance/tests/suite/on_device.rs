//! The cells over frames in a device's memory: a backend that computes with the CPU and keeps its
//! frames where nobody else can read them, and what is found of one that reads them wrongly.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vmafx_api::{
    ApiError, Backend, BackendImpl, BackendInfo, Chroma, Device, DeviceFrame, DeviceFrameImpl,
    DeviceImpl, DeviceInfo, Extractor, ExtractorImpl, FeatureRequest, FenceKind, FenceState,
    FrameFormat, FrameJob, FramePair, FrameRef, HostFrame, HostView, ImportDescriptor, ImportImpl,
    Job, MemoryKind, MemoryKinds, NativeFence, OpenRequest, PairRef, PlanRequest, Samples, Status,
    Support, Ticket, Value,
};
use vmafx_backend_cpu::CpuBackend;
use vmafx_conformance::{
    Candidate, CellState, CellsReport, DeviceMemory, Grid, MemoryLayout, Outcome, Suite,
};

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// Rows in the device's memory are taken for packed.
    PitchForgotten,
    /// The second of several frames in flight has a sum that is one too large.
    BusyDiffers,
    /// The first value of 4:4:4 frames is off by a bit.
    OneLayoutDiffers,
}

/// What a frame's samples are in the memory of [`Far`].
#[derive(Clone, Debug)]
struct Stored {
    format: FrameFormat,
    layout: MemoryLayout,
    planes: Vec<Vec<u16>>,
}

impl DeviceFrameImpl for Stored {
    fn format(&self) -> FrameFormat {
        self.format
    }

    fn release_fence(&self, _kind: FenceKind) -> Result<NativeFence, ApiError> {
        Ok(NativeFence::none())
    }
}

type Shelf = Arc<Mutex<Option<Stored>>>;

/// A device that takes in what lies on its shelf.
#[derive(Clone)]
struct Far {
    defect: Option<Defect>,
    shelf: Shelf,
    cpu: Device,
}

impl Far {
    fn candidate(defect: Option<Defect>) -> (Candidate, Memory) {
        let shelf = Shelf::default();
        let cpu = Backend::new(CpuBackend::new()).unwrap();
        let far = Far {
            defect,
            shelf: shelf.clone(),
            cpu: cpu.open(&OpenRequest::new(0)).unwrap(),
        };
        let candidate = Candidate::new(Backend::new(far).unwrap());
        (candidate, Memory(shelf))
    }
}

struct Memory(Shelf);

fn samples(view: &HostView<'_>) -> Vec<Vec<u16>> {
    let planes = (0..3).filter_map(|plane| view.plane(plane));
    let planes = planes.map(|plane| {
        let (size, stride) = (plane.size(), plane.stride());
        let places = (0..size.height).flat_map(|y| (0..size.width).map(move |x| y * stride + x));
        match plane.samples() {
            Samples::U8(samples) => places.map(|at| u16::from(samples[at])).collect(),
            Samples::U16(samples) => places.map(|at| samples[at]).collect(),
        }
    });
    planes.collect()
}

impl DeviceMemory for Memory {
    fn place(
        &self,
        device: &Device,
        frame: &HostFrame,
        layout: MemoryLayout,
    ) -> Result<DeviceFrame, ApiError> {
        let format = *frame.format();
        let mut planes = Vec::new();
        for (plane, samples) in samples(&frame.view()).into_iter().enumerate() {
            let width = format.plane_size(plane).width;
            let mut stored = vec![format.peak() as u16 / 3; layout.offset];
            for row in samples.chunks(width) {
                stored.extend(row);
                stored.extend(vec![format.peak() as u16 / 2; layout.padding]);
            }
            planes.push(stored);
        }
        *self.0.lock().unwrap() = Some(Stored {
            format,
            layout,
            planes,
        });
        device.import(&ImportDescriptor::without_planes(
            MemoryKind::DEVICE_POINTER,
            format,
        ))
    }
}

impl BackendImpl for Far {
    fn info(&self) -> BackendInfo {
        BackendInfo::new("far", "Far away", "1.0.0")
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        Ok(vec![DeviceImpl::info(self)])
    }

    fn open(&self, _request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        Ok(Box::new(self.clone()))
    }
}

impl DeviceImpl for Far {
    fn info(&self) -> DeviceInfo {
        let mut info = DeviceInfo::new("far", "none");
        info.memory_kinds = MemoryKinds::of(&[MemoryKind::HOST, MemoryKind::DEVICE_POINTER]);
        info
    }

    fn supports(
        &self,
        feature: &FeatureRequest,
        format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        if feature.feature == "vif" && format.depth() == 16 {
            let message = "no 16 bits here";
            return Err(ApiError::new(Status::NOT_SUPPORTED, "format", message));
        }
        let mut support = self.cpu.supports(feature, format)?;
        support.memory_kinds = DeviceImpl::info(self).memory_kinds;
        Ok(support)
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        Ok(Box::new(FarPlan {
            defect: self.defect,
            format: plan.format,
            cpu: self.cpu.prepare(plan)?,
            waiting: AtomicUsize::new(0),
        }))
    }

    fn import(&self) -> Option<&dyn ImportImpl> {
        Some(self)
    }
}

impl ImportImpl for Far {
    fn import(&self, _: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrameImpl>, ApiError> {
        let stored = self.shelf.lock().unwrap().take();
        Ok(Box::new(stored.unwrap()))
    }

    fn fence_poll(&self, _fence: &NativeFence) -> Result<FenceState, ApiError> {
        Ok(FenceState::Signalled)
    }

    fn fence_wait(&self, _fence: &NativeFence, _timeout: Duration) -> Result<(), ApiError> {
        Ok(())
    }

    fn fence_export(&self, fence: &NativeFence, _: FenceKind) -> Result<NativeFence, ApiError> {
        Ok(*fence)
    }

    fn fence_destroy(&self, _fence: NativeFence) {}
}

struct FarPlan {
    defect: Option<Defect>,
    format: FrameFormat,
    cpu: Extractor,
    waiting: AtomicUsize,
}

impl FarPlan {
    /// The frame as the CPU reads it.
    fn fetch(&self, frame: &FrameRef<'_>) -> HostFrame {
        let planes = match frame.host() {
            Some(view) => samples(view),
            None => {
                let stored: &dyn Any = frame.device().unwrap();
                let stored: &Stored = stored.downcast_ref().unwrap();
                let planes = stored.planes.iter().enumerate();
                let planes = planes.map(|(plane, samples)| {
                    let size = stored.format.plane_size(plane);
                    let mut pitch = size.width + stored.layout.padding;
                    if self.defect == Some(Defect::PitchForgotten) {
                        pitch = size.width;
                    }
                    let rows = samples[stored.layout.offset..].chunks(pitch);
                    let rows = rows.take(size.height).map(|row| &row[..size.width]);
                    rows.flatten().copied().collect()
                });
                planes.collect()
            }
        };
        let mut host = HostFrame::new(self.format);
        match self.format.depth() {
            8 => {
                let to = host.bytes_mut().iter_mut();
                to.zip(planes.into_iter().flatten())
                    .for_each(|(to, from)| *to = from as u8);
            }
            _ => {
                let to = host.words_mut().iter_mut();
                to.zip(planes.into_iter().flatten())
                    .for_each(|(to, from)| *to = from);
            }
        }
        host
    }
}

impl ExtractorImpl for FarPlan {
    fn columns(&self) -> usize {
        self.cpu.columns()
    }

    fn history(&self) -> usize {
        self.cpu.history()
    }

    fn in_flight(&self) -> usize {
        4
    }

    fn admits(&self, _frame: &FrameRef<'_>) -> Result<(), ApiError> {
        Ok(())
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        let pair = |pair: &PairRef<'_>| FramePair {
            reference: Arc::new(self.fetch(&pair.reference).into()),
            distorted: Arc::new(self.fetch(&pair.distorted).into()),
        };
        let earlier = (1..).map_while(|back| job.earlier(back));
        let earlier = earlier.take(self.history()).map(pair);
        let job = FrameJob::new(job.index(), pair(job.pair()), earlier.collect());
        let ticket = self.cpu.submit(&job)?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Ok(ticket)
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        self.cpu.collect(ticket, values)?;
        let waiting = self.waiting.fetch_sub(1, Ordering::Relaxed);
        let wrong = match self.defect {
            Some(Defect::BusyDiffers) => waiting == 2,
            Some(Defect::OneLayoutDiffers) => self.format.chroma() == Chroma::Yuv444,
            _ => false,
        };
        if wrong {
            values[0] = Value::count(values[0].as_count() ^ 1);
        }
        Ok(())
    }
}

fn compare(candidate: &Candidate) -> (Outcome, CellsReport) {
    let report = Suite::only(["cells-equal"]).unwrap().run(candidate);
    let outcome = report.outcome("cells-equal").unwrap().clone();
    (outcome, report.cells.unwrap())
}

/// Every live cell is compared in the short grid, from host memory and from the device's.
#[test]
fn cells_are_equal_wherever_frames_are() {
    let (candidate, memory) = Far::candidate(None);
    let (outcome, cells) = compare(&candidate.with_device_memory(memory));
    println!("{cells}");
    assert_eq!(outcome, Outcome::Passed);
    assert_eq!(cells.imported_not_tried, None);
    assert_eq!(cells.cells.len(), 24);
    let live = cells.compared().count();
    assert!(live >= 8 && live + cells.to_come().count() == 24);
    for cell in cells.compared() {
        assert!(cell.values > 0 && cell.imported_values > 0, "{cell:?}");
        let refuses = cell.name == "vif";
        assert_eq!(cell.refused > 0, refuses, "{cell:?}");
        let told = cell.refusal.as_deref().unwrap_or_default();
        assert_eq!(told.contains("no 16 bits here"), refuses, "{told}");
    }
    let hosted: u64 = cells.compared().map(|cell| cell.values).sum();
    assert!(hosted >= 20_000, "{hosted} values");
    assert_eq!(cells.differing(), 0);
}

#[test]
fn cells_say_why_no_frames_of_the_device_were_tried() {
    let (candidate, _) = Far::candidate(None);
    let (_, cells) = compare(&candidate);
    let told = |cells: &CellsReport| cells.imported_not_tried.clone().unwrap();
    assert_eq!(told(&cells), "the caller gives no device memory");
    let cpu = Candidate::new(Backend::new(CpuBackend::new()).unwrap());
    let (outcome, cells) = compare(&cpu);
    assert_eq!(outcome, Outcome::Passed);
    assert_eq!(told(&cells), "the device takes in no device pointers");
    assert!(
        cells.values() >= 20_000 && cells.differing() == 0,
        "{cells}"
    );
}

/// A device that lacks features is told by their names; it fails nothing.
#[test]
fn cells_that_are_not_offered_are_named() {
    let example = crate::example::Example::new(None);
    let (outcome, cells) = compare(&Candidate::new(Backend::new(example).unwrap()));
    assert_eq!(outcome, Outcome::Passed);
    let named = |state: fn(&CellState) -> bool| {
        let cells = cells.cells.iter().filter(|cell| state(&cell.state));
        cells.map(|cell| cell.name.as_str()).collect::<Vec<_>>()
    };
    let compared = named(|state| *state == CellState::Compared);
    assert_eq!(compared, ["psnr", "vif"]);
    let not_offered = named(|state| matches!(state, CellState::NotOffered(_)));
    assert!(not_offered.contains(&"adm") && not_offered.contains(&"motion_v2"));
    let to_come = named(|state| *state == CellState::ToCome);
    assert_eq!(compared.len() + not_offered.len() + to_come.len(), 24);
}

#[test]
fn differences_are_counted_and_the_first_is_told() {
    for (defect, part, imported_alone) in [
        (
            Defect::PitchForgotten,
            "of frames in its memory, skewed",
            true,
        ),
        (Defect::BusyDiffers, "with jobs in ", false),
        (Defect::OneLayoutDiffers, "4:4:4", false),
    ] {
        let (candidate, memory) = Far::candidate(Some(defect));
        let (outcome, cells) = compare(&candidate.with_device_memory(memory));
        let Outcome::Failed(reason) = outcome else {
            panic!("{defect:?} is not found: {cells}");
        };
        assert!(reason.contains(part), "{reason}");
        assert!(reason.contains("every bit must be equal"), "{reason}");
        let hosted: u64 = cells.compared().map(|cell| cell.differing).sum();
        assert_eq!(hosted == 0, imported_alone, "{defect:?}: {cells}");
        assert!(cells.differing() > 0 && cells.differing() < cells.values());
    }
}

/// The full grid has every size in every layout, with jobs in both orders.
#[test]
#[ignore = "minutes: the short grid is that of every run"]
fn the_full_grid_is_equal() {
    let cpu = Candidate::new(Backend::new(CpuBackend::new()).unwrap());
    let (outcome, cells) = compare(&cpu.with_grid(Grid::Full));
    println!("{cells}");
    assert_eq!(outcome, Outcome::Passed);
    assert!(cells.values() >= 200_000, "{cells}");
}
