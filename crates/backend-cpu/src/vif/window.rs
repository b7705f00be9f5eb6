//! The windows of vif as pairs of 16-bit taps.
//!
//! A register holds two neighbours of a line (two rows going down, two columns going along) in
//! every 32-bit lane, as signed 16-bit numbers, and one dot product counts both. A window of
//! `2 * radius + 1` samples around an even sample `c` starts with the pair `(c - radius,
//! c - radius + 1)`, and so does the window around `c + 1`, with another set of taps; each has
//! `radius + 1` pairs. What must stay true: numbers are taken modulo 2^32, in which every sum is
//! exact, since taps add up to 2^16 and unsigned 16-bit samples to less than 2^32.

use vmafx_metrics::vif::TAPS;

use crate::vector::Simd;

/// Samples are unsigned, the lanes of a dot product signed: this turns one into the other.
pub(super) const SIGN: u16 = 1 << 15;

/// What is missing in a sum whose samples all had [`SIGN`] flipped.
pub(super) const BIAS: u32 = 1 << 31;

/// The shape of a window, known to the compiler.
pub(super) trait Window: 'static {
    /// Scale that it belongs to.
    const SCALE: usize;
    /// Pairs of taps.
    const PAIRS: usize;
    /// Samples on each side of the central one, which is even: 17, 9 and 5 taps, where those at
    /// the ends may be zero.
    const RADIUS: usize = Self::PAIRS - 1;
    /// Whether the central tap is beyond 16 bits with a sign, and is taken as that much less
    /// 65536, which is added apart.
    const WIDE: bool = TAPS[Self::SCALE][TAPS[Self::SCALE].len() / 2] >= 1 << 15;
}

macro_rules! windows {
    ($($name:ident: $scale:literal, $pairs:literal;)*) => {$(
        /// The window of this scale.
        pub(super) struct $name;

        impl Window for $name {
            const SCALE: usize = $scale;
            const PAIRS: usize = $pairs;
        }
    )*};
}
windows! {
    Window0: 0, 9;
    Window1: 1, 5;
    Window2: 2, 3;
    Window3: 3, 3;
}

/// Most pairs of a window.
const MOST: usize = 9;

/// The taps of one window in registers.
#[derive(Clone, Copy)]
pub(super) struct Taps<S: Simd> {
    /// For the window around the even sample.
    pub(super) even: [S::Int; MOST],
    /// For the window around the odd sample behind it.
    pub(super) odd: [S::Int; MOST],
}

impl<S: Simd> Taps<S> {
    #[inline(always)]
    pub(super) fn new<W: Window>(simd: S) -> Self {
        let taps = TAPS[W::SCALE];
        // Where the taps start among `2 * RADIUS + 1`.
        let start = W::RADIUS - taps.len() / 2;
        let mut out = Taps {
            even: [simd.zero(); MOST],
            odd: [simd.zero(); MOST],
        };
        // A tap by its place in the window around the even sample, and around the odd one.
        // Taps of 2^15 and more lose 2^16 here, and `WIDE` returns it.
        let tap = |at: usize| match taps.get(at.wrapping_sub(start)) {
            Some(tap) => tap & 0xffff,
            None => 0,
        };
        for pair in 0..W::PAIRS {
            let at = 2 * pair;
            out.even[pair] = simd.splat32(tap(at) | tap(at + 1) << 16);
            out.odd[pair] = simd.splat32(tap(at.wrapping_sub(1)) | tap(at) << 16);
        }
        out
    }
}

/// Adds to the sums around an even sample and around the odd one behind it what the taps of a
/// wide window lack; `center` is the pair of the two.
#[inline(always)]
pub(super) fn widen<S: Simd>(simd: S, sums: &mut [S::Int; 2], center: S::Int) {
    sums[0] = simd.add32(sums[0], simd.shift_left32::<16>(center));
    let odd = simd.and(center, simd.splat32(0xffff_0000));
    sums[1] = simd.add32(sums[1], odd);
}
