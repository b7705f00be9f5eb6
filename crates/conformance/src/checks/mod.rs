//! The checks, by what they look at. Each module has its list; the order here is that of a run:
//! what a backend says, what it refuses, what it computes, what it leaves behind.

use crate::check::Check;

pub(crate) mod cells;
mod description;
mod devices;
mod frames;
mod plans;
mod process;
mod reference;
mod refusals;
mod support;
mod tickets;
mod values;

pub(crate) static ALL: [&[Check]; 11] = [
    &description::CHECKS,
    &devices::CHECKS,
    &support::CHECKS,
    &plans::CHECKS,
    &values::CHECKS,
    &reference::CHECKS,
    &cells::CHECKS,
    &tickets::CHECKS,
    &frames::CHECKS,
    &refusals::CHECKS,
    &process::CHECKS,
];
