//! Videos: kinds, pipes, damage, sizes, pairs that do not fit.

use std::fs::File;
use std::process::Stdio;

use crate::harness::{Clips, csv, feed, frames, run, run_line, vmafx, with};
#[cfg(unix)]
use crate::harness::{fifo, make_fifo};

const REF: &str = "synth:tex,size=66x50,frames=4";
const DIS: &str = "synth:tex,size=66x50,frames=4,dist=blur:1+noise:3";

/// UR-13 and the promise of one score: y4m, raw, a pipe and a FIFO give the same bytes.
#[test]
fn ur_13_every_way_in_gives_the_same_scores() {
    for (synth, chroma, depth) in [
        ("size=66x50", "420", 8),
        ("size=67x51", "420", 8),
        ("size=67x51,chroma=422", "422", 8),
        ("size=67x51,depth=10,chroma=422", "422", 10),
        ("size=66x50,depth=10", "420", 10),
        ("size=66x50,depth=12,chroma=444", "444", 12),
        ("size=66x50,depth=16", "420", 16),
        ("size=66x50,chroma=400", "400", 8),
    ] {
        let reference = format!("synth:tex,{synth},frames=3");
        let distorted = format!("synth:tex,{synth},frames=3,dist=blur:1+noise:3");
        let clips = Clips::new();
        let raw = [
            clips.make("r.yuv", &reference, 0..3),
            clips.make("d.yuv", &distorted, 0..3),
        ];
        let y4m = [
            clips.make("r.y4m", &reference, 0..3),
            clips.make("d.y4m", &distorted, 0..3),
        ];
        let size = synth[5..].split(',').next().unwrap();
        let (width, height) = size.split_once('x').unwrap();
        let options = format!("-w {width} -h {height} -p {chroma} -b {depth} --feature psnr");
        let wanted = csv(&reference, &distorted, "--feature psnr");
        assert_eq!(wanted.lines().count(), 4);
        assert_eq!(csv(&raw[0], &raw[1], &options), wanted, "{synth}, raw");
        assert_eq!(
            csv(&y4m[0], &y4m[1], "--feature psnr"),
            wanted,
            "{synth}, y4m"
        );

        let piped = vmafx("score - ");
        let mut piped = with(piped, [&y4m[1], "--feature", "psnr", "--csv", "-o", "-"]);
        piped.stdin(File::open(&y4m[0]).unwrap());
        assert_eq!(run(piped).ok().stdout, wanted, "{synth}, standard input");
    }
}

/// UR-03: odd sizes have chroma planes that are rounded up, and the frames after the first line
/// up.
#[test]
fn ur_03_odd_sizes() {
    let options = "-n --feature psnr=enable_mse=true";
    for (chroma, half) in [(420, 10 * 10), (422, 10 * 19)] {
        let clips = Clips::new();
        let shape = format!("size=19x19,chroma={chroma},frames=3");
        let (reference, distorted) = (
            format!("synth:tex,{shape}"),
            format!("synth:tex,{shape},dist=noise:9"),
        );
        let wanted = csv(&reference, &distorted, options);
        let raw = clips.make("r.yuv", &reference, 0..3);
        let bytes = std::fs::read(&raw).unwrap();
        assert_eq!(bytes.len(), 3 * (19 * 19 + 2 * half));
        let flags = format!("{options} -w 19 -h 19 -p {chroma} -b 8");
        assert_eq!(
            csv(&raw, &clips.make("d.yuv", &distorted, 0..3), &flags),
            wanted
        );
        let y4m = (
            clips.make("r.y4m", &reference, 0..3),
            clips.make("d.y4m", &distorted, 0..3),
        );
        assert_eq!(csv(&y4m.0, &y4m.1, options), wanted);
        // Chroma rounded down is not a whole number of frames.
        let short = clips.write("short.yuv", &bytes[..3 * (19 * 19 + 2 * 81)]);
        let text = run_line(&format!("score {short} {short} {flags}")).fails("input");
        assert!(text.contains("not a whole number"), "{text}");
    }
}

/// UR-11: 4:1:1 is refused at every width.
#[test]
fn ur_11_four_one_one() {
    let clips = Clips::new();
    for width in 1..=9 {
        let header = format!("YUV4MPEG2 W{width} H2 F25:1 Ip C411\nFRAME\n");
        let video = clips.write("411.y4m", [header.as_bytes(), &[9; 40]].concat());
        let text = run_line(&format!("score {video} {video} -n --feature psnr")).fails("input");
        assert!(text.contains("C411"), "{text}");
    }
}

/// UR-64: `-` is one of the two, FIFOs may be both, in whatever order their writers open them.
#[cfg(unix)]
#[test]
fn ur_64_pipes_and_fifos() {
    let wanted = csv(REF, DIS, "");
    let clips = Clips::new();
    for (first, second) in [("r.fifo", "d.fifo"), ("r2.fifo", "d2.fifo")] {
        fifo(&clips.path(first), frames(REF, 0..4, true));
        fifo(&clips.path(second), frames(DIS, 0..4, true));
        assert_eq!(csv(&clips.text(first), &clips.text(second), ""), wanted);
    }
    // One writer, distorted first.
    let (reference, distorted) = (clips.path("r3.fifo"), clips.path("d3.fifo"));
    make_fifo(&reference);
    make_fifo(&distorted);
    let paths = (reference.clone(), distorted.clone());
    std::thread::spawn(move || {
        let open = |path| File::options().write(true).open(path).unwrap();
        let distorted = open(paths.1);
        let reference = open(paths.0);
        feed(distorted, frames(DIS, 0..4, true));
        feed(reference, frames(REF, 0..4, true));
    });
    let (reference, distorted) = (clips.text("r3.fifo"), clips.text("d3.fifo"));
    assert_eq!(csv(&reference, &distorted, ""), wanted);

    for name in ["-", "/dev/stdin"] {
        let mut command = with(vmafx("score"), [REF, name, "--csv", "-o", "-"]);
        command.stdin(File::open(clips.make("d.y4m", DIS, 0..4)).unwrap());
        assert_eq!(run(command).ok().stdout, wanted, "{name}");
    }
    let text = run_line("score - /dev/stdin").fails("input");
    assert!(text.contains("standard input"), "{text}");
}

/// UR-01 and UR-06: sizes below a metric's smallest are refused at the start, by name.
#[test]
fn ur_01_small_frames_are_refused_by_name() {
    let text = run_line("score synth:tex,size=16x16,frames=2 synth:tex,size=16x16,frames=2");
    let text = text.fails("model");
    for part in ["adm", "16x16", "at least"] {
        assert!(text.contains(part), "{text}");
    }
    csv(
        "synth:tex,size=1x1,frames=2",
        "synth:tex,size=1x1,frames=2",
        "-n --feature psnr",
    );
}

/// Any size in any layout gives scores or one line.
#[test]
fn every_small_size_ends_well() {
    let mut scored = 0;
    for width in 1..=40u32 {
        for (turn, chroma) in [420, 422, 444, 400].into_iter().enumerate() {
            for height in [width, (width * 7 + turn as u32 * 11) % 40 + 1] {
                let depth = [8, 10, 12, 16][(width as usize + turn) % 4];
                let synth = format!(
                    "synth:tex,size={width}x{height},chroma={chroma},depth={depth},frames=2"
                );
                let line =
                    format!("score {synth} {synth},dist=noise:5 --feature psnr -q -o - --csv");
                let run = run_line(&line);
                match run.code {
                    Some(0) => {
                        assert_eq!(run.stdout.lines().count(), 3, "{line}");
                        assert!(!run.stdout.contains("nan"), "{line}\n{}", run.stdout);
                        scored += 1;
                    }
                    _ => {
                        let text = run.fails("model");
                        assert!(
                            text.contains(&format!("{width}x{height}")),
                            "{line}\n{text}"
                        );
                    }
                }
                let line = line.replace("--feature", "-n --feature");
                assert_eq!(run_line(&line).code, Some(0), "{line}");
            }
        }
    }
    assert!(scored > 0);
}

/// UR-12: headers and FRAME lines of any length, unknown tags.
#[test]
fn ur_12_long_headers() {
    let clips = Clips::new();
    let samples = frames(REF, 0..1, false);
    for (name, tags, line) in [
        (
            "ffmpeg",
            "XYSCSS=420JPEG XCOLORRANGE=LIMITED".to_owned(),
            String::new(),
        ),
        ("long", format!("X{}", "y".repeat(300)), String::new()),
        ("frame", String::new(), format!(" X{}", "y".repeat(200))),
    ] {
        let mut bytes = format!("YUV4MPEG2 W66 H50 F25:1 Ip A1:1 C420jpeg {tags}\n").into_bytes();
        bytes.extend(format!("FRAME{line}\n").into_bytes());
        bytes.extend_from_slice(&samples);
        let path = clips.write(&format!("{name}.y4m"), bytes);
        assert_eq!(
            csv(&path, &path, "-n --feature psnr").lines().nth(1),
            Some("0,60.000000,60.000000,60.000000,")
        );
    }
}

/// UR-14 and UR-18: common tags, and headers without C and I.
#[test]
fn ur_14_ur_18_tags() {
    let clips = Clips::new();
    let samples = frames("synth:tex,size=176x144,frames=1", 0..1, false);
    let mut bytes = b"YUV4MPEG2 W176 H144 F15:1 Ip A128:117\nFRAME\n".to_vec();
    bytes.extend_from_slice(&samples);
    let bare = clips.write("bare.y4m", bytes);
    let run = run_line(&format!("score {bare} {bare}")).ok();
    assert!(
        run.stderr.contains("no C tag: 4:2:0 8-bit"),
        "{}",
        run.stderr
    );
    let deep = "synth:tex,size=66x50,depth=10,chroma=422,frames=2";
    let deep = clips.make("deep.y4m", deep, 0..2);
    csv(&deep, &deep, "");
}

/// UR-19: lost framing is an error with frame and place, and no score.
#[test]
fn ur_19_lost_framing() {
    let clips = Clips::new();
    let mut bytes = b"YUV4MPEG2 W66 H50 F25:1 Ip C420\n".to_vec();
    for _ in 0..3 {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend_from_slice(&[7; 66 * 50]);
    }
    let path = clips.write("luma.y4m", bytes);
    let text = run_line(&format!("score {path} {path} -o {}", clips.text("r.json"))).fails("input");
    assert!(text.contains("frame 1") && text.contains("byte"), "{text}");
    assert_eq!(clips.names(), ["luma.y4m"]);
}

/// UR-20: interlaced video.
#[test]
fn ur_20_interlaced() {
    let clips = Clips::new();
    let progressive = clips.make("p.y4m", REF, 0..4);
    let text = String::from_utf8_lossy(&frames(REF, 0..1, true))
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let header = text.len();
    let bytes = frames(REF, 0..4, true);
    let mut interlaced = text.replace(" Ip ", " It ").into_bytes();
    interlaced.extend_from_slice(&bytes[header..]);
    let interlaced = clips.write("i.y4m", interlaced);
    let text = run_line(&format!("score {interlaced} {progressive}")).fails("input");
    assert!(text.contains("interlaced") && text.contains("It"), "{text}");
    let options = "--interlaced-as-frames";
    assert_eq!(
        csv(&interlaced, &progressive, options),
        csv(&progressive, &progressive, "")
    );
}

/// UR-22 and UR-23: compressed files and wrong sizes given as raw.
#[test]
fn ur_22_ur_23_not_raw() {
    let clips = Clips::new();
    let mp4 = clips.write("a.mp4", b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41");
    let raw = "-w 2 -h 2 -p 420 -b 8";
    let text = run_line(&format!("score {mp4} {mp4} {raw}")).fails("input");
    assert!(text.contains("a.mp4"), "{text}");
    let text = run_line(&format!("score {mp4} {mp4}")).fails("input");
    assert!(text.contains("MP4") || text.contains("mp4"), "{text}");
    let deep = clips.make("deep.yuv", "synth:tex,size=66x50,depth=10,frames=3", 0..3);
    let text = run_line(&format!("score {deep} {deep} -w 66 -h 52 -p 420 -b 10")).fails("input");
    assert!(text.contains("not a whole number"), "{text}");
    let run = run_line(&format!("score {deep} {deep} -w 66 -h 50 -p 420 -b 10")).ok();
    assert!(
        run.stderr.contains("raw 66x50 4:2:0 10-bit, 3 frames"),
        "{}",
        run.stderr
    );
}

/// UR-28: nothing to read.
#[test]
fn ur_28_empty_inputs() {
    let clips = Clips::new();
    let empty = clips.write("empty.y4m", "");
    let folder = clips.folder().to_str().unwrap();
    let header = clips.write("header.y4m", "YUV4MPEG2 W66 H50 F25:1 Ip C420\n");
    for input in [empty.as_str(), folder, &header] {
        let text = run_line(&format!("score {input} {input}")).fails("input");
        assert!(text.contains(&format!("no frames in {input}")), "{text}");
    }
}

/// UR-33: one message with every difference, and nothing scored.
#[test]
fn ur_33_all_differences_at_once() {
    let other = "synth:tex,size=64x50,depth=10,chroma=444,frames=4";
    let clips = Clips::new();
    let line = format!("score {REF} {other} -o {}", clips.text("r.xml"));
    let text = run_line(&line).fails("input");
    for part in ["66x50", "64x50", "4:2:0", "4:4:4", "8", "10"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(clips.names().is_empty());
    // Sizes that upstream takes for equal, because it compares them rounded up to 16.
    let text = run_line("score synth:tex,size=570x324,frames=1 synth:tex,size=576x324,frames=1");
    text.fails("input");
}

/// Length: the common part is scored, told as such, and does not count as success.
#[test]
fn unequal_length_is_not_silent() {
    let clips = Clips::new();
    let reference = clips.make("r.y4m", REF, 0..4);
    let distorted = clips.make("d.y4m", DIS, 0..3);
    let report = clips.text("r.json");
    for (videos, first) in [
        (format!("{reference} {distorted}"), "d.y4m\" ended before"),
        (format!("{distorted} {reference}"), "d.y4m\" ended before"),
    ] {
        let line = format!("score {videos} -o {report}");
        let text = run_line(&line).fails("input");
        assert!(
            text.contains(first) && text.contains("3 frames were scored"),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&clips.read("r.json")).unwrap();
        assert_eq!(json["provenance"]["frames"]["complete"], false);
        assert_eq!(
            json["provenance"]["warnings"]
                .to_string()
                .matches("ended-early")
                .count(),
            1
        );
        assert_eq!(json["frames"].as_array().unwrap().len(), 3);

        let accepted = run_line(&format!("{line} --allow-unequal")).ok();
        assert!(
            accepted.stderr.contains("ended after 3 frames"),
            "{}",
            accepted.stderr
        );
        run_line(&format!("{line} --frame_cnt 3")).ok();
        let json: serde_json::Value = serde_json::from_str(&clips.read("r.json")).unwrap();
        assert_eq!(json["provenance"]["frames"]["complete"], true);
    }
    // Standard output carries no score of a part.
    let run = run_line(&format!("score {reference} {distorted}"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("vmaf: ") && run.stderr.contains("warning[length]"));
    // A form that cannot say that it is not complete is not written.
    let line = format!("score {reference} {distorted} -o {}", clips.text("r.csv"));
    assert_eq!(run_line(&line).code, Some(2));
    run_line(&format!("{line} --allow-unequal")).ok();
    assert_eq!(clips.read("r.csv").lines().count(), 4);
}

/// Damage in mid-stream: an error, and the earlier report stays as it was.
#[test]
fn damage_leaves_no_report() {
    let clips = Clips::new();
    let reference = clips.make("r.y4m", REF, 0..4);
    let mut bytes = frames(DIS, 0..4, true);
    bytes.truncate(bytes.len() - 100);
    let cut = clips.write("cut.y4m", bytes);
    clips.write("report.json", "earlier");
    for (reference, distorted) in [(&reference, &cut), (&cut, &reference)] {
        let line = format!(
            "score {reference} {distorted} -o {}",
            clips.text("report.json")
        );
        let text = run_line(&line).fails("input");
        assert!(text.contains("cut.y4m ends within frame 3"), "{text}");
        assert_eq!(clips.read("report.json"), "earlier");
    }
    assert_eq!(clips.names(), ["cut.y4m", "r.y4m", "report.json"]);
    let mut piped = with(vmafx("score - "), [&reference]);
    piped.stdin(Stdio::piped());
    let mut child = piped
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    feed(
        child.stdin.take().unwrap(),
        b"YUV4MPEG2 W66 H50 F25:1 Ip C420\nFRAME\n".to_vec(),
    );
    assert_eq!(crate::harness::wait(&mut child, "cut pipe").code(), Some(2));
}

/// The failure of an early frame is told, not the damage of a later one that the reader meets
/// while workers are still busy.
#[test]
fn an_earlier_failure_comes_first() {
    let synth = "synth:tex,size=96x64,depth=10,frames=10";
    let clips = Clips::new();
    let whole = clips.make("whole.y4m", synth, 0..10);
    let mut bytes = std::fs::read(&whole).unwrap();
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let frame = (bytes.len() - header) / 10;
    // A sample above 1023 in the bottom row of frame 3, and an end within frame 9.
    let place = header + 3 * frame + 6 + 2 * 96 * 63;
    bytes[place..place + 2].copy_from_slice(&[0xff, 0xff]);
    bytes.truncate(header + 9 * frame + 100);
    let damaged = clips.write("damaged.y4m", bytes);
    for turn in 0..12 {
        let threads = [1, 2, 8, 16][turn % 4];
        let line = format!(
            "score {whole} {damaged} --threads {threads} -o {}",
            clips.text("r.xml")
        );
        let text = run_line(&line).fails("input");
        assert!(
            text.contains("frame 3") && text.contains("1023"),
            "{line}: {text}"
        );
    }
    assert_eq!(clips.names(), ["damaged.y4m", "whole.y4m"]);
}

/// A sample that the depth cannot hold.
#[test]
fn samples_above_the_depth() {
    let clips = Clips::new();
    let deep = clips.make("deep.yuv", "synth:rand,size=66x50,depth=12,frames=2", 0..2);
    let text = run_line(&format!("score {deep} {deep} -w 66 -h 50 -p 420 -b 10")).fails("input");
    assert!(text.contains("10-bit") && text.contains("1023"), "{text}");
}

/// A run that is stopped leaves no report.
#[cfg(unix)]
#[test]
fn a_stopped_run_leaves_no_report() {
    use std::io::{BufRead, BufReader};
    let clips = Clips::new();
    clips.write("report.json", "earlier");
    let endless = "synth:tex,size=64x48,frames=1000000000";
    let line = format!(
        "score {endless} {endless} --stream jsonl -o {}",
        clips.text("report.json")
    );
    let mut command = vmafx(&line);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    // With the first scores it is in the middle of its work.
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"frameNum\":0,"), "{first}");
    assert!(child.try_wait().unwrap().is_none(), "still at work");
    let stopped = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    assert_eq!(crate::harness::wait(&mut child, "stopped").code(), None);
    assert_eq!(clips.names(), ["report.json"]);
    assert_eq!(clips.read("report.json"), "earlier");
}
