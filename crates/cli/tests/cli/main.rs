//! The `vmafx` command as users and scripts meet it: one module a topic. Tests that cover a
//! known user case carry its number (`ur_63_...`).

mod harness;
mod inputs;
mod options;
mod outputs;
mod pages;
mod scores;
