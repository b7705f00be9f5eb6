//! Devices that are opened, used and closed again and again.

use std::fs;
use std::path::Path;

use crate::bench::{Bench, Clip, FEATURES, format, plan};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "a_thousand_rounds_leave_memory_flat",
    children: &[
        child("with graphs", GRAPHS, 600),
        child("without graphs", NO_GRAPHS, 600),
    ],
    run,
};

const ROUNDS: u32 = 1000;
/// From this round on the process has all that it will ever have.
const SETTLED: u32 = 100;
/// Most bytes that the process grows by between then and the end: what an allocator may take for
/// the threads of streams. A leak of one page a round would be 3.7 MB.
const GROWTH: u64 = 2 << 20;

fn run(room: &Path, how: &str) {
    let bench = Bench::open(room);
    // The first object of the plugin is unpacked fastest.
    bench.set("gfx", "gfx908");
    let format = format(40, 36, 8);
    let clip = Clip::new(format, &FEATURES, 2);
    let (mut held, mut settled) = (None, 0);
    for round in 1..=ROUNDS {
        {
            let device = bench.device().unwrap();
            let plan = plan(&device, format, &FEATURES).unwrap();
            clip.check(&plan, how).unwrap();
        }
        let now = bench.holdings();
        assert_eq!(&now, held.get_or_insert(now.clone()), "round {round}");
        assert_eq!(bench.troubles(), Vec::<String>::new(), "round {round}");
        bench.set("clear_log", "");
        if round == SETTLED {
            settled = resident();
        }
        if round % 100 == 0 {
            eprintln!("{round} {}", resident());
        }
    }
    let (held, now) = (held.unwrap(), resident());
    println!(
        "{FIGURE}{how}: {ROUNDS} rounds; of the device after each: {held}; resident bytes of the \
         process after round {SETTLED}: {settled}, at the end: {now}"
    );
    assert!(
        held.starts_with("device=0 pinned=0 {"),
        "what is left: {held}"
    );
    assert!(now <= settled + GROWTH, "{settled} grew to {now}");
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
