//! Every operation of every level, lane by lane, against plain arithmetic.

use super::*;

/// Bytes of two of the widest registers.
type Bytes = [u8; 128];

/// Applies an operation to whole arrays, a register at a time.
struct Apply<F> {
    a: Bytes,
    b: Bytes,
    operation: F,
}

/// An operation on registers of any level.
trait Operation {
    fn of<S: Simd>(&self, simd: S, a: S::Int, b: S::Int) -> S::Int;
}

impl<F: Operation> Work for Apply<F> {
    type Output = Bytes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Bytes {
        let mut out = [0; 128];
        for at in (0..128).step_by(S::BYTES) {
            // SAFETY: 128 is a multiple of the bytes of any register.
            unsafe {
                let a = simd.load(self.a.as_ptr().add(at));
                let b = simd.load(self.b.as_ptr().add(at));
                simd.store(out.as_mut_ptr().add(at), self.operation.of(simd, a, b));
            }
        }
        out
    }
}

/// Bytes of which many are extreme.
fn bytes(seed: u64) -> Bytes {
    let mut state = seed;
    [0; 128].map(|_: u8| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        match state >> 61 {
            0 => 0,
            1 => 0xff,
            2 => 0x80,
            3 => 0x7f,
            _ => (state >> 40) as u8,
        }
    })
}

fn check<F: Operation + Copy>(name: &str, operation: F, expected: fn(&Bytes, &Bytes) -> Bytes) {
    for level in crate::level::tested() {
        for seed in 0..200 {
            let (a, b) = (bytes(seed), bytes(seed + 1000));
            let work = Apply { a, b, operation };
            let out = match level.name() {
                "avx2" => Avx2::detect().unwrap().run(work),
                "avx512" => Avx512::<false>::detect().unwrap().run(work),
                _ => Avx512::<true>::detect().unwrap().run(work),
            };
            assert_eq!(out, expected(&a, &b), "{name} at {level}");
        }
    }
}

macro_rules! lanes {
    (|$p:ident, $q:ident| $($test:ident($kind:ty) { $($operation:ident $(::<$n:literal>)? ($($argument:ident),*) = |$x:ident, $y:ident| $value:expr;)* })*) => {$(
        #[test]
        fn $test() {
            $({
                #[derive(Clone, Copy)]
                struct Case;
                impl Operation for Case {
                    #[inline(always)]
                    #[allow(unused_variables)]
                    fn of<S: Simd>(&self, simd: S, $p: S::Int, $q: S::Int) -> S::Int {
                        simd.$operation $(::<$n>)? ($($argument),*)
                    }
                }
                check(stringify!($operation), Case, |a, b| {
                    const BYTES: usize = size_of::<$kind>();
                    let mut out = [0; 128];
                    for at in (0..128).step_by(BYTES) {
                        let lane = |v: &Bytes| {
                            let bytes = v[at..at + BYTES].try_into().unwrap();
                            <$kind>::from_le_bytes(bytes)
                        };
                        #[allow(unused_variables)]
                        let ($x, $y) = (lane(a), lane(b));
                        let value: $kind = $value;
                        out[at..at + BYTES].copy_from_slice(&value.to_le_bytes());
                    }
                    out
                });
            })*
        }
    )*};
}

lanes! {
    |a, b|
    unsigned_16(u16) {
        add16(a, b) = |x, y| x.wrapping_add(y);
        sub16(a, b) = |x, y| x.wrapping_sub(y);
        max_unsigned16(a, b) = |x, y| x.max(y);
        min_unsigned16(a, b) = |x, y| x.min(y);
        mul_low16(a, b) = |x, y| x.wrapping_mul(y);
        mul_high_unsigned16(a, b) = |x, y| ((u32::from(x) * u32::from(y)) >> 16) as u16;
        shift_left16::<3>(a) = |x, y| x << 3;
        shift_right16::<3>(a) = |x, y| x >> 3;
        and(a, b) = |x, y| x & y;
        or(a, b) = |x, y| x | y;
        xor(a, b) = |x, y| x ^ y;
        and_not(a, b) = |x, y| x & !y;
    }
    signed_16(i16) {
        abs16(a) = |x, y| x.wrapping_abs();
        max_signed16(a, b) = |x, y| x.max(y);
        min_signed16(a, b) = |x, y| x.min(y);
        mul_high_signed16(a, b) = |x, y| ((i32::from(x) * i32::from(y)) >> 16) as i16;
        shift_right_signed16::<3>(a) = |x, y| x >> 3;
    }
    unsigned_32(u32) {
        add32(a, b) = |x, y| x.wrapping_add(y);
        sub32(a, b) = |x, y| x.wrapping_sub(y);
        mul_low32(a, b) = |x, y| x.wrapping_mul(y);
        shift_left32::<7>(a) = |x, y| x << 7;
        shift_right32::<7>(a) = |x, y| x >> 7;
        blend_odd16(a, b) = |x, y| x & 0xffff | y & 0xffff_0000;
    }
    signed_32(i32) {
        abs32(a) = |x, y| x.wrapping_abs();
        max_signed32(a, b) = |x, y| x.max(y);
        min_signed32(a, b) = |x, y| x.min(y);
        shift_right_signed32::<7>(a) = |x, y| x >> 7;
    }
    unsigned_64(u64) {
        add64(a, b) = |x, y| x.wrapping_add(y);
        sub64(a, b) = |x, y| x.wrapping_sub(y);
        shift_left64::<9>(a) = |x, y| x << 9;
        shift_right64::<9>(a) = |x, y| x >> 9;
        blend_odd32(a, b) = |x, y| x & 0xffff_ffff | y & 0xffff_ffff_0000_0000;
        mul_even_unsigned32(a, b) = |x, y| (x & 0xffff_ffff) * (y & 0xffff_ffff);
        mul_even_signed32(a, b) = |x, y| (i64::from(x as i32) * i64::from(y as i32)) as u64;
        distance8(a, b) = |x, y| {
            let bytes = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
            bytes.map(|(x, y)| u64::from(x.abs_diff(y))).sum()
        };
    }
}

macro_rules! more {
    ($($test:ident: |$simd:ident, $a:ident, $b:ident| $body:expr, |$x:ident, $y:ident| $value:expr;)*) => {$(
        #[test]
        fn $test() {
            #[derive(Clone, Copy)]
            struct Case;
            impl Operation for Case {
                #[inline(always)]
                #[allow(unused_variables)]
                fn of<S: Simd>(&self, $simd: S, $a: S::Int, $b: S::Int) -> S::Int {
                    $body
                }
            }
            check(stringify!($test), Case, |a, b| {
                let mut out = [0; 128];
                for at in (0..128).step_by(4) {
                    let lane = |v: &Bytes| u32::from_le_bytes(v[at..at + 4].try_into().unwrap());
                    #[allow(unused_variables)]
                    let ($x, $y) = (lane(a), lane(b));
                    let value: u32 = $value;
                    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
                out
            });
        }
    )*};
}

more! {
    dot_products: |simd, a, b| simd.dot16(simd.splat32(0xfedc_ba98), a, b), |x, y| {
        let halves = |v: u32| [v as u16 as i16, (v >> 16) as i16].map(i32::from);
        let ([a, b], [c, d]) = (halves(x), halves(y));
        0xfedc_ba98u32
            .wrapping_add((a * c) as u32)
            .wrapping_add((b * d) as u32)
    };
    shifts_by_a_count: |simd, a, b| {
        let left = simd.shift_left32_by(a, 5);
        let gone = simd.or(simd.shift_left32_by(a, 32), simd.shift_right32_by(a, 40));
        simd.xor(simd.xor(left, simd.shift_right32_by(b, 11)), gone)
    }, |x, y| (x << 5) ^ (y >> 11);
    masks: |simd, a, b| {
        let greater = simd.greater_signed32(a, b);
        simd.add32(simd.keep32(greater, a), simd.drop32(greater, b))
    }, |x, y| if x as i32 > y as i32 { x } else { y };
    splats: |simd, a, b| {
        let narrow = simd.xor(simd.splat8(0x91), simd.splat16(0xa2b3));
        simd.xor(simd.xor(narrow, simd.zero()), simd.splat64(0x0102_0304_0102_0304))
    }, |x, y| 0x9191_9191 ^ 0xa2b3_a2b3 ^ 0x0102_0304;
}

/// Lanes that are kept come to the front, and are counted.
#[test]
fn compaction() {
    struct Compact(Vec<i32>);
    impl Work for Compact {
        type Output = Vec<i32>;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Vec<i32> {
            let mut out = vec![0; self.0.len() + 16];
            let mut len = 0;
            for lanes in self.0.chunks_exact(S::LANES) {
                // SAFETY: a chunk is a register, and 16 elements behind the last of the input,
                // of which no more are stored than were loaded, have room for one.
                unsafe {
                    let v = simd.load(lanes.as_ptr());
                    let mask = simd.greater_signed32(v, simd.zero());
                    simd.store(out.as_mut_ptr().add(len), simd.compact32(mask, v));
                    len += simd.count(mask);
                }
            }
            out.truncate(len);
            out
        }
    }
    let numbers: Vec<i32> = (0..256 * 16)
        .map(|i: i32| {
            if ((i / 16) >> (i % 8)) & 1 == 1 {
                i
            } else {
                -i
            }
        })
        .collect();
    let expected: Vec<i32> = numbers.iter().copied().filter(|&v| v > 0).collect();
    for level in crate::level::tested() {
        let work = Compact(numbers.clone());
        let out = match level.name() {
            "avx2" => Avx2::detect().unwrap().run(work),
            "avx512" => Avx512::<false>::detect().unwrap().run(work),
            _ => Avx512::<true>::detect().unwrap().run(work),
        };
        assert_eq!(out, expected, "{level}");
    }
}
