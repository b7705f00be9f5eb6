//! Headers in use, framing, damage.

use std::io::Cursor;

use proptest::prelude::*;
use vmafx_api::{Chroma, FrameFormat};

use super::*;
use crate::{ColourRange, Interlace, RawSource};

fn source(bytes: impl Into<Vec<u8>>) -> Result<Y4mSource, MediaError> {
    Y4mSource::new(
        Input::from_reader("x.y4m", Cursor::new(bytes.into())),
        false,
    )
}

fn info(header: &str) -> SourceInfo {
    source(format!("{header}\n")).unwrap().reader.info
}

fn refusal(header: &str) -> String {
    let error = source(format!("{header}\n")).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("x.y4m"), "{text}");
    text
}

/// All frames of a source, as the bytes of a raw file.
fn samples(source: &mut dyn Source) -> Result<Vec<u8>, MediaError> {
    let mut frame = HostFrame::new(source.format());
    let mut bytes = Vec::new();
    while source.read(&mut frame)? {
        bytes.extend_from_slice(frame.bytes_mut());
    }
    Ok(bytes)
}

/// `frames` frames of distinct bytes, none of a sample too large for its depth.
fn raw_bytes(format: &FrameFormat, frames: usize) -> Vec<u8> {
    let high = (format.peak() >> 8) as usize;
    (0..frames * format.frame_bytes())
        .map(|i| match (format.depth() > 8, i % 2) {
            (true, 1) => (i / 7 % (high + 1)) as u8,
            _ => (i * 31 + i / 251) as u8,
        })
        .collect()
}

fn as_y4m(header: &str, frame_line: &str, format: &FrameFormat, raw: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{header}\n").into_bytes();
    for frame in raw.chunks(format.frame_bytes()) {
        bytes.extend_from_slice(format!("{frame_line}\n").as_bytes());
        bytes.extend_from_slice(frame);
    }
    bytes
}

#[test]
fn chroma_tags_in_use() {
    use Chroma::{Yuv400, Yuv420, Yuv422, Yuv444};
    let mut cases = vec![
        ("C420".to_owned(), Yuv420, 8),
        ("C420jpeg".to_owned(), Yuv420, 8),
        ("C420mpeg2".to_owned(), Yuv420, 8),
        ("C420paldv".to_owned(), Yuv420, 8),
        ("C422".to_owned(), Yuv422, 8),
        ("C444".to_owned(), Yuv444, 8),
        ("Cmono".to_owned(), Yuv400, 8),
        ("".to_owned(), Yuv420, 8),
        ("XYSCSS=420JPEG".to_owned(), Yuv420, 8),
        ("XYSCSS=422P10".to_owned(), Yuv422, 10),
        ("C420jpeg XYSCSS=420JPEG".to_owned(), Yuv420, 8),
        ("C420p10 XYSCSS=420".to_owned(), Yuv420, 10),
        ("Cmono16 XYSCSS=400".to_owned(), Yuv400, 16),
        ("C444 XYSCSS=XYZ".to_owned(), Yuv444, 8),
    ];
    for depth in 8..=16 {
        cases.push((format!("C420p{depth} XYSCSS=420P{depth}"), Yuv420, depth));
        cases.push((format!("C422p{depth}"), Yuv422, depth));
        cases.push((format!("C444p{depth}"), Yuv444, depth));
        cases.push((format!("Cmono{depth}"), Yuv400, depth));
    }
    for (tag, chroma, depth) in cases {
        let format = info(&format!("YUV4MPEG2 W5 H3 F25:1 Ip A1:1 {tag}")).format;
        let wanted = FrameFormat::new(5, 3, chroma, depth).unwrap();
        assert_eq!(format, wanted, "{tag}");
    }
}

#[test]
fn headers_as_tools_write_them() {
    // ffmpeg, with its X tags.
    let found =
        info("YUV4MPEG2 W576 H324 F24:1 Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=LIMITED");
    assert_eq!(found.frame_rate, Some((24, 1)));
    assert_eq!(found.chroma_tag.as_deref(), Some("420jpeg"));
    assert_eq!(found.colour_range, Some(ColourRange::Limited));
    assert_eq!(
        found.tags,
        ["A1:1", "XYSCSS=420JPEG", "XCOLORRANGE=LIMITED"]
    );
    assert_eq!(found.assumed(), "y4m 576x324 4:2:0 8-bit");
    // An old test clip without a C tag.
    let found = info("YUV4MPEG2 W176 H144 F15:1 Ip A128:117");
    assert_eq!(
        found.assumed(),
        "y4m 176x144 4:2:0 8-bit (no C tag: 4:2:0 8-bit)"
    );
    // Neither I nor F nor A.
    let found = info("YUV4MPEG2  H144 W176 C444 XCOLORRANGE=FULL");
    assert_eq!(found.interlace, Interlace::Unknown);
    assert_eq!(
        found.assumed(),
        "y4m 176x144 4:4:4 8-bit (no I tag: progressive)"
    );
    assert_eq!(found.colour_range, Some(ColourRange::Full));
    assert_eq!(info("YUV4MPEG2 W2 H2 I? F0:0").frame_rate, None);
    // The same tag twice says nothing new; letters without meaning are kept.
    assert_eq!(info("YUV4MPEG2 W2 W2 H2 Ip Q7 XFOO").tags, ["Q7", "XFOO"]);
}

#[test]
fn harmless_tags_never_get_in_the_way() {
    let cases = [
        ("F30", "`F30` is not a rate: frame rate unknown"),
        ("F25:x", "`F25:x` is not a rate: frame rate unknown"),
        ("F25:0", "`F25:0` is not a rate: frame rate unknown"),
        ("F25:1\r", "`F25:1\\r` is not a rate: frame rate unknown"),
        (
            "F25:1 F30:1",
            "both `F25:1` and `F30:1`: frame rate unknown",
        ),
        ("A1:1 A2:1", "both `A1:1` and `A2:1`: pixel aspect unknown"),
        (
            "XCOLORRANGE=FULL XCOLORRANGE=LIMITED",
            "both `XCOLORRANGE=FULL` and `XCOLORRANGE=LIMITED`: colour range unknown",
        ),
        (
            "XCOLORRANGE=full",
            "`XCOLORRANGE=full` is not a known range: colour range unknown",
        ),
    ];
    for (tags, note) in cases {
        let found = info(&format!("YUV4MPEG2 W2 H2 Ip C420 {tags}"));
        assert_eq!(found.assumptions, [note], "{tags}");
        assert_eq!(
            (found.frame_rate, found.colour_range),
            (None, None),
            "{tags}"
        );
    }
    // Said twice, or without a meaning to anyone: nothing to note.
    let found = info("YUV4MPEG2 W2 H2 Ip C420 F24:1 F24:1 A1:1 A1:1 Q7 Q8 XFOO XBAR");
    assert_eq!(found.frame_rate, Some((24, 1)));
    assert!(found.assumptions.is_empty(), "{:?}", found.assumptions);
}

#[test]
fn header_of_any_length() {
    let long = |n: usize| format!("YUV4MPEG2 W2 H2 Ip C420 X{}", "x".repeat(n));
    for n in [0, 1, 80, 128, 255, 256, 300, 4096, 60_000] {
        let format = FrameFormat::new(2, 2, Chroma::Yuv420, 8).unwrap();
        let raw = raw_bytes(&format, 2);
        let bytes = as_y4m(
            &long(n),
            &format!("FRAME X{}", "y".repeat(n)),
            &format,
            &raw,
        );
        assert_eq!(samples(&mut source(bytes).unwrap()).unwrap(), raw, "{n}");
    }
    let error = source(long(70_000)).err().unwrap().to_string();
    assert_eq!(
        error,
        "x.y4m: the header line at byte 0 is longer than 65536 bytes"
    );
    let text = format!("YUV4MPEG2 W2 H2\nFRAME {}\n", "z".repeat(70_000));
    let error = samples(&mut source(text).unwrap()).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.y4m: the FRAME line at byte 16 is longer than 65536 bytes"
    );
}

#[test]
fn refused_headers() {
    let cases = [
        ("YUV4MPEG2", "no W tag, so the width is unknown"),
        ("YUV4MPEG2 W4", "no H tag, so the height is unknown"),
        ("YUV4MPEG2 W0 H4", "width 0 is outside 1 to 32768"),
        ("YUV4MPEG2 W4 H32769", "height 32769 is outside 1 to 32768"),
        (
            "YUV4MPEG2 W99999999999 H4",
            "tag `W99999999999` is not its letter and a whole number",
        ),
        ("YUV4MPEG2 W-4 H4", "tag `W-4` is not"),
        ("YUV4MPEG2 W+4 H4", "tag `W+4` is not"),
        ("YUV4MPEG2 W H4", "tag `W` is not"),
        ("YUV4MPEG2 W4 H4\r", "tag `H4\\r` is not"),
        ("YUV4MPEG2 W4 W5 H4", "has both `W4` and `W5`"),
        ("YUV4MPEG2 W4 H4 H5", "has both `H4` and `H5`"),
        ("YUV4MPEG2 W4 H4 Ip It", "has both `Ip` and `It`"),
        (
            "YUV4MPEG2 W4 H4 C420 XC422 C422",
            "has both `C420` and `C422`",
        ),
        (
            "YUV4MPEG2 W4 H4 XYSCSS=420 XYSCSS=422",
            "has both `XYSCSS=420` and `XYSCSS=422`",
        ),
        (
            "YUV4MPEG2 W4 H4 Ix",
            "tag `Ix` is not one of Ip, It, Ib, Im and I?",
        ),
        (
            "YUV4MPEG2 W4 H4 It",
            "interlaced y4m is not supported (It, top field first)",
        ),
        (
            "YUV4MPEG2 W4 H4 Ib",
            "interlaced y4m is not supported (Ib, bottom field first)",
        ),
        (
            "YUV4MPEG2 W4 H4 Im",
            "interlaced y4m is not supported (Im, mixed field order)",
        ),
        (
            "YUV4MPEG2 W2 H4 C411",
            "chroma layout `C411` is not supported",
        ),
        (
            "YUV4MPEG2 W1 H1 C411",
            "chroma layout `C411` is not supported",
        ),
        (
            "YUV4MPEG2 W4 H4 C444alpha",
            "chroma layout `C444alpha` is not supported",
        ),
        (
            "YUV4MPEG2 W4 H4 XYSCSS=411",
            "chroma layout `XYSCSS=411` is not supported",
        ),
        (
            "YUV4MPEG2 W4 H4 C420p7",
            "tag `C420p7` is not a known chroma layout",
        ),
        (
            "YUV4MPEG2 W4 H4 C420p17",
            "tag `C420p17` is not a known chroma layout",
        ),
        ("YUV4MPEG2 W4 H4 C", "tag `C` is not a known chroma layout"),
        (
            "YUV4MPEG2 W4 H4 XYSCSS=XYZ",
            "tag `XYSCSS=XYZ` is not a known chroma layout",
        ),
        (
            "YUV4MPEG2 W4 H4 C420p10 XYSCSS=422P10",
            "both `C420p10` and `XYSCSS=422P10`",
        ),
        (
            "YUV4MPEG2 W4 H4 C420p10 XYSCSS=420P12",
            "both `C420p10` and `XYSCSS=420P12`",
        ),
        (
            "YUV4MPEG3 W4 H4",
            "not a y4m file (it starts with `YUV4MPEG3 `)",
        ),
        ("YUV4MPEG2W4 H4", "not a y4m file"),
        ("YUV4MPEG 4 4 3", "not a y4m file"),
    ];
    for (header, part) in cases {
        let text = refusal(header);
        assert!(text.contains(part), "{header}: {text}");
    }
    for text in ["YUV4MPEG2", "YUV4MPEG2 W4 H4 C420"] {
        let error = source(text).err().unwrap().to_string();
        assert_eq!(
            error,
            format!(
                "x.y4m ends within its y4m header, after {} bytes",
                text.len()
            )
        );
    }
}

#[test]
fn interlaced_is_read_when_asked_for() {
    let bytes = "YUV4MPEG2 W1 H1 It Cmono\nFRAME It1p\nA";
    let input = Input::from_reader("x.y4m", Cursor::new(bytes));
    let mut source = Y4mSource::new(input, true).unwrap();
    assert_eq!(source.describe().interlace, Interlace::TopFirst);
    let assumed = source.describe().assumed();
    assert_eq!(
        assumed,
        "y4m 1x1 4:0:0 8-bit (It: interlaced, read as whole frames)"
    );
    assert_eq!(samples(&mut source).unwrap(), b"A");
}

#[test]
fn same_samples_as_raw_for_every_layout_depth_and_size() {
    let layouts = [(400, "mono"), (420, "420p"), (422, "422p"), (444, "444p")];
    let sizes = [
        (1, 1),
        (1, 2),
        (2, 1),
        (3, 3),
        (19, 19),
        (66, 64),
        (100, 64),
        (131, 7),
    ];
    let mut compared = 0;
    for (code, tag) in layouts {
        let chroma = match code {
            400 => Chroma::Yuv400,
            420 => Chroma::Yuv420,
            422 => Chroma::Yuv422,
            _ => Chroma::Yuv444,
        };
        for depth in 8..=16 {
            for (w, h) in sizes {
                let format = FrameFormat::new(w, h, chroma, depth).unwrap();
                let raw = raw_bytes(&format, 3);
                let header = format!("YUV4MPEG2 W{w} H{h} F25:1 Ip A1:1 C{tag}{depth}");
                let bytes = as_y4m(&header, "FRAME", &format, &raw);
                let input = Input::from_reader("x.yuv", Cursor::new(raw.clone()));
                let mut plain = RawSource::new(input, format).unwrap();
                let mut y4m = source(bytes.clone()).unwrap();
                assert_eq!(y4m.format(), format);
                assert_eq!(samples(&mut y4m).unwrap(), raw, "{header}");
                assert_eq!(samples(&mut plain).unwrap(), raw, "{header}");
                // After a skip too: frame 2 lines up.
                let mut y4m = source(bytes).unwrap();
                y4m.skip(2).unwrap();
                assert_eq!(samples(&mut y4m).unwrap(), raw[2 * format.frame_bytes()..]);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * 9 * 8);
}

#[test]
fn lost_framing_is_an_error() {
    // Luma-only frames under a 4:2:0 tag: chroma swallows the next FRAME line.
    let mut bytes = b"YUV4MPEG2 W16 H16 C420jpeg\n".to_vec();
    for _ in 0..4 {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend_from_slice(&[b'.'; 256]);
    }
    let error = samples(&mut source(bytes).unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(
            "lost its framing: frame 1 should start with FRAME at byte 417, found `......`"
        ),
        "{error}"
    );

    let cases = [
        (
            "FRAMES\n.",
            "frame 0 should start with FRAME at byte 22, found `FRAMES`",
        ),
        (
            "FRAME\n.\n",
            "frame 1 should start with FRAME at byte 29, found `\\n`",
        ),
        ("frame\n.", "frame 0 should start with FRAME"),
        (
            "FRAME\n.FRA",
            "ends within the FRAME line of frame 1, which starts at byte 29",
        ),
        ("FRAME\n.FRAME", "ends within the FRAME line of frame 1"),
        ("FRAME\n.FRAME Ip", "ends within the FRAME line of frame 1"),
        (
            "FRAME\n.FRAME\n",
            "frame 1: its samples start at byte 35 and take 1 bytes, 0 are there",
        ),
        ("", "no frames in x.y4m: it ends after its y4m header"),
    ];
    for (rest, part) in cases {
        let text = format!("YUV4MPEG2 W1 H1 Cmono\n{rest}");
        let error = samples(&mut source(text.clone()).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{rest:?}: {error}");
        // Skipping walks the same road.
        let error = source(text).unwrap().skip(9).unwrap_err().to_string();
        assert!(error.contains(part), "{rest:?}: {error}");
    }
}

#[test]
fn skip_past_the_end() {
    let text = "YUV4MPEG2 W1 H1 Cmono\nFRAME\n.FRAME\n.";
    let mut clip = source(text).unwrap();
    clip.skip(2).unwrap();
    assert!(samples(&mut clip).unwrap().is_empty());
    let error = source(text).unwrap().skip(3).unwrap_err().to_string();
    assert_eq!(error, "cannot skip 3 frames of x.y4m: it has 2");
}

/// Samples are not judged here, and nothing is clipped or masked.
#[test]
fn too_large_samples_come_as_they_are() {
    let raw = [0xff, 3, 0, 4, 0xff, 0xff];
    let mut bytes = b"YUV4MPEG2 W3 H1 Cmono10\nFRAME\n".to_vec();
    bytes.extend_from_slice(&raw);
    assert_eq!(samples(&mut source(bytes).unwrap()).unwrap(), raw);
}

/// Reads to the end or to the first error, which must be a sentence about the input. A buffer is
/// made for small frames only.
fn survives(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let length = bytes.len();
    let outcome = source(bytes).and_then(|mut s| {
        if s.format().frame_bytes() <= 1 << 16 {
            samples(&mut s)
        } else {
            Ok(Vec::new())
        }
    });
    match outcome {
        Ok(read) => prop_assert!(read.len() <= length),
        Err(error) => prop_assert!(error.to_string().contains("x.y4m")),
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_header_is_read_or_refused(
        tags in "( ?[WHFIACXFRAME0-9]{0,2}[0-9:=pjtbm?]{0,6}| W[0-9]| H[0-9]| C4(20|22|44)(p1[0-9])?){0,9}",
        body in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = format!("YUV4MPEG2 {tags}\nFRAME\n").into_bytes();
        bytes.extend(body);
        survives(bytes)?;
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(bytes.clone())?;
        bytes.splice(0..0, *b"YUV4MPEG2 W3 H3 ");
        survives(bytes)?;
    }

    /// A clip that is cut anywhere gives the whole frames before the cut, then an error, unless
    /// the cut is between two frames.
    #[test]
    fn any_cut_is_noticed(cut in 0usize..93) {
        let format = FrameFormat::new(5, 3, Chroma::Yuv420, 8).unwrap();
        let raw = raw_bytes(&format, 2);
        let mut bytes = as_y4m("YUV4MPEG2 W5 H3 C420", "FRAME Ip", &format, &raw);
        let header = 21;
        let frame = 9 + 27;
        prop_assert_eq!(bytes.len(), header + 2 * frame);
        bytes.truncate(cut);
        let whole = cut > header && (cut - header).is_multiple_of(frame);
        let outcome = source(bytes).and_then(|mut s| samples(&mut s));
        prop_assert_eq!(outcome.is_ok(), whole, "{:?}", outcome);
    }

    /// One changed byte in the lines either changes nothing that counts or is refused; it never
    /// shifts the samples in silence.
    #[test]
    fn a_flipped_byte_in_a_frame_line_is_noticed(at in 0usize..6, byte in any::<u8>()) {
        let format = FrameFormat::new(5, 3, Chroma::Yuv420, 8).unwrap();
        let raw = raw_bytes(&format, 2);
        let mut bytes = as_y4m("YUV4MPEG2 W5 H3 C420", "FRAME", &format, &raw);
        let line = 21 + 6 + 27;
        let changed = bytes[line + at] != byte;
        bytes[line + at] = byte;
        let outcome = source(bytes).and_then(|mut s| samples(&mut s));
        prop_assert_eq!(outcome.is_err(), changed);
    }
}
