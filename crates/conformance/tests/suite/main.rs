//! The suite over backends that keep the rules, and over such that break one each.

mod checks;
mod example;
mod program;
