//! Which instructions are used, and the one table of functions for each choice.
//!
//! What must stay true: a level is used only if the processor has every instruction of it; a
//! mask, the environment and a caller can lower the choice, never raise it; the first entry of
//! the table is the scalar reference itself.

use std::fmt;
use std::str::FromStr;

use vmafx_api::{FrameFormat, PlaneView};
use vmafx_metrics::{adm, motion, psnr, vif};

#[cfg(target_arch = "x86_64")]
use crate::vector::{Avx2, Avx512, Simd};

/// Name of the environment variable that limits the level.
pub const LEVEL_VARIABLE: &str = "VMAFX_CPU_LEVEL";

/// A set of instructions, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The scalar reference, as the compiler translates it for the target's baseline.
    Portable,
    /// AVX2, on x86-64.
    Avx2,
    /// AVX-512 F and BW, on x86-64.
    Avx512,
    /// AVX-512 F, BW and VNNI, on x86-64.
    Avx512Vnni,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: &'static [Level] = &[
        Level::Portable,
        Level::Avx2,
        Level::Avx512,
        Level::Avx512Vnni,
    ];

    /// The word for users and reports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Avx512Vnni => "avx512vnni",
        }
    }

    /// Whether this processor has all instructions of the level.
    pub fn is_available(self) -> bool {
        self.kernels().is_some()
    }

    /// The strongest level that the processor has, `limit` allows, and that needs none of the
    /// instruction sets in `mask`. As in libvmaf a bit of `mask` switches a set *off*: 1 SSE2,
    /// 2 SSSE3, 4 SSE4.1, 8 AVX2, 16 AVX-512, 32 the AVX-512 of Ice Lake.
    pub fn strongest(mask: u32, limit: Option<Level>) -> Level {
        let allowed = |level: &Level| {
            level.needs() & mask == 0
                && limit.is_none_or(|limit| *level <= limit)
                && level.is_available()
        };
        let strongest = Level::ALL.iter().copied().rfind(allowed);
        strongest.unwrap_or(Level::Portable)
    }

    /// The bits of the mask that exclude the level.
    fn needs(self) -> u32 {
        match self {
            Level::Portable => 0,
            Level::Avx2 => 8,
            Level::Avx512 => 16,
            Level::Avx512Vnni => 16 | 32,
        }
    }

    /// The functions of the level, if the processor has its instructions.
    pub(crate) fn kernels(self) -> Option<Kernels> {
        #[cfg(target_arch = "x86_64")]
        match self {
            Level::Portable => Some(PORTABLE),
            Level::Avx2 => Avx2::detect().map(|_| Kernels::vector::<Avx2>()),
            Level::Avx512 => Avx512::<false>::detect().map(|_| Kernels::vector::<Avx512<false>>()),
            Level::Avx512Vnni => {
                Avx512::<true>::detect().map(|_| Kernels::vector::<Avx512<true>>())
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        (self == Level::Portable).then_some(PORTABLE)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a level cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// A word that names no level.
    #[error("there is no CPU level `{name}`; the levels are: {known}")]
    Unknown {
        /// What was given.
        name: String,
        /// All levels.
        known: String,
    },
    /// A level that the processor does not have.
    #[error("this processor does not have the instructions of CPU level `{level}`")]
    NotAvailable {
        /// The level.
        level: Level,
    },
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Level::ALL.iter().find(|level| level.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Level::ALL.iter().map(|level| level.name()).collect();
            LevelError::Unknown {
                name: text.to_owned(),
                known: names.join(", "),
            }
        })
    }
}

/// The pixel part of every metric at one level.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// Makes the buffers of vif for frames of one format.
    pub(crate) vif: fn(&FrameFormat) -> Box<dyn Vif>,
    /// Makes the buffers of adm.
    pub(crate) adm: fn(&FrameFormat) -> Box<dyn Adm>,
    /// Makes the buffers of motion.
    pub(crate) motion: fn(&FrameFormat) -> Box<dyn Motion>,
    pub(crate) psnr: Psnr,
}

/// vif at one level, with the buffers that it needs there.
pub(crate) trait Vif: Send {
    /// Sums of one pair of luma planes, as [`vif::reference`] defines them.
    fn sums(
        &mut self,
        pair: [&PlaneView<'_>; 2],
        depth: u32,
        settings: &vif::Settings,
    ) -> vif::Sums;
}

/// adm at one level, with the buffers that it needs there.
pub(crate) trait Adm: Send {
    /// Sums of one pair of luma planes, as [`adm::reference()`] defines them.
    fn sums(
        &mut self,
        pair: [&PlaneView<'_>; 2],
        depth: u32,
        settings: &adm::Settings,
    ) -> adm::Sums;
}

/// motion at one level, with the buffers that it needs there.
pub(crate) trait Motion: Send {
    /// Sums of the luma planes of an earlier and a later frame, as [`motion::reference`] defines
    /// them.
    fn sums(&mut self, pair: [&PlaneView<'_>; 2], depth: u32) -> motion::Sums;
}

type Psnr = fn(&PlaneView<'_>, &PlaneView<'_>) -> u64;

const PORTABLE: Kernels = Kernels {
    vif: |format| Box::new(vif::Scratch::new(format)),
    adm: |format| Box::new(adm::Scratch::new(format)),
    motion: |format| Box::new(motion::Scratch::new(format)),
    psnr: psnr::reference,
};

impl Vif for vif::Scratch {
    fn sums(
        &mut self,
        [x, y]: [&PlaneView<'_>; 2],
        depth: u32,
        settings: &vif::Settings,
    ) -> vif::Sums {
        vif::reference(x, y, depth, settings, self)
    }
}

impl Adm for adm::Scratch {
    fn sums(
        &mut self,
        [x, y]: [&PlaneView<'_>; 2],
        depth: u32,
        settings: &adm::Settings,
    ) -> adm::Sums {
        adm::reference(x, y, depth, settings, self)
    }
}

impl Motion for motion::Scratch {
    fn sums(&mut self, [x, y]: [&PlaneView<'_>; 2], depth: u32) -> motion::Sums {
        motion::reference(x, y, depth, self)
    }
}

#[cfg(target_arch = "x86_64")]
impl Kernels {
    /// The kernels written with vectors, at the level that `S` stands for.
    fn vector<S: Simd>() -> Self {
        Kernels {
            vif: |format| Box::new(crate::vif::Vector::<S>::new(format)),
            adm: |format| Box::new(crate::adm::Vector::<S>::new(format)),
            motion: |format| Box::new(crate::motion::Vector::<S>::new(format)),
            psnr: crate::psnr::squared_error::<S>,
        }
    }
}

/// Tests of vectors run at every level up to the one that this environment variable names, at
/// all without it.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) const MAX_LEVEL_VARIABLE: &str = "VMAFX_MAX_LEVEL";

/// The levels that vectors are tested at.
///
/// # Panics
/// If this processor has not all of them: a level that nobody tests must not look tested.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) fn tested() -> Vec<Level> {
    let most = std::env::var(MAX_LEVEL_VARIABLE).ok();
    let most = most.map(|name| name.parse().expect("the name of a level"));
    let vector = Level::ALL.iter().filter(|level| **level != Level::Portable);
    let (tested, left): (Vec<Level>, Vec<Level>) =
        vector.partition(|level| most.is_none_or(|most| **level <= most));
    if !left.is_empty() {
        eprintln!("skipped: {left:?}, {MAX_LEVEL_VARIABLE} excludes them");
    }
    for level in &tested {
        assert!(
            level.is_available(),
            "this processor has no `{level}`; name the strongest level that it has in \
             {MAX_LEVEL_VARIABLE} to leave the others untested"
        );
    }
    tested
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the variable says of this processor is so: otherwise levels would be left untested
    /// that it has, or a level in use that nobody looked at.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_level_in_use_is_the_one_that_is_named() {
        if let Ok(name) = std::env::var(MAX_LEVEL_VARIABLE) {
            let level = Level::strongest(0, None);
            assert_eq!(
                level.name(),
                name,
                "{MAX_LEVEL_VARIABLE} must name the strongest level of this processor"
            );
        }
    }

    #[test]
    fn levels_only_go_down() {
        for mask in [0, 8, 63, u32::MAX] {
            for limit in [None, Some(Level::Portable)] {
                let level = Level::strongest(mask, limit);
                assert!(level.is_available() && limit.is_none_or(|limit| level <= limit));
            }
        }
        assert_eq!(Level::strongest(u32::MAX, None), Level::Portable);
        assert_eq!(Level::strongest(8 | 16 | 32, None), Level::Portable);
        assert!(Level::strongest(16 | 32, None) <= Level::Avx2);
        assert!(Level::strongest(32, None) <= Level::Avx512);
        for level in Level::ALL.iter().filter(|level| level.is_available()) {
            assert_eq!(Level::strongest(0, Some(*level)), *level);
        }
    }

    #[test]
    fn levels_have_names() {
        for level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(*level));
        }
        assert_eq!(
            "avx9".parse::<Level>().unwrap_err().to_string(),
            "there is no CPU level `avx9`; the levels are: portable, avx2, avx512, avx512vnni"
        );
    }
}
