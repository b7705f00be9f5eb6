//! What instructions compute, in tables: a line or a few for each.
//!
//! A table maps a mnemonic to a function over all lanes of a wave and to the types of its
//! operands, which the decoder reads them by. Sources are "AMD Instinct CDNA", "RDNA" 1 to 4
//! Instruction Set Architecture documents, and LLVM where they say nothing.

pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod division;
pub(crate) mod lanes;
pub(crate) mod packed;
pub(crate) mod scalar;
pub(crate) mod vector;

use crate::wave::{Dest, Kind, Source, Wave};

/// What runs an instruction that touches registers alone.
pub(crate) type Run<const W: usize> = fn(&mut Wave<W>, &Operands);

/// The operands of an instruction over lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operands {
    pub(crate) dest: Dest,
    /// A scalar register that is written: carry, comparison, or the result.
    pub(crate) scalar: u8,
    pub(crate) sources: Vec<Source>,
    /// Scalar registers with a bit a lane that are read: the carry.
    pub(crate) bits: u8,
    /// A number of the instruction, such as a truth table.
    pub(crate) number: u32,
    /// The vector registers that it names: the first and how many.
    pub(crate) registers: Vec<(u16, u16)>,
}

impl Operands {
    /// The source of this number.
    #[inline]
    pub(crate) fn source(&self, at: usize) -> &Source {
        self.sources.get(at).unwrap_or(&NONE)
    }

    /// The first three sources.
    #[inline]
    pub(crate) fn three(&self) -> [&Source; 3] {
        std::array::from_fn(|at| self.source(at))
    }
}

/// An instruction over lanes, and the types of its operands.
#[derive(Debug)]
pub(crate) struct Operation<const W: usize> {
    pub(crate) run: Run<W>,
    pub(crate) result: Kind,
    pub(crate) sources: &'static [Kind],
}

/// A table of instructions over lanes: name => (operands with their types) -> type of the result,
/// and what a lane computes. Operands whose type is that of the result may name it: `accumulates`
/// instructions read their result first.
macro_rules! over_lanes {
    ($(#[$doc:meta])* $find:ident: $($($name:literal)|+ => ($($operand:ident: $type:ty),*) -> $result:ty { $body:expr })*) => {
        $(#[$doc])*
        pub(crate) fn $find<const W: usize>(name: &str) -> Option<$crate::operations::Operation<W>> {
            use $crate::operations::{Operands, Operation};
            use $crate::wave::{Lane, Wave};
            match name {
                $($($name)|+ => {
                    fn run<const W: usize>(
                        wave: &mut Wave<W>,
                        operands: &Operands,
                    ) {
                        let mut sources = operands.sources.iter();
                        $(let $operand = <$type as Lane>::read(wave, sources.next().unwrap_or(&NONE));)*
                        let mut results = [<$result>::default(); W];
                        for lane in 0..W {
                            $(let $operand = $operand[lane];)*
                            results[lane] = $body;
                        }
                        <$result as Lane>::write(wave, &operands.dest, &results);
                    }
                    Some(Operation {
                        run: run::<W>,
                        result: <$result as Lane>::KIND,
                        sources: &[$(<$type as Lane>::KIND),*],
                    })
                })*
                _ => None,
            }
        }
    };
}
pub(crate) use over_lanes;

/// What a missing operand reads as; the decoder lets none be missing.
pub(crate) const NONE: Source = Source {
    place: crate::wave::Place::Literal(0),
    part: crate::wave::Part::Whole,
    signed: false,
    negated: false,
    absolute: false,
};
