//! What the cross-crate suites share: where test data is, the golden files' format, and the
//! bodies of the fuzz targets.

#![forbid(unsafe_code)]

pub mod data;
pub mod fuzz_bodies;
pub mod golden;
