//! The code objects that ship, executed: the plugin over a simulated runtime whose kernels run as
//! the very instructions that it loads, compared with the scalar reference.
//!
//! `cargo xtask gcnsim` starts this program with the word `gcnsim` and one word a run,
//! `TARGET/ESTIMATES/ORDER` or `TARGET/ESTIMATES/ORDER/measured` (see the simulator's settings
//! `gfx`, `estimates` and `order`). Each run is a child, as many beside each other as there are
//! processors, and is answered by one line: [`LINE`] and a JSON object.
//!
//! What must stay true: a run has executed every kernel of its code object at least once or names
//! those that it has not; clips are of every depth that has kernels of its own, of sizes that
//! fill no tile, from both memories; what differs is executed again beside the kernels for the
//! host, so that the answer names a kernel and an instruction if they are what is wrong.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use serde_json::{Value as Json, json};
use vmafx_api::{
    ApiError, Backend, Device, Extractor, FeatureRequest, FrameFormat, HostFrame, OpenRequest,
    PlanRequest, Value,
};
use vmafx_backend_cpu::{CpuBackend, Level};
use vmafx_conformance::MemoryLayout;
use vmafx_metrics::{Column, Metric, Options, find};

use crate::bench::{Bench, Clip, FEATURES, Memory, format, frame_of, picture};
use crate::packages::Packages;
use crate::{Child, GRAPHS, missing_device_code, run_child};

/// The word that this program is started with.
pub(crate) const WORD: &str = "gcnsim";
/// What a line begins with that answers for a run.
const LINE: &str = "code object: ";
/// Longest life of a run.
const SECONDS: u32 = 900;

/// Sizes of frames. Most fill no tile of any kernel.
const SIZES: [(u32, u32); 5] = [(64, 48), (176, 144), (67, 49), (97, 71), (131, 61)];
/// Frames of a clip: one of each picture and one more, which the features that look back need.
const FRAMES: u64 = 4;
/// Depths in which every size is scored.
const DEPTHS: [u32; 2] = [8, 10];
/// What else is scored: depths that have kernels of their own, rows that are longer than what any
/// block takes of one, and columns of which the last scale of vif has more than the blocks at
/// either end. 16 bits alone have their kernel for the first scale, so their turn must not be that
/// of the options that skip it.
const MORE: [((u32, u32), u32); 5] = [
    ((97, 71), 16),
    ((97, 71), 12),
    ((2113, 33), 8),
    ((2113, 33), 10),
    ((67, 271), 8),
];
/// Size, frames and depths of the clips by which instructions a pixel are counted: large enough
/// that the edges of the frame weigh little, with rows of a usual length, which blocks of psnr span.
const MEASURED: ((u32, u32), u64, [u32; 3]) = ((1920, 270), 2, [8, 10, 16]);

/// Sets of options that change what kernels do: feature, option, text.
const OPTIONS: [&[(&str, &str, &str)]; 3] = [
    &[],
    &[
        ("vif", "vif_enhn_gain_limit", "1"),
        ("vif", "debug", "true"),
        ("adm", "adm_enhn_gain_limit", "1"),
        ("adm", "debug", "true"),
    ],
    &[
        ("vif", "vif_skip_scale0", "true"),
        ("adm", "adm_csf_mode", "3"),
        ("adm", "adm_norm_view_dist", "3"),
        ("adm", "adm_ref_display_height", "2160"),
        ("adm", "adm_enhn_gain_limit", "1.25"),
        ("psnr", "enable_mse", "true"),
    ],
];

/// Does the runs and prints a line for each.
pub(crate) fn run(runs: &[&str]) -> ExitCode {
    let packages = Packages::build();
    if let Some(reason) = missing_device_code(&packages) {
        eprintln!("{reason}");
        return ExitCode::FAILURE;
    }
    let waiting: Mutex<VecDeque<&str>> = Mutex::new(runs.iter().copied().collect());
    let next = || waiting.lock().unwrap().pop_front();
    let beside = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..beside.min(runs.len()) {
            scope.spawn(|| {
                while let Some(run) = next() {
                    println!("{LINE}{}", answer(run, &packages));
                }
            });
        }
    });
    ExitCode::SUCCESS
}

fn answer(run: &str, packages: &Packages) -> Json {
    let child = Child {
        argument: run,
        rocm: GRAPHS,
        seconds: SECONDS,
    };
    let begin = Instant::now();
    let said = run_child(WORD, &child, packages);
    let read = |said: String| {
        let line = said.lines().find_map(|line| line.strip_prefix(LINE))?;
        serde_json::from_str::<Json>(line).ok()
    };
    let mut answer = match said {
        Ok(said) => read(said).unwrap_or_else(|| json!({ "failed": "it gave no answer" })),
        Err(failed) => json!({ "failed": failed.message().unwrap_or("it ended early") }),
    };
    answer["run"] = run.into();
    answer["wall_seconds"] = begin.elapsed().as_secs_f64().into();
    answer
}

/// What a child does: scores the clips and prints its line.
pub(crate) fn score(room: &Path, run: &str) {
    let words: Vec<&str> = run.split('/').collect();
    let [gfx, estimates, order, measured @ ..] = words.as_slice() else {
        panic!("{run}: TARGET/ESTIMATES/ORDER")
    };
    let bench = Bench::open(room);
    for (name, value) in [
        ("gfx", *gfx),
        ("engine", "gcnsim"),
        ("estimates", estimates),
        ("order", order),
    ] {
        bench.set(name, value);
    }
    let mut tally = Tally::default();
    let mut failed = all_clips(&bench, &mut tally).err();
    let mut per_pixel = BTreeMap::new();
    if failed.is_none() && measured == ["measured"] {
        failed = measure(&bench, &mut tally, &mut per_pixel).err();
    }
    let executed = executed(&bench);
    let mut wrong: Vec<String> = failed.into_iter().collect();
    for trouble in bench.troubles() {
        if !wrong.iter().any(|known| known.contains(&trouble)) {
            wrong.push(trouble);
        }
    }
    let line = json!({
        "failed": (!wrong.is_empty()).then(|| wrong.join("\n")),
        "module": module(&bench),
        "kernels": executed["kernels"],
        "seconds": executed["seconds"],
        "clips": tally.clips,
        "frames": tally.frames,
        "values": tally.values,
        "differing": tally.differing,
        "per_pixel": per_pixel,
    });
    println!("{LINE}{line}");
}

/// What code objects have executed: by kernel, the loaded ones that never ran among them.
fn executed(bench: &Bench) -> Json {
    bench.sim.json("gcnsim")
}

/// Target, bytes and number of kernels of the module that was loaded.
fn module(bench: &Bench) -> Json {
    let log = bench.sim.json("log_json");
    let mut modules = log.as_array().into_iter().flatten();
    let module = modules.find(|event| event["event"] == "module");
    module.cloned().unwrap_or_default()
}

/// What was compared.
#[derive(Default)]
struct Tally {
    clips: u64,
    frames: u64,
    values: u64,
    differing: u64,
}

/// One clip to score.
struct Shape {
    format: FrameFormat,
    /// Number of the set of options, and what the frames begin with.
    turn: usize,
    on_device: bool,
}

impl Shape {
    fn all() -> Vec<Self> {
        let common = SIZES
            .iter()
            .flat_map(|size| DEPTHS.map(|depth| (*size, depth)));
        let all = common.chain(MORE).enumerate();
        let shape = |(turn, ((width, height), depth))| Shape {
            format: format(width, height, depth),
            turn,
            // Each size is in either memory, in one of two depths.
            on_device: (turn + turn / 2) % 2 == 1,
        };
        all.map(shape).collect()
    }

    fn requests(&self) -> Vec<FeatureRequest> {
        let options = OPTIONS[self.turn % OPTIONS.len()];
        let request = |name: &&str| {
            let mut all = Options::defaults(find(name).unwrap().definition());
            for (_, option, text) in options.iter().filter(|(feature, ..)| feature == name) {
                all.set_text(option, text).unwrap();
            }
            all.request()
        };
        FEATURES.iter().map(request).collect()
    }

    /// Feature and name of each column.
    fn columns(&self) -> Vec<String> {
        let mut columns = Vec::new();
        for request in self.requests() {
            let metric: &dyn Metric = find(&request.feature).unwrap();
            let options = Options::from_request(metric.definition(), &request).unwrap();
            let names = metric.columns(&self.format, &options).into_iter();
            columns.extend(names.map(|column| match column {
                Column::Score(output) => format!("{} {}", request.feature, output.name),
                Column::Count(name) => format!("{} {name}", request.feature),
            }));
        }
        columns
    }

    fn plan(&self, device: &Device) -> Result<Extractor, ApiError> {
        device.prepare(&PlanRequest::new(self.format, &self.requests()))
    }

    /// The values of a clip on a device.
    fn scored(
        &self,
        clip: &Clip,
        device: &Device,
        memory: &Memory,
    ) -> Result<Vec<Vec<Value>>, ApiError> {
        let plan = self.plan(device)?;
        match self.on_device {
            true => clip
                .placed(device, memory, MemoryLayout::SKEWED)
                .scored(&plan),
            false => clip.scored(&plan),
        }
    }

    /// The frames, and what is right for them.
    fn clip(&self, frames: u64) -> Clip {
        Clip::of(frames, &self.plan(reference()).unwrap(), |t, distorted| {
            shown(self.format, self.turn as u64 + t, distorted)
        })
    }
}

/// The frame of number `t`: a scene, noise over the whole range, and the extremes by turns.
fn shown(format: FrameFormat, t: u64, distorted: bool) -> HostFrame {
    let peak = u64::from(format.peak());
    let odd = u64::from(distorted);
    match t % 3 {
        0 => picture(format, t, distorted),
        1 => frame_of(format, |plane, x, y| {
            let place = (t * 2 + odd) << 48 | plane << 40 | y << 20 | x;
            // Fewer frames are equal to each other than to any that a camera takes.
            let noise = (place ^ 0x5851_f42d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (noise ^ noise >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40 & peak
        }),
        // Above a checkerboard beside its inverse, below black beside white.
        _ => frame_of(format, |plane, x, y| {
            let half = format.plane_size(plane as usize).height as u64 / 2;
            let checks = if y < half { x + y } else { 0 };
            (checks + odd) % 2 * peak
        }),
    }
}

/// The CPU's portable code, which is the scalar reference.
fn reference() -> &'static Device {
    static REFERENCE: OnceLock<Device> = OnceLock::new();
    REFERENCE.get_or_init(|| {
        let portable = CpuBackend::with_level(Level::Portable).unwrap();
        let backend = Backend::new(portable).unwrap();
        backend.open(&OpenRequest::new(0)).unwrap()
    })
}

fn all_clips(bench: &Bench, tally: &mut Tally) -> Result<(), String> {
    let device = bench.device().map_err(|error| error.to_string())?;
    let memory = Memory::of(bench);
    for shape in Shape::all() {
        let clip = shape.clip(FRAMES);
        let values = shape.scored(&clip, &device, &memory);
        let values = values.map_err(|error| format!("{}: {error}", shape.format))?;
        if let Some(first) = tally.compare(&shape, &clip, &values) {
            let why = beside_host(bench, &shape, &clip, &memory);
            return Err(format!("{first}; {why}"));
        }
    }
    Ok(())
}

/// Counts instructions a pixel by kernel, frame by frame: a kernel may have no work in a frame.
fn measure(
    bench: &Bench,
    tally: &mut Tally,
    per_pixel: &mut BTreeMap<String, [u64; 2]>,
) -> Result<(), String> {
    let device = bench.device().map_err(|error| error.to_string())?;
    let ((width, height), frames, depths) = MEASURED;
    for depth in depths {
        let shape = Shape {
            format: format(width, height, depth),
            turn: 0,
            on_device: false,
        };
        let clip = shape.clip(frames);
        let plan = shape.plan(&device).map_err(|error| error.to_string())?;
        let mut values = Vec::new();
        for t in 0..frames as usize {
            let before = executed(bench);
            let of_frame = clip.frame(&plan, t).map_err(|error| error.to_string())?;
            values.push(of_frame);
            let after = executed(bench);
            for kernel in after["kernels"].as_object().unwrap().keys() {
                let more = |what: &str| {
                    let count = |executed: &Json| executed["kernels"][kernel][what].as_u64();
                    count(&after).unwrap() - count(&before).unwrap()
                };
                if more("dispatches") > 0 {
                    let [instructions, pixels] = per_pixel.entry(kernel.clone()).or_default();
                    *instructions += more("instructions");
                    *pixels += u64::from(width * height);
                }
            }
        }
        if let Some(first) = tally.compare(&shape, &clip, &values) {
            return Err(first);
        }
    }
    Ok(())
}

impl Tally {
    /// Compares the values of a clip; the first that differs, in words.
    fn compare(&mut self, shape: &Shape, clip: &Clip, values: &[Vec<Value>]) -> Option<String> {
        let mut first = None;
        self.clips += 1;
        for (t, (found, wanted)) in values.iter().zip(clip.expected()).enumerate() {
            self.frames += 1;
            self.values += wanted.len() as u64;
            assert_eq!(found.len(), wanted.len());
            for (column, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                if found == wanted {
                    continue;
                }
                self.differing += 1;
                first.get_or_insert_with(|| {
                    let name = &shape.columns()[column];
                    let format = shape.format;
                    format!(
                        "{format}, frame {t}: {name} is {found:?}, the reference has {wanted:?}"
                    )
                });
            }
        }
        assert_eq!(values.len(), clip.expected().len());
        first
    }
}

/// Scores a clip again, each launch beside the kernel for the host; what comes of that.
fn beside_host(bench: &Bench, shape: &Shape, clip: &Clip, memory: &Memory) -> String {
    bench.set("engine", "both");
    // Another device, because a module runs as it was loaded.
    let device = bench.device();
    let scored = device.and_then(|device| shape.scored(clip, &device, memory));
    match scored {
        Ok(_) => "the kernels for the host make the same of it".to_owned(),
        // The first is the cause of what follows.
        Err(error) => {
            let mut troubles = bench.troubles().into_iter();
            troubles.next().unwrap_or(error.to_string())
        }
    }
}
