//! Where frames come from: y4m and raw files, pipes, and clips made by formula; and where they go
//! for other programs to read, y4m files.
//!
//! [`open`] turns a [`SourceSpec`] into a [`Source`]; [`open_pair`] opens the two inputs of a
//! comparison and [`check_pair`] tells whether they fit together. A source fills one
//! [`HostFrame`](vmafx_api::HostFrame) after another, of whatever pool the caller has, and
//! [`SourceInfo`] says what it took the input for. [`Y4mWriter`] writes frames.
//!
//! ```
//! use vmafx_api::HostFrame;
//! use vmafx_media::{SourceSpec, open};
//!
//! let mut source = open(&SourceSpec::new("synth:tex,size=64x36,frames=2"))?;
//! let mut frame = HostFrame::new(source.format());
//! let mut frames = 0;
//! while source.read(&mut frame)? {
//!     frames += 1;
//! }
//! assert_eq!(frames, 2);
//! # Ok::<(), vmafx_media::MediaError>(())
//! ```
//!
//! What must stay true: readers never convert, filter or guess; the same samples give the same
//! frames from y4m, from raw and through a pipe; an input that cannot be read exactly is an
//! error that names the input, the place and the value.

#![forbid(unsafe_code)]

pub mod clips;
mod container;
mod error;
mod frame_reader;
mod input;
mod open;
mod raw;
mod source;
mod synth;
#[cfg(test)]
mod tests;
mod y4m;

pub use error::{Differences, MediaError};
pub use input::Input;
pub use open::{PairWarning, SourcePair, SourceSpec, check_pair, open, open_pair};
pub use raw::RawSource;
pub use source::{ColourRange, Interlace, Source, SourceInfo, SourceKind, luma};
pub use synth::{SynthSource, SynthSpec};
pub use y4m::{MAX_LINE, Y4mSource, Y4mWriter};
