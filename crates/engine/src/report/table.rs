//! The CSV and SUB reports: scores of frames and nothing else.

use std::io::{self, Write};

use super::number::score;
use super::{Outcome, Precision};

/// As libvmaf every line ends with a comma. A score that a frame lacks is an empty cell, where
/// libvmaf drops the cell and so shifts the row.
pub(super) fn write_csv(
    outcome: &Outcome,
    precision: Precision,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "Frame,")?;
    for name in outcome.names() {
        write!(out, "{name},")?;
    }
    writeln!(out)?;
    outcome.rows(|frame, values| {
        write!(out, "{frame},")?;
        for value in values {
            let text = value.map(|value| score(value, precision));
            write!(out, "{},", text.unwrap_or_default())?;
        }
        writeln!(out)
    })
}

/// MicroDVD: `{first frame}{frame behind the last}text`, with `|` between the text's lines.
pub(super) fn write_sub(
    outcome: &Outcome,
    precision: Precision,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = outcome.names();
    outcome.rows(|frame, values| {
        write!(out, "{{{frame}}}{{{}}}frame: {frame}|", frame + 1)?;
        for (name, value) in names.iter().zip(values) {
            if let Some(value) = value {
                write!(out, "{name}: {}|", score(*value, precision))?;
            }
        }
        writeln!(out)
    })
}
