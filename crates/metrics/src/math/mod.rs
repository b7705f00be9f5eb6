//! Logarithms, exponentials, powers and cube roots, the same bits everywhere.
//!
//! C libraries and graphics drivers each round these functions their own way, so a score that
//! passes through one of them depends on where it was computed. These here are made of `+`, `-`,
//! `*`, `/` of IEEE-754 `f64`, comparisons, conversions and integer steps on the bits; a kernel
//! that does the same in the same order, with contraction and flush-to-zero off, gives the same
//! bits. No `mul_add`, no square root, no function of the platform.
//!
//! | function | error bound in ULP | file |
//! |---|---|---|
//! | [`ln`], [`log2`], [`exp`], [`cbrt`] | 0.5001 | `log.rs`, `exp.rs`, `cbrt.rs` |
//! | [`pow`] | 0.504 | `pow.rs` |
//! | [`log10`] | 2, as the GNU C library's | `log.rs` |
//! | [`log2f`], [`expf`], [`cbrtf`] | 0.5001 | beside the `f64` ones |
//! | [`powf`] | 0.502 for roots, as the GNU C library's | `powf.rs` |
//!
//! 0.5 would be correct rounding in every case; the excess says how rarely the other neighbour is
//! taken: for 0.5001, only where the true value is within 0.0001 ULP of the middle between two.
//! Most `f32` functions are computed in more than `f64` and rounded once. Two functions are not as
//! accurate as they could be, on purpose: the published scores of PSNR and ADM carry the rounding
//! of one C library's `log10` and `powf`, so these are defined by its method.
//!
//! NaN results are the one positive quiet NaN, since the sign and payload that hardware makes
//! differ. `cargo xtask math` measures the errors; `docs/measurements/math.md` records them.

mod cbrt;
mod double_double;
mod exp;
mod log;
mod pow;
mod powf;

pub use cbrt::{cbrt, cbrtf};
pub use exp::{exp, expf};
pub use log::{ln, log2, log2f, log10};
pub use pow::pow;
pub use powf::powf;

#[cfg(test)]
mod tests;
