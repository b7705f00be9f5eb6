//! Arithmetic over lanes: each reads its operands and writes one result.

use super::{NONE, over_lanes};

over_lanes! {
    /// Instructions of which a lane's result depends on that lane's operands alone.
    find:
    // Moves and bits.
    "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => (a: u32) -> u32 { a }
    "v_mov_b16" => (a: u16) -> u16 { a }
    "v_mov_b64" => (a: u64) -> u64 { a }
    "v_not_b32" => (a: u32) -> u32 { !a }
    "v_not_b16" => (a: u16) -> u16 { !a }
    "v_and_b32" => (a: u32, b: u32) -> u32 { a & b }
    "v_or_b32" => (a: u32, b: u32) -> u32 { a | b }
    "v_xor_b32" => (a: u32, b: u32) -> u32 { a ^ b }
    "v_xnor_b32" => (a: u32, b: u32) -> u32 { !(a ^ b) }
    "v_and_b16" => (a: u16, b: u16) -> u16 { a & b }
    "v_or_b16" => (a: u16, b: u16) -> u16 { a | b }
    "v_xor_b16" => (a: u16, b: u16) -> u16 { a ^ b }
    "v_or3_b32" => (a: u32, b: u32, c: u32) -> u32 { a | b | c }
    "v_and_or_b32" => (a: u32, b: u32, c: u32) -> u32 { a & b | c }
    "v_xor3_b32" => (a: u32, b: u32, c: u32) -> u32 { a ^ b ^ c }
    "v_bfi_b32" => (a: u32, b: u32, c: u32) -> u32 { a & b | !a & c }
    "v_perm_b32" => (a: u32, b: u32, c: u32) -> u32 { permute(a, b, c) }
    "v_bfrev_b32" => (a: u32) -> u32 { a.reverse_bits() }
    "v_bcnt_u32_b32" => (a: u32, b: u32) -> u32 { a.count_ones().wrapping_add(b) }
    "v_ffbh_u32" | "v_clz_i32_u32" => (a: u32) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    "v_ffbl_b32" | "v_ctz_i32_b32" => (a: u32) -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } }
    "v_ffbh_i32" | "v_cls_i32" => (a: i32) -> u32 { leading_signs(a) }
    "v_bfm_b32" => (a: u32, b: u32) -> u32 { ((1 << (a & 31)) - 1) << (b & 31) }
    "v_bfe_u32" => (a: u32, b: u32, c: u32) -> u32 { a >> (b & 31) & !(u32::MAX << (c & 31)) }
    "v_bfe_i32" => (a: i32, b: u32, c: u32) -> i32 { extract(a, b & 31, c & 31) }
    "v_alignbit_b32" => (a: u32, b: u32, c: u32) -> u32 { ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32 }
    "v_alignbyte_b32" => (a: u32, b: u32, c: u32) -> u32 { ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32 }

    // Shifts. The reversed ones take the distance first.
    "v_lshlrev_b32" => (a: u32, b: u32) -> u32 { b << (a & 31) }
    "v_lshrrev_b32" => (a: u32, b: u32) -> u32 { b >> (a & 31) }
    "v_ashrrev_i32" => (a: u32, b: i32) -> i32 { b >> (a & 31) }
    "v_lshlrev_b16" => (a: u16, b: u16) -> u16 { b << (a & 15) }
    "v_lshrrev_b16" => (a: u16, b: u16) -> u16 { b >> (a & 15) }
    "v_ashrrev_i16" => (a: u16, b: u16) -> u16 { (b as i16 >> (a & 15)) as u16 }
    "v_lshlrev_b64" => (a: u32, b: u64) -> u64 { b << (a & 63) }
    "v_lshrrev_b64" => (a: u32, b: u64) -> u64 { b >> (a & 63) }
    "v_ashrrev_i64" => (a: u32, b: i64) -> i64 { b >> (a & 63) }
    "v_lshl_add_u32" => (a: u32, b: u32, c: u32) -> u32 { (a << (b & 31)).wrapping_add(c) }
    "v_lshl_add_u64" => (a: u64, b: u32, c: u64) -> u64 { (a << (b & 7)).wrapping_add(c) }
    "v_lshl_or_b32" => (a: u32, b: u32, c: u32) -> u32 { a << (b & 31) | c }
    "v_add_lshl_u32" => (a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b) << (c & 31) }
    "v_xad_u32" => (a: u32, b: u32, c: u32) -> u32 { (a ^ b).wrapping_add(c) }

    // Integers of 32 bits.
    "v_add_u32" | "v_add_nc_u32" | "v_add_i32" | "v_add_nc_i32" => (a: u32, b: u32) -> u32 { a.wrapping_add(b) }
    "v_sub_u32" | "v_sub_nc_u32" | "v_sub_i32" | "v_sub_nc_i32" => (a: u32, b: u32) -> u32 { a.wrapping_sub(b) }
    "v_subrev_u32" | "v_subrev_nc_u32" => (a: u32, b: u32) -> u32 { b.wrapping_sub(a) }
    "v_add_u32 clamp" | "v_add_nc_u32 clamp" => (a: u32, b: u32) -> u32 { a.saturating_add(b) }
    "v_sub_u32 clamp" | "v_sub_nc_u32 clamp" => (a: u32, b: u32) -> u32 { a.saturating_sub(b) }
    "v_add_i32 clamp" | "v_add_nc_i32 clamp" => (a: i32, b: i32) -> i32 { a.saturating_add(b) }
    "v_sub_i32 clamp" | "v_sub_nc_i32 clamp" => (a: i32, b: i32) -> i32 { a.saturating_sub(b) }
    "v_add3_u32" => (a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) }
    "v_mul_lo_u32" | "v_mul_lo_i32" => (a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    "v_mul_hi_u32" => (a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    "v_mul_hi_i32" => (a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }
    "v_mul_u32_u24" => (a: u32, b: u32) -> u32 { low24(a).wrapping_mul(low24(b)) }
    "v_mul_hi_u32_u24" => (a: u32, b: u32) -> u32 { ((u64::from(low24(a)) * u64::from(low24(b))) >> 32) as u32 }
    "v_mul_i32_i24" => (a: i32, b: i32) -> i32 { signed24(a).wrapping_mul(signed24(b)) }
    "v_mul_hi_i32_i24" => (a: i32, b: i32) -> i32 { ((i64::from(signed24(a)) * i64::from(signed24(b))) >> 32) as i32 }
    "v_mad_u32_u24" => (a: u32, b: u32, c: u32) -> u32 { low24(a).wrapping_mul(low24(b)).wrapping_add(c) }
    "v_mad_i32_i24" => (a: i32, b: i32, c: i32) -> i32 { signed24(a).wrapping_mul(signed24(b)).wrapping_add(c) }
    "v_mad_u32" => (a: u32, b: u32, c: u32) -> u32 { a.wrapping_mul(b).wrapping_add(c) }
    "v_min_u32" => (a: u32, b: u32) -> u32 { a.min(b) }
    "v_max_u32" => (a: u32, b: u32) -> u32 { a.max(b) }
    "v_min_i32" => (a: i32, b: i32) -> i32 { a.min(b) }
    "v_max_i32" => (a: i32, b: i32) -> i32 { a.max(b) }
    "v_min3_u32" => (a: u32, b: u32, c: u32) -> u32 { a.min(b).min(c) }
    "v_max3_u32" => (a: u32, b: u32, c: u32) -> u32 { a.max(b).max(c) }
    "v_min3_i32" => (a: i32, b: i32, c: i32) -> i32 { a.min(b).min(c) }
    "v_max3_i32" => (a: i32, b: i32, c: i32) -> i32 { a.max(b).max(c) }
    "v_med3_u32" => (a: u32, b: u32, c: u32) -> u32 { a.min(b).max(a.max(b).min(c)) }
    "v_med3_i32" => (a: i32, b: i32, c: i32) -> i32 { a.min(b).max(a.max(b).min(c)) }
    "v_minmax_i32" => (a: i32, b: i32, c: i32) -> i32 { a.min(b).max(c) }
    "v_maxmin_i32" => (a: i32, b: i32, c: i32) -> i32 { a.max(b).min(c) }
    "v_minmax_u32" => (a: u32, b: u32, c: u32) -> u32 { a.min(b).max(c) }
    "v_maxmin_u32" => (a: u32, b: u32, c: u32) -> u32 { a.max(b).min(c) }
    "v_sad_u32" => (a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
    "v_sad_u16" => (a: u32, b: u32, c: u32) -> u32 { differences(a, b, 16).wrapping_add(c) }
    "v_sad_u8" => (a: u32, b: u32, c: u32) -> u32 { differences(a, b, 8).wrapping_add(c) }

    // Integers of 16 bits.
    "v_add_u16" | "v_add_nc_u16" | "v_add_i16" | "v_add_nc_i16" => (a: u16, b: u16) -> u16 { a.wrapping_add(b) }
    "v_sub_u16" | "v_sub_nc_u16" | "v_sub_i16" | "v_sub_nc_i16" => (a: u16, b: u16) -> u16 { a.wrapping_sub(b) }
    "v_subrev_u16" => (a: u16, b: u16) -> u16 { b.wrapping_sub(a) }
    "v_add_u16 clamp" | "v_add_nc_u16 clamp" => (a: u16, b: u16) -> u16 { a.saturating_add(b) }
    "v_sub_u16 clamp" | "v_sub_nc_u16 clamp" => (a: u16, b: u16) -> u16 { a.saturating_sub(b) }
    "v_add_i16 clamp" | "v_add_nc_i16 clamp" => (a: u16, b: u16) -> u16 { (a as i16).saturating_add(b as i16) as u16 }
    "v_sub_i16 clamp" | "v_sub_nc_i16 clamp" => (a: u16, b: u16) -> u16 { (a as i16).saturating_sub(b as i16) as u16 }
    "v_mul_lo_u16" => (a: u16, b: u16) -> u16 { a.wrapping_mul(b) }
    "v_mad_u16" | "v_mad_i16" | "v_mad_legacy_u16" => (a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    "v_mad_u32_u16" => (a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    "v_mad_i32_i16" => (a: u16, b: u16, c: i32) -> i32 { (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c) }
    "v_min_u16" => (a: u16, b: u16) -> u16 { a.min(b) }
    "v_max_u16" => (a: u16, b: u16) -> u16 { a.max(b) }
    "v_min_i16" => (a: u16, b: u16) -> u16 { (a as i16).min(b as i16) as u16 }
    "v_max_i16" => (a: u16, b: u16) -> u16 { (a as i16).max(b as i16) as u16 }
    "v_med3_i16" => (a: u16, b: u16, c: u16) -> u16 { { let (a, b, c) = (a as i16, b as i16, c as i16); a.min(b).max(a.max(b).min(c)) as u16 } }
    "v_med3_u16" => (a: u16, b: u16, c: u16) -> u16 { a.min(b).max(a.max(b).min(c)) }
    "v_cvt_i32_i16" => (a: u16) -> i32 { i32::from(a as i16) }
    "v_cvt_u32_u16" => (a: u16) -> u32 { u32::from(a) }

    // Integers of 64 bits.
    "v_add_u64" | "v_add_nc_u64" => (a: u64, b: u64) -> u64 { a.wrapping_add(b) }
    "v_sub_u64" | "v_sub_nc_u64" => (a: u64, b: u64) -> u64 { a.wrapping_sub(b) }
    "v_mul_u64" => (a: u64, b: u64) -> u64 { a.wrapping_mul(b) }
    "v_min_u64" => (a: u64, b: u64) -> u64 { a.min(b) }
    "v_max_u64" => (a: u64, b: u64) -> u64 { a.max(b) }
    "v_min_i64" => (a: i64, b: i64) -> i64 { a.min(b) }
    "v_max_i64" => (a: i64, b: i64) -> i64 { a.max(b) }
    "v_mad_nc_u64_u32" => (a: u32, b: u32, c: u64) -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }
    "v_mad_nc_i64_i32" => (a: i32, b: i32, c: i64) -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) }

    // f32.
    "v_add_f32" => (a: f32, b: f32) -> f32 { a + b }
    "v_sub_f32" => (a: f32, b: f32) -> f32 { a - b }
    "v_subrev_f32" => (a: f32, b: f32) -> f32 { b - a }
    "v_mul_f32" => (a: f32, b: f32) -> f32 { a * b }
    "v_fma_f32" | "v_fmaak_f32" | "v_fmamk_f32" => (a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    "v_mad_f32" | "v_madak_f32" | "v_madmk_f32" => (a: f32, b: f32, c: f32) -> f32 { flushed(flushed(flushed(a) * flushed(b)) + flushed(c)) }
    "v_min_f32" | "v_min_num_f32" => (a: f32, b: f32) -> f32 { least32(a, b) }
    "v_max_f32" | "v_max_num_f32" => (a: f32, b: f32) -> f32 { -least32(-a, -b) }
    "v_min3_f32" | "v_min3_num_f32" => (a: f32, b: f32, c: f32) -> f32 { least32(least32(a, b), c) }
    "v_max3_f32" | "v_max3_num_f32" => (a: f32, b: f32, c: f32) -> f32 { -least32(least32(-a, -b), -c) }
    "v_fract_f32" => (a: f32) -> f32 { fraction32(a) }
    "v_floor_f32" => (a: f32) -> f32 { a.floor() }
    "v_ceil_f32" => (a: f32) -> f32 { a.ceil() }
    "v_trunc_f32" => (a: f32) -> f32 { a.trunc() }
    "v_rndne_f32" => (a: f32) -> f32 { a.round_ties_even() }
    "v_ldexp_f32" => (a: f32, b: i32) -> f32 { scale32(a, b) }
    "v_frexp_exp_i32_f32" => (a: f32) -> i32 { exponent(f64::from(a)) }
    "v_frexp_mant_f32" => (a: f32) -> f32 { mantissa(f64::from(a)) as f32 }

    // f64.
    "v_add_f64" => (a: f64, b: f64) -> f64 { a + b }
    "v_mul_f64" => (a: f64, b: f64) -> f64 { a * b }
    "v_fma_f64" | "v_fmaak_f64" | "v_fmamk_f64" => (a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    "v_min_f64" | "v_min_num_f64" => (a: f64, b: f64) -> f64 { least64(a, b) }
    "v_max_f64" | "v_max_num_f64" => (a: f64, b: f64) -> f64 { -least64(-a, -b) }
    "v_fract_f64" => (a: f64) -> f64 { fraction64(a) }
    "v_floor_f64" => (a: f64) -> f64 { a.floor() }
    "v_ceil_f64" => (a: f64) -> f64 { a.ceil() }
    "v_trunc_f64" => (a: f64) -> f64 { a.trunc() }
    "v_rndne_f64" => (a: f64) -> f64 { a.round_ties_even() }
    "v_ldexp_f64" => (a: f64, b: i32) -> f64 { scale64(a, b) }
    "v_frexp_exp_i32_f64" => (a: f64) -> i32 { exponent(a) }
    "v_frexp_mant_f64" => (a: f64) -> f64 { mantissa(a) }

    // Conversions; to integers they cut, saturate, and make 0 of what is not a number.
    "v_cvt_f32_u32" => (a: u32) -> f32 { a as f32 }
    "v_cvt_f32_i32" => (a: i32) -> f32 { a as f32 }
    "v_cvt_u32_f32" => (a: f32) -> u32 { a as u32 }
    "v_cvt_i32_f32" => (a: f32) -> i32 { a as i32 }
    "v_cvt_f64_u32" => (a: u32) -> f64 { f64::from(a) }
    "v_cvt_f64_i32" => (a: i32) -> f64 { f64::from(a) }
    "v_cvt_u32_f64" => (a: f64) -> u32 { a as u32 }
    "v_cvt_i32_f64" => (a: f64) -> i32 { a as i32 }
    "v_cvt_f64_f32" => (a: f32) -> f64 { f64::from(a) }
    "v_cvt_f32_f64" => (a: f64) -> f32 { a as f32 }
    "v_cvt_f32_ubyte0" => (a: u32) -> f32 { (a & 255) as f32 }
    "v_cvt_f32_ubyte1" => (a: u32) -> f32 { (a >> 8 & 255) as f32 }
    "v_cvt_f32_ubyte2" => (a: u32) -> f32 { (a >> 16 & 255) as f32 }
    "v_cvt_f32_ubyte3" => (a: u32) -> f32 { (a >> 24) as f32 }
    "v_cvt_flr_i32_f32" | "v_cvt_floor_i32_f32" => (a: f32) -> i32 { a.floor() as i32 }
    "v_cvt_rpi_i32_f32" | "v_cvt_nearest_i32_f32" => (a: f32) -> i32 { (a + 0.5).floor() as i32 }
}

over_lanes! {
    /// Instructions that add to their result: the decoder makes it their last operand.
    find_accumulating:
    "v_fmac_f32" => (a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    "v_mac_f32" => (a: f32, b: f32, c: f32) -> f32 { flushed(flushed(flushed(a) * flushed(b)) + flushed(c)) }
    "v_fmac_f64" => (a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
}

fn low24(a: u32) -> u32 {
    a & 0xff_ffff
}

fn signed24(a: i32) -> i32 {
    a << 8 >> 8
}

fn extract(a: i32, from: u32, bits: u32) -> i32 {
    match bits {
        0 => 0,
        // Bits past the last are those of the sign.
        _ if from + bits > 32 => a >> from,
        _ => a << (32 - from - bits) >> (32 - bits),
    }
}

/// Bits from the top that equal the sign; -1 where all do.
pub(super) fn leading_signs(a: i32) -> u32 {
    match a {
        0 | -1 => u32::MAX,
        _ => (a ^ a >> 31).leading_zeros(),
    }
}

/// Four bytes chosen from the eight of `a` and `b`, of which `b` holds the lower.
fn permute(a: u32, b: u32, choice: u32) -> u32 {
    let bytes = (u64::from(a) << 32 | u64::from(b)).to_le_bytes();
    u32::from_le_bytes(choice.to_le_bytes().map(|choice| match choice {
        0..=7 => bytes[usize::from(choice)],
        8..=11 => 0u8.wrapping_sub(bytes[2 * usize::from(choice - 8) + 1] >> 7),
        12 => 0,
        _ => 0xff,
    }))
}

fn differences(a: u32, b: u32, bits: u32) -> u32 {
    let part = |word: u32, at: u32| word >> at & (u32::MAX >> (32 - bits));
    let at = (0..32).step_by(bits as usize);
    at.map(|at| part(a, at).abs_diff(part(b, at))).sum()
}

/// What is above the next integer below; it stays below 1.
fn fraction32(a: f32) -> f32 {
    match a - a.floor() {
        1.0 => 1f32.next_down(),
        fraction => fraction,
    }
}

fn fraction64(a: f64) -> f64 {
    match a - a.floor() {
        1.0 => 1f64.next_down(),
        fraction => fraction,
    }
}

/// What `v_mad_f32` makes of a number: it knows no subnormals, whatever the mode says.
fn flushed(a: f32) -> f32 {
    if a.is_subnormal() {
        0f32.copysign(a)
    } else {
        a
    }
}

/// The lesser; the other where one is not a number; -0 is less than 0.
fn least32(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => f32::from_bits(a.to_bits() | b.to_bits() & 1 << 31),
        _ => a.min(b),
    }
}

fn least64(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => f64::from_bits(a.to_bits() | b.to_bits() & 1 << 63),
        _ => a.min(b),
    }
}

/// `a` times a power of two, rounded once.
pub(super) fn scale32(a: f32, power: i32) -> f32 {
    // Exact in f64 down to its subnormals, which are far below those of f32.
    scale64(f64::from(a), power.clamp(-500, 500)) as f32
}

/// `a` times a power of two, rounded once.
pub(super) fn scale64(a: f64, power: i32) -> f64 {
    if a == 0.0 || !a.is_finite() {
        return a;
    }
    let two = |power: i32| f64::from_bits(((1023 + power) as u64) << 52);
    let a_to_1 = 2.0 * mantissa(a);
    match exponent(a) - 1 + power.clamp(-4000, 4000) {
        1024.. => f64::INFINITY.copysign(a),
        power @ -1022..1024 => a_to_1 * two(power),
        // The first step is exact, so that only the second rounds.
        power => a_to_1 * two(-900) * two((power + 900).max(-900)),
    }
}

/// The exponent of a number as 0.5 to 1 times a power of two; 0 where there is none.
fn exponent(a: f64) -> i32 {
    if a == 0.0 || !a.is_finite() {
        return 0;
    }
    let (a, less) = match a.is_normal() {
        true => (a, 0),
        false => (a * 2f64.powi(64), 64),
    };
    (a.to_bits() >> 52 & 0x7ff) as i32 - 1022 - less
}

fn mantissa(a: f64) -> f64 {
    if a == 0.0 || !a.is_finite() {
        return a;
    }
    let a = if a.is_normal() { a } else { a * 2f64.powi(64) };
    f64::from_bits(a.to_bits() & !(0x7ff << 52) | 1022 << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_round_once() {
        assert_eq!(scale64(1.0, -1074), 5e-324);
        assert_eq!(scale64(1.5, -1074), 1e-323);
        assert_eq!(scale64(1.25, -1075), 5e-324);
        assert_eq!(scale64(1.0, -1075), 0.0);
        assert_eq!(scale64(f64::MAX, -2098), 5e-324);
        assert_eq!(scale64(f64::MAX, -2200), 0.0);
        assert_eq!(scale64(5e-324, 2097), 2f64.powi(1023));
        assert_eq!(scale64(-3.0, 1023), f64::NEG_INFINITY);
        assert_eq!(scale64(3.0, -1030), 3.0 * 2f64.powi(-1030));
        assert_eq!(scale32(1.0, -149), f32::from_bits(1));
        assert_eq!(scale32(1.5, -149), f32::from_bits(2));
        assert_eq!(scale32(f32::from_bits(1), 149), 1.0);
        assert_eq!((exponent(0.75), mantissa(-6.0)), (0, -0.75));
        assert_eq!(exponent(5e-324), -1073);
    }

    #[test]
    fn bits_are_chosen_and_counted() {
        assert_eq!(permute(0x8877_6655, 0x4433_2211, 0x0c07_0d00), 0x0088_ff11);
        assert_eq!(
            permute(0x8000_0000, 0x0000_8000, 0x0b08_0a09),
            0xff_ff_00_00
        );
        assert_eq!(
            (leading_signs(1), leading_signs(-2), leading_signs(-1)),
            (31, 31, u32::MAX)
        );
        assert_eq!(
            (extract(0xf0, 4, 4), extract(0x70, 4, 4), extract(-1, 0, 0)),
            (-1, 7, 0)
        );
        assert_eq!(least32(0.0, -0.0).to_bits(), 1 << 31);
    }
}
