//! Options of a metric with their values in force, and the score names they make.
//!
//! Texts are read as libvmaf reads them: a text that is a number is first rounded to single
//! precision and six significant digits, so `0.666666666` means `0.666667` here and in the
//! score's name. What libvmaf lets pass in silence (unknown names, trailing characters, values
//! of another kind) is an error here.

use vmafx_api::{FeatureRequest, OptionSetting, OptionValue};

use crate::definition::{Definition, OptionInfo, OptionKind, Output};
use crate::text::format_g;

/// Why an option cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The metric has no option of that name.
    #[error("{feature} has no option `{option}`; its options are: {known}")]
    Unknown {
        /// Name of the feature.
        feature: &'static str,
        /// What was given.
        option: String,
        /// All options of the feature.
        known: String,
    },
    /// The text is not of the option's kind.
    #[error("{feature}.{option}: `{value}` is not {wanted}")]
    Kind {
        /// Name of the feature.
        feature: &'static str,
        /// Name of the option.
        option: &'static str,
        /// What was given.
        value: String,
        /// What the option takes.
        wanted: &'static str,
    },
    /// The number is outside the option's range.
    #[error("{feature}.{option}: {value} is outside {min} to {max}")]
    Range {
        /// Name of the feature.
        feature: &'static str,
        /// Name of the option.
        option: &'static str,
        /// What was given.
        value: String,
        /// Smallest.
        min: String,
        /// Largest.
        max: String,
    },
}

/// All options of one metric, each with a value.
#[derive(Clone, Debug)]
pub struct Options {
    definition: &'static Definition,
    values: Vec<OptionValue>,
}

impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.definition, other.definition) && self.values == other.values
    }
}

impl Options {
    /// Every option at its default.
    pub fn defaults(definition: &'static Definition) -> Self {
        let values = definition.options.iter().map(default_value).collect();
        Options { definition, values }
    }

    /// The options that a request states.
    ///
    /// # Errors
    /// An unknown option, a value of another kind or outside its range.
    pub fn from_request(
        definition: &'static Definition,
        request: &FeatureRequest,
    ) -> Result<Self, OptionError> {
        let mut options = Options::defaults(definition);
        for setting in &request.options {
            options.set(&setting.name, setting.value.clone())?;
        }
        Ok(options)
    }

    /// The request that states every option of this set.
    pub fn request(&self) -> FeatureRequest {
        let settings = self.definition.options.iter().zip(&self.values);
        FeatureRequest {
            feature: self.definition.name.to_owned(),
            options: settings
                .map(|(info, value)| OptionSetting {
                    name: info.name.to_owned(),
                    value: value.clone(),
                })
                .collect(),
        }
    }

    /// The metric whose options these are.
    pub fn definition(&self) -> &'static Definition {
        self.definition
    }

    /// Reads `text` as a value of option `name` (full name or alias).
    ///
    /// # Errors
    /// An unknown option, a text of another kind, a number outside its range.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        let info = self.definition.options[self.place(name)?];
        let wrong = |wanted| OptionError::Kind {
            feature: self.definition.name,
            option: info.name,
            value: text.to_owned(),
            wanted,
        };
        let value = match info.kind {
            OptionKind::Bool { .. } => match text {
                "true" => OptionValue::Bool(true),
                "false" => OptionValue::Bool(false),
                _ => return Err(wrong("`true` or `false`")),
            },
            OptionKind::Int { .. } => {
                let number = normalised(text).ok_or_else(|| wrong("a whole number"))?;
                if number.fract() != 0.0 || number.abs() > f64::from(i32::MAX) {
                    return Err(wrong("a whole number"));
                }
                OptionValue::Int(number as i32)
            }
            OptionKind::Float { .. } => {
                OptionValue::Float(normalised(text).ok_or_else(|| wrong("a number"))?)
            }
            OptionKind::Text { .. } => OptionValue::Text(text.to_owned()),
        };
        self.set(name, value)
    }

    /// Sets option `name` (full name or alias) to `value`.
    ///
    /// # Errors
    /// An unknown option, a value of another kind, a number outside its range.
    pub fn set(&mut self, name: &str, value: OptionValue) -> Result<(), OptionError> {
        let place = self.place(name)?;
        let info = &self.definition.options[place];
        let range = |value: String, min: String, max: String| OptionError::Range {
            feature: self.definition.name,
            option: info.name,
            value,
            min,
            max,
        };
        match (&info.kind, &value) {
            (OptionKind::Bool { .. }, OptionValue::Bool(_))
            | (OptionKind::Text { .. }, OptionValue::Text(_)) => {}
            (OptionKind::Int { min, max, .. }, OptionValue::Int(v)) => {
                if !(min..=max).contains(&v) {
                    return Err(range(v.to_string(), min.to_string(), max.to_string()));
                }
            }
            (OptionKind::Float { min, max, .. }, OptionValue::Float(v)) => {
                if !(min..=max).contains(&v) {
                    let g = |v: f64| format_g(v, 6);
                    return Err(range(g(*v), g(*min), g(*max)));
                }
            }
            _ => {
                return Err(OptionError::Kind {
                    feature: self.definition.name,
                    option: info.name,
                    value: value_text(&value),
                    wanted: "a value of this option's kind",
                });
            }
        }
        self.values[place] = value;
        Ok(())
    }

    /// Value of a switch. The name must be in the definition.
    pub fn bool(&self, name: &str) -> bool {
        match self.value(name) {
            OptionValue::Bool(value) => *value,
            other => panic!("option {name} is not a switch but {other:?}"),
        }
    }

    /// Value of a whole number. The name must be in the definition.
    pub fn int(&self, name: &str) -> i32 {
        match self.value(name) {
            OptionValue::Int(value) => *value,
            other => panic!("option {name} is not a whole number but {other:?}"),
        }
    }

    /// Value of a number. The name must be in the definition.
    pub fn float(&self, name: &str) -> f64 {
        match self.value(name) {
            OptionValue::Float(value) => *value,
            other => panic!("option {name} is not a number but {other:?}"),
        }
    }

    /// Name of `output` in reports: its own name, then alias and value of every name-bearing
    /// option that differs from its default, sorted by full option name.
    pub fn score_name(&self, output: &Output) -> String {
        let mut changed: Vec<_> = self
            .definition
            .options
            .iter()
            .zip(&self.values)
            .filter(|(info, value)| info.in_name && **value != default_value(info))
            .collect();
        changed.sort_by_key(|(info, _)| info.name);
        let mut name = output.name.to_owned();
        for (info, value) in changed {
            name.push('_');
            name.push_str(info.alias);
            if !matches!(value, OptionValue::Bool(_)) {
                name.push('_');
                name.push_str(&value_text(value));
            }
        }
        name
    }

    fn value(&self, name: &str) -> &OptionValue {
        let place = self.place(name);
        &self.values[place.expect("a metric reads only its own options")]
    }

    fn place(&self, name: &str) -> Result<usize, OptionError> {
        let options = self.definition.options;
        let by_name = options.iter().position(|info| info.name == name);
        let by_alias = || options.iter().position(|info| info.alias == name);
        by_name
            .or_else(by_alias)
            .ok_or_else(|| OptionError::Unknown {
                feature: self.definition.name,
                option: name.to_owned(),
                known: match options {
                    [] => "none".to_owned(),
                    _ => options
                        .iter()
                        .map(|o| o.name)
                        .collect::<Vec<_>>()
                        .join(", "),
                },
            })
    }
}

fn default_value(info: &OptionInfo) -> OptionValue {
    match info.kind {
        OptionKind::Bool { default } => OptionValue::Bool(default),
        OptionKind::Int { default, .. } => OptionValue::Int(default),
        OptionKind::Float { default, .. } => OptionValue::Float(default),
        OptionKind::Text { default } => OptionValue::Text(default.to_owned()),
    }
}

fn value_text(value: &OptionValue) -> String {
    match value {
        OptionValue::Bool(v) => v.to_string(),
        OptionValue::Int(v) => v.to_string(),
        OptionValue::Float(v) => format_g(*v, 6),
        OptionValue::Text(v) => v.clone(),
        _ => String::new(),
    }
}

/// A finite number as libvmaf keeps it: rounded to `f32`, then to six significant digits.
fn normalised(text: &str) -> Option<f64> {
    let number: f32 = text.trim().parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    format_g(f64::from(number), 6).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Exactness;

    static DEFINITION: Definition = Definition {
        name: "sample",
        summary: "",
        source: "",
        limits: "",
        options: &[
            OptionInfo {
                name: "b_weight",
                alias: "w",
                help: "",
                kind: OptionKind::Float {
                    default: 0.5,
                    min: 0.0,
                    max: 1.0,
                },
                in_name: true,
            },
            OptionInfo {
                name: "a_mode",
                alias: "m",
                help: "",
                kind: OptionKind::Int {
                    default: 0,
                    min: 0,
                    max: 3,
                },
                in_name: true,
            },
            OptionInfo {
                name: "c_skip",
                alias: "sk",
                help: "",
                kind: OptionKind::Bool { default: false },
                in_name: true,
            },
            OptionInfo {
                name: "debug",
                alias: "debug",
                help: "",
                kind: OptionKind::Bool { default: false },
                in_name: false,
            },
        ],
        outputs: &[],
        exactness: Exactness::Equal,
        every_frame: false,
    };
    const OUTPUT: Output = Output {
        internal: "X",
        name: "x",
    };

    #[test]
    fn names_follow_options() {
        let mut options = Options::defaults(&DEFINITION);
        assert_eq!(options.score_name(&OUTPUT), "x");
        options.set_text("debug", "true").unwrap();
        options.set_text("w", "0.666666666").unwrap();
        options.set_text("c_skip", "true").unwrap();
        options.set_text("a_mode", "2").unwrap();
        assert_eq!(options.score_name(&OUTPUT), "x_m_2_w_0.666667_sk");
        assert_eq!(options.float("b_weight"), 0.666667);
        options.set_text("b_weight", "0.5").unwrap();
        assert_eq!(options.score_name(&OUTPUT), "x_m_2_sk");
        let again = Options::from_request(&DEFINITION, &options.request()).unwrap();
        assert_eq!(again, options);
    }

    #[test]
    fn wrong_values_are_named() {
        let mut options = Options::defaults(&DEFINITION);
        let mut text = |name, value| options.set_text(name, value).unwrap_err().to_string();
        assert_eq!(
            text("mode", "1"),
            "sample has no option `mode`; its options are: b_weight, a_mode, c_skip, debug"
        );
        assert_eq!(text("a_mode", "4"), "sample.a_mode: 4 is outside 0 to 3");
        assert_eq!(
            text("a_mode", "1.5"),
            "sample.a_mode: `1.5` is not a whole number"
        );
        assert_eq!(
            text("b_weight", "1x"),
            "sample.b_weight: `1x` is not a number"
        );
        assert_eq!(
            text("b_weight", "nan"),
            "sample.b_weight: `nan` is not a number"
        );
        assert_eq!(
            text("b_weight", "-1"),
            "sample.b_weight: -1 is outside 0 to 1"
        );
        assert_eq!(
            text("debug", "1"),
            "sample.debug: `1` is not `true` or `false`"
        );
    }
}
