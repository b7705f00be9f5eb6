//! The text of reports: libvmaf's, but for what cannot be parsed.

use vmafx_engine::{
    Context, Input, InputInfo, Outcome, OutputFormat, Pooling, Precision, ScoreError, Warning,
};

use crate::rig::*;

/// Three frames with every kind of number, and names that need escaping.
fn outcome() -> Outcome {
    let values = vec![(0, f64::NAN), (1, 2.5e-9), (2, f64::INFINITY)];
    let list = fake(Behaviour {
        values,
        ..Behaviour::default()
    });
    let mut request = request(&["probe", "step"], 1);
    request.extra_pooling = vec![Pooling::Median, Pooling::Min];
    request.inputs = [
        InputInfo {
            name: "a \"<&>\"\u{1}\n.y4m".to_owned(),
            format: "16x16 4:2:0 8-bit (y4m header)".to_owned(),
            skipped: 3,
        },
        InputInfo {
            name: "ü,;|.yuv".to_owned(),
            ..InputInfo::default()
        },
    ];
    request.options = vec![("frame_cnt".to_owned(), "3".to_owned())];
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    feed_samples(&mut context, &[(0, 0), (3, 0), (5, 0)]).unwrap();
    context.warn(Warning::Note("scaled \"before\" <scoring>".to_owned()));
    context.ended_early(Input::Distorted);
    context.finish().unwrap()
}

#[test]
fn json() {
    let text = report(&outcome(), OutputFormat::Json, Precision::default());
    let (upstream, provenance) = text.split_once(",\n  \"provenance\": ").unwrap();
    let expected = r#"{
  "version": "VERSION",
  "frames": [
    {
      "frameNum": 0,
      "metrics": {
        "probe": null,
        "step": 0.000000,
        "probe_next": 0.0000000025000000
      }
    },
    {
      "frameNum": 1,
      "metrics": {
        "probe": 0.0000000025000000,
        "step": 3.000000,
        "probe_next": null
      }
    },
    {
      "frameNum": 2,
      "metrics": {
        "probe": null,
        "step": 2.000000,
        "probe_next": null
      }
    }
  ],
  "pooled_metrics": {
    "probe": {
      "min": null,
      "max": null,
      "mean": null,
      "harmonic_mean": null,
      "median": null
    },
    "step": {
      "min": 0.000000,
      "max": 3.000000,
      "mean": 1.666667,
      "harmonic_mean": 0.894737,
      "median": 2.000000
    },
    "probe_next": {
      "min": 0.0000000025000000,
      "max": null,
      "mean": null,
      "harmonic_mean": 2.0000000075000002,
      "median": null
    }
  },
  "aggregate_metrics": {
    "steps": 5.000000
  }"#;
    assert_eq!(
        upstream,
        expected.replace("VERSION", env!("CARGO_PKG_VERSION"))
    );
    assert!(
        provenance.starts_with("{\n    \"schema\": 1,\n"),
        "{provenance}"
    );

    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let provenance = &value["provenance"];
    assert_eq!(provenance["inputs"][0]["name"], "a \"<&>\"\u{1}\n.y4m");
    assert_eq!(provenance["inputs"][0]["skipped"], 3);
    assert_eq!(provenance["inputs"][1]["role"], "distorted");
    assert_eq!(provenance["format"], "16x16 4:2:0 8-bit");
    assert_eq!(provenance["frames"]["read"], 3);
    assert_eq!(provenance["features"][1]["name"], "step");
    assert_eq!(provenance["features"][0]["library"], "");
    assert_eq!(provenance["options"][0]["name"], "frame_cnt");
    assert_eq!(provenance["warnings"][0]["code"], "note");
    assert_eq!(
        provenance["warnings"][1]["text"],
        "the distorted input ended after 3 frames, the other one did not"
    );
}

#[test]
fn xml() {
    let text = report(&outcome(), OutputFormat::Xml, Precision::default());
    let (upstream, provenance) = text.split_once("  <provenance").unwrap();
    let expected = r#"<VMAF version="VERSION">
  <params qualityWidth="16" qualityHeight="16" />
  <frames>
    <frame frameNum="0" probe="-nan" step="0.000000" probe_next="0.0000000025000000" />
    <frame frameNum="1" probe="0.0000000025000000" step="3.000000" probe_next="inf" />
    <frame frameNum="2" probe="inf" step="2.000000" probe_next="inf" />
  </frames>
  <pooled_metrics>
    <metric name="probe" min="-nan" max="-nan" mean="-nan" harmonic_mean="-nan" median="-nan" />
    <metric name="step" min="0.000000" max="3.000000" mean="1.666667" harmonic_mean="0.894737" median="2.000000" />
    <metric name="probe_next" min="0.0000000025000000" max="inf" mean="inf" harmonic_mean="2.0000000075000002" median="inf" />
  </pooled_metrics>
  <aggregate_metrics steps="5.000000" />
"#;
    assert_eq!(
        upstream,
        expected.replace("VERSION", env!("CARGO_PKG_VERSION"))
    );
    let input =
        "    <input role=\"reference\" name=\"a &quot;&lt;&amp;&gt;&quot;\u{fffd}&#10;.y4m\" ";
    assert!(provenance.contains(input), "{provenance}");
    assert!(
        provenance.contains("<option name=\"gain\" value=\"1\" />"),
        "{provenance}"
    );
    assert_eq!(elements(&text).last().unwrap(), "VMAF");
}

/// Reads XML strictly: tags that match, attributes that are unique and escaped. Returns the
/// names of the elements, in the order of their ends.
fn elements(text: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut open = Vec::new();
    let mut ended = Vec::new();
    loop {
        let name = |start: &quick_xml::events::BytesStart<'_>| {
            for attribute in start.attributes() {
                attribute
                    .unwrap()
                    .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                    .unwrap();
            }
            start.name().as_ref().to_owned()
        };
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(start) => open.push(name(&start)),
            quick_xml::events::Event::Empty(start) => ended.push(name(&start)),
            quick_xml::events::Event::End(_) => ended.push(open.pop().unwrap()),
            quick_xml::events::Event::Text(text) => {
                assert!(text.trim().is_empty());
            }
            quick_xml::events::Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty());
    ended
}

#[test]
fn csv_and_sub() {
    let outcome = outcome();
    let text = report(&outcome, OutputFormat::Csv, Precision::default());
    assert_eq!(
        text,
        "Frame,probe,step,probe_next,\n\
         0,-nan,0.000000,0.0000000025000000,\n\
         1,0.0000000025000000,3.000000,inf,\n\
         2,inf,2.000000,inf,\n"
    );
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap().len(), 5);
    assert_eq!(
        reader
            .records()
            .map(|row| row.unwrap().len())
            .collect::<Vec<_>>(),
        [5; 3]
    );
    assert_eq!(
        report(&outcome, OutputFormat::Sub, Precision::default()),
        "{0}{1}frame: 0|probe: -nan|step: 0.000000|probe_next: 0.0000000025000000|\n\
         {1}{2}frame: 1|probe: 0.0000000025000000|step: 3.000000|probe_next: inf|\n\
         {2}{3}frame: 2|probe: inf|step: 2.000000|probe_next: inf|\n"
    );
}

#[test]
fn precision() {
    let outcome = outcome();
    let csv = |precision: &str| {
        let text = report(&outcome, OutputFormat::Csv, precision.parse().unwrap());
        text.lines().nth(2).unwrap().to_owned()
    };
    assert_eq!(csv("max"), "1,2.5000000000000001e-09,3,inf,");
    assert_eq!(csv("2"), "1,0.00,3.00,inf,");
    assert_eq!(csv("10"), "1,0.0000000025,3.0000000000,inf,");
    for precision in ["", "18", "-1", "Max", "6.0"] {
        assert!(precision.parse::<Precision>().is_err(), "{precision}");
    }
    let json = report(&outcome, OutputFormat::Json, Precision::Max);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["frames"][1]["metrics"]["probe"], 2.5e-9);
}

/// A frame that lacks a score: an empty cell, no key, no pooling, and no model score.
#[test]
fn absent_scores() {
    let values = vec![(1, NONE)];
    let list = fake(Behaviour {
        values,
        ..Behaviour::default()
    });
    let request = request(&["probe", "step"], 2);
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    feed_samples(&mut context, &[(9, 4), (8, 4), (7, 4)]).unwrap();
    let outcome = context.finish().unwrap();
    let text = |format| report(&outcome, format, Precision::Digits(0));
    assert_eq!(
        text(OutputFormat::Csv),
        "Frame,probe,step,probe_next,\n0,5,0,3,\n1,,1,,\n2,3,1,3,\n"
    );
    assert!(text(OutputFormat::Sub).contains("\n{1}{2}frame: 1|step: 1|\n"));
    let xml = text(OutputFormat::Xml);
    assert!(
        xml.contains("    <frame frameNum=\"1\" step=\"1\" />\n"),
        "{xml}"
    );
    assert!(xml.contains("    <metric name=\"probe\" />\n"), "{xml}");
    elements(&xml);
    let json: serde_json::Value = serde_json::from_str(&text(OutputFormat::Json)).unwrap();
    assert_eq!(json["frames"][1]["metrics"], serde_json::json!({"step": 1}));
    assert_eq!(json["pooled_metrics"]["probe"], serde_json::json!({}));
    assert_eq!(json["pooled_metrics"]["step"]["max"], 1);
    assert!(matches!(
        outcome.score("probe", 1),
        Err(ScoreError::NotGiven { frame: 1, .. })
    ));
    assert!(matches!(
        outcome.pooled("probe", Pooling::Mean, ..),
        Err(ScoreError::NotGiven { frame: 1, .. })
    ));
    assert_eq!(outcome.pooled("probe", Pooling::Mean, 2..).unwrap(), 3.0);
}

/// A report without aggregates and with empty lists is as strict.
#[test]
fn sparse_reports_parse() {
    let list = fake(Behaviour::default());
    let mut context =
        Context::with_backends(format(16, 16, 8), request(&["probe"], 1), &list).unwrap();
    feed_samples(&mut context, &[(3, 0)]).unwrap();
    let outcome = context.finish().unwrap();
    let json = report(&outcome, OutputFormat::Json, Precision::default());
    assert!(
        json.contains("  \"aggregate_metrics\": {\n  },\n"),
        "{json}"
    );
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
    let xml = report(&outcome, OutputFormat::Xml, Precision::default());
    assert!(xml.contains("  <aggregate_metrics />\n"), "{xml}");
    elements(&xml);
    assert!(outcome.fps() > 0.0);
}

/// What a device lost and did again is told in every report that has room for it, by device; of
/// devices that lost nothing nothing is said.
#[test]
fn lost_work_is_told() {
    let run = |repeats: u64, alone: bool| {
        let losing = Behaviour {
            refuses: match alone {
                true => Vec::new(),
                false => vec![("probe", "not here")],
            },
            repeats,
            priority: 10,
            ..Behaviour::default()
        };
        let list = [
            Fake::named("losing", losing),
            Fake::named("sound", Behaviour::default()),
        ];
        // Every third frame, so a device has two plans if it computes both: `step` sees all.
        let mut request = request(&["step", "probe"], 2);
        request.subsample = std::num::NonZeroU32::new(3).unwrap();
        let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
        feed(&mut context, 6).unwrap();
        context.finish().unwrap()
    };
    let outcome = run(3, false);
    let repeats = &outcome.provenance().repeats;
    assert_eq!(repeats.len(), 1);
    assert_eq!((&*repeats[0].device, repeats[0].frames), ("losing:0", 3));
    let told = outcome.warnings().last().unwrap();
    assert_eq!(told.code(), "frames-repeated");
    assert_eq!(
        told.to_string(),
        "3 frames were computed again because losing:0 lost work"
    );
    let json = report(&outcome, OutputFormat::Json, Precision::Max);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let written = &json["provenance"]["repeats"];
    assert_eq!(
        *written,
        serde_json::json!([{ "device": "losing:0", "frames": 3 }])
    );
    let xml = report(&outcome, OutputFormat::Xml, Precision::Max);
    assert!(
        xml.contains("<repeats device=\"losing:0\" frames=\"3\" />"),
        "{xml}"
    );
    assert_eq!(
        run(1, false).warnings().last().unwrap().to_string(),
        "1 frame was computed again because losing:0 lost work"
    );
    let both = run(3, true);
    assert_eq!(both.provenance().repeats[0].frames, 6, "of two plans");
    let sound = run(0, false);
    assert!(sound.provenance().repeats.is_empty());
    assert!(
        sound
            .warnings()
            .iter()
            .all(|w| w.code() != "frames-repeated")
    );
    let xml = report(&sound, OutputFormat::Xml, Precision::Max);
    assert!(!xml.contains("<repeats"), "{xml}");
}
