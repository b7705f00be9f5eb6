//! From the safe types of [`info`](crate::info) to the wire's, and back.
//!
//! What must stay true: whatever the other side says is checked here, once, so that the rest of
//! the host may take a [`BackendInfo`] at its word.

use std::collections::HashSet;

use crate::error::ApiError;
use crate::format::{Chroma, FrameFormat};
use crate::info::{
    BackendInfo, DeviceInfo, FeatureDescription, FeatureRequest, OptionDescription, OptionSetting,
    OptionValue, Support,
};
use crate::kinds::{OptionKind, PixelFormat, PlaneUse, Status};
use crate::sized::{self, fill, slice, text_of};
use crate::wire::{self, FEATURE_EVERY_FRAME, MAX_OUTPUTS, Text};

fn invalid(subject: impl Into<String>, message: impl Into<String>) -> ApiError {
    ApiError::new(Status::INVALID, subject, message)
}

/// The wire's form of a format.
pub(crate) fn wire_format(format: &FrameFormat) -> wire::Format {
    wire::Format {
        width: format.width(),
        height: format.height(),
        pixel_format: PixelFormat(format.chroma() as u32),
        depth: format.depth(),
        reserved: [0; 4],
    }
}

/// The format that the wire's numbers say.
///
/// # Errors
/// A layout that is not planar, a size or depth out of range.
pub(crate) fn format(format: &wire::Format) -> Result<FrameFormat, ApiError> {
    unused(
        "format",
        format.reserved.iter().fold(0, |bits, more| bits | more),
    )?;
    let chroma = match format.pixel_format {
        PixelFormat::YUV420P => Chroma::Yuv420,
        PixelFormat::YUV422P => Chroma::Yuv422,
        PixelFormat::YUV444P => Chroma::Yuv444,
        PixelFormat::YUV400P => Chroma::Yuv400,
        other => {
            let message = format!("{other} is not planar Y'CbCr");
            return Err(invalid("format.pixel_format", message));
        }
    };
    FrameFormat::new(format.width, format.height, chroma, format.depth)
        .map_err(|error| ApiError::new(Status::RANGE, "format", error.to_string()))
}

fn wire_value(value: &OptionValue) -> wire::OptionValue {
    let mut wire = wire::OptionValue {
        kind: value.kind(),
        reserved: 0,
        whole: 0,
        number: 0.0,
        text: Text::new(""),
    };
    match value {
        OptionValue::Bool(on) => wire.whole = i64::from(*on),
        OptionValue::Int(whole) => wire.whole = i64::from(*whole),
        OptionValue::Float(number) => wire.number = *number,
        OptionValue::Text(text) => wire.text = Text::new(text),
    }
    wire
}

/// # Safety
/// The text of `value` is readable.
unsafe fn value(name: &str, value: &wire::OptionValue) -> Result<OptionValue, ApiError> {
    unused(name, value.reserved)?;
    match value.kind {
        OptionKind::SWITCH if matches!(value.whole, 0 | 1) => {
            Ok(OptionValue::Bool(value.whole == 1))
        }
        OptionKind::WHOLE if i32::try_from(value.whole).is_ok() => {
            Ok(OptionValue::Int(value.whole as i32))
        }
        OptionKind::NUMBER => Ok(OptionValue::Float(value.number)),
        // SAFETY: the caller's promise.
        OptionKind::TEXT => Ok(OptionValue::Text(
            unsafe { value.text.read(name) }?.to_owned(),
        )),
        OptionKind::SWITCH | OptionKind::WHOLE => {
            let message = format!("{} is not a value of a {}", value.whole, value.kind);
            Err(ApiError::new(Status::RANGE, name, message))
        }
        kind => Err(invalid(name, format!("{kind} is not a kind of option"))),
    }
}

/// The wire's form of options, which borrows from them.
pub(crate) fn wire_settings(settings: &[OptionSetting]) -> Vec<wire::OptionSetting> {
    let wire = |setting: &OptionSetting| wire::OptionSetting {
        name: Text::new(&setting.name),
        value: wire_value(&setting.value),
    };
    settings.iter().map(wire).collect()
}

/// # Safety
/// `data` is null, or `count` settings with their texts are readable.
pub(crate) unsafe fn settings(
    data: *const wire::OptionSetting,
    count: usize,
) -> Result<Vec<OptionSetting>, ApiError> {
    // SAFETY: the caller's promise.
    let settings = unsafe { slice(data, count, "options") }?;
    let read = settings.iter().map(|setting| {
        // SAFETY: the caller's promise.
        let name = unsafe { setting.name.read("options.name") }?;
        // SAFETY: the caller's promise.
        let value = unsafe { value(name, &setting.value) }?;
        Ok(OptionSetting::new(name, value))
    });
    read.collect()
}

/// A feature request in the wire's form, with what it points to.
pub(crate) struct WireRequest {
    options: Vec<wire::OptionSetting>,
}

impl WireRequest {
    pub(crate) fn new(request: &FeatureRequest) -> Self {
        WireRequest {
            options: wire_settings(&request.options),
        }
    }

    /// The wire's form of `request`, the one this was made from; borrows from both.
    pub(crate) fn wire(&self, request: &FeatureRequest) -> wire::FeatureRequest {
        wire::FeatureRequest {
            feature: Text::new(&request.feature),
            options: self.options.as_ptr(),
            option_count: self.options.len(),
            definition: request.definition,
            reserved: 0,
        }
    }
}

/// # Safety
/// The texts and options of `request` are readable.
pub(crate) unsafe fn request(request: &wire::FeatureRequest) -> Result<FeatureRequest, ApiError> {
    // SAFETY: the caller's promise, for both.
    let (feature, options) = unsafe {
        (
            request.feature.read("feature")?,
            settings(request.options, request.option_count)?,
        )
    };
    unused(feature, request.reserved)?;
    Ok(FeatureRequest {
        feature: feature.to_owned(),
        options,
        definition: request.definition,
    })
}

/// The wire's form of `support`.
pub(crate) fn wire_support(support: &Support) -> wire::Support {
    wire::Support {
        memory_kinds: support.memory_kinds,
        pixel_formats: support.pixel_formats,
        ..wire::Support::empty()
    }
}

/// What `support` says.
///
/// # Errors
/// A bit that no revision defines.
pub(crate) fn support(support: &wire::Support) -> Result<Support, ApiError> {
    unused("support", support.reserved)?;
    Ok(Support {
        memory_kinds: support.memory_kinds,
        pixel_formats: support.pixel_formats,
    })
}

/// The wire's form of a device's description.
pub(crate) fn wire_device(info: &DeviceInfo) -> wire::DeviceInfo {
    let mut wire = wire::DeviceInfo {
        memory_kinds: info.memory_kinds,
        acquire_kinds: info.acquire_kinds,
        acquire_on_device: info.acquire_on_device,
        release_kinds: info.release_kinds,
        release_on_device: info.release_on_device,
        total_memory: info.total_memory,
        pci: info.pci.unwrap_or([u32::MAX; 4]),
        ..wire::DeviceInfo::empty()
    };
    fill(&mut wire.name, &info.name);
    fill(&mut wire.isa, &info.isa);
    wire
}

/// What device `index` of `backend` says of itself.
///
/// # Errors
/// A device that waits for a fence itself which it does not take.
pub(crate) fn device(
    backend: &str,
    index: u32,
    info: &wire::DeviceInfo,
) -> Result<DeviceInfo, ApiError> {
    unused("device", info.reserved)?;
    for (all, some, name) in [
        (
            info.acquire_kinds,
            info.acquire_on_device,
            "acquire_on_device",
        ),
        (
            info.release_kinds,
            info.release_on_device,
            "release_on_device",
        ),
    ] {
        if !all.includes(some) {
            let message = format!("device {index}: {some} is not within {all}");
            return Err(invalid(name, message));
        }
    }
    Ok(DeviceInfo {
        backend: backend.to_owned(),
        index,
        name: line_of(&info.name),
        isa: line_of(&info.isa),
        total_memory: info.total_memory,
        memory_kinds: info.memory_kinds,
        acquire_kinds: info.acquire_kinds,
        acquire_on_device: info.acquire_on_device,
        release_kinds: info.release_kinds,
        release_on_device: info.release_on_device,
        pci: (info.pci != [u32::MAX; 4]).then_some(info.pci),
    })
}

/// A backend's description in the wire's form. It lives as long as the process, as the wire
/// promises: a backend is described once.
pub(crate) fn leaked(info: BackendInfo) -> Described {
    let info: &'static BackendInfo = Box::leak(Box::new(info));
    let features: Vec<_> = info.features.iter().map(leaked_feature).collect();
    let root = wire::BackendInfo {
        priority: info.priority,
        id: Text::new(&info.id),
        name: Text::new(&info.name),
        version: Text::new(&info.version),
        feature_count: features.len(),
        features: features.leak().as_ptr(),
        ..wire::BackendInfo::empty()
    };
    Described(Box::leak(Box::new(root)))
}

/// A description that lives as long as the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Described(&'static wire::BackendInfo);

// SAFETY: everything it points to was leaked by `leaked` and nobody changes it.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Sync for Described {}

impl Described {
    pub(crate) fn root(&self) -> *const wire::BackendInfo {
        self.0
    }
}

fn leaked_feature(feature: &'static FeatureDescription) -> *const wire::FeatureInfo {
    let options = feature
        .options
        .iter()
        .map(|option| leak(wire_option(option)));
    let options: &[_] = options.collect::<Vec<_>>().leak();
    let outputs = feature.outputs.iter().map(|name| {
        leak(wire::OutputInfo {
            name: Text::new(name),
            ..wire::OutputInfo::empty()
        })
    });
    let outputs: &[_] = outputs.collect::<Vec<_>>().leak();
    leak(wire::FeatureInfo {
        flags: if feature.every_frame {
            FEATURE_EVERY_FRAME
        } else {
            0
        },
        name: Text::new(&feature.name),
        summary: Text::new(&feature.summary),
        source: Text::new(&feature.source),
        min_width: feature.min_size.0,
        min_height: feature.min_size.1,
        planes: feature.planes,
        options: options.as_ptr(),
        option_count: options.len(),
        outputs: outputs.as_ptr(),
        output_count: outputs.len(),
        ..wire::FeatureInfo::empty()
    })
}

fn leak<T>(value: T) -> *const T {
    Box::leak(Box::new(value))
}

fn wire_option(option: &OptionDescription) -> wire::OptionInfo {
    wire::OptionInfo {
        in_names: u32::from(option.in_names),
        name: Text::new(&option.name),
        alias: Text::new(&option.alias),
        help: Text::new(&option.help),
        default_value: wire_value(&option.default),
        min: option.min,
        max: option.max,
        ..wire::OptionInfo::empty()
    }
}

/// What a backend says of itself, checked.
///
/// # Errors
/// What [`check`] refuses, and structs and texts that contradict themselves.
///
/// # Safety
/// `info` is null, or keeps the contract of [`wire::BackendInfo`].
pub(crate) unsafe fn backend(info: *const wire::BackendInfo) -> Result<BackendInfo, ApiError> {
    // SAFETY: null or readable (caller).
    let info = unsafe { sized::read(info) }?;
    // SAFETY: texts and arrays of a description live as long as the process (contract).
    let read = unsafe {
        let mut features = Vec::new();
        for &feature in slice(info.features, info.feature_count, "features")? {
            features.push(self::feature(feature)?);
        }
        BackendInfo {
            id: info.id.read("id")?.to_owned(),
            name: info.name.read("name")?.to_owned(),
            version: info.version.read("version")?.to_owned(),
            library: String::new(),
            priority: info.priority,
            features,
        }
    };
    check(&read)?;
    Ok(read)
}

/// # Safety
/// As [`backend`].
unsafe fn feature(info: *const wire::FeatureInfo) -> Result<FeatureDescription, ApiError> {
    // SAFETY: null or readable; texts and arrays live as long as the process (caller).
    unsafe {
        let info = sized::read(info)?;
        let name = info.name.read("features.name")?.to_owned();
        unused(&name, info.flags & !FEATURE_EVERY_FRAME | info.reserved)?;
        let mut options = Vec::new();
        for &option in slice(info.options, info.option_count, &name)? {
            let option = sized::read(option)?;
            let option_name = option.name.read(&name)?.to_owned();
            unused(&option_name, option.in_names & !1)?;
            let alias = option.alias.read(&name)?;
            options.push(OptionDescription {
                alias: if alias.is_empty() {
                    &option_name
                } else {
                    alias
                }
                .to_owned(),
                help: option.help.read(&name)?.to_owned(),
                default: value(&option_name, &option.default_value)?,
                min: option.min,
                max: option.max,
                in_names: option.in_names != 0,
                name: option_name,
            });
        }
        let mut outputs = Vec::new();
        for &output in slice(info.outputs, info.output_count, &name)? {
            let output = sized::read(output)?;
            unused(&name, output.reserved)?;
            outputs.push(output.name.read(&name)?.to_owned());
        }
        Ok(FeatureDescription {
            summary: info.summary.read(&name)?.to_owned(),
            source: info.source.read(&name)?.to_owned(),
            min_size: (info.min_width, info.min_height),
            planes: info.planes,
            every_frame: info.flags & FEATURE_EVERY_FRAME != 0,
            options,
            outputs,
            name,
        })
    }
}

/// Whether a text is one line for people: control characters, line ends and what turns the direction
/// of writing could make it look like another one.
fn plain(subject: &str, what: &str, text: &str) -> Result<(), ApiError> {
    match text.chars().find(|&letter| disturbs(letter)) {
        None => Ok(()),
        Some(letter) => {
            let letter = letter.escape_unicode();
            Err(invalid(
                subject,
                format!("the {what} has the character {letter}, which is no text"),
            ))
        }
    }
}

/// Whether a character may not stand in a line for people.
pub(crate) fn disturbs(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// A device's text for people, in which what disturbs is replaced.
fn line_of(field: &[std::ffi::c_char]) -> String {
    let text = text_of(field);
    text.chars()
        .map(|letter| if disturbs(letter) { '\u{fffd}' } else { letter })
        .collect()
}

/// Whether the bits that no revision defines are zero.
pub(crate) fn unused(name: &str, bits: u32) -> Result<(), ApiError> {
    match bits {
        0 => Ok(()),
        bits => {
            let message = format!("`{name}` sets {bits:#x} where no revision defines a bit");
            Err(ApiError::new(Status::ABI, "reserved", message))
        }
    }
}

/// Whether a description keeps the rules that its fields state.
///
/// # Errors
/// The first rule that is broken, with the name of the backend, feature or option.
pub(crate) fn check(info: &BackendInfo) -> Result<(), ApiError> {
    const LOWER: &str = "lower-case letters, digits";
    let named = |text: &str, more: char, capitals: bool| {
        let allowed = |c: char| {
            c.is_ascii_lowercase()
                || c.is_ascii_digit()
                || c == more
                || (capitals && c.is_ascii_uppercase())
        };
        (1..=64).contains(&text.len()) && text.chars().all(allowed)
    };
    if !named(&info.id, '-', false) {
        let message = format!("`{}` is not 1 to 64 {LOWER} and hyphens", info.id);
        return Err(invalid("id", message));
    }
    plain(&info.id, "name", &info.name)?;
    plain(&info.id, "version", &info.version)?;
    if info.name.is_empty() || info.version.is_empty() {
        return Err(invalid(&info.id, "the backend has no name or no version"));
    }
    let mut features = HashSet::new();
    let mut scores = HashSet::new();
    for feature in &info.features {
        let name = &feature.name;
        if !named(name, '_', false) {
            let message =
                format!("feature `{name}` is not named by 1 to 64 {LOWER} and underscores");
            return Err(invalid(&info.id, message));
        }
        if !features.insert(name) {
            return Err(invalid(
                &info.id,
                format!("two features are named `{name}`"),
            ));
        }
        if !matches!(feature.planes, PlaneUse::LUMA | PlaneUse::ALL) {
            return Err(invalid(
                name,
                format!("{} is not a use of planes", feature.planes),
            ));
        }
        plain(name, "summary", &feature.summary)?;
        plain(name, "source", &feature.source)?;
        let count = feature.outputs.len();
        if !(1..=MAX_OUTPUTS as usize).contains(&count) {
            return Err(invalid(
                name,
                format!("{count} scores are outside 1 to {MAX_OUTPUTS}"),
            ));
        }
        for output in &feature.outputs {
            let begins = !output.starts_with(|c: char| c.is_ascii_digit());
            if !named(output, '_', true) || !begins || output == "frameNum" {
                let message = format!(
                    "score `{output}` is not 1 to 64 letters, digits and underscores that begin with \
                     no digit, or is `frameNum`"
                );
                return Err(invalid(name, message));
            }
            if !scores.insert(output) {
                return Err(invalid(name, format!("two scores are named `{output}`")));
            }
        }
        let mut options = HashSet::new();
        for option in &feature.options {
            check_option(name, option)?;
            plain(&option.name, "help", &option.help)?;
            if let OptionValue::Text(text) = &option.default {
                plain(&option.name, "default", text)?;
            }
            let alias = (option.alias != option.name).then_some(&option.alias);
            for word in [Some(&option.name), alias].into_iter().flatten() {
                if !options.insert(word) {
                    return Err(invalid(name, format!("two options are named `{word}`")));
                }
            }
        }
    }
    Ok(())
}

fn check_option(feature: &str, option: &OptionDescription) -> Result<(), ApiError> {
    let name = &option.name;
    let plain = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (1..=64).contains(&text.len()) && text.chars().all(allowed)
    };
    if !plain(name) || !plain(&option.alias) {
        let message = format!(
            "option `{name}` ({}) is not letters, digits, underscores",
            option.alias
        );
        return Err(invalid(feature, message));
    }
    let number = match option.default {
        OptionValue::Int(whole) => f64::from(whole),
        OptionValue::Float(number) => number,
        OptionValue::Bool(_) | OptionValue::Text(_) => return Ok(()),
    };
    let whole = matches!(option.default, OptionValue::Int(_));
    let bounds = [option.min, option.max];
    let fits = |bound: f64| !whole || (bound == bound.trunc() && bound.abs() <= 2_147_483_648.0);
    if !(option.min..=option.max).contains(&number) || !bounds.into_iter().all(fits) {
        let message = format!(
            "option `{name}`: the default {number} is outside {} to {}, or these are no limits of \
             a {}",
            option.min,
            option.max,
            option.default.kind()
        );
        return Err(invalid(feature, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> BackendInfo {
        let mut feature = FeatureDescription::new("sharpness", "Edge energy", "a paper");
        feature.outputs.push("sharpness_edge".to_owned());
        feature.min_size = (8, 4);
        feature.planes = PlaneUse::ALL;
        feature.every_frame = true;
        let mut option =
            OptionDescription::new("gain", OptionValue::Float(1.5), (0.0, 8.0), "Scales it.");
        option.alias = "g".to_owned();
        option.in_names = true;
        let whole = OptionDescription::new("radius", OptionValue::Int(-3), (-5.0, 5.0), "Rows.");
        let word = OptionDescription::new(
            "mode",
            OptionValue::Text("fast".to_owned()),
            (0.0, 0.0),
            "A word.",
        );
        let switch =
            OptionDescription::new("clip", OptionValue::Bool(true), (0.0, 0.0), "Clips it.");
        feature.options = vec![option, whole, word, switch];
        let mut info = BackendInfo::new("example-1", "An example", "1.2.3");
        info.priority = -7;
        info.features.push(feature);
        info
    }

    #[test]
    fn a_description_survives_the_wire() {
        let info = described();
        // SAFETY: a description of this side.
        let read = unsafe { backend(leaked(info.clone()).root()) };
        assert_eq!(read.unwrap(), info);
    }

    #[test]
    fn broken_rules_are_named() {
        let refused = |change: &dyn Fn(&mut BackendInfo)| {
            let mut info = described();
            change(&mut info);
            check(&info).unwrap_err().to_string()
        };
        let feature = |change: fn(&mut FeatureDescription)| {
            refused(&move |info| change(&mut info.features[0]))
        };
        assert!(refused(&|info| info.id = "Bad Id".to_owned()).contains("`Bad Id`"));
        assert!(refused(&|info| info.version.clear()).contains("no version"));
        let twice = refused(&|info| info.features.push(info.features[0].clone()));
        assert!(twice.contains("two features are named `sharpness`"));
        assert!(feature(|f| f.outputs.clear()).contains("0 scores"));
        assert!(feature(|f| f.outputs = vec!["a".into(); 2]).contains("two scores are named `a`"));
        assert!(feature(|f| f.outputs = vec!["a b".into()]).contains("`a b`"));
        assert!(feature(|f| f.outputs = vec!["0".into()]).contains("begin with no digit"));
        assert!(feature(|f| f.outputs = vec!["frameNum".into()]).contains("`frameNum`"));
        assert!(feature(|f| f.source.push('\u{1b}')).contains("the source has the character"));
        assert!(refused(&|info| info.name.push('\u{202e}')).contains("\\u{202e}"));
        assert!(feature(|f| f.planes = PlaneUse(9)).contains("plane use 9"));
        assert!(feature(|f| f.options[0].max = 1.0).contains("1.5 is outside 0 to 1"));
        assert!(feature(|f| f.options[1].min = -4.5).contains("no limits"));
        assert!(feature(|f| f.options[1].max = f64::NAN).contains("radius"));
        assert!(feature(|f| f.options[2].name = "clip".into()).contains("two options"));
        assert!(feature(|f| f.options[2].alias = "g".into()).contains("named `g`"));
    }

    #[test]
    fn bits_of_the_future_are_refused() {
        let mut info = wire::FeatureInfo {
            name: Text::new("sharpness"),
            flags: FEATURE_EVERY_FRAME | 2,
            ..wire::FeatureInfo::empty()
        };
        // SAFETY: a description of this side.
        let error = unsafe { feature(&info) }.unwrap_err();
        assert!(error.message.contains("`sharpness` sets 0x2"), "{error}");
        info.flags = FEATURE_EVERY_FRAME;
        // SAFETY: as above.
        assert!(unsafe { feature(&info) }.unwrap().every_frame);
    }

    #[test]
    fn options_survive_the_wire() {
        let given = FeatureRequest {
            feature: "sharpness".to_owned(),
            options: described().features[0]
                .options
                .iter()
                .map(|option| OptionSetting::new(&option.name, option.default.clone()))
                .collect(),
            definition: 3,
        };
        let wire = WireRequest::new(&given);
        // SAFETY: `given` and `wire` are alive.
        assert_eq!(unsafe { request(&wire.wire(&given)) }.unwrap(), given);
        let mut bad = wire_value(&OptionValue::Int(1));
        bad.whole = i64::from(i32::MAX) + 1;
        // SAFETY: no text is read.
        let error = unsafe { value("radius", &bad) }.unwrap_err();
        assert_eq!((error.status, &*error.subject), (Status::RANGE, "radius"));
        bad.kind = OptionKind(77);
        // SAFETY: as above.
        let error = unsafe { value("radius", &bad) }.unwrap_err();
        assert!(error.message.contains("option kind 77"), "{error}");
    }

    #[test]
    fn a_device_waits_only_for_what_it_takes() {
        use crate::kinds::{FenceKind, FenceKinds};
        let mut info = DeviceInfo::new("A device", "isa");
        info.pci = Some([0, 3, 0, 1]);
        info.acquire_kinds = FenceKinds::of(&[FenceKind::HOST, FenceKind::SYNC_FILE]);
        info.acquire_on_device = FenceKinds::of(&[FenceKind::SYNC_FILE]);
        let back = device("example", 2, &wire_device(&info)).unwrap();
        assert_eq!((back.index, &*back.backend), (2, "example"));
        assert_eq!(
            (back.pci, back.acquire_on_device),
            (info.pci, info.acquire_on_device)
        );
        info.acquire_on_device = FenceKinds::of(&[FenceKind::GL_SYNC]);
        let error = device("example", 2, &wire_device(&info)).unwrap_err();
        assert!(
            error
                .message
                .contains("GL sync is not within host fence, sync_file"),
            "{error}"
        );
    }
}
