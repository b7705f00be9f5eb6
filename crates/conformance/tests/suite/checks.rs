//! Every check finds the defect that it is for, in a backend that is linked in.

use std::collections::BTreeSet;

use vmafx_api::Backend;
use vmafx_backend_cpu::CpuBackend;
use vmafx_conformance::{Candidate, Outcome, Suite};

use crate::example::{Defect, Example};

fn candidate(defect: Option<Defect>) -> Candidate {
    Candidate::new(Backend::new(Example::new(defect)).unwrap())
}

/// Each defect, the check that has to find it, and a part of the reason.
const FOUND: [(Defect, &str, &str); 61] = [
    (Defect::VersionIsAWord, "version-semantic", "`newest`"),
    (
        Defect::FeatureOfTheProgram,
        "own-feature-names",
        "feature `vif`",
    ),
    (
        Defect::ScoreOfTheProgram,
        "own-feature-names",
        "score `psnr_y` of feature `gap` is one of `psnr`",
    ),
    (
        Defect::NoSummary,
        "features-documented",
        "the summary of feature `gap`",
    ),
    (
        Defect::NoHelp,
        "features-documented",
        "the help text of `gap.offset`",
    ),
    (
        Defect::SmallestIsNothing,
        "smallest-sizes-possible",
        "`gap` is 0x4",
    ),
    (
        Defect::DevicesChangeNames,
        "devices-listed-alike",
        "example 1",
    ),
    (
        Defect::DeviceHasNoName,
        "devices-listed-alike",
        "device 0 has no name",
    ),
    (
        Defect::OpenedAsAnother,
        "devices-listed-alike",
        "another example",
    ),
    (
        Defect::AnyDeviceOpens,
        "unknown-device-refused",
        "device 1 of 1 is accepted",
    ),
    (
        Defect::UnknownDeviceIsInvalid,
        "unknown-device-refused",
        "answer `not found`",
    ),
    (
        Defect::AnyDeviceOption,
        "device-option-refused",
        "`no_such_option` is accepted",
    ),
    (
        Defect::OpensOnce,
        "opens-repeatedly",
        "does not open while it is open",
    ),
    (
        Defect::SecondDeviceDiffers,
        "opens-repeatedly",
        "on a device that is open twice",
    ),
    (Defect::OwnFeatureUnknown, "own-features-known", "`flicker`"),
    (
        Defect::AnyFeature,
        "unknown-feature-refused",
        "feature `no_such_feature` is accepted",
    ),
    (
        Defect::UnknownFeatureIsInvalid,
        "unknown-feature-refused",
        "answer `not found`",
    ),
    (
        Defect::AnyOption,
        "unknown-option-refused",
        "option `no_such_option` is accepted",
    ),
    (Defect::AnyValue, "option-range-refused", "`gain`, where -"),
    (
        Defect::AnyKind,
        "option-range-refused",
        "a text is no number",
    ),
    (Defect::AnySize, "small-frames-refused", "`gap` at 3x4"),
    (
        Defect::SupportedNotPrepared,
        "support-holds",
        "16-bit is supported, and then not made ready",
    ),
    (
        Defect::NothingAdmitted,
        "support-holds",
        "does not admit a frame",
    ),
    (
        Defect::MemoryOfAnother,
        "support-holds",
        "host memory, dma-buf, of a device that reads host memory",
    ),
    (
        Defect::HistoryWithoutEnd,
        "support-holds",
        "the extractor asks for 1000, the most is 16",
    ),
    (
        Defect::PreparesAnything,
        "prepare-refuses-alike",
        "`no_such_feature` is accepted",
    ),
    (
        Defect::ColumnTooMany,
        "plan-figures",
        "has 3 values a frame, its definition 2 (gap, gap_largest)",
    ),
    (
        Defect::InFlightWithoutEnd,
        "plan-figures",
        "asks for 1000000 jobs in flight",
    ),
    (
        Defect::MoreMemoryThanThereIs,
        "plan-figures",
        "holds 1048577 bytes of a device that has 1048576",
    ),
    (
        Defect::PlansShareValues,
        "plans-apart",
        "beside another plan",
    ),
    (
        Defect::LastPlanEndsAll,
        "plans-apart",
        "after another plan of its device was dropped",
    ),
    (
        Defect::NotANumber,
        "values-finite",
        "frame 6 (a scene and the same frame): `gap` is NaN",
    ),
    (Defect::NotWritten, "values-finite", "`gap_largest` is NaN"),
    (Defect::CountsCalls, "values-repeat", "on another plan"),
    (
        Defect::RemembersLastFrame,
        "frame-order-free",
        "submitted backwards",
    ),
    (
        Defect::DependsOnNumber,
        "frame-numbers-free",
        "as number 8589934593 of its clip",
    ),
    (
        Defect::DependsOnSpareHistory,
        "spare-history-ignored",
        "with 2 earlier frames, of which the plan asks for 1",
    ),
    (
        Defect::DependsOnPlan,
        "plan-neighbours-free",
        "in a plan of 7 features",
    ),
    (
        Defect::DependsOnThread,
        "threads-free",
        "when four threads score at once",
    ),
    (
        Defect::OneCollector,
        "threads-free",
        "4:2:0 8-bit: a call that must succeed failed: thread: it has no context of the device",
    ),
    (
        Defect::SameFrameIsSpecial,
        "same-frame-twice",
        "of two equal frames in place of one",
    ),
    (Defect::ReadsChroma, "chroma-not-read", "with other chroma"),
    (
        Defect::OddSizesDiffer,
        "sizes-and-formats",
        "`gap` at 5x4 4:2:0 8-bit",
    ),
    (Defect::OneUnitOff, "definition-equal", "12-bit"),
    (
        Defect::OptionForgotten,
        "definition-options-equal",
        "by this backend with enable_chroma=false, not absent",
    ),
    (
        Defect::OneUnitOff,
        "cells-equal",
        "12-bit, frame 0 (a scene and its coarse copy): `psnr_y` is ",
    ),
    (
        Defect::OptionForgotten,
        "cells-equal",
        "by this device with enable_chroma=false, with jobs in",
    ),
    (
        Defect::AnySize,
        "definition-limits-kept",
        "which its definition refuses",
    ),
    (
        Defect::OneJobAtATime,
        "many-in-flight",
        "job 1 is refused while 1 are under way",
    ),
    (
        Defect::OneTicketForAll,
        "many-in-flight",
        "job 1 has the ticket 0",
    ),
    (
        Defect::FirstInFirstOut,
        "collect-order-free",
        "another job comes first",
    ),
    (
        Defect::CollectedTwice,
        "collected-once",
        "ticket 0, which was collected before, is accepted",
    ),
    (
        Defect::AnyTicket,
        "unknown-ticket-refused",
        "which is of no job, is accepted",
    ),
    (
        Defect::UnknownTicketPanics,
        "unknown-ticket-refused",
        "no such ticket",
    ),
    (
        Defect::UncollectedBreaksDevice,
        "dropped-uncollected",
        "in the middle of a job",
    ),
    (
        Defect::FramesKept,
        "frames-given-back",
        "whose jobs were collected",
    ),
    (
        Defect::FramesKeptIfUncollected,
        "frames-given-back",
        "whose jobs were left uncollected",
    ),
    (Defect::NoSubject, "refusals-explained", "names no subject"),
    (Defect::NoReason, "refusals-explained", "says no reason"),
    (Defect::OneUnitOff, "values-finite", ""),
    (Defect::OneUnitOff, "values-repeat", ""),
];

#[test]
fn each_defect_is_found_by_its_check() {
    let mut wrong = Vec::new();
    for (defect, check, part) in FOUND {
        let report = Suite::only([check]).unwrap().run(&candidate(Some(defect)));
        match report.outcome(check) {
            Some(Outcome::Failed(reason)) if !part.is_empty() && reason.contains(part) => {}
            Some(Outcome::Passed) if part.is_empty() => {}
            other => wrong.push(format!("{defect:?}, {check}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks whose defects need a library: `program` plants them.
const BY_LIBRARY: [&str; 5] = [
    "manifest-agrees",
    "frames-unchanged",
    "float-environment",
    "process-untouched",
    "threads-ended",
];

#[test]
fn every_check_can_fail() {
    let found = FOUND.iter().filter(|(_, _, part)| !part.is_empty());
    let mut planted: BTreeSet<_> = found.map(|(_, check, _)| *check).collect();
    planted.extend(BY_LIBRARY);
    let suite = Suite::all();
    let all: BTreeSet<_> = suite.checks().iter().map(|check| check.id).collect();
    assert_eq!(planted, all);
}

#[test]
fn backends_that_keep_the_rules_pass() {
    let example = Suite::all().run(&candidate(None));
    let cpu = Candidate::new(Backend::new(CpuBackend::new()).unwrap());
    let cpu = Suite::all().run(&cpu);
    for (report, counts) in [
        (&example, "41 passed, 0 failed, 2 skipped"),
        (&cpu, "37 passed, 0 failed, 6 skipped"),
    ] {
        println!("{report}");
        assert!(report.passed(), "{report}");
        assert_eq!(report.counts().to_string(), counts, "{report}");
    }
}
