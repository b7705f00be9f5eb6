//! A code object that can be run.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Error;
use crate::code::Code;
use crate::decode::Family;
use crate::disassembly::{self, Line};
use crate::dispatch::{Launch, Request};
use crate::memory::{Memory, Region};
use crate::object::{CodeObject, Kernel};

/// A code object whose kernels are decoded.
#[derive(Debug)]
pub struct Program {
    object: CodeObject,
    family: Family,
    kernels: BTreeMap<String, Decoded>,
}

#[derive(Debug)]
enum Decoded {
    Wave32(Code<32>),
    Wave64(Code<64>),
}

/// How a launch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// In which order the waves of a block take turns.
    pub order: Order,
    /// Threads over which the blocks are spread; 0 counts as 1.
    pub workers: u32,
    /// How exact approximate instructions are.
    pub estimates: Estimates,
    /// What each byte of registers and LDS holds before it is written.
    pub poison: u8,
    /// Addresses to watch: which instruction wrote there last comes with [`Counts::written`].
    pub watch: Option<Range<u64>>,
    /// Whether two waves that access a byte of memory, one of them writing, are an error unless both
    /// do so by atomics. Programs that hand data over within a launch, by a load in front of a
    /// compare-and-swap or by fences, are right and yet refused then.
    pub exclusive: bool,
    /// Instructions after which a wave that jumps is taken to run for ever.
    pub most_instructions: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Alternating,
            workers: 1,
            estimates: Estimates::Nearest,
            poison: 0xa5,
            watch: None,
            exclusive: false,
            most_instructions: 1 << 30,
        }
    }
}

/// In which order the blocks of a grid run and the threads or waves of a block take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Reverse,
    /// Blocks from the first to the last; the threads or waves of each second block from the last
    /// to the first.
    Alternating,
    /// Threads or waves in an order drawn anew for each turn from this seed; blocks from the first
    /// to the last.
    Shuffled(u64),
}

/// How exact the instructions are whose results hardware only approximates: `v_rcp`, `v_rsq` and
/// `v_sqrt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimates {
    /// To the nearest number.
    Nearest,
    /// Off by -1, 0 or 1 unit in the last place, drawn from this seed.
    Ulp(u64),
    /// Off by as much as the documentation of the instructions allows, drawn from this seed: one
    /// unit in the last place in f32, 2^29 in f64.
    Documented(u64),
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, each counted once for all lanes of a wave.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
    /// Blocks.
    pub blocks: u64,
    /// The last store to [`Options::watch`]: address and text of the instruction.
    pub written: Option<(u64, String)>,
    /// Whether any wave came to each instruction of [`Program::instructions`].
    pub ran: Vec<bool>,
}

impl Program {
    /// Reads and decodes a code object. The disassembler is found as
    /// [`disassembly::objdump`] says.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Unknown`], [`Error::Unmodelled`].
    pub fn load(image: &[u8]) -> Result<Self, Error> {
        let object = CodeObject::read(image).map_err(Error::Object)?;
        let objdump = disassembly::objdump().map_err(Error::Object)?;
        let text = disassembly::listing(objdump, image).map_err(Error::Object)?;
        Self::decode(object, &text)
    }

    fn decode(object: CodeObject, listing: &str) -> Result<Self, Error> {
        let unmodelled = |kernel: &Kernel, what: &str| Error::Unmodelled {
            kernel: kernel.name.clone(),
            what: what.to_owned(),
        };
        let family = Family::of(&object.target);
        let family = family.ok_or_else(|| {
            let target = &object.target;
            Error::Object(format!("target {target} is of no family that is modelled"))
        })?;
        let listing: BTreeMap<u64, Line<'_>> = listing
            .lines()
            .filter_map(Line::parse)
            .map(|line| (line.address, line))
            .collect();
        let mut kernels = BTreeMap::new();
        for kernel in &object.kernels {
            let properties = kernel.descriptor.properties;
            if u64::from(kernel.descriptor.wave()) != kernel.wave {
                let what = "a wave of another size in its descriptor than in its metadata";
                return Err(unmodelled(kernel, what));
            }
            if properties & 1 << 2 != 0 || properties & 1 << 4 != 0 {
                return Err(unmodelled(
                    kernel,
                    "takes its queue or its dispatch's number",
                ));
            }
            if kernel.descriptor.kernarg_preload != 0 {
                return Err(unmodelled(kernel, "takes arguments in registers"));
            }
            let most = [
                ("LDS of a block", kernel.lds, 320 << 10),
                ("scratch of a thread", kernel.scratch, 1 << 20),
                ("arguments", kernel.kernarg, 64 << 10),
            ];
            for (what, bytes, most) in most {
                if bytes > most {
                    let what = format!("{bytes} bytes of {what}; the most are {most}");
                    return Err(unmodelled(kernel, &what));
                }
            }
            if kernel.dynamic_stack {
                return Err(unmodelled(kernel, "a stack that has no known end"));
            }
            let decoded = match kernel.wave {
                32 => Decoded::Wave32(Code::decode(kernel, &listing, &family)?),
                _ => Decoded::Wave64(Code::decode(kernel, &listing, &family)?),
            };
            kernels.insert(kernel.name.clone(), decoded);
        }
        Ok(Self {
            object,
            family,
            kernels,
        })
    }

    /// What the code object says of itself.
    #[must_use]
    pub fn object(&self) -> &CodeObject {
        &self.object
    }

    /// Address and text of each instruction of a kernel; none where there is no such kernel.
    #[must_use]
    pub fn instructions(&self, kernel: &str) -> &[(u64, String)] {
        let lines = match self.kernels.get(kernel) {
            Some(Decoded::Wave32(code)) => &code.lines,
            Some(Decoded::Wave64(code)) => &code.lines,
            None => return &[],
        };
        // The last one stands for the end.
        lines.split_last().map_or(&[], |(_, lines)| lines)
    }

    /// Runs a kernel over a grid of blocks of `threads` threads and returns when the last block
    /// has ended. `args` are the bytes of its explicit arguments, as the metadata lays them out;
    /// hidden ones that tell of the grid are filled in.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Launch`], [`Error::Unmodelled`], [`Error::Fault`].
    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        threads: [u32; 3],
        args: &[u8],
        memory: &Memory,
        options: &Options,
    ) -> Result<Counts, Error> {
        let missing = || Error::NoKernel(kernel.to_owned());
        let decoded = self.kernels.get(kernel).ok_or_else(missing)?;
        let mut kernels = self.object.kernels.iter();
        let kernel = kernels.find(|k| k.name == kernel).ok_or_else(missing)?;
        check(kernel, grid, threads, args)?;
        let mut arguments = arguments(kernel, grid, threads, args)?;
        let mut packet = packet(kernel, grid, threads);
        let region = |words: &mut [u64]| Region {
            start: words.as_mut_ptr() as u64,
            len: size_of_val(words) as u64,
            writable: false,
        };
        let own = [region(&mut arguments), region(&mut packet)];
        // SAFETY: the caller of `Memory::new` vouches for the memory, and both vectors stay as
        // they are, and are not referred to, until the launch is over.
        let memory = unsafe { memory.with(&own) };
        let request = Request {
            kernel,
            family: self.family,
            grid,
            threads,
            memory,
            arguments: own[0].start,
            packet: own[1].start,
            options,
        };
        match decoded {
            Decoded::Wave32(code) => Launch { request, code }.run(),
            Decoded::Wave64(code) => Launch { request, code }.run(),
        }
    }
}

/// That a launch fits the kernel.
fn check(kernel: &Kernel, grid: [u32; 3], threads: [u32; 3], args: &[u8]) -> Result<(), Error> {
    let wrong = |what: String| {
        Err(Error::Launch {
            kernel: kernel.name.clone(),
            what,
        })
    };
    if grid.contains(&0) || grid[1].max(grid[2]) > 0xffff {
        return wrong(format!(
            "a grid of {grid:?} blocks; each side is at least 1, the second and third at most 65535"
        ));
    }
    let count = threads.iter().map(|n| u64::from(*n)).product::<u64>();
    if count == 0 || count > kernel.threads.min(1024) || threads.iter().any(|n| *n > 1024) {
        return wrong(format!(
            "blocks of {threads:?} threads; it takes 1 to {}",
            kernel.threads
        ));
    }
    let explicit = kernel
        .arguments
        .iter()
        .filter(|argument| !argument.is_hidden());
    let bytes = explicit
        .map(|argument| argument.offset.saturating_add(argument.size))
        .max();
    let bytes = bytes.unwrap_or(0);
    match args.len() as u64 == bytes {
        true => Ok(()),
        false => wrong(format!(
            "arguments of {} bytes where it takes {bytes}",
            args.len()
        )),
    }
}

/// The segment of the arguments. Its size is rounded up to what the widest scalar load takes: a
/// compiler may read behind the last argument within the unit that the runtime allocates.
fn arguments(
    kernel: &Kernel,
    grid: [u32; 3],
    threads: [u32; 3],
    args: &[u8],
) -> Result<Vec<u64>, Error> {
    let mut bytes = vec![
        0;
        (kernel.kernarg as usize)
            .max(args.len())
            .next_multiple_of(64)
    ];
    bytes[..args.len()].copy_from_slice(args);
    for argument in kernel
        .arguments
        .iter()
        .filter(|argument| argument.is_hidden())
    {
        let axis = match argument.kind.as_bytes().last() {
            Some(b'x') => 0,
            Some(b'y') => 1,
            _ => 2,
        };
        let value = match argument.kind.trim_end_matches(['x', 'y', 'z']) {
            "hidden_block_count_" => u64::from(grid[axis]),
            "hidden_group_size_" => u64::from(threads[axis]),
            "hidden_remainder_" | "hidden_global_offset_" | "hidden_none" => 0,
            "hidden_grid_dims" => match (grid, threads) {
                ([_, 1, 1], [_, 1, 1]) => 1,
                ([_, _, 1], [_, _, 1]) => 2,
                _ => 3,
            },
            other => {
                return Err(Error::Unmodelled {
                    kernel: kernel.name.clone(),
                    what: format!("takes the argument {other}"),
                });
            }
        };
        let (from, size) = (argument.offset as usize, argument.size as usize);
        let room = bytes.get_mut(from..from.saturating_add(size.min(8)));
        let room = room.ok_or_else(|| Error::Unmodelled {
            kernel: kernel.name.clone(),
            what: format!("an argument behind its {} bytes", kernel.kernarg),
        })?;
        room.copy_from_slice(&value.to_le_bytes()[..size.min(8)]);
    }
    let words = bytes.chunks_exact(8).map(|word| {
        let mut whole = [0; 8];
        whole.copy_from_slice(word);
        u64::from_ne_bytes(whole)
    });
    Ok(words.collect())
}

/// `hsa_kernel_dispatch_packet_t`, as far as kernels read it: the sizes of blocks and grid.
fn packet(kernel: &Kernel, grid: [u32; 3], threads: [u32; 3]) -> Vec<u64> {
    let [x, y, z] = threads.map(|n| u64::from(n & 0xffff));
    let [grid_x, grid_y, grid_z]: [u64; 3] =
        std::array::from_fn(|axis| u64::from(grid[axis].wrapping_mul(threads[axis])));
    let mut packet = vec![0; 8];
    packet[0] = 2 | 3 << 16 | x << 32 | y << 48;
    packet[1] = z | grid_x << 32;
    packet[2] = grid_y | grid_z << 32;
    packet[3] = kernel.scratch & 0xffff_ffff | kernel.lds << 32;
    packet
}
