//! The suite over backends that keep the rules, and over such that break one each.

#![allow(clippy::unwrap_used)]

mod checks;
mod example;
mod on_device;
mod program;
