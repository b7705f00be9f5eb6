//! The cells: features of this program, each with the options that change what a kernel does,
//! that a device computes as the CPU does, bit for bit.
//!
//! [`CELLS`] is the one list of them. A cell whose feature this program does not have yet is
//! *to come*: it is named in every report, and becomes live with the feature. What must stay
//! true: no cell is left out of a report, whatever a device offers; what counts as compared was
//! compared by every bit.

use std::fmt;

use serde::{Deserialize, Serialize};
use vmafx_api::loader::one_line;
use vmafx_api::{ApiError, Device, DeviceFrame, HostFrame};

/// Options by full name, in the text form of a command line.
pub type OptionTexts = &'static [(&'static str, &'static str)];

/// A feature with the options under which it is one cell.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Cell {
    /// Its name.
    pub name: &'static str,
    /// The feature.
    pub feature: &'static str,
    /// Options that are not at their defaults in all of the cell.
    pub options: OptionTexts,
    /// Smallest width and height of the chroma planes, where there are any; 0 for what the
    /// feature itself demands.
    pub min_chroma_side: u32,
    /// Options that change the pixel part, tried one set after another on top of `options`.
    pub variations: &'static [OptionTexts],
}

const fn cell(name: &'static str, feature: &'static str, options: OptionTexts) -> Cell {
    Cell {
        name,
        feature,
        options,
        min_chroma_side: 0,
        variations: &[],
    }
}

/// A cell of a feature at its defaults.
const fn plain(name: &'static str) -> Cell {
    cell(name, name, &[])
}

const fn varied(name: &'static str, variations: &'static [OptionTexts]) -> Cell {
    Cell {
        variations,
        ..plain(name)
    }
}

const ADM: &[OptionTexts] = &[
    &[("debug", "true")],
    &[("adm_enhn_gain_limit", "1")],
    &[("adm_skip_aim", "true")],
    &[("adm_skip_scale0", "true")],
    &[("adm_noise_weight", "2.5")],
    &[
        ("adm_csf_mode", "0"),
        ("adm_norm_view_dist", "1.5"),
        ("adm_ref_display_height", "2160"),
        ("debug", "true"),
    ],
    &[
        ("adm_csf_mode", "1"),
        ("adm_csf_scale", "0.5"),
        ("adm_csf_diag_scale", "2"),
        ("debug", "true"),
    ],
    &[("adm_csf_mode", "2"), ("adm_norm_view_dist", "5")],
    &[
        ("adm_csf_mode", "3"),
        ("adm_norm_view_dist", "3"),
        ("adm_ref_display_height", "2160"),
        ("adm_enhn_gain_limit", "1"),
    ],
];

const VIF: &[OptionTexts] = &[
    &[("debug", "true")],
    &[("vif_enhn_gain_limit", "1"), ("debug", "true")],
    &[("vif_skip_scale0", "true")],
];

const PSNR: &[OptionTexts] = &[
    &[("enable_chroma", "false")],
    &[("enable_mse", "true")],
    &[("enable_apsnr", "true")],
];

const MOTION: &[OptionTexts] = &[
    &[("motion_force_zero", "true")],
    &[("motion_fps_weight", "1.5")],
    &[("motion_max_val", "3.25")],
    &[("motion_moving_average", "true")],
];

const FIVE_FRAMES: OptionTexts = &[
    ("motion_five_frame_window", "true"),
    ("motion_moving_average", "true"),
];

const LCS: OptionTexts = &[("enable_lcs", "true")];

/// Every cell, in the order of its name.
pub static CELLS: [Cell; 24] = [
    varied("adm", ADM),
    plain("cambi"),
    plain("float_adm"),
    plain("float_moment"),
    plain("float_motion"),
    plain("float_ms_ssim"),
    Cell {
        min_chroma_side: 176,
        ..cell(
            "float_ms_ssim_chroma",
            "float_ms_ssim",
            &[("enable_chroma", "true")],
        )
    },
    cell("float_ms_ssim_lcs", "float_ms_ssim", LCS),
    plain("float_psnr"),
    plain("float_ssim"),
    cell("float_ssim_lcs", "float_ssim", LCS),
    plain("float_vif"),
    varied("motion", MOTION),
    cell("motion_debug", "motion", &[("debug", "true")]),
    cell("motion_mffw", "motion", FIVE_FRAMES),
    varied("motion_v2", MOTION),
    cell("motion_v2_mffw", "motion_v2", FIVE_FRAMES),
    varied("psnr", PSNR),
    plain("psnr_hvs"),
    plain("speed_chroma"),
    plain("speed_temporal"),
    plain("ssim"),
    plain("ssimulacra2"),
    varied("vif", VIF),
];

/// How much of the cells is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grid {
    /// Every cell with every set of options at every depth and layout, the sizes by turns.
    #[default]
    Short,
    /// All of that at every size, with the jobs in order and in disorder.
    Full,
}

/// How the planes of a frame lie in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryLayout {
    /// Samples before the first row of each plane.
    pub offset: usize,
    /// Samples between the end of a row and the next row.
    pub padding: usize,
}

impl MemoryLayout {
    /// Rows and planes without a gap.
    pub const PACKED: MemoryLayout = MemoryLayout {
        offset: 0,
        padding: 0,
    };
    /// Rows that begin at odd places, and a pitch that is a multiple of nothing.
    pub const SKEWED: MemoryLayout = MemoryLayout {
        offset: 3,
        padding: 37,
    };
}

/// A device's memory, for a suite that compares frames that are in it. A caller has one where it
/// can allocate such memory: the suite itself speaks to backends through their own interface and
/// to no runtime.
pub trait DeviceMemory: Send + Sync {
    /// Puts the samples of `frame` into memory of `device`, laid out as `layout` says, and has
    /// the device take that in as DEVICE_POINTER without a copy. The memory must stay valid
    /// until the answer is dropped; where samples lie between rows, let them hold noise, so that
    /// a kernel that reads them is found out.
    ///
    /// # Errors
    /// No memory, or a device that does not take the frame in.
    fn place(
        &self,
        device: &Device,
        frame: &HostFrame,
        layout: MemoryLayout,
    ) -> Result<DeviceFrame, ApiError>;
}

/// Whether a cell could be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CellState {
    /// It was.
    Compared,
    /// This program does not have the feature yet.
    ToCome,
    /// The device does not compute the feature, with its reason.
    NotOffered(String),
}

/// What came of one cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CellResult {
    /// Name of the cell.
    pub name: String,
    /// Whether it could be compared.
    #[serde(flatten)]
    pub state: CellState,
    /// Clips compared: sets of options, formats and orders.
    pub clips: u64,
    /// Scores of single frames and of clips that were compared, by key, of frames in host memory.
    pub values: u64,
    /// Those that are otherwise by a bit, or there on one side only.
    pub differing: u64,
    /// As `values`, of frames in the device's memory.
    pub imported_values: u64,
    /// As `differing`, of frames in the device's memory.
    pub imported_differing: u64,
    /// Clips that the feature's definition takes and the device does not.
    pub refused: u64,
    /// The reason of the first of them.
    pub refusal: Option<String>,
    /// The first difference or failed call.
    pub difference: Option<String>,
}

impl CellResult {
    pub(crate) fn new(cell: &Cell, state: CellState) -> Self {
        CellResult {
            name: cell.name.to_owned(),
            state,
            clips: 0,
            values: 0,
            differing: 0,
            imported_values: 0,
            imported_differing: 0,
            refused: 0,
            refusal: None,
            difference: None,
        }
    }
}

/// What came of all cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CellsReport {
    /// Each cell, in the order of [`CELLS`].
    pub cells: Vec<CellResult>,
    /// Why no frames in the device's memory were compared; `None` if there were.
    pub imported_not_tried: Option<String>,
}

impl CellsReport {
    /// Cells that were compared.
    pub fn compared(&self) -> impl Iterator<Item = &CellResult> {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.state == CellState::Compared)
    }

    /// Cells whose features this program does not have yet.
    pub fn to_come(&self) -> impl Iterator<Item = &CellResult> {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.state == CellState::ToCome)
    }

    /// Cells that the device does not offer.
    pub fn not_offered(&self) -> impl Iterator<Item = &CellResult> {
        let cells = self.cells.iter();
        cells.filter(|cell| matches!(cell.state, CellState::NotOffered(_)))
    }

    /// Values compared, of frames in host memory and in the device's.
    pub fn values(&self) -> u64 {
        let values = self.cells.iter();
        values.map(|cell| cell.values + cell.imported_values).sum()
    }

    /// Those that differ.
    pub fn differing(&self) -> u64 {
        let cells = self.cells.iter();
        cells
            .map(|cell| cell.differing + cell.imported_differing)
            .sum()
    }

    /// The first difference or failed call of any cell.
    pub fn difference(&self) -> Option<&str> {
        let mut cells = self.cells.iter();
        cells.find_map(|cell| cell.difference.as_deref())
    }
}

/// A few lines: how many cells were compared, and which were not, with the reasons.
impl fmt::Display for CellsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |cells: Vec<&CellResult>| {
            let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
            names.join(", ")
        };
        let all = self.cells.len();
        let compared: Vec<_> = self.compared().collect();
        let clips: u64 = compared.iter().map(|cell| cell.clips).sum();
        write!(
            f,
            "cells {} of {all} compared: {clips} clips, {} values, {} differing",
            compared.len(),
            self.values(),
            self.differing()
        )?;
        for cell in &compared {
            let CellResult {
                name,
                clips,
                values,
                differing,
                ..
            } = cell;
            write!(
                f,
                "\n  {name}: {clips} clips, {values} values, {differing} differing"
            )?;
            if cell.imported_values > 0 {
                let (values, differing) = (cell.imported_values, cell.imported_differing);
                write!(
                    f,
                    "; of imported frames {values} values, {differing} differing"
                )?;
            }
            if let Some(reason) = &cell.refusal {
                let reason = one_line(reason);
                write!(f, "; {} clips refused, the first: {reason}", cell.refused)?;
            }
        }
        let to_come: Vec<_> = self.to_come().collect();
        if !to_come.is_empty() {
            write!(f, "\n  {} to come: {}", to_come.len(), names(to_come))?;
        }
        let not_offered: Vec<_> = self.not_offered().collect();
        if !not_offered.is_empty() {
            let (count, names) = (not_offered.len(), names(not_offered));
            write!(f, "\n  {count} not offered by the device: {names}")?;
        }
        match &self.imported_not_tried {
            Some(reason) => write!(f, "\n  imported frames not tried: {}", one_line(reason)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmafx_api::{Chroma, FrameFormat};
    use vmafx_metrics::Options;

    #[test]
    fn cells_are_in_order_and_named_once() {
        let names: Vec<_> = CELLS.iter().map(|cell| cell.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), 24);
    }

    /// A set of options that the definition refuses would never be compared.
    #[test]
    fn every_set_of_options_of_a_live_cell_is_legal() {
        let format = FrameFormat::new(64, 64, Chroma::Yuv420, 8).unwrap();
        let mut live = 0;
        for cell in &CELLS {
            let Some(metric) = vmafx_metrics::find(cell.feature) else {
                continue;
            };
            live += 1;
            for extra in [&[] as OptionTexts].iter().chain(cell.variations) {
                let mut options = Options::defaults(metric.definition());
                for (name, text) in cell.options.iter().chain(*extra) {
                    options.set_text(name, text).unwrap();
                }
                metric.check(&format, &options).unwrap();
            }
        }
        assert!(live >= 8, "{live} cells are live");
    }

    #[test]
    fn a_report_names_every_cell() {
        let mut report = CellsReport {
            cells: CELLS
                .iter()
                .map(|cell| CellResult::new(cell, CellState::ToCome))
                .collect(),
            imported_not_tried: Some("the caller gives no device memory".to_owned()),
        };
        report.cells[0].state = CellState::Compared;
        (report.cells[0].clips, report.cells[0].values) = (2, 112);
        (
            report.cells[0].imported_values,
            report.cells[0].imported_differing,
        ) = (8, 3);
        (report.cells[0].refused, report.cells[0].refusal) = (1, Some("no\n16 bits".to_owned()));
        report.cells[23].state = CellState::NotOffered("not here".to_owned());
        let text = report.to_string();
        assert_eq!(
            text.lines().take(2).collect::<Vec<_>>(),
            [
                "cells 1 of 24 compared: 2 clips, 120 values, 3 differing",
                "  adm: 2 clips, 112 values, 0 differing; of imported frames 8 values, 3 \
                 differing; 1 clips refused, the first: no\\u{a}16 bits",
            ]
        );
        for cell in &CELLS {
            assert!(text.contains(cell.name), "{}", cell.name);
        }
        assert!(text.contains("\n  1 not offered by the device: vif\n  imported frames not tried"));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["cells"][23]["state"], "not-offered");
        assert_eq!(json["cells"][23]["reason"], "not here");
        let back: CellsReport = serde_json::from_value(json).unwrap();
        assert_eq!(back, report);
    }
}
