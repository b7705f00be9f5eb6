//! The engine from outside: contexts over a backend whose behaviour the test decides, and over
//! the real one with frames made here.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the finding")]

mod contexts;
mod described;
mod failures;
mod in_flight;
mod memory;
mod models;
mod order;
mod reports;
mod rig;
mod setup;

// Registers the real backend.
use vmafx_backend_cpu as _;
