//! Our own model format: the same figures as upstream's JSON in a tenth of the bytes.
//!
//! A text file of lines; words are separated by one space; lines that start with `#` are
//! comments. In order:
//!
//! ```text
//! vmafx-model 1                        format and version
//! feature NAME OPTION=VALUE ...        one line a feature, in model order
//! vectors COUNT                        then COUNT lines, one component a feature
//! member KIND                          LIBSVMNUSVR and so on; one or more members
//! slopes SCORE FEATURE ...             absent with `intercepts`: no normalisation
//! intercepts SCORE FEATURE ...
//! chroma_correction_parameter NUMBER   may be absent
//! score_clip LOW HIGH                  may be absent
//! score_transform WORD ...             may be absent; words: enabled, p0=NUMBER, p1=, p2=,
//!                                      knot=X,Y, out_lte_in, out_gte_in
//! gamma NUMBER
//! rho NUMBER
//! terms COUNT                          then COUNT lines: coefficient, number of a vector
//! end
//! ```
//!
//! Numbers are decimal texts that round to the very `f64`. The members of a collection are
//! trained on samples of one set, so their support vectors are mostly the same: a table of 230
//! serves the 4435 terms of `vmaf_b_v0.6.3`.

use std::fmt::Write;
use std::iter::{Peekable, Zip};
use std::ops::RangeFrom;

use crate::model::{Feature, Kind, Model, Stated, check_features};
use crate::set::Figures;
use crate::svm::{Machine, Vectors, finite};
use crate::transform::Transform;
use crate::{MAX_BYTES, MAX_FEATURES, MAX_MEMBERS, MAX_VECTORS, ModelError};

/// How a file in this format starts.
pub(crate) const MAGIC: &str = "vmafx-model ";
const VERSION: &str = "1";

/// The text of a model set, without comments.
pub(crate) fn write(features: &[Feature], vectors: &Vectors, members: &[Model]) -> String {
    let mut text = format!("{MAGIC}{VERSION}\n");
    let mut line = |words: &[&str]| {
        text.push_str(&words.join(" "));
        text.push('\n');
    };
    for feature in features {
        let options = feature
            .options
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        line(&[
            "feature",
            &(feature.name.clone() + &options.collect::<String>()),
        ]);
    }
    line(&["vectors", &vectors.iter().len().to_string()]);
    for vector in vectors.iter() {
        line(&[&numbers(vector.iter().copied())]);
    }
    for model in members {
        line(&["member", model.kind.name()]);
        if let Some(rescale) = &model.rescale {
            let lines = || std::iter::once(&rescale.score).chain(&rescale.features);
            line(&["slopes", &numbers(lines().map(|line| line.slope))]);
            line(&["intercepts", &numbers(lines().map(|line| line.intercept))]);
        }
        if let Some(chroma) = &model.chroma {
            line(&["chroma_correction_parameter", &number(chroma.parameter)]);
        }
        if let Some(range) = model.clip {
            line(&["score_clip", &numbers(range)]);
        }
        if let Some(transform) = &model.transform {
            line(&[&transform_line(transform)]);
        }
        line(&["gamma", &number(model.machine.gamma)]);
        line(&["rho", &number(model.machine.rho)]);
        line(&["terms", &model.machine.terms.len().to_string()]);
        for (coefficient, place) in &model.machine.terms {
            line(&[&number(*coefficient), &place.to_string()]);
        }
    }
    line(&["end"]);
    text
}

fn transform_line(transform: &Transform) -> String {
    let mut line = "score_transform".to_owned();
    if transform.enabled {
        line.push_str(" enabled");
    }
    for (power, p) in transform.p.iter().enumerate() {
        if let Some(p) = p {
            let _ = write!(line, " p{power}={}", number(*p));
        }
    }
    for [x, y] in &transform.knots {
        let _ = write!(line, " knot={},{}", number(*x), number(*y));
    }
    if transform.out_lte_in {
        line.push_str(" out_lte_in");
    }
    if transform.out_gte_in {
        line.push_str(" out_gte_in");
    }
    line
}

fn numbers(list: impl IntoIterator<Item = f64>) -> String {
    list.into_iter().map(number).collect::<Vec<_>>().join(" ")
}

/// The shortest text that reads back as `value`.
fn number(value: f64) -> String {
    let plain = value.to_string();
    let scientific = format!("{value:e}");
    if scientific.len() < plain.len() {
        scientific
    } else {
        plain
    }
}

/// Reads a file in this format.
pub(crate) fn read(bytes: &[u8]) -> Result<Figures, ModelError> {
    if bytes.len() > MAX_BYTES {
        return Err(ModelError::TooLarge { limit: MAX_BYTES });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        ModelError::value(
            "the file",
            &String::from_utf8_lossy(bytes),
            "a text in UTF-8",
        )
    })?;
    let mut lines = Lines((1..).zip(text.lines()).peekable());
    let version = lines.keyword("vmafx-model")?;
    if version.words[..] != [VERSION] {
        return Err(version.wrong("version 1, the only one this reads"));
    }

    let mut features = Vec::new();
    while let Some(line) = lines.take("feature") {
        let mut words = line.words.iter();
        let name = (*words.next().ok_or_else(|| line.wrong("a name"))?).to_owned();
        let mut options: Vec<(String, String)> = Vec::new();
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| line.wrong("NAME OPTION=VALUE ..."))?;
            if options.iter().any(|(other, _)| other == name) {
                return Err(ModelError::Twice {
                    key: format!("{}: {name}", line.key()),
                });
            }
            options.push((name.to_owned(), value.to_owned()));
        }
        if features.len() == MAX_FEATURES {
            return Err(line.wrong("the end of the features: 64 is the limit"));
        }
        features.push(Feature { name, options });
    }
    check_features("features", &features)?;

    let count = lines.keyword("vectors")?.count(MAX_VECTORS)?;
    let mut table = Vec::new();
    for _ in 0..count {
        let line = lines.line()?;
        table.push(line.numbers(features.len())?);
    }
    let mut figures = Figures::of(features);
    let mut budget = MAX_VECTORS;
    loop {
        let member = lines.keyword("member")?;
        if figures.members.len() == MAX_MEMBERS {
            return Err(member.wrong("the end of the members: 1000 is the limit"));
        }
        read_member(&member, &mut lines, &mut figures, &table, &mut budget)?;
        if lines.take("end").is_some() {
            break;
        }
    }
    match lines.line() {
        Ok(line) => Err(line.wrong("nothing behind `end`")),
        Err(_) => Ok(figures),
    }
}

fn read_member(
    member: &Line,
    lines: &mut Lines,
    figures: &mut Figures,
    table: &[Vec<f64>],
    budget: &mut usize,
) -> Result<(), ModelError> {
    let columns = figures.features.len() + 1;
    let kind = Kind::parse(&member.key(), &member.words.join(" "))?;
    let rescale = match lines.take("slopes") {
        Some(slopes) => Some([
            slopes.numbers(columns)?,
            lines.keyword("intercepts")?.numbers(columns)?,
        ]),
        None => None,
    };
    let chroma_correction = lines.take("chroma_correction_parameter");
    let clip = lines.take("score_clip");
    let transform = lines.take("score_transform");
    let mut machine = Machine {
        gamma: lines.keyword("gamma")?.number()?,
        rho: lines.keyword("rho")?.number()?,
        terms: Vec::new(),
    };
    let count = lines.keyword("terms")?.count(*budget)?;
    *budget -= count;
    for _ in 0..count {
        let line = lines.line()?;
        let wanted = || {
            format!(
                "a coefficient and the number of a vector below {}",
                table.len()
            )
        };
        let [coefficient, place] = line.words[..] else {
            return Err(line.wrong(&wanted()));
        };
        let vector = place.parse().ok().and_then(|place: usize| table.get(place));
        let coefficient = finite(coefficient);
        let (Some(coefficient), Some(vector)) = (coefficient, vector) else {
            return Err(line.wrong(&wanted()));
        };
        // Placed anew, so that sets of the same figures are alike whatever their table was.
        machine
            .terms
            .push((coefficient, figures.vectors.place(vector)));
    }
    let stated = Stated {
        kind,
        rescale,
        chroma_correction: chroma_correction.map(|line| line.number()).transpose()?,
        clip: clip.map(|line| line.pair()).transpose()?,
        transform: transform.map(|line| read_transform(&line)).transpose()?,
        machine,
    };
    let key = format!("member of {}", member.key());
    figures
        .members
        .push(Model::new(&key, &figures.features, stated)?);
    Ok(())
}

fn read_transform(line: &Line) -> Result<Transform, ModelError> {
    let mut transform = Transform::default();
    let number = |text: &str| finite(text).ok_or_else(|| line.wrong("finite numbers"));
    let mut seen = Vec::new();
    for word in &line.words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if name != "knot" && seen.contains(&name) {
            return Err(ModelError::Twice {
                key: format!("{}: {name}", line.key()),
            });
        }
        seen.push(name);
        match (name, value) {
            ("enabled", "") => transform.enabled = true,
            ("out_lte_in", "") => transform.out_lte_in = true,
            ("out_gte_in", "") => transform.out_gte_in = true,
            ("p0", value) => transform.p[0] = Some(number(value)?),
            ("p1", value) => transform.p[1] = Some(number(value)?),
            ("p2", value) => transform.p[2] = Some(number(value)?),
            ("knot", value) => {
                let (x, y) = value
                    .split_once(',')
                    .ok_or_else(|| line.wrong("knot=X,Y"))?;
                transform.knots.push([number(x)?, number(y)?]);
            }
            _ => return Err(line.wrong("enabled, p0=, p1=, p2=, knot=, out_lte_in, out_gte_in")),
        }
    }
    Ok(transform)
}

/// The lines that are left.
struct Lines<'a>(Peekable<Zip<RangeFrom<usize>, std::str::Lines<'a>>>);

impl<'a> Lines<'a> {
    /// The next line that is no comment, left in place.
    fn peek(&mut self) -> Option<(usize, &'a str)> {
        while self.0.next_if(|(_, line)| line.starts_with('#')).is_some() {}
        self.0.peek().copied()
    }

    fn line(&mut self) -> Result<Line<'a>, ModelError> {
        let (number, text) = self.peek().ok_or_else(|| ModelError::Missing {
            key: "end".to_owned(),
        })?;
        self.0.next();
        Ok(Line {
            number,
            text,
            words: text.split(' ').collect(),
        })
    }

    /// The next line without its first word, if that is `keyword`.
    fn take(&mut self, keyword: &str) -> Option<Line<'a>> {
        let (number, text) = self.peek()?;
        let mut words = text.split(' ');
        if words.next() != Some(keyword) {
            return None;
        }
        self.0.next();
        Some(Line {
            number,
            text,
            words: words.collect(),
        })
    }

    fn keyword(&mut self, keyword: &str) -> Result<Line<'a>, ModelError> {
        if let Some(line) = self.take(keyword) {
            return Ok(line);
        }
        match self.peek() {
            Some(_) => Err(self
                .line()?
                .wrong(&format!("a line that starts with `{keyword}`"))),
            None => Err(ModelError::Missing {
                key: keyword.to_owned(),
            }),
        }
    }
}

/// One line and its words.
struct Line<'a> {
    number: usize,
    text: &'a str,
    words: Vec<&'a str>,
}

impl Line<'_> {
    fn key(&self) -> String {
        format!("line {}", self.number)
    }

    fn wrong(&self, wanted: &str) -> ModelError {
        ModelError::value(&self.key(), self.text, wanted)
    }

    fn numbers(&self, count: usize) -> Result<Vec<f64>, ModelError> {
        let list: Option<Vec<f64>> = self.words.iter().map(|word| finite(word)).collect();
        list.filter(|list| list.len() == count)
            .ok_or_else(|| self.wrong(&format!("a line of {count} finite numbers")))
    }

    fn number(&self) -> Result<f64, ModelError> {
        Ok(self.numbers(1)?[0])
    }

    fn pair(&self) -> Result<[f64; 2], ModelError> {
        let pair = self.numbers(2)?;
        Ok([pair[0], pair[1]])
    }

    fn count(&self, limit: usize) -> Result<usize, ModelError> {
        let [word] = self.words[..] else {
            return Err(self.wrong("a count"));
        };
        let count = word
            .parse()
            .ok()
            .filter(|count| (1..=limit).contains(count));
        count.ok_or_else(|| self.wrong(&format!("a count from 1 to {limit}")))
    }
}
