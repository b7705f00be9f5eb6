//! Options of a metric with their values in force, and the score names they make.
//!
//! Texts are read as libvmaf reads them: a text that is a number is first rounded to single
//! precision and six significant digits, so `0.666666666` means `0.666667` here and in the
//! score's name. Ranges hold for the number that is left, so `100.0001` passes as the `100` it
//! becomes where 100 is the limit; messages show the text as it was given. What libvmaf lets pass
//! in silence (unknown names, trailing characters, values of another kind) is an error here.

use vmafx_api::{FeatureRequest, OptionSetting, OptionValue};

use crate::definition::{Definition, Exactness, OptionInfo, OptionKind, Output};
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
    /// The option takes any large number, but texts are read in single precision.
    #[error("{feature}.{option}: {value} is too large: at most {max}")]
    TooLarge {
        /// Name of the feature.
        feature: &'static str,
        /// Name of the option.
        option: &'static str,
        /// What was given.
        value: String,
        /// Largest number that a text can give.
        max: String,
    },
}

/// Largest number of an option, whatever its definition says: texts are read in single precision.
const LARGEST: f64 = f32::MAX as f64;

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
            definition: self.definition.version,
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
    /// An unknown option, a text of another kind, a number outside its range or that of `f32`.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        let place = self.place(name)?;
        let info = &self.definition.options[place];
        let read = if self.is_exact() { exact } else { normalised };
        let number = |wanted| read(text).ok_or_else(|| self.wrong_kind(info, text, wanted));
        let value = match info.kind {
            OptionKind::Bool { .. } => match text {
                "true" => OptionValue::Bool(true),
                "false" => OptionValue::Bool(false),
                _ => return Err(self.wrong_kind(info, text, "`true` or `false`")),
            },
            OptionKind::Int { .. } => {
                let wanted = "a whole number";
                let number = number(wanted)?;
                if number.is_finite() && number.fract() != 0.0 {
                    return Err(self.wrong_kind(info, text, wanted));
                }
                self.check_range(info, number, text)?;
                // Within the range of an option, which is one of `i32`.
                OptionValue::Int(number as i32)
            }
            OptionKind::Float { .. } => {
                let number = number("a number")?;
                self.check_range(info, number, text)?;
                OptionValue::Float(number)
            }
            OptionKind::Text { .. } => OptionValue::Text(text.to_owned()),
        };
        self.values[place] = value;
        Ok(())
    }

    /// Sets option `name` (full name or alias) to `value`.
    ///
    /// # Errors
    /// An unknown option, a value of another kind, a number outside its range.
    pub fn set(&mut self, name: &str, value: OptionValue) -> Result<(), OptionError> {
        let place = self.place(name)?;
        let info = &self.definition.options[place];
        match (&info.kind, &value) {
            (OptionKind::Bool { .. }, OptionValue::Bool(_))
            | (OptionKind::Text { .. }, OptionValue::Text(_)) => {}
            (OptionKind::Int { .. }, OptionValue::Int(number)) => {
                self.check_range(info, f64::from(*number), &number.to_string())?;
            }
            (OptionKind::Float { .. }, OptionValue::Float(number)) => {
                // All digits, or a number just outside would read as the limit itself.
                let text = format!("{number:?}");
                self.check_range(info, *number, text.trim_end_matches(".0"))?;
            }
            _ => {
                let wanted = "a value of this option's kind";
                return Err(self.wrong_kind(info, &option_text(&value), wanted));
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
                // An exponent would bring a sign that no name of a score may have.
                match value {
                    OptionValue::Float(number) if self.is_exact() => {
                        name.push_str(&number.to_string());
                    }
                    _ => name.push_str(&option_text(value)),
                }
            }
        }
        name
    }

    fn wrong_kind(&self, info: &OptionInfo, value: &str, wanted: &'static str) -> OptionError {
        OptionError::Kind {
            feature: self.definition.name,
            option: info.name,
            value: value.to_owned(),
            wanted,
        }
    }

    /// Refuses a number, given as `text`, that is outside the range of option `info`.
    /// Whether values are taken as they are written: libvmaf rounds those of its own options, what a
    /// backend describes is none of its.
    fn is_exact(&self) -> bool {
        self.definition.exactness == Exactness::NotUpstreams
    }

    fn check_range(&self, info: &OptionInfo, number: f64, text: &str) -> Result<(), OptionError> {
        let six_digits = |number| format_g(number, 6);
        let (min, max, shown) = match info.kind {
            OptionKind::Int { min, max, .. } => (
                f64::from(min),
                f64::from(max),
                [min.to_string(), max.to_string()],
            ),
            OptionKind::Float { min, max, .. } if self.is_exact() => {
                (min, max, [min, max].map(|limit| limit.to_string()))
            }
            OptionKind::Float { min, max, .. } => {
                let max = max.min(LARGEST);
                (min, max, [min, max].map(six_digits))
            }
            OptionKind::Bool { .. } | OptionKind::Text { .. } => return Ok(()),
        };
        if (min..=max).contains(&number) {
            return Ok(());
        }
        let (feature, option, value) = (self.definition.name, info.name, text.to_owned());
        let [min, upper] = shown;
        Err(if max == LARGEST && number > max {
            OptionError::TooLarge {
                feature,
                option,
                value,
                max: upper,
            }
        } else {
            OptionError::Range {
                feature,
                option,
                value,
                min,
                max: upper,
            }
        })
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

/// `value` as users write it and as score names carry it: numbers with six significant digits.
pub fn option_text(value: &OptionValue) -> String {
    match value {
        OptionValue::Bool(v) => v.to_string(),
        OptionValue::Int(v) => v.to_string(),
        OptionValue::Float(v) => format_g(*v, 6),
        OptionValue::Text(v) => v.clone(),
        other => format!("{other:?}"),
    }
}

/// A number as libvmaf keeps it: rounded to `f32`, then to six significant digits. Infinite if it
/// is beyond `f32`.
fn normalised(text: &str) -> Option<f64> {
    let number: f32 = text.trim().parse().ok()?;
    if number.is_nan() {
        return None;
    }
    format_g(f64::from(number), 6).parse().ok()
}

/// A number as it is written.
fn exact(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| !number.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Planes;

    static DEFINITION: Definition = Definition {
        name: "sample",
        version: 1,
        summary: "",
        source: "",
        min_size: (1, 1),
        planes: Planes::Luma,
        options: &[
            OptionInfo::number("b_weight", (0.5, 0.0, 1.0), "").in_names("w"),
            OptionInfo::whole("a_mode", (0, 0, 3), "").in_names("m"),
            OptionInfo::switch("c_skip", false, "").in_names("sk"),
            OptionInfo::switch("debug", false, ""),
            OptionInfo::number("floor", (0.0, 0.0, f64::MAX), ""),
            OptionInfo::whole("shift", (0, i32::MIN, i32::MAX), ""),
        ],
        outputs: &[],
        aggregates: &[],
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
            "sample has no option `mode`; its options are: b_weight, a_mode, c_skip, debug, \
             floor, shift"
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

    #[test]
    fn ranges_are_told_with_the_text_as_given() {
        let mut options = Options::defaults(&DEFINITION);
        for (name, text, message) in [
            (
                "floor",
                "1e308",
                "sample.floor: 1e308 is too large: at most 3.40282e+38",
            ),
            (
                "floor",
                "3.5e38",
                "sample.floor: 3.5e38 is too large: at most 3.40282e+38",
            ),
            (
                "floor",
                "1e999",
                "sample.floor: 1e999 is too large: at most 3.40282e+38",
            ),
            (
                "floor",
                "inf",
                "sample.floor: inf is too large: at most 3.40282e+38",
            ),
            (
                "floor",
                "-1e308",
                "sample.floor: -1e308 is outside 0 to 3.40282e+38",
            ),
            (
                "floor",
                "-0.1234567",
                "sample.floor: -0.1234567 is outside 0 to 3.40282e+38",
            ),
            (
                "b_weight",
                "1e308",
                "sample.b_weight: 1e308 is outside 0 to 1",
            ),
            (
                "b_weight",
                "1.00001",
                "sample.b_weight: 1.00001 is outside 0 to 1",
            ),
            (
                "a_mode",
                "2147483648",
                "sample.a_mode: 2147483648 is outside 0 to 3",
            ),
            ("a_mode", "1e308", "sample.a_mode: 1e308 is outside 0 to 3"),
            (
                "a_mode",
                "nan",
                "sample.a_mode: `nan` is not a whole number",
            ),
            (
                "shift",
                "3e9",
                "sample.shift: 3e9 is outside -2147483648 to 2147483647",
            ),
        ] {
            let error = options.set_text(name, text).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(options, Options::defaults(&DEFINITION));
        let mut typed = |name, value| options.set(name, value).unwrap_err().to_string();
        assert_eq!(
            typed("b_weight", OptionValue::Float(1.0000001)),
            "sample.b_weight: 1.0000001 is outside 0 to 1"
        );
        assert_eq!(
            typed("b_weight", OptionValue::Float(2.0)),
            "sample.b_weight: 2 is outside 0 to 1"
        );
        assert_eq!(
            typed("floor", OptionValue::Float(1e308)),
            "sample.floor: 1e308 is too large: at most 3.40282e+38"
        );
        assert_eq!(
            typed("a_mode", OptionValue::Int(-1)),
            "sample.a_mode: -1 is outside 0 to 3"
        );
    }

    #[test]
    fn limits_hold_for_the_six_digits_kept() {
        let mut options = Options::defaults(&DEFINITION);
        for (text, value) in [("1", 1.0), ("1.000001", 1.0), ("-1e-50", 0.0)] {
            options.set_text("b_weight", text).unwrap();
            assert_eq!(options.float("b_weight"), value, "{text}");
        }
        options.set_text("floor", "3.4028235e38").unwrap();
        assert_eq!(options.float("floor"), 3.40282e38);
        options.set_text("shift", "-2147483648").unwrap();
        assert_eq!(options.int("shift"), -2147480000);
    }
}
