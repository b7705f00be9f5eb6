//! The golden clips are the same bytes everywhere: `clips.md5`, in the format of `md5sum`, holds
//! each side's checksum as a raw file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use md5::{Digest, Md5};
use vmafx_api::HostFrame;
use vmafx_media::{Source, SynthSource, clips};

fn checksum(text: &str) -> String {
    let mut source = SynthSource::new(text.parse().expect("a clip of the table"), text);
    let mut frame = HostFrame::new(source.format());
    let mut md5 = Md5::new();
    while source.read(&mut frame).expect("drawing cannot fail") {
        if cfg!(target_endian = "big") {
            frame.words_mut().iter_mut().for_each(|w| *w = w.to_le());
        }
        md5.update(frame.bytes_mut());
    }
    md5.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn golden_clips_have_their_checksums() {
    let sums: Vec<(&str, &str)> = include_str!("clips.md5")
        .lines()
        .map(|line| line.split_once("  ").unwrap())
        .collect();
    let names = clips::all().flat_map(|c| ["ref", "dis"].map(|s| format!("synth:{}/{s}", c.name)));
    assert!(names.eq(sums.iter().map(|(_, name)| name.to_string())));
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((md5, name)) = sums.get(next.fetch_add(1, Ordering::Relaxed)) {
                    assert_eq!(checksum(name), *md5, "{name}");
                }
            });
        }
    });
    println!("{} golden clip files compared, 0 different", sums.len());
    assert_eq!(sums.len(), 158);
}
