//! Every kernel against the scalar reference: all widths and heights up to 200 and some more, all
//! depths, contents at the ends of the arithmetic, rows of odd pitch, and samples around the planes that
//! must not matter.
//!
//! A part is run by default; all of it with the environment variable `VMAFX_FULL_GRID` set
//! to 1.

use std::sync::atomic::{AtomicUsize, Ordering};

use vmafx_api::{Chroma, FrameFormat, PlaneView, Samples, Size};

use crate::level::{self, Kernels, Level};

mod pictures;

pub(crate) use pictures::{CONTENTS, Content, Picture};

/// Largest width and height of the grid.
const LARGEST: usize = 200;

/// Larger sizes, which follow the grid: from 400 on no level of adm reads the outermost rows or
/// columns.
const LARGE: [(usize, usize); 8] = [
    (401, 33),
    (35, 409),
    (523, 417),
    (1283, 49),
    (50, 1279),
    (640, 482),
    (1934, 61),
    (3841, 34),
];

/// Depths of the grid.
const DEPTHS: [u32; 4] = [8, 10, 12, 16];

/// One pair of pictures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: u32,
    pub(crate) content: Content,
    pub(crate) seed: u32,
}

impl Case {
    pub(crate) fn format(&self) -> FrameFormat {
        FrameFormat::new(
            self.width as u32,
            self.height as u32,
            Chroma::Yuv400,
            self.depth,
        )
        .unwrap()
    }

    /// The two planes, rows `padding` samples longer than they need be, with `guard` in all
    /// samples that are not theirs.
    pub(crate) fn pictures(&self, padding: usize, guard: u16) -> [Picture; 2] {
        [false, true].map(|second| Picture::new(self, second, padding, guard))
    }
}

/// Calls `check` with the cases of the grid for a metric whose smallest side is `least` and with
/// all levels under test, from as many threads as there are processors. It returns how many
/// comparisons it made.
pub(crate) fn grid(
    metric: &str,
    least: usize,
    check: impl Fn(Case, &[(Level, Kernels)]) -> usize + Sync,
) {
    let tested = level::tested();
    let kernels = |level: &Level| (*level, level.kernels().expect("it is available"));
    let kernels: Vec<_> = tested.iter().map(kernels).collect();
    let full = std::env::var("VMAFX_FULL_GRID").is_ok_and(|text| text == "1");
    let mut sizes = Vec::new();
    for side in least..=LARGEST {
        for short in [least, least + 1 + side % 7, least + 31 + side % 5] {
            sizes.extend([(side, short), (short, side)]);
        }
    }
    sizes.extend(LARGE);
    let mut cases = Vec::new();
    for (turn, (width, height)) in sizes.into_iter().enumerate() {
        for (depth_index, depth) in DEPTHS.into_iter().enumerate() {
            for (index, content) in CONTENTS.into_iter().enumerate() {
                let chosen = turn % DEPTHS.len() == depth_index && turn % CONTENTS.len() == index;
                if full || chosen {
                    cases.push(Case {
                        width,
                        height,
                        depth,
                        content,
                        seed: cases.len() as u32,
                    });
                }
            }
        }
    }
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    done.fetch_add(check(*case, &kernels), Ordering::Relaxed);
                }
            });
        }
    });
    let (cases, done) = (cases.len(), done.into_inner());
    assert!(done >= cases * tested.len());
    println!("{metric}: {cases} pairs, {done} comparisons at {tested:?}, 0 differ");
}

#[test]
fn psnr_equals_the_reference() {
    grid("psnr", 1, |case, levels| {
        for (padding, guard) in [(0, 0), (1 + case.width % 5, u16::MAX)] {
            let [a, b] = case.pictures(padding, guard);
            let want = vmafx_metrics::psnr::reference(&a.view(), &b.view());
            for (level, kernels) in levels {
                let got = (kernels.psnr)(&a.view(), &b.view());
                assert_eq!(got, want, "{case:?} {level}");
            }
        }
        2 * levels.len()
    });
}

#[test]
fn motion_equals_the_reference() {
    use vmafx_metrics::motion;
    grid("motion", motion::MIN_SIZE as usize, |case, levels| {
        let format = case.format();
        for (padding, guard) in [(0, 0), (1 + case.width % 5, u16::MAX)] {
            let [a, b] = case.pictures(padding, guard);
            let mut scratch = motion::Scratch::new(&format);
            let want = motion::reference(&a.view(), &b.view(), case.depth, &mut scratch);
            for (level, kernels) in levels {
                let mut motion = (kernels.motion)(&format);
                // Nothing of one frame may show in the next.
                for _ in 0..2 {
                    let sums = motion.sums([&a.view(), &b.view()], case.depth);
                    assert_eq!(sums, want, "{case:?} {level}");
                }
            }
        }
        4 * levels.len()
    });
}

/// Options of adm that take ways of their own, and their values.
const ADM_OPTIONS: [&[(&str, &str)]; 9] = [
    &[],
    &[("egl", "1")],
    &[("egl", "1.37")],
    &[("csf", "1")],
    &[("csf", "1"), ("scf", "37.5"), ("scfd", "50"), ("egl", "3")],
    &[("csf", "2"), ("nvd", "5")],
    &[("csf", "3"), ("nvd", "3"), ("rdh", "2160")],
    &[("ssz", "true"), ("egl", "99.99")],
    &[("adm_skip_aim", "true"), ("nvd", "7")],
];

#[test]
fn adm_equals_the_reference() {
    use vmafx_metrics::{Options, adm, find};
    let settings = ADM_OPTIONS.map(|pairs| {
        let mut options = Options::defaults(find("adm").unwrap().definition());
        for (name, value) in pairs {
            options.set_text(name, value).unwrap();
        }
        adm::Settings::new(&options).unwrap()
    });
    grid("adm", adm::MIN_SIZE as usize, |case, levels| {
        let format = case.format();
        let turn = case.width + case.height + case.seed as usize;
        for (padding, guard, settings) in [
            (0, 0, &settings[0]),
            (
                1 + case.width % 5,
                u16::MAX,
                &settings[turn % settings.len()],
            ),
        ] {
            let [a, b] = case.pictures(padding, guard);
            let mut scratch = adm::Scratch::new(&format);
            let (x, y, depth) = (a.view(), b.view(), case.depth);
            let want = adm::reference(&x, &y, depth, settings, &mut scratch);
            for (level, kernels) in levels {
                let mut adm = (kernels.adm)(&format);
                // Nothing of one frame may show in the next.
                adm.sums([&y, &x], depth, settings);
                let got = adm.sums([&x, &y], depth, settings);
                assert_eq!(got, want, "{case:?} {settings:?} {level}");
            }
        }
        2 * levels.len()
    });
}
