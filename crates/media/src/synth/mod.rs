//! Clips made by formula, so that a fresh machine has something to score and every test has clips
//! of any size, depth and layout.
//!
//! What must stay true: frame N is the same bytes on every machine, whether the frames before it
//! were read or skipped.

mod distort;
mod scene;
mod spec;
#[cfg(test)]
mod tests;

use vmafx_api::HostFrame;

use crate::error::MediaError;
use crate::source::{Source, SourceInfo, SourceKind};
use distort::{PictureParameters, PlaneBuffer};
use scene::PatternGenerator;

pub use spec::SynthSpec;

/// A clip made by formula.
pub struct SynthSource {
    spec: SynthSpec,
    info: SourceInfo,
    frame: u64,
    row: Vec<i32>,
    plane: PlaneBuffer,
}

impl SynthSource {
    /// The clip that `spec` describes; `name` is how the user wrote it.
    pub fn new(spec: SynthSpec, name: &str) -> Self {
        let mut info = SourceInfo::new(name, SourceKind::Synth, spec.format());
        info.frames = Some(spec.frames);
        SynthSource {
            spec,
            info,
            frame: 0,
            row: Vec::new(),
            plane: PlaneBuffer::new(),
        }
    }

    /// Draws plane `plane`, handing each row of samples to `write` from the top.
    fn draw(&mut self, plane: usize, mut write: impl FnMut(&[i32])) {
        let size = self.info.format.plane_size(plane);
        let spec = &self.spec;
        let scene = spec.alternative.as_ref().unwrap_or(&spec.scene);
        let mut generator = PatternGenerator::new(scene, plane, self.frame, size);
        let drop = 16 - spec.depth;
        if spec.operations.is_empty() {
            self.row.resize(size.width, 0);
            for y in 0..size.height {
                generator.row(y, &mut self.row);
                self.row.iter_mut().for_each(|v| *v >>= drop);
                write(&self.row);
            }
            return;
        }
        self.plane.resize(size);
        for (y, row) in self.plane.samples.chunks_exact_mut(size.width).enumerate() {
            generator.row(y, row);
            row.iter_mut().for_each(|v| *v >>= drop);
        }
        // Noise is the clip's own: neither the alternative nor a held picture changes it.
        let picture = PictureParameters {
            depth: spec.depth,
            seed: spec.scene.seed as u32,
            salt: (self.frame as u32)
                .wrapping_mul(4)
                .wrapping_add(plane as u32),
        };
        for &operation in &spec.operations {
            self.plane.apply(operation, picture);
        }
        self.plane.samples.chunks_exact(size.width).for_each(write);
    }
}

impl Source for SynthSource {
    fn describe(&self) -> &SourceInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut HostFrame) -> Result<bool, MediaError> {
        self.info.check_buffer(frame)?;
        if self.frame == self.spec.frames {
            return Ok(false);
        }
        let format = *frame.format();
        let mut at = 0;
        for plane in 0..format.plane_count() {
            let width = format.plane_size(plane).width;
            if format.depth() > 8 {
                let words = frame.words_mut();
                self.draw(plane, |row| {
                    for (word, &v) in words[at..at + width].iter_mut().zip(row) {
                        *word = v as u16;
                    }
                    at += width;
                });
            } else {
                let bytes = frame.bytes_mut();
                self.draw(plane, |row| {
                    for (byte, &v) in bytes[at..at + width].iter_mut().zip(row) {
                        *byte = v as u8;
                    }
                    at += width;
                });
            }
        }
        self.frame += 1;
        Ok(true)
    }

    fn skip(&mut self, frames: u64) -> Result<(), MediaError> {
        let left = self.spec.frames - self.frame;
        if frames > left {
            return Err(MediaError::SkipPastEnd {
                input: self.info.name.clone(),
                skip: frames,
                frames: left,
            });
        }
        self.frame += frames;
        Ok(())
    }
}
