//! The floating-point environment of a thread: rounding, exceptions, and how subnormal numbers
//! are treated. Scores depend on it, and a library linked with fast-math start-up code changes
//! it for the thread that loads it.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;

/// Control words of the calling thread's floating-point units, without the flags that
/// arithmetic itself sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatEnvironment {
    vector: u32,
    scalar: u32,
}

#[cfg(target_arch = "x86_64")]
impl FloatEnvironment {
    /// Bits of MXCSR that are not exception flags.
    const CONTROL: u32 = !0x3f;

    /// That of the calling thread.
    pub fn current() -> Self {
        let (mut vector, mut scalar) = (0u32, 0u16);
        // SAFETY: both instructions store to the four and two bytes given and change nothing
        // else; every x86-64 processor has them.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut vector, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &raw mut scalar, options(nostack, preserves_flags));
        }
        FloatEnvironment {
            vector: vector & Self::CONTROL,
            scalar: u32::from(scalar),
        }
    }

    /// Makes it that of the calling thread.
    pub fn restore(self) {
        let (vector, scalar) = (self.vector, self.scalar as u16);
        // SAFETY: both load control words that were stored by `current` on this machine, so no
        // reserved bit is set.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const vector, options(nostack, preserves_flags));
            asm!("fldcw [{}]", in(reg) &raw const scalar, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FloatEnvironment {
    /// That of the calling thread.
    pub fn current() -> Self {
        let control: u64;
        // SAFETY: reads a register that user code may read.
        unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nostack, nomem, preserves_flags)) }
        FloatEnvironment {
            vector: control as u32,
            scalar: (control >> 32) as u32,
        }
    }

    /// Makes it that of the calling thread.
    pub fn restore(self) {
        let control = u64::from(self.vector) | u64::from(self.scalar) << 32;
        // SAFETY: the value was read from the same register by `current`.
        unsafe { asm!("msr fpcr, {}", in(reg) control, options(nostack, preserves_flags)) }
    }
}

/// Runs foreign code and puts the floating-point environment back if it changed; tells whether
/// it did.
pub(crate) fn watch<T>(foreign: impl FnOnce() -> T) -> (T, bool) {
    let before = FloatEnvironment::current();
    let answer = foreign();
    let changed = FloatEnvironment::current() != before;
    if changed {
        before.restore();
    }
    (answer, changed)
}

/// Where the control words are not known, every environment equals every other.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl FloatEnvironment {
    /// That of the calling thread.
    pub fn current() -> Self {
        FloatEnvironment {
            vector: 0,
            scalar: 0,
        }
    }

    /// Makes it that of the calling thread.
    pub fn restore(self) {
        let FloatEnvironment { .. } = self;
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_and_undone() {
        let before = FloatEnvironment::current();
        // Flush to zero, and rounding down of the x87 unit.
        FloatEnvironment {
            vector: before.vector | 1 << 15,
            scalar: before.scalar | 1 << 10,
        }
        .restore();
        let tiny = std::hint::black_box(f64::MIN_POSITIVE) / 2.0;
        let changed = FloatEnvironment::current();
        before.restore();
        assert_eq!(tiny, 0.0);
        assert_ne!(changed.vector, before.vector);
        assert_ne!(changed.scalar, before.scalar);
        assert_eq!(FloatEnvironment::current(), before);
        assert!(std::hint::black_box(f64::MIN_POSITIVE) / 2.0 > 0.0);
    }
}
