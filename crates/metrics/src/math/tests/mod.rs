//! Tests of the functions: values known from elsewhere, special values and exact cases, tables,
//! and agreement with the platform.

use super::{cbrt, cbrtf, exp, expf, ln, log2, log2f};

mod agreement;
mod known;
mod special;
mod tables;

type Function = (&'static str, fn(f64) -> f64);
const LN: Function = ("ln", ln);
const LOG2: Function = ("log2", log2);
const EXP: Function = ("exp", exp);
const CBRT: Function = ("cbrt", cbrt);

type SingleFunction = (&'static str, fn(f32) -> f32);
const LOG2F: SingleFunction = ("log2f", log2f);
const EXPF: SingleFunction = ("expf", expf);
const CBRTF: SingleFunction = ("cbrtf", cbrtf);
