//! Inputs as the operating system has them: files, directories, pipes, standard input's names.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;

use vmafx_api::{Chroma, FrameFormat, HostFrame};

use crate::{
    ColourRange, Input, MediaError, PairWarning, RawSource, Source, SourceKind, SourceSpec,
    check_pair, luma, open, open_pair,
};

fn grey(width: u32, height: u32) -> FrameFormat {
    FrameFormat::new(width, height, Chroma::Yuv400, 8).unwrap()
}

fn samples(source: &mut dyn Source) -> Result<Vec<u8>, MediaError> {
    let mut frame = HostFrame::new(source.format());
    let mut bytes = Vec::new();
    while source.read(&mut frame)? {
        bytes.extend_from_slice(frame.bytes_mut());
    }
    Ok(bytes)
}

fn refusal(spec: &SourceSpec) -> String {
    open(spec).err().unwrap().to_string()
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn raw_file_of_whole_frames() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "a.yuv", b"abcdefghij");
    let mut source = open(&SourceSpec::raw(&path, grey(2, 1))).unwrap();
    let info = source.describe();
    assert_eq!((info.kind, info.frames), (SourceKind::Raw, Some(5)));
    assert_eq!(info.assumed(), "raw 2x1 4:0:0 8-bit");
    source.skip(2).unwrap();
    assert_eq!(samples(source.as_mut()).unwrap(), b"efghij");

    let mut source = open(&SourceSpec::raw(&path, grey(2, 1))).unwrap();
    let error = source.skip(6).unwrap_err().to_string();
    assert!(error.ends_with("a.yuv: it has 5"), "{error}");

    let text = refusal(&SourceSpec::raw(&path, grey(2, 2)));
    assert!(
        text.contains("a.yuv has 10 bytes, which is not a whole number of 2x2 4:0:0 8-bit frames of 4 bytes (2 frames and 2 bytes over)"),
        "{text}"
    );
    let text = refusal(&SourceSpec::raw(&path, grey(11, 1)));
    assert!(text.contains("(0 frames and 10 bytes over)"), "{text}");
}

#[test]
fn file_that_shrinks_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "a.yuv", &[16; 300_000]);
    let mut source = open(&SourceSpec::raw(&path, grey(1000, 100))).unwrap();
    let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.set_len(200_000).unwrap();
    let error = samples(source.as_mut()).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "within frame 2: its samples start at byte 200000 and take 100000 bytes, 0 are there"
        ),
        "{error}"
    );
}

#[test]
fn no_frames() {
    let folder = tempfile::tempdir().unwrap();
    let empty = file(folder.path(), "empty", b"");
    let text = format!("no frames in {}: it is empty", empty.display());
    assert_eq!(refusal(&SourceSpec::new(&empty)), text);
    assert_eq!(refusal(&SourceSpec::raw(&empty, grey(1, 1))), text);
    let header = file(folder.path(), "h.y4m", b"YUV4MPEG2 W1 H1\n");
    assert!(refusal(&SourceSpec::new(header)).ends_with("h.y4m: it ends after its y4m header"));
    let text = refusal(&SourceSpec::new(folder.path()));
    assert!(
        text.starts_with("no frames in ") && text.contains("it is a directory"),
        "{text}"
    );
    let text = refusal(&SourceSpec::raw(folder.path(), grey(1, 1)));
    assert!(text.contains("it is a directory"), "{text}");
    let text = refusal(&SourceSpec::new(folder.path().join("missing.y4m")));
    assert!(
        text.starts_with("cannot open ") && text.contains("missing.y4m: "),
        "{text}"
    );
}

#[test]
fn header_of_gigabytes_without_samples() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = b"YUV4MPEG2 W32768 H32768 C444p16\nFRAME\nabc";
    let path = file(folder.path(), "big.y4m", bytes);
    let text = refusal(&SourceSpec::new(path));
    assert!(
        text.ends_with("big.y4m ends within frame 0: its samples start at byte 38 and take 6442450944 bytes, 3 are there"),
        "{text}"
    );
}

#[test]
fn containers_and_unknown_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        folder.path(),
        "a.mp4",
        b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2",
    );
    for spec in [SourceSpec::new(&path), SourceSpec::raw(&path, grey(24, 1))] {
        let text = refusal(&spec);
        assert!(
            text.contains("a.mp4 is an MP4, MOV or HEIF file, not plain frames"),
            "{text}"
        );
    }
    let path = file(folder.path(), "a.y4m", b"YUV4MPEG2 W1 H1 Cmono\nFRAME\n.");
    let text = refusal(&SourceSpec::raw(&path, grey(1, 1)));
    assert!(
        text.contains("is a y4m file, not plain frames; leave width, height"),
        "{text}"
    );
    let path = file(folder.path(), "a.yuv", &[16; 100]);
    let text = refusal(&SourceSpec::new(&path));
    assert!(
        text.contains("a.yuv is not a y4m file") && text.contains("for raw video give"),
        "{text}"
    );
}

#[test]
fn y4m_file_tells_its_frames() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        folder.path(),
        "a.y4m",
        b"YUV4MPEG2 W1 H1 Cmono\nFRAME\naFRAME\nbFRAME\nc",
    );
    let mut source = open(&SourceSpec::new(&path)).unwrap();
    assert_eq!(source.describe().frames, Some(3));
    source.skip(1).unwrap();
    assert_eq!(samples(source.as_mut()).unwrap(), b"bc");
    let path = file(
        folder.path(),
        "b.y4m",
        b"YUV4MPEG2 W1 H1 Cmono\nFRAME Ipabcd\na", // as long as two plain frames
    );
    let mut source = open(&SourceSpec::new(&path)).unwrap();
    assert_eq!(source.describe().frames, None);
    assert_eq!(samples(source.as_mut()).unwrap(), b"a");
}

/// A reader that gives one byte at a time and is interrupted now and then.
struct Trickle(io::Cursor<Vec<u8>>, u32);

impl Read for Trickle {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let end = buf.len().min(1);
        self.0.read(&mut buf[..end])
    }
}

#[test]
fn streams_are_read_as_files_are() {
    let trickle =
        |bytes: &[u8]| Input::from_reader("pipe", Trickle(io::Cursor::new(bytes.to_vec()), 0));
    let y4m = b"YUV4MPEG2 W2 H1 Cmono\nFRAME x\nabFRAME\ncdFRAME\nef";
    let mut source = crate::Y4mSource::new(trickle(y4m), false).unwrap();
    source.skip(1).unwrap();
    assert_eq!(samples(&mut source).unwrap(), b"cdef");

    let mut source = RawSource::new(trickle(b"abcdef"), grey(2, 1)).unwrap();
    source.skip(1).unwrap();
    assert_eq!(samples(&mut source).unwrap(), b"cdef");
    let mut source = RawSource::new(trickle(b"abcde"), grey(2, 1)).unwrap();
    let error = samples(&mut source).unwrap_err().to_string();
    assert_eq!(
        error,
        "pipe ends within frame 2: its samples start at byte 4 and take 2 bytes, 1 are there"
    );
    let mut source = RawSource::new(trickle(b""), grey(2, 1)).unwrap();
    let error = samples(&mut source).unwrap_err().to_string();
    assert_eq!(error, "no frames in pipe: it is empty");
}

#[test]
fn pipe_is_not_waited_for_beyond_its_first_frame() {
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(b"ab").unwrap();
    let mut source = RawSource::new(Input::from_reader("pipe", reader), grey(2, 1)).unwrap();
    let mut frame = HostFrame::new(source.format());
    assert!(source.read(&mut frame).unwrap());
    assert_eq!(frame.bytes_mut(), b"ab");
    drop(writer);
    assert!(!source.read(&mut frame).unwrap());
}

/// A frame without chroma takes the luma of every kind of source, and a frame counts only if its
/// chroma is there as well.
#[test]
fn luma_alone() {
    let folder = tempfile::tempdir().unwrap();
    let format = FrameFormat::new(3, 2, Chroma::Yuv420, 8).unwrap();
    let lumas = |source: &mut dyn Source| {
        let mut frame = HostFrame::new(luma(&source.format()));
        let mut bytes = Vec::new();
        while source.read(&mut frame)? {
            bytes.extend_from_slice(frame.bytes_mut());
        }
        Ok::<_, MediaError>(bytes)
    };
    let raw = b"abcdef....ghijkl....";
    let y4m = b"YUV4MPEG2 W3 H2 C420\nFRAME\nabcdef....FRAME x\nghijkl....";
    let path = file(folder.path(), "a.yuv", raw);
    let mut source = open(&SourceSpec::raw(path, format)).unwrap();
    assert_eq!(lumas(source.as_mut()).unwrap(), b"abcdefghijkl");
    let path = file(folder.path(), "a.y4m", y4m);
    let mut source = open(&SourceSpec::new(path)).unwrap();
    assert_eq!(lumas(source.as_mut()).unwrap(), b"abcdefghijkl");

    let trickle =
        |bytes: &[u8]| Input::from_reader("pipe", Trickle(io::Cursor::new(bytes.to_vec()), 0));
    let mut source = crate::Y4mSource::new(trickle(y4m), false).unwrap();
    assert_eq!(lumas(&mut source).unwrap(), b"abcdefghijkl");
    let mut source = RawSource::new(trickle(&raw[..19]), format).unwrap();
    let text = lumas(&mut source).unwrap_err().to_string();
    assert!(
        text.ends_with("frame 1: its samples start at byte 10 and take 10 bytes, 9 are there"),
        "{text}"
    );
    let mut source = crate::Y4mSource::new(trickle(&y4m[..y4m.len() - 4]), false).unwrap();
    let text = lumas(&mut source).unwrap_err().to_string();
    assert!(text.ends_with("10 bytes, 6 are there"), "{text}");

    let spec = SourceSpec::new("synth:tex,size=5x3,depth=10,chroma=444,frames=2");
    let whole = samples(open(&spec).unwrap().as_mut()).unwrap();
    let frames = whole.chunks(5 * 3 * 3 * 2);
    let wanted: Vec<u8> = frames
        .flat_map(|frame| &frame[..5 * 3 * 2])
        .copied()
        .collect();
    assert_eq!(lumas(open(&spec).unwrap().as_mut()).unwrap(), wanted);
}

#[test]
fn buffer_of_another_format_is_refused() {
    let mut source = open(&SourceSpec::new("synth:black,size=4x4,chroma=400")).unwrap();
    let mut frame = HostFrame::new(grey(4, 5));
    let text = source.read(&mut frame).unwrap_err().to_string();
    assert!(
        text.contains("are 4x4 4:0:0 8-bit, the buffer to read into is 4x5"),
        "{text}"
    );
}

#[test]
fn raw_format_is_not_for_synthetic_sources() {
    let mut spec = SourceSpec::raw("synth:black,size=4x4,chroma=400", grey(4, 4));
    assert!(open(&spec).is_ok());
    spec.raw = Some(grey(4, 5));
    assert!(refusal(&spec).contains("is 4x4 4:0:0 8-bit by itself; the raw format 4x5"));
}

#[test]
fn one_standard_input_at_most() {
    let names: &[&str] = if cfg!(unix) {
        &["-", "/dev/stdin", "/dev/fd/0"]
    } else {
        &["-"]
    };
    for name in names {
        let text = open_pair(&SourceSpec::new("-"), &SourceSpec::new(name))
            .err()
            .unwrap();
        assert!(
            text.to_string()
                .ends_with("are both standard input; only one can be"),
            "{text}"
        );
    }
}

#[test]
fn pairs_that_do_not_fit_are_listed() {
    let info = |text: &str| open(&SourceSpec::new(text)).unwrap().describe().clone();
    let a = info("synth:tex,size=64x48,frames=4");
    let error = check_pair(&a, &info("synth:tex,size=64x49,chroma=422,depth=10")).unwrap_err();
    assert!(
        error.to_string().ends_with(
            "do not match: size 64x48 and 64x49, chroma 4:2:0 and 4:2:2, depth 8 and 10 bits"
        ),
        "{error}"
    );
    assert!(check_pair(&a, &a).unwrap().is_empty());
    let mut b = info("synth:tex,size=64x48,frames=5");
    let length = PairWarning::Length {
        reference: 4,
        distorted: 5,
    };
    assert_eq!(check_pair(&a, &b).unwrap(), [length]);
    let mut a = a;
    (a.colour_range, b.colour_range) = (Some(ColourRange::Full), Some(ColourRange::Limited));
    (a.frame_rate, b.frame_rate) = (Some((30, 1)), Some((60, 2)));
    assert_eq!(check_pair(&a, &b).unwrap().len(), 2);
    b.frame_rate = Some((60, 1));
    assert_eq!(check_pair(&a, &b).unwrap().len(), 3);
}

#[cfg(unix)]
mod fifo {
    use super::*;
    use std::process::Command;

    fn make(folder: &Path, name: &str) -> std::path::PathBuf {
        let path = folder.join(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    const CLIP: &[u8] = b"YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME\ncd";

    /// A producer may open the distorted FIFO before the reference.
    #[test]
    fn two_fifos_in_either_order() {
        let folder = tempfile::tempdir().unwrap();
        for order in [[0, 1], [1, 0]] {
            let paths = [0, 1].map(|i| make(folder.path(), &format!("{i}{order:?}")));
            let producer = {
                let paths = paths.clone();
                thread::spawn(move || {
                    let mut writers = order.map(|i| fs::File::create(&paths[i]).unwrap());
                    for writer in &mut writers {
                        writer.write_all(CLIP).unwrap();
                    }
                })
            };
            let [r, d] = paths.map(SourceSpec::new);
            let (mut reference, mut distorted) = open_pair(&r, &d).unwrap();
            assert_eq!(samples(reference.as_mut()).unwrap(), b"abcd");
            assert_eq!(samples(distorted.as_mut()).unwrap(), b"abcd");
            producer.join().unwrap();
        }
    }

    #[test]
    fn one_fifo_for_both_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = make(folder.path(), "one");
        let other_name = folder.path().join("./one");
        let error = open_pair(&SourceSpec::new(path), &SourceSpec::new(other_name))
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("are one and the same pipe"),
            "{error}"
        );
    }

    /// A missing file is told at once, though nobody ever writes to the FIFO.
    #[test]
    fn failure_does_not_wait_for_the_other_fifo() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = SourceSpec::new(make(folder.path(), "fifo"));
        let missing = SourceSpec::new(folder.path().join("missing"));
        let broken = SourceSpec::new(file(folder.path(), "broken", b"rubbish and more rubbish"));
        for bad in [&missing, &broken] {
            assert!(open_pair(&fifo, bad).is_err());
            assert!(open_pair(bad, &fifo).is_err());
        }
    }
}
