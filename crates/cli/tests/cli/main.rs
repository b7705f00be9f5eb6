//! The `vmafx` command as users and scripts meet it: one module a topic. Tests that cover a
//! known user case carry its number (`ur_63_...`).

#![expect(
    clippy::unwrap_used,
    reason = "a test says by panicking what went wrong"
)]

mod backends;
mod destinations;
mod environment;
#[cfg(unix)]
mod fifo;
mod harness;
mod inputs;
mod options;
mod outputs;
mod pages;
mod scores;
mod upstream;
