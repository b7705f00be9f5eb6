//! The pictures of synthetic clips, on a 16-bit scale, row by row.
//!
//! All arithmetic is on integers, so a clip is the same bytes everywhere; the checksums in the
//! clip table hold it to that. Hashes wrap at 32 bits. Nothing else can overflow, because the
//! text's reader keeps every parameter in its range.

use vmafx_api::Size;

use super::spec::{Scene, SceneKind};

/// The three factors of the coordinate hash.
const FACTORS: [u32; 4] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F];

/// The coordinate hash without its first coordinate: add that times [`FACTORS`]`[1]`, then
/// [`mix`].
fn hash_base(seed: u32, b: u32, c: u32) -> u32 {
    let [seed_factor, _, b_factor, c_factor] = FACTORS;
    seed.wrapping_mul(seed_factor)
        .wrapping_add(b.wrapping_mul(b_factor))
        .wrapping_add(c.wrapping_mul(c_factor))
}

fn mix(mut x: u32) -> u32 {
    x ^= x >> 15;
    x = x.wrapping_mul(0x2C1B_3C6D);
    x ^= x >> 12;
    x = x.wrapping_mul(0x297A_2D39);
    x ^ (x >> 15)
}

/// Hashes of the samples (0, b), (1, b), ... in order, each with the place it goes to.
pub(super) fn hash_row<T>(
    seed: u32,
    b: u32,
    c: u32,
    places: &mut [T],
) -> impl Iterator<Item = (&mut T, u32)> {
    let base = hash_base(seed, b, c);
    places.iter_mut().enumerate().map(move |(a, place)| {
        (
            place,
            mix(base.wrapping_add((a as u32).wrapping_mul(FACTORS[1]))),
        )
    })
}

/// One octave of value noise: random values on a lattice of pitch 2^shift, bilinear between.
struct Octave {
    weight: u32,
    shift: u32,
    seed: u32,
    /// Lattice row that `rows[0]` holds; `rows[1]` is the one below it.
    at: Option<i64>,
    rows: [Vec<u32>; 2],
    /// The two rows blended for the sample row at hand.
    blend: Vec<u32>,
}

impl Octave {
    /// Adds the octave's samples from (`x`, `y`) on, each times the weight, to `row`.
    fn add(&mut self, x: i64, y: i64, row: &mut [u32]) {
        let shift = self.shift;
        let pitch = 1u32 << shift;
        let mask = i64::from(pitch) - 1;
        let (first, line) = (x >> shift, y >> shift);
        let cells = (((x + row.len() as i64 - 1) >> shift) - first + 1) as usize;
        if self.at != Some(line) {
            self.rows[0].resize(cells + 1, 0);
            self.rows[1].resize(cells + 1, 0);
            if self.at.is_some_and(|at| at + 1 == line) {
                self.rows.swap(0, 1);
            } else {
                fill_lattice(&mut self.rows[0], self.seed, first, line, shift);
            }
            fill_lattice(&mut self.rows[1], self.seed, first, line + 1, shift);
            self.at = Some(line);
        }
        if shift == 0 {
            for (sum, &value) in row.iter_mut().zip(&self.rows[0]) {
                *sum += self.weight * value;
            }
            return;
        }
        let below = (y & mask) as u32;
        self.blend.clear();
        self.blend.extend(
            self.rows[0]
                .iter()
                .zip(&self.rows[1])
                .map(|(top, bottom)| top * (pitch - below) + bottom * below),
        );
        let mut done = 0;
        let mut right = (x & mask) as u32;
        for ends in self.blend.windows(2) {
            let cell_end = row.len().min(done + (pitch - right) as usize);
            for (step, sum) in row[done..cell_end].iter_mut().enumerate() {
                let right = right + step as u32;
                let value = (ends[0] * (pitch - right) + ends[1] * right) >> (2 * shift);
                *sum += self.weight * value;
            }
            done = cell_end;
            right = 0;
        }
    }
}

fn fill_lattice(values: &mut [u32], seed: u32, first: i64, line: i64, shift: u32) {
    let origin = (first as u32).wrapping_mul(FACTORS[1]);
    let base = hash_base(seed, line as u32, shift).wrapping_add(origin);
    for (i, value) in values.iter_mut().enumerate() {
        *value = mix(base.wrapping_add((i as u32).wrapping_mul(FACTORS[1]))) & 0xFFFF;
    }
}

/// Draws one plane of one picture, row by row.
pub(super) struct PatternGenerator {
    kind: SceneKind,
    size: Size,
    luma: bool,
    seed: u32,
    /// Last argument of the per-sample hash: picture and plane.
    salt: u32,
    /// Motion of the picture.
    offset: (i64, i64),
    octaves: Vec<Octave>,
    sums: Vec<u32>,
    /// Middle of the inverted square, and half its side.
    square: (i64, i64, i64),
    grain: i32,
    slope: (i64, i64),
    phase: i64,
    k: usize,
    level: i32,
}

impl PatternGenerator {
    /// Plane `plane`, of `size` samples, of picture `frame`.
    pub(super) fn new(scene: &Scene, plane: usize, frame: u64, size: Size) -> Self {
        let t = frame as i64 - frame as i64 % scene.hold;
        let cut = scene.cut != 0 && t >= scene.cut;
        let seed = (scene.seed as u32).wrapping_add(if cut { 1000 } else { 0 });
        let (w, h) = (size.width as i64, size.height as i64);
        let first = seed.wrapping_mul(16).wrapping_add(plane as u32 * 4);
        let octaves = [(6, 6), (5, 4), (3, 2), (2, 0)];
        PatternGenerator {
            kind: scene.kind,
            size,
            luma: plane == 0,
            seed,
            salt: (t as u32).wrapping_mul(4).wrapping_add(plane as u32),
            offset: (scene.px * t, scene.py * t),
            octaves: octaves
                .into_iter()
                .zip(0..)
                .map(|((weight, shift), index)| Octave {
                    weight,
                    shift,
                    seed: first.wrapping_add(index),
                    at: None,
                    rows: [Vec::new(), Vec::new()],
                    blend: Vec::new(),
                })
                .collect(),
            sums: Vec::new(),
            square: ((w / 4 + 3 * t) % w, (h / 3 + 2 * t) % h, w.max(h) >> 3),
            grain: scene.grain as i32,
            slope: (scene.gx / w + 1, scene.gy / h + 1),
            phase: 40 * t + 9000 * plane as i64,
            k: scene.k as usize,
            level: scene.level as i32,
        }
    }

    /// Writes row `y`, with values from 0 to 65535. Rows are drawn fastest in order.
    pub(super) fn row(&mut self, y: usize, row: &mut [i32]) {
        match self.kind {
            SceneKind::Texture => self.texture(y, row),
            SceneKind::Gradient => self.gradient(y, row),
            SceneKind::Random => {
                for (v, hash) in hash_row(self.seed, y as u32, self.salt, row) {
                    *v = (hash & 0xFFFF) as i32;
                }
            }
            _ if !self.luma => row.fill(32768),
            SceneKind::Black => row.fill(0),
            SceneKind::Flat => row.fill(self.level),
            SceneKind::Checker => {
                for (square, run) in row.chunks_mut(self.k).enumerate() {
                    run.fill(if (square + y / self.k) % 2 == 1 {
                        65535
                    } else {
                        0
                    });
                }
            }
        }
    }

    fn texture(&mut self, y: usize, row: &mut [i32]) {
        let (dx, dy) = self.offset;
        self.sums.clear();
        self.sums.resize(self.size.width, 0);
        for octave in &mut self.octaves {
            octave.add(dx, y as i64 + dy, &mut self.sums);
        }
        for (v, &sum) in row.iter_mut().zip(&self.sums) {
            let n = (sum >> 4) as i32;
            *v = ((((n - 32768) * 7) >> 2) + 32768).clamp(0, 65535);
        }

        let (ox, oy, radius) = self.square;
        if (y as i64 - oy).abs() < radius {
            let from = (ox - radius + 1).max(0) as usize;
            let to = (ox + radius).min(self.size.width as i64) as usize;
            for v in &mut row[from..to] {
                *v = 65535 - *v;
            }
        }

        let grain = self.grain;
        for (v, hash) in hash_row(self.seed.wrapping_add(77), y as u32, self.salt, row) {
            let g = (hash & 0xFFF) as i32 - 2048;
            *v = (*v + ((g * grain) >> 4)).clamp(0, 65535);
        }
        self.to_studio_range(row);
    }

    fn gradient(&self, y: usize, row: &mut [i32]) {
        let start = y as i64 * self.slope.1 + self.phase;
        for (x, v) in row.iter_mut().enumerate() {
            let z = ((x as i64 * self.slope.0 + start) & 131_071) as i32;
            *v = z.min(131_071 - z);
        }
        self.to_studio_range(row);
    }

    /// Full scale to the limited range: 219 steps for luma, 224 for chroma, from 16 up.
    fn to_studio_range(&self, row: &mut [i32]) {
        let steps = if self.luma { 219 } else { 224 };
        for v in row {
            *v = 4096 + ((*v * steps) >> 8);
        }
    }
}
