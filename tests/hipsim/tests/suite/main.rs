//! Tests of the simulator itself: that what it simulates is really so.
#![allow(unsafe_code)] // kernels take addresses and the runtime is a C interface

mod blocks;
mod devices;
mod engines;
mod graphs;
mod hip;
mod misbehaviour;
mod modules;
mod probe;
mod streams;
