//! The small languages inside option values: C-notation integers, `key=value:key=value` lists.
//!
//! A list is split at colons. A colon belongs to the value, not to the list, when
//! - it is written `\:`,
//! - a `/` or `\` follows it, as in `C:\models\a.json` (no key begins so), or
//! - the value is quoted: `path="odd: name.json"`, with `"` or `'`, up to the closing quote.
//!
//! A backslash elsewhere is an ordinary character. What libvmaf's tool drops in silence (text
//! behind a second `=`, empty fields, unknown keys) is an error or part of the value here, and
//! the error repeats the list as it was read.

use std::fmt;
use std::path::PathBuf;

use vmafx_models::Override;

/// Why an option value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    #[error("`{0}` is not a whole number (10, 0x0a or 012)")]
    Number(String),
    #[error("{0} is outside 0 to 4294967295")]
    Large(String),
    #[error("a quote `{0}` is not closed by another at the end of a value")]
    Quote(char),
    #[error("`{field}` is not key=value; read as {read}")]
    Field { field: String, read: String },
    #[error(
        "`{key}` is not a key of a model: path, version, name, disable_clip, enable_transform, FEATURE.OPTION; read as {read}"
    )]
    Key { key: String, read: String },
    #[error("`{key}` has two values; read as {read}")]
    Twice { key: String, read: String },
    #[error("the name of a model is empty; read as {0}")]
    Name(String),
    #[error("`{key}` takes true or false, not `{value}`; read as {read}")]
    Switch {
        key: String,
        value: String,
        read: String,
    },
    #[error("a model needs either path= or version=, not {got}; read as {read}")]
    Source { got: &'static str, read: String },
    #[error("the name of the feature is missing")]
    Feature,
    #[error("{0}")]
    Choice(&'static str),
}

/// Reads a whole number as C's `strtoul(text, 0)` does, but refuses what does not fit 32 bits.
pub(crate) fn unsigned(text: &str) -> Result<u32, SyntaxError> {
    let digits = text.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if !plain {
        return Err(SyntaxError::Number(text.to_owned()));
    }
    u32::from_str_radix(digits, radix).map_err(|_| SyntaxError::Large(text.to_owned()))
}

/// Reads a bit mask; negative numbers are two's complement, so `-1` is all bits.
pub(crate) fn mask(text: &str) -> Result<u32, SyntaxError> {
    match text.trim_start().strip_prefix('-') {
        Some(magnitude) => Ok(unsigned(magnitude)?.wrapping_neg()),
        None => unsigned(text),
    }
}

/// One `key=value` of a list, or a word without `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    key: String,
    value: Option<String>,
}

/// A list as it was read, for messages.
struct Read<'a>(&'a [Field]);

impl fmt::Display for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, field) in self.0.iter().enumerate() {
            f.write_str(if place > 0 { ", " } else { "" })?;
            match &field.value {
                Some(value) => write!(f, "{}=`{value}`", field.key)?,
                None => write!(f, "`{}`", field.key)?,
            }
        }
        Ok(())
    }
}

fn fields(text: &str) -> Result<Vec<Field>, SyntaxError> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        let (field, after) = field(rest)?;
        list.push(field);
        match after {
            Some(after) => rest = after,
            None => break,
        }
    }
    for (place, field) in list.iter().enumerate() {
        let mut earlier = list[..place].iter();
        if earlier.any(|earlier| earlier.key == field.key && earlier.value != field.value) {
            return Err(SyntaxError::Twice {
                key: field.key.clone(),
                read: Read(&list).to_string(),
            });
        }
    }
    Ok(list)
}

/// Reads one field; what stands behind its colon is the second part.
fn field(text: &str) -> Result<(Field, Option<&str>), SyntaxError> {
    let end = text.find([':', '=']).unwrap_or(text.len());
    let key = text[..end].to_owned();
    if !text[end..].starts_with('=') {
        return Ok((Field { key, value: None }, text.get(end + 1..)));
    }
    let (value, after) = value(&text[end + 1..])?;
    let value = Some(value);
    Ok((Field { key, value }, after))
}

fn value(text: &str) -> Result<(String, Option<&str>), SyntaxError> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (inside, after) = text[1..]
            .split_once(quote)
            .ok_or(SyntaxError::Quote(quote))?;
        return match after.strip_prefix(':') {
            Some(after) => Ok((inside.to_owned(), Some(after))),
            None if after.is_empty() => Ok((inside.to_owned(), None)),
            None => Err(SyntaxError::Quote(quote)),
        };
    }
    let mut value = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, c)| c);
        match c {
            '\\' if next == Some(':') => {
                value.push(':');
                chars.next();
            }
            ':' if !matches!(next, Some('/' | '\\')) => return Ok((value, Some(&text[at + 1..]))),
            _ => value.push(c),
        }
    }
    Ok((value, None))
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelSource {
    /// A model of that name, linked in or in a search folder.
    Named(String),
    /// A model file.
    Path(PathBuf),
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelSource::Named(name) => f.write_str(name),
            ModelSource::Path(path) => path.display().fmt(f),
        }
    }
}

/// Value of `--model`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelArgument {
    pub(crate) source: ModelSource,
    /// Name in the report.
    pub(crate) name: String,
    pub(crate) disable_clip: bool,
    pub(crate) enable_transform: bool,
    pub(crate) overrides: Vec<Override>,
}

impl ModelArgument {
    /// The model called `version`, reported as `name`.
    pub(crate) fn named(version: &str, name: &str) -> Self {
        ModelArgument {
            source: ModelSource::Named(version.to_owned()),
            name: name.to_owned(),
            disable_clip: false,
            enable_transform: false,
            overrides: Vec::new(),
        }
    }

    /// Reads the value of `--model`. A single word is short for `version=WORD`.
    pub(crate) fn parse(text: &str) -> Result<Self, SyntaxError> {
        let list = fields(text)?;
        let read = || Read(&list).to_string();
        let mut model = ModelArgument::named("", "vmaf");
        let (mut path, mut version) = (None, None);
        for (place, field) in list.iter().enumerate() {
            let key = field.key.as_str();
            let switch = || match field.value.as_deref() {
                None | Some("true") => Ok(true),
                Some("false") => Ok(false),
                Some(value) => Err(SyntaxError::Switch {
                    key: key.to_owned(),
                    value: value.to_owned(),
                    read: read(),
                }),
            };
            match (key, &field.value) {
                ("disable_clip", _) => model.disable_clip = switch()?,
                ("enable_transform", _) => model.enable_transform = switch()?,
                ("path", Some(value)) => path = Some(value.clone()),
                ("version", Some(value)) => version = Some(value.clone()),
                ("name", Some(value)) if value.is_empty() => {
                    return Err(SyntaxError::Name(read()));
                }
                ("name", Some(value)) => model.name = value.clone(),
                (_, None) if place == 0 && is_word(key) => version = Some(key.to_owned()),
                (_, None) => {
                    let field = key.to_owned();
                    return Err(SyntaxError::Field {
                        field,
                        read: read(),
                    });
                }
                (_, Some(value)) => match key.split_once('.') {
                    Some((feature, option)) if is_word(feature) && is_word(option) => {
                        model.overrides.push(Override {
                            metric: feature.to_owned(),
                            option: option.to_owned(),
                            value: value.clone(),
                        });
                    }
                    _ => {
                        let key = key.to_owned();
                        return Err(SyntaxError::Key { key, read: read() });
                    }
                },
            }
        }
        let nonempty = |text: Option<String>| text.filter(|text| !text.is_empty());
        model.source = match (nonempty(path), nonempty(version)) {
            (Some(path), None) => ModelSource::Path(path.into()),
            (None, Some(version)) => ModelSource::Named(version),
            (Some(_), Some(_)) => {
                return Err(SyntaxError::Source {
                    got: "both",
                    read: read(),
                });
            }
            (None, None) => {
                return Err(SyntaxError::Source {
                    got: "none",
                    read: read(),
                });
            }
        };
        Ok(model)
    }
}

/// Value of `--feature`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeatureArgument {
    /// Name of the feature.
    pub(crate) name: String,
    /// Names and texts of its options.
    pub(crate) options: Vec<(String, String)>,
}

impl FeatureArgument {
    /// Reads the value of `--feature`: `NAME` or `NAME=option=value:option=value`.
    pub(crate) fn parse(text: &str) -> Result<Self, SyntaxError> {
        let (name, options) = match text.split_once('=') {
            Some((name, options)) => (name, Some(options)),
            None => (text, None),
        };
        if name.is_empty() {
            return Err(SyntaxError::Feature);
        }
        let list = options.map_or(Ok(Vec::new()), fields)?;
        let mut options = Vec::with_capacity(list.len());
        for field in &list {
            match &field.value {
                Some(value) if !field.key.is_empty() => {
                    options.push((field.key.clone(), value.clone()));
                }
                _ => {
                    return Err(SyntaxError::Field {
                        field: field.key.clone(),
                        read: format!("{name} with {}", Read(&list)),
                    });
                }
            }
        }
        let name = name.to_owned();
        Ok(FeatureArgument { name, options })
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_cs() {
        for (text, value) in [
            ("0", 0),
            ("576", 576),
            (" +8", 8),
            ("0x10", 16),
            ("0XfF", 255),
            ("010", 8),
            ("4294967295", u32::MAX),
        ] {
            assert_eq!(unsigned(text), Ok(value), "{text}");
        }
        for text in ["", " ", "0x", "08", "12px", "1.5", "-3", "++1", "1 ", "é"] {
            assert_eq!(
                unsigned(text),
                Err(SyntaxError::Number(text.into())),
                "{text}"
            );
        }
        assert_eq!(
            unsigned("4294967296"),
            Err(SyntaxError::Large("4294967296".into()))
        );
        assert_eq!(mask("-1"), Ok(u32::MAX));
        assert_eq!(mask("0x30"), Ok(48));
        assert_eq!(mask("-0x2"), Ok(u32::MAX - 1));
    }

    #[test]
    fn drive_letters_quotes_and_escapes() {
        for (text, path, name) in [
            (r"path=C:\x\y.json:name=a", r"C:\x\y.json", "a"),
            ("path=C:/x/y.json:name=a", "C:/x/y.json", "a"),
            (r"name=a:path=\\?\D:\y.json", r"\\?\D:\y.json", "a"),
            (r"path=a\:b.json:name=a", "a:b.json", "a"),
            (r#"path="C:y=1:.json":name=a"#, "C:y=1:.json", "a"),
            (r"path='a\:b':name=a", r"a\:b", "a"),
            ("path=a=b.json", "a=b.json", "vmaf"),
        ] {
            let model = ModelArgument::parse(text).unwrap();
            assert_eq!(model.source, ModelSource::Path(path.into()), "{text}");
            assert_eq!(model.name, name, "{text}");
        }
    }

    #[test]
    fn model_fields() {
        let text =
            "version=vmaf_v0.6.1:enable_transform:disable_clip=false:vif.vif_enhn_gain_limit=1.0";
        let model = ModelArgument::parse(text).unwrap();
        assert_eq!(model.source, ModelSource::Named("vmaf_v0.6.1".into()));
        assert_eq!((model.enable_transform, model.disable_clip), (true, false));
        assert_eq!(
            model.overrides,
            [Override {
                metric: "vif".into(),
                option: "vif_enhn_gain_limit".into(),
                value: "1.0".into()
            }]
        );
        let model = ModelArgument::parse("vmaf_4k_v0.6.1:name=uhd").unwrap();
        assert_eq!(model.source, ModelSource::Named("vmaf_4k_v0.6.1".into()));
        assert_eq!(model.name, "uhd");
    }

    #[test]
    fn errors_show_what_was_read() {
        for (text, message) in [
            (
                "path=m.json:stray",
                "`stray` is not key=value; read as path=`m.json`, `stray`",
            ),
            ("", "`` is not key=value; read as ``"),
            ("version=a:", "`` is not key=value; read as version=`a`, ``"),
            (
                "version=a:version=b",
                "`version` has two values; read as version=`a`, version=`b`",
            ),
            (
                "version=a:name=",
                "the name of a model is empty; read as version=`a`, name=``",
            ),
            (
                "path=m.json:foo=1",
                "`foo` is not a key of a model: path, version, name, disable_clip, \
                 enable_transform, FEATURE.OPTION; read as path=`m.json`, foo=`1`",
            ),
            (
                "path=a:version=b",
                "a model needs either path= or version=, not both; read as path=`a`, version=`b`",
            ),
            (
                "name=a",
                "a model needs either path= or version=, not none; read as name=`a`",
            ),
            (
                "version=a:disable_clip=1",
                "`disable_clip` takes true or false, not `1`; read as version=`a`, \
                 disable_clip=`1`",
            ),
            (
                "path=\"a:b",
                "a quote `\"` is not closed by another at the end of a value",
            ),
        ] {
            assert_eq!(
                ModelArgument::parse(text).unwrap_err().to_string(),
                message,
                "{text}"
            );
        }
    }

    #[test]
    fn features() {
        let feature = FeatureArgument::parse("psnr=enable_apsnr=true:min_sse=0.5").unwrap();
        assert_eq!(feature.name, "psnr");
        assert_eq!(
            feature.options,
            [
                ("enable_apsnr".to_owned(), "true".to_owned()),
                ("min_sse".to_owned(), "0.5".to_owned())
            ]
        );
        assert!(FeatureArgument::parse("vif").unwrap().options.is_empty());
        assert_eq!(
            FeatureArgument::parse("psnr=enable_apsnr")
                .unwrap_err()
                .to_string(),
            "`enable_apsnr` is not key=value; read as psnr with `enable_apsnr`"
        );
        assert!(FeatureArgument::parse("psnr=").is_err());
        assert!(FeatureArgument::parse("=a=b").is_err());
        assert!(FeatureArgument::parse("psnr==1").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_a_value_or_an_error(text in ".{0,60}") {
            let _ = (ModelArgument::parse(&text), FeatureArgument::parse(&text));
            let _ = (unsigned(&text), mask(&text));
        }

        #[test]
        fn a_quoted_path_comes_back_as_it_is(path in "[^\"]{1,40}") {
            let model = ModelArgument::parse(&format!("path=\"{path}\":name=a")).unwrap();
            proptest::prop_assert_eq!(model.source, ModelSource::Path(path.into()));
        }
    }
}
