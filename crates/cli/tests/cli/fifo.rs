//! One program that feeds both videos through FIFOs: whatever its order, the command neither
//! waits for it in vain nor scores anything else than it would from files.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::harness::{Clips, csv, frames, make_fifo, run, vmafx, with};

/// Frames of these are larger than what a pipe holds.
const REF: &str = "synth:tex,size=320x240,frames=60";
const DIS: &str = "synth:tex,size=320x240,frames=60,dist=noise:3";

/// Two FIFOs to score.
struct Fifos(Clips);

impl Fifos {
    fn new() -> Self {
        let clips = Clips::new();
        make_fifo(&clips.path("r"));
        make_fifo(&clips.path("d"));
        Fifos(clips)
    }

    fn command(&self, options: &str) -> Command {
        let command = with(vmafx("score"), [self.0.text("r"), self.0.text("d")]);
        let command = with(command, options.split_whitespace());
        with(command, ["--feature", "psnr", "-n", "--csv", "-o", "-"])
    }

    /// The report of what `write` writes to both.
    fn score(&self, options: &str, write: impl Feeder) -> String {
        self.feed(write);
        run(self.command(options)).ok().stdout
    }

    /// The message about what `write` writes to both.
    fn failure(&self, write: impl Feeder) -> String {
        self.feed(write);
        run(self.command("")).fails("input")
    }

    fn feed(&self, write: impl Feeder) {
        let (reference, distorted) = (self.0.path("r"), self.0.path("d"));
        thread::spawn(move || {
            let open = |path| File::options().write(true).open(path).unwrap();
            let distorted = open(distorted);
            // The command may have seen enough before the end.
            let _ = write(open(reference), distorted);
        });
    }
}

/// What writes to both FIFOs, given reference and distorted.
trait Feeder: FnOnce(File, File) -> io::Result<()> + Send + 'static {}

impl<T: FnOnce(File, File) -> io::Result<()> + Send + 'static> Feeder for T {}

/// The header and the frames of a clip.
fn parts(synth: &str, range: Range<u64>) -> (Vec<u8>, Vec<Vec<u8>>) {
    let header = frames(synth, 0..0, true);
    let bytes = frames(synth, range, true);
    let size = "FRAME\n".len() + 320 * 240 * 3 / 2;
    let frames = bytes[header.len()..].chunks_exact(size).map(<[u8]>::to_vec);
    let frames = frames.collect();
    (header, frames)
}

/// Writes both clips in turn, the distorted `lead` frames ahead.
fn in_turn(count: u64, lead: usize) -> impl Feeder {
    let (header, reference) = parts(REF, 0..count);
    let (_, distorted) = parts(DIS, 0..count);
    move |mut r, mut d| {
        d.write_all(&header)?;
        r.write_all(&header)?;
        for place in 0..reference.len() + lead {
            if let Some(frame) = distorted.get(place) {
                d.write_all(frame)?;
            }
            if let Some(frame) = place.checked_sub(lead).map(|place| &reference[place]) {
                r.write_all(frame)?;
            }
        }
        Ok(())
    }
}

/// The report of the same clips without pipes.
fn wanted(options: &str) -> String {
    csv(REF, DIS, &format!("--feature psnr -n {options}"))
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn tee_feeds_both() {
    for options in [
        "",
        "--frame_skip_dist 3 --allow-unequal",
        "--frame_skip_ref 20 --frame_skip_dist 21 --frame_cnt 30",
    ] {
        let fifos = Fifos::new();
        let clip = fifos.0.make("clip.y4m", REF, 0..60);
        let mut tee = Command::new("sh");
        tee.args(["-c", "tee \"$0\" < \"$1\" > \"$2\""]);
        tee.args([&fifos.0.text("r"), &clip, &fifos.0.text("d")]);
        let _tee = Killed(tee.stderr(Stdio::null()).spawn().unwrap());
        let scores = run(fifos.command(options)).ok().stdout;
        let wanted = csv(&clip, &clip, &format!("--feature psnr -n {options}"));
        assert_eq!(scores, wanted, "{options}");
    }
}

#[test]
fn frames_in_turn() {
    let wanted = wanted("--frame_cnt 12");
    assert_eq!(wanted.lines().count(), 13);
    for lead in [0, 1, 3] {
        let scores = Fifos::new().score("", in_turn(12, lead));
        assert_eq!(scores, wanted, "{lead} ahead");
    }
}

/// A part of the stream is a part of the scores, and what comes behind it is not waited for.
#[test]
fn frame_cnt_ends_before_the_stream() {
    let options = "--frame_skip_ref 2 --frame_skip_dist 2 --frame_cnt 7";
    let wanted = wanted(options);
    assert_eq!(wanted.lines().count(), 8);
    assert_eq!(Fifos::new().score(options, in_turn(60, 1)), wanted);

    // Both stay open and silent until the command has ended.
    let (ended, end) = mpsc::channel::<()>();
    let write = in_turn(9, 0);
    let scores = Fifos::new().score(options, move |r, d| {
        let open = [r.try_clone()?, d.try_clone()?];
        write(r, d)?;
        let _ = end.recv();
        drop(open);
        Ok(())
    });
    drop(ended);
    assert_eq!(scores, wanted);
}

/// A writer that dies is told from one that ends, and by the name of its video.
#[test]
fn early_death_of_the_writer() {
    let (header, reference) = parts(REF, 0..4);
    let (_, distorted) = parts(DIS, 0..4);
    let clips = [&reference, &distorted].map(|frames| [header.clone(), frames.concat()].concat());
    for short in [0, 1] {
        let fifos = Fifos::new();
        let mut clips = clips.clone();
        let whole = clips[short].len();
        clips[short].truncate(whole - 1000);
        let [r, d] = clips;
        let text = fifos.failure(move |mut to_r, mut to_d| {
            let other = thread::spawn(move || to_r.write_all(&r));
            to_d.write_all(&d)?;
            drop(to_d);
            other.join().unwrap()
        });
        let name = fifos.0.text(["r", "d"][short]);
        assert!(
            text.contains(&format!("{name} ends within frame 3")),
            "{text}"
        );
    }
    // The other one is silent: nothing is gained by waiting for it.
    let fifos = Fifos::new();
    let (ended, end) = mpsc::channel::<()>();
    let text = fifos.failure(move |mut r, mut d| {
        r.write_all(&header)?;
        d.write_all(&header)?;
        d.write_all(&distorted[0][..50_000])?;
        drop(d);
        let _ = end.recv();
        drop(r);
        Ok(())
    });
    drop(ended);
    let name = fifos.0.text("d");
    assert!(
        text.contains(&format!("{name} ends within frame 0")),
        "{text}"
    );
}

/// A damaged video is closed, which ends a program that writes both. The failure told is the
/// damage and not the end that it caused, even with --allow-unequal.
#[test]
fn damage_that_stops_the_writer() {
    let (header, reference) = parts(REF, 0..6);
    let (_, mut distorted) = parts(DIS, 0..6);
    distorted[3][..5].copy_from_slice(b"WRONG");
    for torn in [0, 40_000] {
        let (header, reference, distorted) = (header.clone(), reference.clone(), distorted.clone());
        let fifos = Fifos::new();
        fifos.feed(move |mut r, mut d| {
            d.write_all(&header)?;
            r.write_all(&header)?;
            d.write_all(&distorted[0])?;
            d.write_all(&distorted[1])?;
            r.write_all(&reference[0])?;
            r.write_all(&reference[1][..torn])?;
            // Of the last frame no more is taken than its damaged start.
            for frame in &distorted[2..] {
                d.write_all(frame)?;
            }
            Ok(())
        });
        let text = run(fifos.command("--allow-unequal")).fails("input");
        let name = fifos.0.text("d");
        assert!(text.contains(&name) && text.contains("frame 3"), "{text}");
    }
}
