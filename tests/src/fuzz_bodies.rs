//! The bodies of the fuzz targets, one function a parser.
//!
//! Each takes any bytes and panics if the parser breaks its word: it must end, must give what the
//! input says or an error that names it, and must not ask for more memory than the input can
//! fill. Each tells whether the input was accepted. The fuzzer calls them through `fuzz/`; the
//! suite replays the corpora through them.

use std::io::Cursor;

use vmafx_api::loader::Manifest;
use vmafx_api::{Chroma, FrameFormat, HostFrame};
use vmafx_media::{
    Input, MediaError, RawSource, Source, SynthSource, SynthSpec, Y4mSource, Y4mWriter,
};
use vmafx_models::{ModelSet, Scoring};

/// A fuzz target: its name, which is that of its corpus folder too, and its body.
pub type Target = (&'static str, fn(&[u8]) -> bool);

/// All fuzz targets.
pub const TARGETS: [Target; 6] = [
    ("y4m", y4m),
    ("raw", raw),
    ("model_json", model_json),
    ("model_native", model_native),
    ("synth_spec", synth_spec),
    ("manifest", manifest),
];

/// Name of the inputs, which every message must contain.
const NAME: &str = "fuzzed input";

/// Largest frame that a target makes room for, in bytes.
const LARGEST: usize = 1 << 20;

/// Reads bytes as a y4m file, as a y4m stream and as a file whose first frame is skipped: all
/// three must agree. What is read must survive being written and read again.
pub fn y4m(data: &[u8]) -> bool {
    let open = |as_file: bool, interlaced: bool| {
        let bytes = Cursor::new(data.to_vec());
        let input = if as_file {
            Input::from_seekable(NAME, bytes)?
        } else {
            Input::from_reader(NAME, bytes)
        };
        Y4mSource::new(input, interlaced)
    };
    let mut stream = named(open(false, true).and_then(|mut source| frames(&mut source)));
    let file = named(open(true, true).and_then(|mut source| frames(&mut source)));
    // What is too short for one frame is refused earlier, with other words, as a file.
    assert_eq!(stream.is_some(), file.is_some());
    assert_eq!(stream, file);
    named(open(true, false).and_then(|mut source| frames(&mut source)));

    let skipped = named(open(true, true).and_then(|mut source| {
        source.skip(1)?;
        frames(&mut source)
    }));
    if let Some(all) = &mut stream {
        assert!(!all.is_empty(), "a clip without frames is an error");
        all.remove(0);
        assert_eq!(Some(&*all), skipped.as_ref());
        rewrite(data, file);
    }
    stream.is_some()
}

/// Writes the frames of a y4m file anew; `wanted` are those that must be read from the result.
fn rewrite(data: &[u8], wanted: Option<Vec<Vec<u8>>>) {
    let open =
        |bytes: &[u8]| Y4mSource::new(Input::from_reader(NAME, Cursor::new(bytes.to_vec())), true);
    let written = || {
        let mut source = open(data)?;
        let (format, rate) = (source.format(), source.describe().frame_rate);
        assert!(!source.describe().assumed().contains(char::is_control));
        let mut writer = Y4mWriter::new(NAME, Vec::new(), format, rate)?;
        let mut frame = HostFrame::new(format);
        while source.read(&mut frame)? {
            writer.write(&frame.view())?;
        }
        let mut again = open(&writer.finish()?)?;
        let info = again.describe();
        assert_eq!((info.format, info.frame_rate), (format, rate));
        assert!(info.assumptions.is_empty());
        frames(&mut again)
    };
    assert_eq!(named(written()), wanted);
}

/// Reads bytes as raw frames. The first six give the format; the rest is the file, read at once
/// and through a pipe.
pub fn raw(data: &[u8]) -> bool {
    let &[w0, w1, h0, h1, layout, depth, ref body @ ..] = data else {
        return false;
    };
    let chroma = [
        Chroma::Yuv400,
        Chroma::Yuv420,
        Chroma::Yuv422,
        Chroma::Yuv444,
    ];
    let format = FrameFormat::new(
        u16::from_le_bytes([w0, w1]).into(),
        u16::from_le_bytes([h0, h1]).into(),
        chroma[usize::from(layout % 4)],
        u32::from(depth % 20),
    );
    let Ok(format) = format else {
        return false;
    };
    let file = Input::from_seekable(NAME, Cursor::new(body.to_vec()))
        .and_then(|input| RawSource::new(input, format))
        .and_then(|mut source| {
            let told = source.describe().frames;
            let read = frames(&mut source)?;
            assert_eq!(told, Some(read.len() as u64));
            assert!(!read.is_empty(), "a clip without frames is an error");
            Ok(read)
        });
    let pipe = RawSource::new(Input::from_reader(NAME, Cursor::new(body.to_vec())), format)
        .and_then(|mut source| frames(&mut source));
    // A pipe is searched for well-known signatures in its first frame alone, so it may pass
    // where a file is refused; what both read is the same.
    let (file, pipe) = (named(file), named(pipe));
    if pipe.is_some() {
        assert_eq!(body.len() % format.frame_bytes(), 0);
    }
    let Some(read) = file else {
        return false;
    };
    assert_eq!(read.concat(), body);
    assert_eq!(Some(read), pipe);
    true
}

/// Reads bytes as a JSON model; what is read predicts, and survives our own format.
pub fn model_json(data: &[u8]) -> bool {
    let model = ModelSet::from_json(data);
    if let Ok(model) = &model {
        check_model(model, data);
    }
    model.is_ok()
}

/// Reads bytes as a model in our own format, under the same rules.
pub fn model_native(data: &[u8]) -> bool {
    let model = ModelSet::from_native(data);
    if let Ok(model) = &model {
        check_model(model, data);
    }
    model.is_ok()
}

fn check_model(model: &ModelSet, data: &[u8]) {
    let text = model.to_native();
    let again = ModelSet::from_native(text.as_bytes()).expect("own text is read back");
    assert_eq!(text, again.to_native());

    let count = model.features().len();
    let names = model.score_names("m").len();
    let scorings = [(false, false), (true, false), (false, true), (true, true)];
    for features in [vec![0.5; count], arbitrary_numbers(data, count)] {
        for (enable_transform, disable_clip) in scorings {
            let scoring = Scoring {
                enable_transform,
                disable_clip,
            };
            let bits = |model: &ModelSet| -> Vec<u64> {
                let prediction = model
                    .predict(&features, scoring)
                    .expect("the count is right");
                prediction.values().map(f64::to_bits).collect()
            };
            let scores = bits(model);
            assert_eq!(scores.len(), names);
            assert_eq!(scores, bits(&again));
        }
    }
    assert!(
        model
            .predict(&vec![0.0; count + 1], Scoring::default())
            .is_err()
    );
}

/// `count` numbers of all kinds, not-a-number and infinities too, that depend on `data`.
fn arbitrary_numbers(data: &[u8], count: usize) -> Vec<f64> {
    let mut state = data.iter().fold(0xcbf2_9ce4_8422_2325u64, |state, &byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let special = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            5e-324,
            -0.0,
        ];
        match (state >> 60) as usize {
            index @ 0..6 => special[index],
            6 => f64::from_bits(state),
            _ => (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 0.5,
        }
    };
    (0..count).map(|_| next()).collect()
}

/// Reads bytes as the text of a synthetic source; small clips give their first and last frame.
pub fn synth_spec(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let spec = match text.parse::<SynthSpec>() {
        Ok(spec) => spec,
        Err(error) => {
            assert!(error.to_string().starts_with(&*text), "{error}");
            return false;
        }
    };
    let canonical = spec.to_string();
    assert_eq!(
        canonical
            .parse::<SynthSpec>()
            .expect("own text is read back"),
        spec
    );

    let mut source = SynthSource::new(spec, &text);
    let format = source.format();
    if format.frame_samples() > 1 << 12 {
        return true;
    }
    let mut frame = HostFrame::new(format);
    let count = source
        .describe()
        .frames
        .expect("a synthetic clip has a length");
    let mut read = |source: &mut SynthSource| source.read(&mut frame).expect("drawing cannot fail");
    assert!(read(&mut source));
    if count > 1 {
        source.skip(count - 2).expect("the clip has these frames");
        assert!(read(&mut source));
    }
    assert!(!read(&mut source));
    assert!(frame.check_samples().is_ok());
    assert!(source.skip(1).is_err());
    true
}

/// Reads bytes as the manifest of a backend; what is read keeps its limits and survives being
/// written.
pub fn manifest(data: &[u8]) -> bool {
    let one_line = |text: &str| {
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.len() < 8192, "{text}");
    };
    let mut manifest = match Manifest::parse(data) {
        Ok(manifest) => manifest,
        Err(error) => {
            one_line(&error.to_string());
            return false;
        }
    };
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    assert!(manifest.id.bytes().all(letter) && (1..=64).contains(&manifest.id.len()));
    assert!((1..=64).contains(&manifest.library.len()) && manifest.needs.len() <= 64);
    assert!(manifest.notes.len() <= 17);
    for text in [&manifest.name, &manifest.version, &manifest.license] {
        one_line(text);
        assert!(!text.is_empty());
    }
    manifest.notes.iter().for_each(|note| one_line(note));
    manifest.library.values().for_each(|path| one_line(path));

    manifest.notes.clear();
    let again = Manifest::parse(manifest.to_toml().as_bytes());
    assert_eq!(again.expect("own text is read back"), manifest);
    true
}

/// The frames of a source as raw bytes. Frames that are too large for this are passed over, and
/// must then be missing in the input.
fn frames(source: &mut dyn Source) -> Result<Vec<Vec<u8>>, MediaError> {
    let format = source.format();
    let mut read = Vec::new();
    if format.frame_bytes() > LARGEST {
        source.skip(1)?;
        unreachable!("a fuzzed input is never as large as {format} frames are");
    }
    let mut frame = HostFrame::new(format);
    while source.read(&mut frame)? {
        read.push(frame.bytes_mut().to_vec());
    }
    Ok(read)
}

/// Drops an error after a look at its text, which must be a sentence about the input.
fn named<T>(result: Result<T, MediaError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(NAME) && text.len() < 4096, "{text}");
            assert!(!text.contains(char::is_control), "{text:?}");
            None
        }
    }
}
