//! Whole reports, compared with those of Netflix's tool for the same clips and options
//! (`tests/upstream`): keys, order, white space and number format. Left out are what names the
//! program (`version`), what differs from run to run (`fps`) and what we add (the provenance).

use std::fs;
use std::path::Path;

use crate::harness::{run, vmaf};

/// The options of `tests/upstream/README.md`.
const RICH: &str = "--frame_cnt 3 --feature psnr=enable_apsnr=true:enable_mse=true \
                    --model version=vmaf_b_v0.6.3 --model version=vmaf_v0.6.1neg:name=neg";

/// `text` without version and speed.
fn neutral(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.retain(|line| {
        let line = line.trim_start();
        let json = line.starts_with("\"version\": ") || line.starts_with("\"fps\": ");
        !json && !line.starts_with("<VMAF version=") && !line.starts_with("<fyi fps=")
    });
    lines.join("\n") + if text.ends_with('\n') { "\n" } else { "" }
}

/// Our report without the provenance, which must be its last part.
fn without_provenance(report: &str, form: &str) -> String {
    let (from, to, end) = match form {
        "json" => (",\n  \"provenance\": {", "\n  }\n}", "\n}"),
        "xml" => ("  <provenance ", "  </provenance>\n</VMAF>", "</VMAF>"),
        _ => return report.to_owned(),
    };
    let (before, rest) = report.split_once(from).expect("there is a provenance");
    let (_, after) = rest.split_once(to).expect("nothing follows it");
    format!("{before}{end}{after}")
}

fn compare(clip: &str, options: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream");
    let mut compared = 0;
    for form in ["json", "xml", "csv", "sub"] {
        let theirs = fs::read_to_string(folder.join(format!("{clip}.{form}"))).unwrap();
        let line = format!("-r synth:{clip}/ref -d synth:{clip}/dis --{form} -o - {options}");
        let ours = run(vmaf(&line)).ok().stdout;
        let ours = neutral(&without_provenance(&ours, form));
        let theirs = neutral(&theirs);
        for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            assert_eq!(ours, theirs, "{clip}.{form}, line {number}");
        }
        assert_eq!(ours, theirs, "{clip}.{form}");
        compared += ours.len();
    }
    assert!(compared > 10_000, "{compared}");
}

/// A collection, a second model, extra columns, aggregates.
#[test]
fn reports_are_upstreams_to_the_letter() {
    compare("tex64_8_shift", RICH);
}

/// UR-52: hard edges, where upstream's arithmetic rounds and overflows in its own way.
#[test]
fn ur_52_extremes_are_upstreams() {
    compare("check10_8_shift1", "--feature psnr");
}
