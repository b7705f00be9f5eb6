//! vif at every level against the scalar reference, in the manner of dav1d's checkasm.

use vmafx_api::{Chroma, FrameFormat, PlaneView, Samples, Size};
use vmafx_metrics::vif::{Settings, reference};

use crate::level::Level;

#[test]
fn smoke() {
    let plain = Settings {
        debug: false,
        gain_limit: 100.0,
        skip_scale0: false,
    };
    for (w, h, depth) in [
        (64, 64, 8),
        (33, 35, 8),
        (176, 100, 10),
        (16, 16, 16),
        (200, 31, 9),
    ] {
        let mut state = 1u64;
        let mut noise = |n: usize| -> Vec<u16> {
            (0..n)
                .map(|_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (state >> 48) as u16 >> (16 - depth)
                })
                .collect()
        };
        let (x, y) = (noise(w * h), noise(w * h));
        let (x8, y8): (Vec<u8>, Vec<u8>) = (
            x.iter().map(|&v| v as u8).collect(),
            y.iter().map(|&v| v as u8).collect(),
        );
        let size = Size {
            width: w,
            height: h,
        };
        let view = |wide, narrow| {
            let samples = if depth == 8 {
                Samples::U8(narrow)
            } else {
                Samples::U16(wide)
            };
            PlaneView::new(samples, size, w).unwrap()
        };
        let (x, y) = (view(&x, &x8), view(&y, &y8));
        let format = FrameFormat::new(w as u32, h as u32, Chroma::Yuv400, depth).unwrap();
        let mut scratch = vmafx_metrics::vif::Scratch::new(&format);
        let expected = reference(&x, &y, depth, &plain, &mut scratch);
        for level in Level::ALL {
            let mut vif = (level.kernels().unwrap().vif)(&format);
            let got = vif.sums([&x, &y], depth, &plain);
            assert_eq!(got, expected, "{level} {w}x{h} {depth}");
        }
    }
}
