//! Reports, streams, charts, and what goes to which stream.

use std::collections::BTreeMap;
use std::process::Stdio;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::harness::{Clips, csv, json, run, run_line, skipped, vmaf, vmafx, wait, with};

const REF: &str = "synth:tex,size=64x48,frames=5";
const DIS: &str = "synth:tex,size=64x48,frames=5,dist=blur:1+noise:3";
const NULL: serde_json::Value = serde_json::Value::Null;
/// Chroma that is not looked at: aggregates of minus infinity.
const NO_CHROMA: &str = "--feature psnr=enable_apsnr=true:enable_chroma=false";

/// Attributes of every element `name` of a document, which is read strictly.
fn elements(xml: &str, name: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut found = Vec::new();
    let mut depth = 0;
    loop {
        let (tag, nested) = match reader.read_event().unwrap_or_else(|e| panic!("{e}: {xml}")) {
            Event::Start(tag) => (tag, 1),
            Event::Empty(tag) => (tag, 0),
            Event::End(_) => {
                depth -= 1;
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        depth += nested;
        let mut list = tag.attributes();
        let attributes = list.with_checks(true).map(|attribute| {
            let attribute = attribute.unwrap();
            (
                attribute.key.as_ref().to_owned(),
                attribute.value.to_string(),
            )
        });
        let attributes = attributes.collect();
        if tag.name().as_ref() == name {
            found.push(attributes);
        }
    }
    assert_eq!(depth, 0);
    found
}

/// Locales that write numbers with a comma and are installed here.
fn comma_locales() -> impl Iterator<Item = (&'static str, &'static str)> {
    const WANTED: [(&str, &str); 2] = [("LC_ALL", "de_DE.UTF-8"), ("LC_NUMERIC", "fr_FR.UTF-8")];
    let list = std::process::Command::new("locale").arg("-a").output();
    let list = list.map_or(String::new(), |run| {
        String::from_utf8_lossy(&run.stdout)
            .to_lowercase()
            .replace('-', "")
    });
    let has = move |name: &str| {
        let name = name.to_lowercase().replace('-', "");
        list.lines().any(|line| line == name)
    };
    let installed: Vec<_> = WANTED.into_iter().filter(|(_, name)| has(name)).collect();
    if installed.is_empty() {
        skipped(
            "locales",
            "neither de_DE.UTF-8 nor fr_FR.UTF-8 is installed",
        );
    }
    installed.into_iter()
}

/// UR-65 and UR-66: all four forms hold the same numbers, parse strictly, and do not change with
/// the locale.
#[test]
fn ur_65_forms_agree_and_parse() {
    for options in ["--feature psnr", NO_CHROMA, "-m version=vmaf_b_v0.6.3"] {
        let mut texts = Vec::new();
        for (name, value) in std::iter::once(("LC_ALL", "C")).chain(comma_locales()) {
            let forms = ["json", "xml", "csv", "sub"].map(|form| {
                let line = format!("score {REF} {DIS} {options} --{form} -o -");
                let mut command = vmafx(&line);
                command.env(name, value);
                let text = run(command).ok().stdout;
                // The speed is the one thing that differs from run to run.
                let lines = text.lines().filter(|line| !line.contains("fps"));
                lines.map(|line| format!("{line}\n")).collect::<String>()
            });
            texts.push(forms);
        }
        for forms in &texts[1..] {
            assert_eq!(forms, &texts[0], "{options}");
        }
        let [json, xml, csv, sub] = &texts[0];
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let frames = json["frames"].as_array().unwrap();
        let rows = elements(xml, "frame");
        let mut table = csv::ReaderBuilder::new()
            .flexible(false)
            .from_reader(csv.as_bytes());
        let header = table.headers().unwrap().clone();
        let records: Vec<_> = table.records().map(Result::unwrap).collect();
        assert_eq!((frames.len(), rows.len(), records.len()), (5, 5, 5));
        for (place, frame) in frames.iter().enumerate() {
            assert_eq!(frame["frameNum"], place);
            let metrics = frame["metrics"].as_object().unwrap();
            assert_eq!(metrics.len() + 1, rows[place].len());
            let mut subtitle = format!("{{{place}}}{{{}}}frame: {place}|", place + 1);
            for (column, (key, value)) in metrics.iter().enumerate() {
                let text = format!("{:.6}", value.as_f64().unwrap());
                assert_eq!(rows[place][key], text);
                assert_eq!(&header[column + 1], key);
                assert_eq!(&records[place][column + 1], text);
                subtitle.push_str(&format!("{key}: {text}|"));
            }
            assert_eq!(sub.lines().nth(place).unwrap(), subtitle);
        }
        let pooled = json["pooled_metrics"].as_object().unwrap();
        for metric in elements(xml, "metric") {
            let keys: Vec<_> = pooled[&metric["name"]]
                .as_object()
                .unwrap()
                .keys()
                .collect();
            assert_eq!(keys, ["min", "max", "mean", "harmonic_mean"]);
        }
    }
    let report = json(REF, DIS, NO_CHROMA);
    let aggregates = report["aggregate_metrics"].as_object().unwrap();
    let keys: Vec<_> = aggregates.keys().map(String::as_str).collect();
    assert_eq!(keys, ["apsnr_y", "apsnr_cb", "apsnr_cr"]);
    assert!(aggregates["apsnr_y"].is_number());
    assert_eq!(
        (&aggregates["apsnr_cb"], &aggregates["apsnr_cr"]),
        (&NULL, &NULL)
    );
}

/// UR-65: the key names are a contract.
#[test]
fn ur_65_keys_are_frozen() {
    let header = csv(REF, DIS, "--feature psnr");
    assert_eq!(
        header.lines().next().unwrap(),
        "Frame,integer_adm2,integer_aim,integer_adm3,integer_adm_scale0,integer_adm_scale1,\
         integer_adm_scale2,integer_adm_scale3,VMAF_integer_feature_motion_sad_score,\
         integer_vif_scale0,integer_vif_scale1,integer_vif_scale2,integer_vif_scale3,psnr_y,\
         psnr_cb,psnr_cr,integer_motion2,integer_motion3,vmaf,"
    );
    let report = json(REF, DIS, "");
    let keys: Vec<_> = report
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let upstream = [
        "version",
        "fps",
        "frames",
        "pooled_metrics",
        "aggregate_metrics",
    ];
    assert_eq!(keys[..5], upstream);
    assert_eq!(keys[5..], ["provenance"]);
    let collection = csv(REF, DIS, "-m version=vmaf_b_v0.6.3:name=b");
    let header = collection.lines().next().unwrap();
    assert!(header.contains("b,b_0001,b_0002,"), "{header}");
    assert!(
        header.ends_with("b_0020,b_bagging,b_stddev,b_ci_p95_lo,b_ci_p95_hi,"),
        "{header}"
    );
}

/// A report says what it did.
#[test]
fn reports_carry_provenance() {
    let clips = Clips::new();
    let reference = clips.make("a&b <ref>.y4m", REF, 0..5);
    let command = with(vmafx("score"), [&reference, DIS, "--xml", "-o", "-"]);
    let xml = run(command).ok().stdout;
    let inputs = elements(&xml, "input");
    assert!(
        inputs[0]["name"].ends_with("a&amp;b &lt;ref&gt;.y4m"),
        "{inputs:?}"
    );
    let report = json(REF, DIS, "--frame_skip_ref 1 --frame_skip_dist 1");
    let provenance = &report["provenance"];
    assert_eq!(provenance["inputs"][1]["skipped"], 1);
    assert_eq!(provenance["inputs"][1]["format"], "synth 64x48 4:2:0 8-bit");
    assert_eq!(provenance["models"][0]["model"], "vmaf_v0.6.1");
    assert_eq!(
        provenance["models"][0]["sha256"].as_str().unwrap().len(),
        64
    );
    assert_eq!(provenance["features"][0]["backend"], "cpu");
    assert_eq!(provenance["frames"]["read"], 4);
    assert_eq!(provenance["options"][0]["name"], "frame_skip_ref");
}

/// UR-79: what a wrapper did to the videos before is part of the report.
#[test]
fn ur_79_notes_are_in_the_report() {
    let notes = [
        "--note",
        "distorted: 4:2:2 to 4:2:0 with lanczos",
        "--note",
        "second <note> & \"more\"",
    ];
    for form in ["--json", "--xml"] {
        let command = with(vmafx("score"), [REF, DIS, form, "-o", "-"]);
        let run = run(with(command, notes)).ok();
        assert!(
            run.stderr.contains("warning[note]: distorted: 4:2:2"),
            "{}",
            run.stderr
        );
        let texts: Vec<String> = match form {
            "--json" => {
                let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
                let list = report["provenance"]["warnings"].as_array().unwrap();
                let list = list.iter().filter(|warning| warning["code"] == "note");
                list.map(|note| note["text"].as_str().unwrap().to_owned())
                    .collect()
            }
            _ => {
                let list = elements(&run.stdout, "warning").into_iter();
                let list = list.filter(|warning| warning["code"] == "note");
                let plain = |text: &str| quick_xml::escape::unescape(text).unwrap().into_owned();
                list.map(|note| plain(&note["text"])).collect()
            }
        };
        assert_eq!(texts, [notes[1], notes[3]], "{form}");
    }
}

/// UR-72: the score is printed somewhere, whatever is a terminal and whatever is not.
#[test]
fn ur_72_the_score_is_always_printed() {
    let clips = Clips::new();
    let report = clips.text("r.json");
    let score = json(REF, DIS, "")["pooled_metrics"]["vmaf"]["mean"].to_string();
    let line = format!("vmaf: {score}");

    let plain = run_line(&format!("score {REF} {DIS}")).ok();
    assert_eq!(plain.stdout, format!("{line}\n"));
    let quiet = run_line(&format!("score {REF} {DIS} -q")).ok();
    assert_eq!(
        (quiet.stdout, quiet.stderr),
        (format!("{line}\n"), String::new())
    );
    let filed = run_line(&format!("score {REF} {DIS} -o {report}")).ok();
    assert_eq!(filed.stdout, "");
    assert!(filed.stderr.contains(&line), "{}", filed.stderr);
    let both = run_line(&format!("score {REF} {DIS} -q -o {report}")).ok();
    assert_eq!((both.stdout, both.stderr), (String::new(), String::new()));
    let upstream = run(vmaf(&format!("-r {REF} -d {DIS}"))).ok();
    assert_eq!(upstream.stdout, "");
    assert!(
        upstream
            .stderr
            .ends_with(&format!("vmaf_v0.6.1: {score}\n")),
        "{}",
        upstream.stderr
    );

    let features = run_line(&format!(
        "score {REF} {DIS} -q --feature psnr --pool median,p5"
    ))
    .ok();
    let names: Vec<_> = features
        .stdout
        .lines()
        .map(|l| l.split(':').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "vmaf",
            "vmaf median",
            "vmaf p5",
            "psnr_y",
            "psnr_y median",
            "psnr_y p5",
            "psnr_cb",
            "psnr_cb median",
            "psnr_cb p5",
            "psnr_cr",
            "psnr_cr median",
            "psnr_cr p5"
        ]
    );
    let collection = run_line(&format!("score {REF} {DIS} -q -m version=vmaf_b_v0.6.3")).ok();
    assert!(
        collection.stdout.contains("vmaf_bagging: ") && collection.stdout.contains(", ci.p95: [")
    );
}

/// UR-64: progress never mixes into standard output, and is not there without a terminal.
#[test]
fn ur_64_standard_output_is_for_data() {
    let run = run_line(&format!("score {REF} {DIS} --json -o -")).ok();
    let _: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(
        !run.stderr.contains('\r') && !run.stderr.contains('\u{1b}'),
        "{:?}",
        run.stderr
    );
    assert!(run.stderr.contains("5 frames, "), "{}", run.stderr);
}

#[test]
fn precision() {
    let frame = |options: &str| {
        let text = csv(REF, DIS, &format!("-n --feature psnr {options}"));
        text.lines()
            .nth(1)
            .unwrap()
            .split(',')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    let max: f64 = frame("--precision max").parse().unwrap();
    assert!(frame("--precision max").len() > 12);
    assert_eq!(frame(""), format!("{max:.6}"));
    assert_eq!(frame("--precision 2"), format!("{max:.2}"));
    assert_eq!(frame("--precision 0"), format!("{max:.0}"));
    let report = json(REF, DIS, "-n --feature psnr --precision max");
    assert_eq!(report["frames"][0]["metrics"]["psnr_y"], max);
}

#[test]
fn extra_poolings_are_reported() {
    let report = json(REF, DIS, "--pool median,p1 --pool p10,mean");
    let pooled = report["pooled_metrics"]["vmaf"].as_object().unwrap();
    let keys: Vec<_> = pooled.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["min", "max", "mean", "harmonic_mean", "median", "p1", "p10"]
    );
    run_line(&format!("score {REF} {DIS} --pool p50")).fails("usage");
}

/// Frames are streamed as soon as they are final, in order, with the report's numbers.
#[test]
fn stream_of_frames() {
    let report = json(REF, DIS, "--feature psnr");
    let clips = Clips::new();
    let file = clips.text("frames.jsonl");
    let to_stdout = run_line(&format!("score {REF} {DIS} --feature psnr --stream jsonl")).ok();
    run_line(&format!(
        "score {REF} {DIS} --feature psnr --stream jsonl={file} --json -o -"
    ))
    .ok();
    assert_eq!(to_stdout.stdout, clips.read("frames.jsonl"));
    let lines: Vec<serde_json::Value> = to_stdout
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    for (line, frame) in lines.iter().zip(report["frames"].as_array().unwrap()) {
        assert_eq!(line, frame);
    }
    assert!(to_stdout.stderr.contains("vmaf: "), "{}", to_stdout.stderr);
}

/// UR-60: a frame's scores are there while later frames are still to come.
#[cfg(unix)]
#[test]
fn ur_60_the_stream_does_not_wait_for_the_end() {
    use std::io::{BufRead, BufReader, Write};
    let bytes = crate::harness::frames(REF, 0..5, true);
    let mut command = with(
        vmafx("score -"),
        [DIS, "--stream", "jsonl", "--threads", "1", "-q"],
    );
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let frame = (bytes.len() - header) / 5;
    input.write_all(&bytes[..header + 3 * frame]).unwrap();
    input.flush().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The first two of three frames: motion2 looks one frame ahead.
    for number in 0..2 {
        let line: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["frameNum"], number);
        assert!(line["metrics"]["vmaf"].is_number());
    }
    input.write_all(&bytes[header + 3 * frame..]).unwrap();
    drop(input);
    assert_eq!(lines.map(Result::unwrap).count(), 3);
    assert_eq!(wait(&mut child, "stream").code(), Some(0));
}

#[test]
fn charts() {
    let clips = Clips::new();
    let (svg, html) = (clips.text("c.svg"), clips.text("c.HTML"));
    run_line(&format!("score {REF} {DIS} --plot {svg}")).ok();
    let picture = clips.read("c.svg");
    assert_eq!(elements(&picture, "svg").len(), 1);
    // Five frames, and a ring around the lowest.
    assert_eq!(elements(&picture, "circle").len(), 6);
    assert!(picture.contains("vmaf: mean "), "{picture}");
    let options = "-n --feature psnr --subsample 3";
    run_line(&format!("score {REF} {DIS} --plot {html} {options}")).ok();
    let page = clips.read("c.HTML");
    for part in [
        "<!DOCTYPE html>",
        "<svg ",
        "<td>psnr_cb</td>",
        "1 frame in 3 scored",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert_eq!(clips.names(), ["c.HTML", "c.svg"]);
}
