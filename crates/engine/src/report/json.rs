//! The JSON report.

use std::io::{self, Write};

use super::number::json_score;
use super::{Outcome, Precision};

pub(super) fn write(
    outcome: &Outcome,
    precision: Precision,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = outcome.names();
    writeln!(out, "{{")?;
    writeln!(out, "  \"version\": \"{}\",", outcome.provenance.vmafx)?;
    match outcome.fps() {
        fps if fps.is_finite() => writeln!(out, "  \"fps\": {fps:.2},")?,
        _ => writeln!(out, "  \"fps\": null,")?,
    }

    write!(out, "  \"frames\": [")?;
    let mut comma = "";
    outcome.rows(|frame, values| {
        writeln!(out, "{comma}\n    {{")?;
        writeln!(out, "      \"frameNum\": {frame},")?;
        write!(out, "      \"metrics\": {{")?;
        comma = "";
        for (name, value) in names.iter().zip(values) {
            if let Some(value) = value {
                write!(
                    out,
                    "{comma}\n        \"{name}\": {}",
                    json_score(*value, precision)
                )?;
                comma = ",";
            }
        }
        write!(out, "\n      }}\n    }}")?;
        comma = ",";
        Ok(())
    })?;
    writeln!(out, "\n  ],")?;

    write!(out, "  \"pooled_metrics\": {{")?;
    let mut comma = "";
    outcome.pools(|name, pooled| {
        write!(out, "{comma}\n    \"{name}\": {{")?;
        comma = "";
        for (pooling, value) in pooled {
            write!(
                out,
                "{comma}\n      \"{pooling}\": {}",
                json_score(*value, precision)
            )?;
            comma = ",";
        }
        write!(out, "\n    }}")?;
        comma = ",";
        Ok(())
    })?;
    writeln!(out, "\n  }},")?;

    write!(out, "  \"aggregate_metrics\": {{")?;
    let mut comma = "";
    for aggregate in &outcome.aggregates {
        let value = json_score(aggregate.value, precision);
        write!(out, "{comma}\n    \"{}\": {value}", aggregate.name)?;
        comma = ",";
    }
    writeln!(out, "\n  }},")?;

    let provenance = serde_json::to_string_pretty(&outcome.provenance)?;
    writeln!(
        out,
        "  \"provenance\": {}",
        provenance.replace('\n', "\n  ")
    )?;
    writeln!(out, "}}")
}
