//! The cross-crate suites, in one binary.

mod clips;
mod fuzz_replay;
mod golden;
