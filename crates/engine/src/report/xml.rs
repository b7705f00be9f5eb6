//! The XML report.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use super::number::score;
use super::{Outcome, Precision};
use crate::provenance::{OptionRecord, Provenance};

pub(super) fn write(
    outcome: &Outcome,
    precision: Precision,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = outcome.names();
    let (width, height) = (outcome.format.width(), outcome.format.height());
    writeln!(
        out,
        "<VMAF version=\"{}\">",
        Text(&outcome.provenance.vmafx)
    )?;
    writeln!(
        out,
        "  <params qualityWidth=\"{width}\" qualityHeight=\"{height}\" />"
    )?;
    writeln!(out, "  <fyi fps=\"{:.2}\" />", outcome.fps())?;

    writeln!(out, "  <frames>")?;
    outcome.rows(|frame, values| {
        write!(out, "    <frame frameNum=\"{frame}\" ")?;
        for (name, value) in names.iter().zip(values) {
            if let Some(value) = value {
                write!(out, "{name}=\"{}\" ", score(*value, precision))?;
            }
        }
        writeln!(out, "/>")
    })?;
    writeln!(out, "  </frames>")?;

    writeln!(out, "  <pooled_metrics>")?;
    outcome.pools(|name, pooled| {
        write!(out, "    <metric name=\"{name}\" ")?;
        for (pooling, value) in pooled {
            write!(out, "{pooling}=\"{}\" ", score(*value, precision))?;
        }
        writeln!(out, "/>")
    })?;
    writeln!(out, "  </pooled_metrics>")?;

    write!(out, "  <aggregate_metrics ")?;
    for aggregate in &outcome.aggregates {
        write!(
            out,
            "{}=\"{}\" ",
            aggregate.name,
            score(aggregate.value, precision)
        )?;
    }
    writeln!(out, "/>")?;
    write_provenance(&outcome.provenance, out)?;
    writeln!(out, "</VMAF>")
}

fn write_provenance(provenance: &Provenance, out: &mut dyn Write) -> io::Result<()> {
    let Provenance {
        schema,
        vmafx,
        inputs,
        format,
        frames,
        models,
        features,
        repeats,
        options,
        warnings,
    } = provenance;
    let attributes: [(_, &dyn Display); 3] =
        [("schema", schema), ("vmafx", vmafx), ("format", format)];
    element(out, 1, "provenance", &attributes, End::Open)?;
    for input in inputs {
        let attributes: [(_, &dyn Display); 4] = [
            ("role", &input.role),
            ("name", &input.name),
            ("format", &input.format),
            ("skipped", &input.skipped),
        ];
        element(out, 2, "input", &attributes, End::Empty)?;
    }
    let attributes: [(_, &dyn Display); 5] = [
        ("read", &frames.read),
        ("scored", &frames.scored),
        ("skipped", &frames.skipped),
        ("subsample", &frames.subsample),
        ("complete", &frames.complete),
    ];
    element(out, 2, "frames", &attributes, End::Empty)?;
    for model in models {
        let attributes: [(_, &dyn Display); 5] = [
            ("name", &model.name),
            ("model", &model.model),
            ("source", &model.source),
            ("sha256", &model.sha256),
            ("figures_sha256", &model.figures_sha256),
        ];
        element(out, 2, "model", &attributes, End::Open)?;
        write_options(&model.options, 3, out)?;
        writeln!(out, "    </model>")?;
    }
    for feature in features {
        let scores = feature.scores.join(" ");
        let attributes: [(_, &dyn Display); 8] = [
            ("name", &feature.name),
            ("scores", &scores),
            ("backend", &feature.backend),
            ("backend_version", &feature.backend_version),
            ("device", &feature.device),
            ("device_name", &feature.device_name),
            ("isa", &feature.isa),
            ("library", &feature.library),
        ];
        element(out, 2, "feature", &attributes, End::Open)?;
        write_options(&feature.options, 3, out)?;
        writeln!(out, "    </feature>")?;
    }
    for repeat in repeats {
        let attributes: [(_, &dyn Display); 2] =
            [("device", &repeat.device), ("frames", &repeat.frames)];
        element(out, 2, "repeats", &attributes, End::Empty)?;
    }
    write_options(options, 2, out)?;
    for warning in warnings {
        let attributes: [(_, &dyn Display); 2] = [("code", &warning.code), ("text", &warning.text)];
        element(out, 2, "warning", &attributes, End::Empty)?;
    }
    writeln!(out, "  </provenance>")
}

fn write_options(options: &[OptionRecord], depth: usize, out: &mut dyn Write) -> io::Result<()> {
    for option in options {
        let attributes: [(_, &dyn Display); 2] = [("name", &option.name), ("value", &option.value)];
        element(out, depth, "option", &attributes, End::Empty)?;
    }
    Ok(())
}

enum End {
    Open,
    Empty,
}

fn element(
    out: &mut dyn Write,
    depth: usize,
    name: &str,
    attributes: &[(&str, &dyn Display)],
    end: End,
) -> io::Result<()> {
    write!(out, "{:indent$}<{name}", "", indent = 2 * depth)?;
    for (key, value) in attributes {
        write!(out, " {key}=\"{}\"", Text(value))?;
    }
    writeln!(
        out,
        "{}",
        match end {
            End::Open => ">",
            End::Empty => " />",
        }
    )
}

/// Text as an attribute value: markup and white space are escaped, characters that XML 1.0
/// cannot carry are replaced by U+FFFD.
struct Text<T>(T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);
        impl fmt::Write for Escape<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                for c in text.chars() {
                    match c {
                        '&' => self.0.write_str("&amp;")?,
                        '<' => self.0.write_str("&lt;")?,
                        '>' => self.0.write_str("&gt;")?,
                        '"' => self.0.write_str("&quot;")?,
                        '\t' | '\n' | '\r' => write!(self.0, "&#{};", c as u32)?,
                        '\0'..=' ' if c != ' ' => self.0.write_char('\u{fffd}')?,
                        '\u{fffe}' | '\u{ffff}' => self.0.write_char('\u{fffd}')?,
                        _ => self.0.write_char(c)?,
                    }
                }
                Ok(())
            }
        }
        write!(Escape(f), "{}", self.0)
    }
}
