//! The cells of this program that a device offers, against the CPU backend: by feature key and
//! by bit, with several jobs under way, in order and in disorder, and from frames in the
//! device's memory where the caller has some.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use vmafx_api::{
    ApiError, Backend, Chroma, Device, Extractor, FeatureRequest, Frame, FrameFormat, MemoryKind,
    OpenRequest, Status, Value,
};
use vmafx_backend_cpu::CpuBackend;
use vmafx_metrics::{Metric, Options};

use crate::candidate::Candidate;
use crate::cells::{
    CELLS, Cell, CellResult, CellState, CellsReport, Grid, MemoryLayout, OptionTexts,
};
use crate::check::{Check, Ending, Verdict, fail, skip};
use crate::clip::Clip;
use crate::feature::{Case, Feature, is_defect, kinds, sizes};
use crate::scoring::{collect, prepare, same, score_clip, shuffled};

/// Name of the one check.
pub(crate) const CELLS_EQUAL: &str = "cells-equal";

pub(super) static CHECKS: [Check; 1] = [Check::required(
    CELLS_EQUAL,
    "Every feature of this program that the device offers has the scores of the CPU, by name and in \
     every bit, whatever the options, depth, layout and size, with several frames in flight.",
    cells_equal,
)];

/// The CPU, as this machine runs it.
fn cpu() -> Result<&'static Device, Ending> {
    static DEVICE: OnceLock<Result<Device, String>> = OnceLock::new();
    let open = || {
        let opened = Backend::new(CpuBackend::new());
        let opened = opened.and_then(|backend| backend.open(&OpenRequest::new(0)));
        opened.map_err(|error| error.to_string())
    };
    let device = DEVICE.get_or_init(open).as_ref();
    device.or_else(|error| fail(format!("the CPU backend does not run here: {error}")))
}

fn cells_equal(candidate: &Candidate) -> Verdict {
    let device = candidate.open()?;
    let bench = Bench {
        candidate,
        device: &device,
        cpu: cpu()?,
    };
    let imported_not_tried = bench.memory().err().map(str::to_owned);
    let mut report = CellsReport {
        cells: Vec::with_capacity(CELLS.len()),
        imported_not_tried,
    };
    // Sets of options take turns at the sizes, whatever cell they are of.
    let mut turn = 0;
    for cell in &CELLS {
        report.cells.push(bench.cell(cell, &mut turn)?);
    }
    let verdict = match report.difference() {
        Some(difference) => fail(format!(
            "{} of {} values differ, the first: {difference}",
            report.differing(),
            report.values()
        )),
        None if report.compared().next().is_none() => {
            skip("the device offers no feature of this program")
        }
        None => Ok(()),
    };
    candidate.keep_cells(report);
    verdict
}

struct Bench<'a> {
    candidate: &'a Candidate,
    device: &'a Device,
    cpu: &'static Device,
}

/// A feature with options in force.
struct Setting {
    feature: Feature,
    metric: &'static dyn Metric,
    options: Options,
    request: FeatureRequest,
    /// The options that are not at their defaults, in words.
    told: String,
}

impl Setting {
    /// # Errors
    /// An option that the feature does not have: the list of cells is wrong.
    fn new(metric: &'static dyn Metric, texts: &[OptionTexts]) -> Result<Self, Ending> {
        let mut options = Options::defaults(metric.definition());
        let mut told = Vec::new();
        for (name, text) in texts.iter().copied().flatten() {
            let set = options.set_text(name, text);
            set.or_else(|error| fail(format!("the list of cells: {error}")))?;
            told.push(format!("{name}={text}"));
        }
        Ok(Setting {
            feature: Feature::of_program(metric),
            request: options.request(),
            told: match told.is_empty() {
                true => String::new(),
                false => format!(" with {}", told.join(", ")),
            },
            metric,
            options,
        })
    }

    fn case(&self, format: FrameFormat) -> Case {
        Case {
            feature: self.feature.clone(),
            format,
        }
    }
}

/// A format, and what is done at it.
#[derive(Clone, Copy)]
struct Station {
    format: FrameFormat,
    in_order: bool,
    in_disorder: bool,
    imported: bool,
}

/// What was compared of a clip.
#[derive(Default)]
struct Tally {
    values: u64,
    differing: u64,
    difference: Option<String>,
}

impl Bench<'_> {
    /// The kind of frames beside those of the host, or why there are none.
    fn memory(&self) -> Result<&dyn crate::DeviceMemory, &'static str> {
        let kinds = self.device.info().memory_kinds;
        if !kinds.contains(MemoryKind::DEVICE_POINTER) {
            return Err("the device takes in no device pointers");
        }
        let memory = self.candidate.memory.as_deref();
        memory.ok_or("the caller gives no device memory")
    }

    fn cell(&self, cell: &Cell, turn: &mut usize) -> Result<CellResult, Ending> {
        let Some(metric) = vmafx_metrics::find(cell.feature) else {
            return Ok(CellResult::new(cell, CellState::ToCome));
        };
        if let Some(reason) = self.not_offered(metric)? {
            return Ok(CellResult::new(cell, CellState::NotOffered(reason)));
        }
        let mut result = CellResult::new(cell, CellState::Compared);
        let plain: OptionTexts = &[];
        for extra in std::iter::once(&plain).chain(cell.variations) {
            let setting = Setting::new(metric, &[cell.options, *extra])?;
            for station in stations(self.candidate.grid, cell, &setting, *turn) {
                self.station(&setting, station, &mut result)?;
            }
            *turn += 1;
        }
        Ok(result)
    }

    /// Why the device does not compute the feature, if so.
    fn not_offered(&self, metric: &'static dyn Metric) -> Result<Option<String>, Ending> {
        let feature = Feature::of_program(metric);
        let (width, height) = feature.min_size;
        let mut reason = String::new();
        for (chroma, depth) in kinds() {
            let format = FrameFormat::new(width.max(176), height.max(144), chroma, depth);
            let format = format.or_else(|error| fail(error.to_string()))?;
            match self.device.supports(&feature.request(), &format) {
                Ok(_) => return Ok(None),
                Err(error) if is_defect(error.status) => return Err(error.into()),
                Err(error) => {
                    let unknown = error.status == Status::NOT_FOUND;
                    reason = error.to_string();
                    if unknown {
                        break;
                    }
                }
            }
        }
        Ok(Some(reason))
    }

    fn station(
        &self,
        setting: &Setting,
        station: Station,
        result: &mut CellResult,
    ) -> Result<(), Ending> {
        let (format, request) = (station.format, &setting.request);
        let support = match self.device.supports(request, &format) {
            Ok(support) => support,
            Err(error) if is_defect(error.status) => return Err(error.into()),
            Err(error) => {
                result.refused += 1;
                let told = || format!("{}{}: {error}", setting.case(format), setting.told);
                result.refusal.get_or_insert_with(told);
                return Ok(());
            }
        };
        let case = setting.case(format);
        let clip = Clip::new(format);
        let requests = std::slice::from_ref(request);
        let expected = score_clip(&prepare(self.cpu, &case, requests)?, &clip)?;
        let extractor = prepare(self.device, &case, requests)?;
        let compare = |values: Result<Vec<Vec<Value>>, ApiError>, clip: &Clip, how: &str| {
            let how = format!("by this device{}, {how}", setting.told);
            match values {
                Ok(values) => compare(setting, &case, clip, [&expected, &values], &how),
                // A call that fails has no values, and none of them is as it should be.
                Err(error) => Tally {
                    differing: expected.iter().map(|values| values.len() as u64).sum(),
                    difference: Some(format!("{case}, {how}: a call failed: {error}")),
                    ..Tally::default()
                },
            }
        };
        let mut tallies = Vec::new();
        if station.in_order {
            let values = in_order(&extractor, &clip);
            tallies.push(compare(values, &clip, "with jobs in order"));
        }
        if station.in_disorder {
            let values = in_disorder(&extractor, &clip);
            tallies.push(compare(values, &clip, "with jobs in disorder"));
        }
        for tally in tallies {
            result.clips += 1;
            result.values += tally.values;
            result.differing += tally.differing;
            result.difference = result.difference.take().or(tally.difference);
        }
        let reads = support.memory_kinds.contains(MemoryKind::DEVICE_POINTER);
        let (true, true, Ok(memory)) = (station.imported, reads, self.memory()) else {
            return Ok(());
        };
        for (layout, how) in [
            (MemoryLayout::PACKED, "of frames in its memory, packed"),
            (MemoryLayout::SKEWED, "of frames in its memory, skewed"),
        ] {
            let placed = clip.with_frames(|frame| match frame {
                Frame::Host(host) => {
                    let placed = memory.place(self.device, host, layout)?;
                    let placed = Arc::new(Frame::from(placed));
                    extractor.admits(&placed)?;
                    Ok(placed)
                }
                _ => Err(ApiError::new(Status::INTERNAL, "clip", "it is elsewhere")),
            });
            let values = placed.and_then(|placed| in_order(&extractor, &placed));
            let tally = compare(values, &clip, how);
            result.clips += 1;
            result.imported_values += tally.values;
            result.imported_differing += tally.differing;
            result.difference = result.difference.take().or(tally.difference);
        }
        Ok(())
    }
}

/// The formats of a set of options: those that the feature's definition takes.
fn stations(grid: Grid, cell: &Cell, setting: &Setting, turn: usize) -> Vec<Station> {
    let mut all = sizes(setting.feature.min_size);
    all.push((
        setting.feature.min_size.0.max(176),
        setting.feature.min_size.1.max(144),
    ));
    let mut stations = Vec::new();
    let mut add = |size, kind, [in_order, in_disorder, imported]: [bool; 3]| {
        let Some(format) = format_of(cell, size, kind) else {
            return;
        };
        if setting.metric.check(&format, &setting.options).is_ok() {
            stations.push(Station {
                format,
                in_order,
                in_disorder,
                imported,
            });
        }
    };
    match grid {
        Grid::Full => {
            for &size in &all {
                kinds().for_each(|kind| add(size, kind, [true; 3]));
            }
        }
        Grid::Short => {
            for (place, kind) in kinds().enumerate() {
                let size = all[(place + place / all.len() + turn) % all.len()];
                let in_order = (place + turn).is_multiple_of(2);
                let imported = (place + turn).is_multiple_of(5);
                add(size, kind, [in_order, !in_order, imported]);
            }
            // Every depth meets a frame of many blocks, whoever's turn it is.
            let largest = all[all.len() - 1];
            for (chroma, depth) in kinds().filter(|(chroma, _)| *chroma == Chroma::Yuv420) {
                add(largest, (chroma, depth), [true, false, false]);
            }
        }
    }
    stations
}

/// A format of the size, or of the next larger one whose chroma is large enough for the cell.
fn format_of(
    cell: &Cell,
    (width, height): (u32, u32),
    (chroma, depth): (Chroma, u32),
) -> Option<FrameFormat> {
    let format = FrameFormat::new(width, height, chroma, depth).ok()?;
    if format.plane_count() < 2 {
        return Some(format);
    }
    let (side, size) = (cell.min_chroma_side, format.plane_size(1));
    let enough = |luma: u32, chroma: usize| match chroma < side as usize {
        // Chroma of half the size rounds up; of the full size there is no harm in more.
        true => luma.max(2 * side - 1),
        false => luma,
    };
    let (width, height) = (enough(width, size.width), enough(height, size.height));
    FrameFormat::new(width, height, chroma, depth).ok()
}

/// The values of a clip whose jobs are submitted ahead and collected in their order.
fn in_order(extractor: &Extractor, clip: &Clip) -> Result<Vec<Vec<Value>>, ApiError> {
    let ahead = extractor.in_flight().clamp(3, clip.len());
    let mut values = Vec::with_capacity(clip.len());
    let mut waiting = VecDeque::new();
    for at in 0..clip.len() {
        if waiting.len() == ahead {
            values.extend(waiting.pop_front().map(|ticket| collect(extractor, ticket)));
        }
        waiting.push_back(extractor.submit(&clip.job(at, extractor.history()))?);
    }
    values.extend(waiting.into_iter().map(|ticket| collect(extractor, ticket)));
    values.into_iter().collect()
}

/// The values of a clip whose jobs are all submitted in one order and collected in another.
fn in_disorder(extractor: &Extractor, clip: &Clip) -> Result<Vec<Vec<Value>>, ApiError> {
    let mut tickets = Vec::with_capacity(clip.len());
    for at in shuffled(clip.len()) {
        tickets.push((at, extractor.submit(&clip.job(at, extractor.history()))?));
    }
    tickets.sort_unstable_by_key(|(at, _)| (at * 3) % 8);
    let mut values = vec![Vec::new(); clip.len()];
    for (at, ticket) in tickets {
        values[at] = collect(extractor, ticket)?;
    }
    Ok(values)
}

/// A score by its key: the frame, or none for the clip as a whole.
type Keyed = (Option<u64>, String, u64);

/// The scores that a report would have of the values of a clip.
fn scores(setting: &Setting, case: &Case, values: &[Vec<Value>]) -> Vec<Keyed> {
    let mut stage = setting.metric.clip(&case.format, &setting.options);
    let names: Vec<_> = stage
        .scores()
        .iter()
        .map(|score| score.name.clone())
        .collect();
    let mut keyed: Vec<Keyed> = Vec::new();
    let mut emitted = Vec::new();
    for (frame, values) in (0..).zip(values) {
        stage.push(frame, values, &mut |emission| emitted.push(emission));
    }
    let aggregates = stage.finish(&mut |emission| emitted.push(emission));
    keyed.extend(emitted.into_iter().map(|emission| {
        let name = names.get(emission.score).cloned().unwrap_or_default();
        (Some(emission.frame), name, emission.value.to_bits())
    }));
    let aggregates = aggregates.into_iter();
    keyed.extend(aggregates.map(|all| (None, all.name, all.value.to_bits())));
    keyed
}

/// Compares columns and scores of a clip. A column that differs counts whether or not a score
/// shows it.
fn compare(
    setting: &Setting,
    case: &Case,
    clip: &Clip,
    [expected, values]: [&[Vec<Value>]; 2],
    how: &str,
) -> Tally {
    let columns = |values: &[Vec<Value>]| values.iter().map(Vec::len).collect::<Vec<_>>();
    if columns(expected) != columns(values) {
        return Tally {
            differing: expected.iter().map(|values| values.len() as u64).sum(),
            difference: Some(format!(
                "{case} has other columns {how}: {:?} values of the frames, not {:?}",
                columns(values),
                columns(expected)
            )),
            ..Tally::default()
        };
    }
    let frames = expected.iter().zip(values);
    let pairs = frames.flat_map(|(expected, values)| expected.iter().zip(values));
    let columns = pairs.filter(|(expected, value)| expected != value).count() as u64;
    let (right, mut found) = (
        scores(setting, case, expected),
        scores(setting, case, values),
    );
    let mut tally = Tally {
        values: right.len() as u64,
        ..Tally::default()
    };
    let mut missing = None;
    for score in &right {
        match found.iter().position(|other| other == score) {
            Some(place) => drop(found.swap_remove(place)),
            None => {
                tally.differing += 1;
                missing.get_or_insert(score);
            }
        }
    }
    // A score with another value is one that is missing and one too many.
    tally.differing = tally.differing.max(found.len() as u64).max(columns);
    if let Err(Ending::Failed(reason)) = same(case, &setting.request, clip, [expected, values], how)
    {
        tally.difference = Some(reason);
    } else if let Some((frame, name, _)) = missing {
        tally.difference = Some(format!("{case}, frame {frame:?}: `{name}` differs {how}"));
    }
    tally
}
