//! Placeholder until the real functions land.
#![allow(missing_docs)]
pub fn log2(x: f64) -> f64 { x.log2() }
pub fn log2f(x: f32) -> f32 { x.log2() }
pub fn ln(x: f64) -> f64 { x.ln() }
pub fn log10(x: f64) -> f64 { x.log10() }
pub fn exp(x: f64) -> f64 { x.exp() }
pub fn expf(x: f32) -> f32 { x.exp() }
pub fn pow(x: f64, y: f64) -> f64 { x.powf(y) }
pub fn powf(x: f32, y: f32) -> f32 { x.powf(y) }
pub fn cbrt(x: f64) -> f64 { x.cbrt() }
pub fn cbrtf(x: f32) -> f32 { x.cbrt() }
