//! Additions and multiplications with a carry, a bit a lane in scalar registers.

use super::{Operands, Run};
use crate::wave::{Lane, Wave};

/// An instruction that writes a carry: what runs it, and whether it reads one.
pub(crate) fn find<const W: usize>(name: &str) -> Option<(Run<W>, bool)> {
    macro_rules! of {
        ($reads:literal, $compute:expr) => {{
            fn run<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
                computed(wave, operands, $compute);
            }
            Some((run::<W> as Run<W>, $reads))
        }};
    }
    match name {
        "v_add_co_u32" => of!(false, |a, b, _| carried(u64::from(a) + u64::from(b))),
        "v_sub_co_u32" => of!(false, |a, b, _| borrowed(a, b, false)),
        "v_subrev_co_u32" => of!(false, |a, b, _| borrowed(b, a, false)),
        "v_addc_co_u32" | "v_add_co_ci_u32" => {
            of!(true, |a, b, c| carried(
                u64::from(a) + u64::from(b) + u64::from(c)
            ))
        }
        "v_subb_co_u32" | "v_sub_co_ci_u32" => of!(true, borrowed),
        "v_subbrev_co_u32" | "v_subrev_co_ci_u32" => of!(true, |a, b, c| borrowed(b, a, c)),
        _ => None,
    }
}

fn carried(sum: u64) -> (u32, bool) {
    (sum as u32, sum >> 32 != 0)
}

fn borrowed(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u32::from(borrow));
    (difference, first | second)
}

#[inline]
fn computed<const W: usize>(
    wave: &mut Wave<W>,
    operands: &Operands,
    compute: impl Fn(u32, u32, bool) -> (u32, bool),
) {
    let (a, b) = (operands.source(0), operands.source(1));
    let (a, b) = (u32::read(wave, a), u32::read(wave, b));
    let carries = wave.lane_mask(operands.bits);
    let both: [_; W] =
        std::array::from_fn(|lane| compute(a[lane], b[lane], carries >> lane & 1 != 0));
    let out = wave.bits(|lane| both[lane].1);
    u32::write(wave, &operands.dest, &both.map(|(value, _)| value));
    wave.set_lane_mask(operands.scalar, out);
}

/// `v_mad_u64_u32` and `v_mad_i64_i32`, whose carry is that of the sum of 64 bits.
pub(crate) fn find_wide<const W: usize>(name: &str) -> Option<Run<W>> {
    Some(match name {
        "v_mad_u64_u32" | "v_mad_co_u64_u32" => |wave: &mut Wave<W>, operands: &Operands| {
            let [a, b, c] = operands.three();
            let (a, b) = (u32::read(wave, a), u32::read(wave, b));
            let c = u64::read(wave, c);
            let product = |lane: usize| u64::from(a[lane]) * u64::from(b[lane]);
            let sums = std::array::from_fn(|lane| product(lane).overflowing_add(c[lane]));
            wide(wave, operands, &sums)
        },
        "v_mad_i64_i32" | "v_mad_co_i64_i32" => |wave: &mut Wave<W>, operands: &Operands| {
            let [a, b, c] = operands.three();
            let (a, b) = (i32::read(wave, a), i32::read(wave, b));
            let c = i64::read(wave, c);
            let product = |lane: usize| i64::from(a[lane]) * i64::from(b[lane]);
            let sums = std::array::from_fn(|lane| {
                let (sum, over) = product(lane).overflowing_add(c[lane]);
                (sum as u64, over)
            });
            wide(wave, operands, &sums)
        },
        _ => return None,
    })
}

fn wide<const W: usize>(wave: &mut Wave<W>, operands: &Operands, sums: &[(u64, bool); W]) {
    let out = wave.bits(|lane| sums[lane].1);
    u64::write(wave, &operands.dest, &sums.map(|(sum, _)| sum));
    wave.set_lane_mask(operands.scalar, out);
}
