//! The cross-crate suites, in one binary.

mod clips;
mod fuzz_replay;
mod golden;
mod models_by_path;
