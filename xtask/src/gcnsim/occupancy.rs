//! How many waves of a kernel a SIMD unit can hold at once.
//!
//! Registers, shared memory and blocks are what limit it. The facts are those by which LLVM counts
//! (AMDGPUSubtarget and AMDGPUBaseInfo of LLVM 22; "User Guide for AMDGPU Backend", code object
//! descriptors), and so is the formula: clang's remark `kernel-resource-usage` tells the same.
//! A *unit* is what shares LDS: a compute unit on GFX9 and gfx1250, a workgroup processor of two
//! compute units on GFX10 to GFX12.

use vmafx_gcnsim::object::Kernel;

/// What a processor has of what waves need.
#[derive(Clone, Copy)]
struct Processor {
    /// Waves that a SIMD unit holds at most.
    waves: u64,
    /// Vector registers of a SIMD unit, by lane, and how many are given out at once.
    vgprs: (u64, u64),
    /// Whether scalar registers are shared out among the waves.
    shares_sgprs: bool,
    /// Bytes of LDS of a unit, and how many are given out at once.
    lds: (u64, u64),
    /// Blocks of more than one wave that a unit holds at most, for each has a barrier.
    blocks: u64,
}

/// SIMD units of a unit.
const SIMDS: u64 = 4;

const KIB: u64 = 1024;

/// Those of RDNA that have half as many registers again.
const MORE_REGISTERS: [&str; 5] = ["gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"];

fn processor(target: &str) -> Processor {
    let gfx9 = Processor {
        waves: 8,
        vgprs: (512, 8),
        shares_sgprs: true,
        lds: (64 * KIB, 512),
        blocks: 16,
    };
    let rdna = Processor {
        waves: 16,
        vgprs: (1024, 16),
        shares_sgprs: false,
        lds: (128 * KIB, 512),
        blocks: 32,
    };
    match target {
        "gfx908" | "gfx9-generic" => Processor {
            waves: 10,
            vgprs: (256, 4),
            ..gfx9
        },
        "gfx950" => Processor {
            lds: (160 * KIB, 1280),
            ..gfx9
        },
        "gfx1250" => Processor {
            lds: (320 * KIB, 1024),
            blocks: 16,
            ..rdna
        },
        _ if target.starts_with("gfx9") => gfx9,
        _ if target.starts_with("gfx101") => Processor {
            waves: 20,
            vgprs: (1024, 8),
            ..rdna
        },
        _ if MORE_REGISTERS.contains(&target) => Processor {
            vgprs: (1536, 24),
            ..rdna
        },
        _ => rdna,
    }
}

/// Waves of a kernel that a SIMD unit holds at most, and what limits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) waves: u64,
    pub(super) by: Limit,
}

/// What limits the number of waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// The processor itself.
    Waves,
    /// Registers.
    Registers,
    /// LDS.
    Lds,
    /// The number of blocks.
    Blocks,
}

pub(super) fn bound(target: &str, kernel: &Kernel) -> Bound {
    let has = processor(target);
    let fits = |all: u64, needed: u64, granule: u64| {
        let taken = needed.next_multiple_of(granule);
        all.checked_div(taken).unwrap_or(u64::MAX)
    };
    let vector = kernel.vgprs.max(1);
    let mut registers = fits(has.vgprs.0, vector, has.vgprs.1);
    if has.shares_sgprs {
        registers = registers.min(fits(800, kernel.sgprs.max(1), 16));
    }
    let of_block = kernel.threads.div_ceil(kernel.wave.max(1)).max(1);
    // The waves of a block go to all SIMD units by turns.
    let spread = |blocks: u64| (blocks.saturating_mul(of_block)).div_ceil(SIMDS);
    let lds = spread(fits(has.lds.0, kernel.lds, has.lds.1));
    let blocks = match of_block {
        1 => u64::MAX,
        _ => spread(has.blocks),
    };
    let mut bound = Bound {
        waves: has.waves,
        by: Limit::Waves,
    };
    for (waves, by) in [
        (registers, Limit::Registers),
        (lds, Limit::Lds),
        (blocks, Limit::Blocks),
    ] {
        // A kernel that was compiled for a processor fits it.
        let waves = waves.max(1);
        if waves < bound.waves {
            bound = Bound { waves, by };
        }
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clang 22 says of kernels with these needs.
    #[test]
    fn bounds_are_those_of_the_compiler() {
        // Target, threads, vector and scalar registers, LDS; waves and what limits them.
        for (target, threads, vgprs, sgprs, lds, waves, by) in [
            ("gfx908", 256, 81, 40, 22144, 2, Limit::Lds),
            ("gfx908", 64, 115, 106, 11552, 2, Limit::Registers),
            ("gfx908", 256, 34, 106, 64, 7, Limit::Registers),
            ("gfx90a", 256, 38, 60, 8256, 7, Limit::Lds),
            ("gfx942", 256, 18, 40, 64, 8, Limit::Waves),
            ("gfx950", 256, 71, 60, 22144, 7, Limit::Registers),
            // LDS is rounded up here, which the compiler does not do: it says 4.
            ("gfx950", 64, 109, 106, 11552, 3, Limit::Lds),
            ("gfx1010", 64, 116, 106, 11552, 6, Limit::Lds),
            ("gfx1010", 256, 133, 106, 22144, 7, Limit::Registers),
            ("gfx1010", 256, 16, 30, 64, 20, Limit::Waves),
            ("gfx1030", 256, 81, 60, 22144, 10, Limit::Registers),
            ("gfx1100", 256, 142, 60, 22144, 10, Limit::Registers),
            ("gfx1151", 256, 145, 60, 22144, 9, Limit::Registers),
            ("gfx1150", 256, 145, 60, 22144, 6, Limit::Registers),
            ("gfx1250", 64, 112, 60, 11552, 8, Limit::Blocks),
            ("gfx1250", 256, 20, 60, 65000, 10, Limit::Lds),
        ] {
            let kernel = Kernel {
                threads,
                wave: if target.starts_with("gfx9") { 64 } else { 32 },
                vgprs,
                sgprs,
                lds,
                ..Kernel::default()
            };
            let found = bound(target, &kernel);
            assert_eq!(found, Bound { waves, by }, "{target} {kernel:?}");
        }
    }
}
