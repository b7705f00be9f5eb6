//! The HTML page: the chart, and a table of pooled scores below it.

use std::fmt::Write as _;

use super::{Chart, PlotError, printable, svg};

/// Rows of the table: name of a score, then its pooled values as text.
pub(crate) struct Table {
    /// Names of the poolings.
    pub(crate) columns: Vec<String>,
    /// A row for each score.
    pub(crate) rows: Vec<(String, Vec<String>)>,
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;color:#1f2328;max-width:1200px;\
margin:24px auto;padding:0 16px}svg{width:100%;height:auto}\
table{border-collapse:collapse;margin:16px 24px}\
th,td{padding:4px 16px;text-align:right;border-bottom:1px solid #e4e7eb;\
font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left}\
th{color:#6a737d;font-weight:600}footer{margin:16px 24px;color:#6a737d;font-size:13px}";

/// Draws the chart and writes it into a page that needs no other file.
///
/// # Errors
/// A failure of the drawing library.
pub(crate) fn html(chart: &Chart, table: &Table, footer: &str) -> Result<String, PlotError> {
    let picture = svg(chart)?;
    let title = escape(&chart.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<figure style=\"margin:0\">\n{picture}\
         </figure>\n<table>\n<thead><tr><th>score</th>"
    );
    for column in &table.columns {
        let _ = write!(page, "<th>{}</th>", escape(column));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (name, values) in &table.rows {
        let _ = write!(page, "<tr><td>{}</td>", escape(name));
        for value in values {
            let _ = write!(page, "<td>{}</td>", escape(value));
        }
        page.push_str("</tr>\n");
    }
    let footer = escape(footer);
    let _ = write!(
        page,
        "</tbody>\n</table>\n<footer>{footer}</footer>\n</body>\n</html>\n"
    );
    Ok(page)
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::tests::{chart, line};

    #[test]
    fn page_holds_chart_and_table() {
        let chart = chart(vec![line("vmaf", 3, |f| f as f64)], true);
        let table = Table {
            columns: vec!["mean".to_owned()],
            rows: vec![("<vmaf>".to_owned(), vec!["1.000000".to_owned()])],
        };
        let page = html(&chart, &table, "vmafx & co").unwrap();
        for part in [
            "<title>a &lt;b&gt; &amp; &quot;c&quot; </title>",
            "<svg width=",
            "<tr><td>&lt;vmaf&gt;</td><td>1.000000</td></tr>",
            "<footer>vmafx &amp; co</footer>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
