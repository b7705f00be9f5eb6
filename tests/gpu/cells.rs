//! The conformance suite's cells: every feature with its options, at all depths, layouts and odd
//! sizes, from host memory and from the device's.

use std::path::Path;

use vmafx_conformance::{Candidate, Outcome, Suite};

use crate::bench::{Bench, Memory};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "conformance_over_the_simulated_runtime",
    children: &[
        child("with graphs", GRAPHS, 600),
        child("without graphs", NO_GRAPHS, 600),
    ],
    run,
};

/// Fewest values that are worth the name of a conformance run.
const LEAST: u64 = 20_000;

fn run(room: &Path, how: &str) {
    let bench = Bench::open(room);
    let candidate = Candidate::loaded(&bench.loaded, Some(bench.record.clone()))
        .with_device_memory(Memory::of(&bench));
    let report = Suite::only(["cells-equal"]).unwrap().run(&candidate);
    let cells = report.cells.as_ref().unwrap();
    let (compared, to_come) = (cells.compared().count(), cells.to_come().count());
    println!(
        "{FIGURE}{how}: cells: {compared}, values: {}, differing: {}, to come: {to_come}",
        cells.values(),
        cells.differing()
    );
    assert_eq!(
        report.outcome("cells-equal"),
        Some(&Outcome::Passed),
        "{report}"
    );
    assert_eq!(cells.differing(), 0, "{cells}");
    assert!(cells.values() >= LEAST, "{cells}");
    // Nothing is left out: each cell that this program has is compared, from both memories.
    assert_eq!(compared + to_come, cells.cells.len(), "{cells}");
    assert_eq!(cells.imported_not_tried, None);
    for cell in cells.compared() {
        assert!(cell.values > 0 && cell.imported_values > 0, "{cell:?}");
        assert_eq!(cell.refused, 0, "{cell:?}");
    }
    let graphs = bench.counts()["graph_launches"].as_u64().unwrap();
    assert_eq!(graphs > 0, how == "with graphs", "{graphs} graphs ran");
    assert_eq!(bench.counts()["default_stream"], 0);
    assert_eq!(bench.troubles(), Vec::<String>::new());
}
