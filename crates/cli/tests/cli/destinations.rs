//! Where results go: files, descriptors, places that cannot be written, and failures that leave
//! what was there.

use std::fs;
use std::process::Stdio;

use crate::harness::{Clips, csv, run, run_line, vmafx, wait};

const REF: &str = "synth:tex,size=64x48,frames=5";
const DIS: &str = "synth:tex,size=64x48,frames=5,dist=blur:1+noise:3";

/// A file behind an open descriptor is written to, not replaced or emptied.
#[cfg(target_os = "linux")]
#[test]
fn open_descriptors_keep_what_they_hold() {
    use std::io::{Seek, SeekFrom};
    use std::os::unix::fs::MetadataExt;
    let report = csv(REF, DIS, "");
    let lines = run_line(&format!("score {REF} {DIS} --stream jsonl"))
        .ok()
        .stdout;
    let clips = Clips::new();
    let link = clips.text("link");
    std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
    for (option, wanted) in [
        ("--csv -o -".to_owned(), &report),
        ("--csv -o /dev/stdout".to_owned(), &report),
        ("--csv -o /dev/fd/1".to_owned(), &report),
        ("--csv -o /proc/self/fd/1".to_owned(), &report),
        ("--csv -o /proc/thread-self/fd/1".to_owned(), &report),
        (format!("--csv -o {link}"), &report),
        ("--stream jsonl=/dev/stdout".to_owned(), &lines),
        ("--stream jsonl=/proc/self/fd/1".to_owned(), &lines),
    ] {
        for append in [true, false] {
            let log = clips.write("log", "before\n");
            let number = fs::metadata(&log).unwrap().ino();
            let mut file = fs::File::options()
                .write(true)
                .append(append)
                .open(&log)
                .unwrap();
            file.seek(SeekFrom::End(0)).unwrap();
            let mut command = vmafx(&format!("score {REF} {DIS} {option}"));
            let status = command.stdout(file).stderr(Stdio::null()).status();
            assert!(status.unwrap().success(), "{option}");
            assert_eq!(clips.read("log"), format!("before\n{wanted}"), "{option}");
            assert_eq!(fs::metadata(&log).unwrap().ino(), number, "{option}");
        }
    }
    for (redirection, option, wanted) in [
        ("2>>", "-q --csv -o /dev/stderr", &report),
        (
            "2>>",
            "-q --stream jsonl=/dev/fd/2 --csv -o /dev/null",
            &lines,
        ),
        ("3>>", "--csv -o /dev/fd/3", &report),
        ("3>>", "--stream jsonl=/dev/fd/3", &lines),
        ("3>", "--csv -o /proc/self/fd/3", &report),
    ] {
        let log = clips.write("log", "before\n");
        let number = fs::metadata(&log).unwrap().ino();
        let program = env!("CARGO_BIN_EXE_vmafx");
        let line = format!("exec {program} score {REF} {DIS} {option} {redirection} {log}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).stdout(Stdio::null());
        let status = shell.stderr(Stdio::null()).status();
        assert!(status.unwrap().success(), "{line}");
        let kept = if redirection.ends_with(">>") {
            "before\n"
        } else {
            ""
        };
        assert_eq!(clips.read("log"), format!("{kept}{wanted}"), "{line}");
        assert_eq!(fs::metadata(&log).unwrap().ino(), number, "{line}");
    }
    assert_eq!(clips.names(), ["link", "log"]);
    let text = run_line(&format!("score {REF} {DIS} -o /dev/stdin")).fails("output");
    assert!(text.contains("standard input is for reading"), "{text}");
    let text = run_line(&format!("score {REF} {DIS} -o /dev/fd/99")).fails("output");
    assert!(text.contains("/dev/fd/99"), "{text}");
}

/// Two results in one place, however it is spelled.
#[test]
fn outputs_do_not_share_a_place() {
    let clips = Clips::new();
    let there = clips.text("a.svg");
    let refused = |options: &str| {
        let mut command = vmafx(&format!("score {REF} {DIS} {options}"));
        command.current_dir(clips.folder());
        let text = run(command).fails("usage");
        assert!(text.contains("two outputs go to "), "{text}");
    };
    refused(&format!("-o {there} --plot ./a.svg"));
    refused("-o a.svg --stream jsonl=./a.svg");
    refused("-o - --stream jsonl");
    #[cfg(unix)]
    {
        refused("-o /dev/stdout --stream jsonl");
        std::os::unix::fs::symlink("a.svg", clips.path("link")).unwrap();
        refused("-o link --plot a.svg");
        clips.write("a.svg", "earlier");
        refused("-o link --plot a.svg");
        assert_eq!(clips.read("a.svg"), "earlier");
    }
    let mut command = vmafx(&format!("score {REF} {DIS} -o b.xml --plot ./c.svg"));
    command.current_dir(clips.folder());
    run(command).ok();
}

/// A reader that goes away, a full disk, a folder without permission: exit code 4, no panic.
#[cfg(target_os = "linux")]
#[test]
fn unwritable_outputs() {
    for option in ["-o -", "--stream jsonl", "--csv -o -"] {
        let mut command = vmafx(&format!("score {REF} {DIS} {option}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(wait(&mut child, option).code(), Some(4), "{option}");
    }
    for option in ["-o /dev/full", "--stream jsonl=/dev/full"] {
        let text = run_line(&format!("score {REF} {DIS} {option}")).fails("output");
        assert!(text.contains("/dev/full"), "{text}");
    }
    for line in [
        "features",
        "models --json",
        "help",
        "man",
        "completions bash",
        "--version",
    ] {
        let mut command = vmafx(line);
        command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
        assert_eq!(run_with_output(command), Some(4), "{line}");
    }
    // No reader on standard error, either.
    let mut command = vmafx(&format!("score {REF} {DIS}"));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(wait(&mut child, "stderr").code(), Some(0));
}

#[cfg(target_os = "linux")]
fn run_with_output(mut command: std::process::Command) -> Option<i32> {
    command.stderr(Stdio::null()).status().unwrap().code()
}

/// A failed run leaves the earlier report, and an input is never written over.
#[test]
fn reports_are_replaced_as_a_whole() {
    let clips = Clips::new();
    let reference = clips.make("r.y4m", REF, 0..5);
    let before = fs::read(clips.path("r.y4m")).unwrap();
    let text = run_line(&format!("score {reference} {DIS} -o {reference}")).fails("output");
    assert!(text.contains("it is the reference video"), "{text}");
    assert_eq!(fs::read(clips.path("r.y4m")).unwrap(), before);
    clips.write("report.xml", "earlier");
    let report = clips.text("report.xml");
    run_line(&format!(
        "score {reference} {DIS} --feature nothing -o {report}"
    ))
    .fails("model");
    assert_eq!(clips.read("report.xml"), "earlier");
    run_line(&format!("score {reference} {DIS} -o {report}")).ok();
    assert!(clips.read("report.xml").starts_with("<VMAF version="));
    assert_eq!(clips.names(), ["r.y4m", "report.xml"]);
}
