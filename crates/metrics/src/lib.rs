//! What each feature *is*: one module a metric, with its names, options, limits, constants,
//! scalar reference code and the order of every sum.
//!
//! A metric has three stages, and each is written once:
//!
//! 1. **Pixel part**: planes to accumulators. The scalar code here is the definition; a backend
//!    may have a faster one that gives the same bits.
//! 2. **Finish**: accumulators to the [`Column`]s of one frame. Every backend calls this code.
//! 3. **Clip**: columns of frame after frame, in order, to the scores of the report
//!    ([`Clip`]). Most metrics pass their columns through; motion looks at neighbours, psnr
//!    sums over the clip.
//!
//! [`Metric`] describes all of it; [`find`] and [`all`] list what is linked in.
//!
//! What must stay true: no vendor, no thread, no file is known here; arithmetic is integer or
//! IEEE-754 in the order written, with the functions of [`math`] and no other; [`vmafx_api`] is
//! the only other crate of the workspace in sight.

#![forbid(unsafe_code)]

mod clip;
mod definition;
mod options;
mod request;
mod text;

pub mod adm;
pub mod math;
pub mod mirror;
pub mod motion;
pub mod psnr;
pub mod vif;

pub use clip::{Aggregate, Clip, Emission, PassThrough, ScoreInfo};
pub use definition::{
    Column, Definition, Entry, Exactness, Metric, OptionInfo, OptionKind, Output, Planes, all,
    find, providing,
};
pub use options::{OptionError, Options, option_text};
pub use request::requested;
pub use text::format_g;

/// Why a metric cannot score a clip of some format.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The frame is smaller than the metric's smallest.
    #[error(
        "{feature} needs frames of at least {min_width}x{min_height}, these are {width}x{height}"
    )]
    TooSmall {
        /// Name of the feature.
        feature: &'static str,
        /// Frame width.
        width: u32,
        /// Frame height.
        height: u32,
        /// Smallest width.
        min_width: u32,
        /// Smallest height.
        min_height: u32,
    },
    /// Options that exclude one another, or exceed what the metric can compute with.
    #[error("{feature}: {reason}")]
    Settings {
        /// Name of the feature.
        feature: &'static str,
        /// Which options, their values, the limit.
        reason: String,
    },
}
