//! Devices that are opened, used and closed again and again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::bench::{Bench, Clip, FEATURES, format, plan};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "a_thousand_rounds_leave_memory_flat",
    children: &[
        child("1000", GRAPHS, 600),
        // What is not recorded is a part of what is: fewer tell as much.
        child("250", NO_GRAPHS, 600),
    ],
    run,
};

/// From this round on the process has all that it will ever have.
const SETTLED: u32 = 100;
/// Most bytes by which what is allocated grows from then to the end: five times what was measured,
/// which is what an allocator counts as in use until it is asked for again. A leak of 300 bytes a
/// round is more.
const GROWTH: u64 = 256 << 10;
/// Most bytes by which the process grows meanwhile, with what its allocator keeps in pieces.
const RESIDENT_GROWTH: u64 = 8 << 20;

fn run(room: &Path, rounds: &str) {
    let how = format!("{rounds} rounds");
    let rounds: u32 = rounds.parse().unwrap();
    let bench = Bench::open(room);
    // The first object of the plugin is unpacked fastest.
    bench.set("gfx", "gfx908");
    let format = format(40, 36, 8);
    let clip = Clip::new(format, &FEATURES, 2);
    let mut held = None;
    // The least of a number of rounds.
    let least = |some: &[u64]| some.iter().copied().min().unwrap();
    let some = rounds as usize / 10;
    let (mut allocated, mut resident) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        {
            let device = bench.device().unwrap();
            let plan = plan(&device, format, &FEATURES).unwrap();
            clip.check(&plan, &how).unwrap();
        }
        let now = bench.holdings();
        assert_eq!(&now, held.get_or_insert(now.clone()), "round {round}");
        assert_eq!(bench.troubles(), Vec::<String>::new(), "round {round}");
        bench.set("clear_log", "");
        if round > SETTLED {
            assert!(streams_ended(), "threads of streams do not end");
            allocated.push(allocated_bytes());
            resident.push(resident_bytes());
        }
    }
    let held = held.unwrap();
    assert!(
        held.starts_with("device=0 pinned=0 {"),
        "what is left: {held}"
    );
    let ends = |of: &[u64]| (least(&of[..some]), least(&of[of.len() - some..]));
    let (allocated, resident) = (ends(&allocated), ends(&resident));
    println!(
        "{FIGURE}{how}; of the device after each: {held}; of the process after round {SETTLED} and \
         at the end: {} and {} bytes allocated, {} and {} resident",
        allocated.0, allocated.1, resident.0, resident.1
    );
    assert!(allocated.1 <= allocated.0 + GROWTH, "{allocated:?}");
    assert!(resident.1 <= resident.0 + RESIDENT_GROWTH, "{resident:?}");
}

/// Whether the threads of the simulated streams, which are all destroyed, have ended.
fn streams_ended() -> bool {
    let mut tries = 0..5000;
    tries.any(|_| {
        let ended = fs::read_dir("/proc/self/task").unwrap().count() == 1;
        if !ended {
            std::thread::sleep(Duration::from_millis(2));
        }
        ended
    })
}

/// Bytes that this process has allocated, where its allocator tells; else 0.
fn allocated_bytes() -> u64 {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: only tells.
        let told = unsafe { libc::mallinfo2() };
        (told.uordblks + told.hblkhd) as u64
    }
    #[cfg(not(target_env = "gnu"))]
    0
}

/// Bytes of this process that are in memory.
fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
