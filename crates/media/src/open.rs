//! From the words on a command line to sources: which kind an input is, and what two inputs must
//! have in common.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use vmafx_api::FrameFormat;

use crate::container::{self, PROBE};
use crate::error::{Differences, MediaError, excerpt};
use crate::input::Input;
use crate::raw::RawSource;
use crate::source::{Source, SourceInfo};
use crate::synth::{SynthSource, SynthSpec};
use crate::y4m::{MAGIC, Y4mSource};

/// An input as the user describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpec {
    /// A path to a file, FIFO or device; `-` or `/dev/stdin` for standard input; `synth:` and a
    /// [synthetic source](SynthSpec). A file of such a name is reached with `./` before it.
    pub input: OsString,
    /// How to read the input if it has no header; without it the input must be y4m.
    pub raw: Option<FrameFormat>,
    /// Reads interlaced y4m as whole frames instead of refusing it.
    pub interlaced_as_frames: bool,
}

impl SourceSpec {
    /// An input that tells its format itself.
    pub fn new(input: impl Into<OsString>) -> Self {
        SourceSpec {
            input: input.into(),
            raw: None,
            interlaced_as_frames: false,
        }
    }

    /// An input of raw frames of `format`.
    pub fn raw(input: impl Into<OsString>, format: FrameFormat) -> Self {
        SourceSpec {
            raw: Some(format),
            ..SourceSpec::new(input)
        }
    }

    fn is_stdin(&self) -> bool {
        let other_names = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        self.input == "-" || (cfg!(unix) && other_names.iter().any(|name| self.input == *name))
    }

    fn synth(&self) -> Option<&str> {
        let text = self.input.to_str()?;
        text.starts_with("synth:").then_some(text)
    }

    /// Whether opening or reading the input may wait for another process.
    fn waits(&self) -> bool {
        let stream = |m: Metadata| !m.is_file() && !m.is_dir();
        self.is_stdin() || (self.synth().is_none() && fs::metadata(&self.input).is_ok_and(stream))
    }
}

/// Opens one input. A FIFO waits for its writer, and for the header or the start of a frame.
///
/// # Errors
/// What [`Input`], [`Y4mSource::new`], [`RawSource::new`] and [`SynthSpec`] refuse.
pub fn open(spec: &SourceSpec) -> Result<Box<dyn Source>, MediaError> {
    if let Some(text) = spec.synth() {
        let synth: SynthSpec = text.parse()?;
        return match spec.raw {
            Some(given) if given != synth.format() => Err(MediaError::RawFormat {
                input: text.to_owned(),
                own: synth.format().to_string(),
                given,
            }),
            _ => Ok(Box::new(SynthSource::new(synth, text))),
        };
    }
    let mut input = if spec.is_stdin() {
        Input::from_stdin()?
    } else {
        Input::from_path(Path::new(&spec.input))?
    };
    if let Some(format) = spec.raw {
        return Ok(Box::new(RawSource::new(input, format)?));
    }

    let name = input.name().to_owned();
    let start = input.peek(MAGIC.len(), PROBE)?;
    if start.is_empty() {
        return Err(MediaError::NoFrames {
            input: name,
            what: "it is empty",
        });
    }
    if start.starts_with(MAGIC) {
        return Ok(Box::new(Y4mSource::new(input, spec.interlaced_as_frames)?));
    }
    Err(match container::identify(start) {
        Some(found) => MediaError::Container {
            input: name,
            container: found.name,
            remedy: found.remedy,
        },
        None => MediaError::Unrecognised {
            input: name,
            found: excerpt(&start[..start.len().min(16)]),
        },
    })
}

/// The reference and the distorted input of a comparison.
pub type SourcePair = (Box<dyn Source>, Box<dyn Source>);

/// Opens both inputs of a comparison, at the same time: a producer that feeds two FIFOs may open
/// them in either order. Their frames must then come in turn, or as far apart as the pipes hold.
///
/// # Errors
/// As [`open`]; both inputs on standard input, or on one pipe. If one input fails while the other
/// still waits for its writer, the error is returned at once.
pub fn open_pair(reference: &SourceSpec, distorted: &SourceSpec) -> Result<SourcePair, MediaError> {
    let names = || [&reference.input, &distorted.input].map(|n| n.to_string_lossy().into_owned());
    if reference.is_stdin() && distorted.is_stdin() {
        let [reference, distorted] = names();
        return Err(MediaError::TwoStdin {
            reference,
            distorted,
        });
    }
    if same_pipe(&reference.input, &distorted.input) {
        let [reference, distorted] = names();
        return Err(MediaError::SamePipe {
            reference,
            distorted,
        });
    }
    match (reference.waits(), distorted.waits()) {
        (true, true) => open_together(reference, distorted),
        // The input that cannot wait first: if it fails, nobody waits for the other in vain.
        (true, false) => {
            let distorted = open(distorted)?;
            Ok((open(reference)?, distorted))
        }
        _ => Ok((open(reference)?, open(distorted)?)),
    }
}

fn open_together(reference: &SourceSpec, distorted: &SourceSpec) -> Result<SourcePair, MediaError> {
    // Threads, because opening a FIFO cannot be interrupted; one that still waits when the other
    // input has failed is left behind.
    let (sender, receiver) = mpsc::channel();
    for (index, spec) in [reference, distorted].into_iter().enumerate() {
        let (sender, spec) = (sender.clone(), spec.clone());
        thread::spawn(move || sender.send((index, open(&spec))));
    }
    drop(sender);
    let mut sources = [None, None];
    for _ in 0..2 {
        let (index, source) = receiver
            .recv()
            .expect("each of the two threads sends one source");
        sources[index] = Some(source?);
    }
    match sources {
        [Some(reference), Some(distorted)] => Ok((reference, distorted)),
        _ => unreachable!("each thread sends under its own index"),
    }
}

#[cfg(unix)]
fn same_pipe(a: &OsStr, b: &OsStr) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let identity = |input: &OsStr| {
        let path = if input == "-" {
            OsStr::new("/dev/stdin")
        } else {
            input
        };
        let metadata = fs::metadata(path).ok()?;
        let once = metadata.file_type().is_fifo() || metadata.file_type().is_socket();
        once.then(|| (metadata.dev(), metadata.ino()))
    };
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

#[cfg(not(unix))]
fn same_pipe(a: &OsStr, b: &OsStr) -> bool {
    let pipe = |input: &OsStr| input.to_str().is_some_and(|t| t.starts_with(r"\\.\pipe\"));
    pipe(a) && a == b
}

/// What two inputs differ in without keeping them from being compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairWarning {
    /// One file has more frames.
    Length {
        /// Frames of the reference.
        reference: u64,
        /// Frames of the distorted input.
        distorted: u64,
    },
    /// One is tagged limited range, the other full range.
    Range {
        /// The reference's range.
        reference: crate::ColourRange,
        /// The distorted input's range.
        distorted: crate::ColourRange,
    },
    /// The frame rates differ.
    FrameRate {
        /// Numerator and denominator of the reference.
        reference: (u32, u32),
        /// Numerator and denominator of the distorted input.
        distorted: (u32, u32),
    },
}

impl std::fmt::Display for PairWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PairWarning::Length {
                reference: r,
                distorted: d,
            } => write!(f, "the reference has {r} frames, the distorted input {d}"),
            PairWarning::Range {
                reference: r,
                distorted: d,
            } => write!(
                f,
                "the reference is tagged {r} range, the distorted input {d}; samples are compared \
                 as they are"
            ),
            PairWarning::FrameRate {
                reference: (rn, rd),
                distorted: (dn, dd),
            } => write!(
                f,
                "the reference has {rn}:{rd} frames per second, the distorted input {dn}:{dd}; \
                 frames are paired by number"
            ),
        }
    }
}

/// Checks that two sources can be compared, and tells what they differ in otherwise.
///
/// # Errors
/// Different size, chroma layout or depth: all of these in one message.
pub fn check_pair(
    reference: &SourceInfo,
    distorted: &SourceInfo,
) -> Result<Vec<PairWarning>, MediaError> {
    if reference.format != distorted.format {
        return Err(MediaError::Mismatch {
            reference: reference.name.clone(),
            distorted: distorted.name.clone(),
            differences: Differences {
                reference: reference.format,
                distorted: distorted.format,
            },
        });
    }
    let mut warnings = Vec::new();
    if let (Some(r), Some(d)) = (reference.frames, distorted.frames)
        && r != d
    {
        warnings.push(PairWarning::Length {
            reference: r,
            distorted: d,
        });
    }
    if let (Some(r), Some(d)) = (reference.colour_range, distorted.colour_range)
        && r != d
    {
        warnings.push(PairWarning::Range {
            reference: r,
            distorted: d,
        });
    }
    if let (Some(r), Some(d)) = (reference.frame_rate, distorted.frame_rate)
        && u64::from(r.0) * u64::from(d.1) != u64::from(d.0) * u64::from(r.1)
    {
        warnings.push(PairWarning::FrameRate {
            reference: r,
            distorted: d,
        });
    }
    Ok(warnings)
}
