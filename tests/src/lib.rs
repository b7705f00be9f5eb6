//! What the cross-crate suites share: where test data is, the golden files' format, the
//! bodies of the fuzz targets, and a machine in a folder.

#![forbid(unsafe_code)]

pub mod data;
pub mod fuzz_bodies;
pub mod golden;
pub mod machine;
