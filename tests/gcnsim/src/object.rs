//! What an AMD code object says of its kernels.
//!
//! Read from the metadata note, the kernel descriptors and the symbols: that is what the runtime
//! goes by. Layouts are those of LLVM's "User Guide for AMDGPU Backend", code object V3 and above.

use std::collections::BTreeMap;

use object::elf::NoteType;
use object::read::elf::{ElfFile64, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use rmpv::Value;

/// The note that holds the metadata, a MessagePack map.
const NT_AMDGPU_METADATA: NoteType = NoteType(32);
/// Rounding (to nearest: 0) and subnormals (kept: 3) of f32, f16 and f64 in `compute_pgm_rsrc1`.
const FLOAT_MODE: u32 = 0xff << 12;
/// Rounding to nearest and subnormals kept, everywhere.
pub const FLOAT_MODE_IEEE: u32 = 0xf << 16;

/// A kernel of a code object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Address and bytes of its code.
    pub code: (u64, u64),
    /// Its arguments, in their order.
    pub arguments: Vec<Argument>,
    /// Threads of a block.
    pub threads: u64,
    /// Lanes of a wave.
    pub wave: u64,
    /// Vector registers of a thread, accumulation registers not counted.
    pub vgprs: u64,
    /// Accumulation registers of a thread.
    pub agprs: u64,
    /// Scalar registers of a wave.
    pub sgprs: u64,
    /// Vector registers that were spilled.
    pub vgpr_spills: u64,
    /// Scalar registers that were spilled.
    pub sgpr_spills: u64,
    /// Bytes of memory of a thread.
    pub scratch: u64,
    /// Whether the stack of a thread has no known end.
    pub dynamic_stack: bool,
    /// Bytes that a block shares.
    pub lds: u64,
    /// Bytes of the arguments.
    pub kernarg: u64,
    /// What the hardware is told when it starts a wave.
    pub descriptor: Descriptor,
}

/// An argument of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Argument {
    /// `by_value`, `global_buffer`, or a hidden one that the runtime fills in.
    pub kind: String,
    /// Bytes from the first argument.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
}

impl Argument {
    /// Whether the runtime fills it in, unasked.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

/// `amd_kernel_code`: 64 bytes, `<kernel>.kd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Descriptor {
    /// `compute_pgm_rsrc1`: registers and the floating-point mode.
    pub rsrc1: u32,
    /// `compute_pgm_rsrc2`: user registers and which identifiers of a block and a thread come.
    pub rsrc2: u32,
    /// `compute_pgm_rsrc3`: what differs most between families.
    pub rsrc3: u32,
    /// Which user registers are set, wave size, stack.
    pub properties: u16,
    /// User registers that the arguments are loaded into before the kernel starts.
    pub kernarg_preload: u16,
}

impl Descriptor {
    /// Rounding and subnormals; [`FLOAT_MODE_IEEE`] is what kernels need.
    #[must_use]
    pub fn float_mode(&self) -> u32 {
        self.rsrc1 & FLOAT_MODE
    }

    /// Lanes of a wave. (Bit 10 is reserved, and so 0, where there is only one size, 64.)
    #[must_use]
    pub fn wave(&self) -> u32 {
        if self.properties & 1 << 10 != 0 {
            32
        } else {
            64
        }
    }

    /// Scalar registers that the runtime sets.
    #[must_use]
    pub fn user_registers(&self) -> u32 {
        self.rsrc2 >> 1 & 0x1f
    }

    fn read(bytes: &[u8; 64]) -> Self {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
        Self {
            rsrc3: word(44),
            rsrc1: word(48),
            rsrc2: word(52),
            properties: half(56),
            kernarg_preload: half(58),
        }
    }
}

/// A code object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeObject {
    /// What it is for: `gfx1100`, `gfx11-generic`.
    pub target: String,
    /// Its kernels, sorted by name.
    pub kernels: Vec<Kernel>,
    /// Symbols that something else would have to define.
    pub undefined: Vec<String>,
}

impl CodeObject {
    /// Reads a linked code object.
    ///
    /// # Errors
    /// What is not as the ABI has it.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |error: object::Error| format!("not a code object: {error}");
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(wrong)?;
        let (mut undefined, mut functions) = (Vec::new(), BTreeMap::new());
        let mut descriptors = BTreeMap::new();
        for symbol in file.dynamic_symbols() {
            let name = symbol.name().map_err(wrong)?.to_owned();
            if symbol.is_undefined() && !name.is_empty() {
                undefined.push(name);
                continue;
            }
            let Some(section) = symbol.section_index() else {
                continue;
            };
            functions.insert(name.clone(), (symbol.address(), symbol.size()));
            if let Some(kernel) = name.strip_suffix(".kd") {
                let section = file.section_by_index(section).map_err(wrong)?;
                let bytes = section.data_range(symbol.address(), 64).map_err(wrong)?;
                let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
                let bytes = bytes.ok_or_else(|| format!("no descriptor of `{kernel}`"))?;
                descriptors.insert(kernel.to_owned(), Descriptor::read(bytes));
            }
        }
        let metadata = metadata(&file)?;
        let target = field(&metadata, "amdhsa.target").and_then(Value::as_str);
        let target = target.and_then(|target| target.strip_prefix("amdgcn-amd-amdhsa--"));
        let listed = field(&metadata, "amdhsa.kernels").and_then(Value::as_array);
        let mut kernels = Vec::new();
        for value in listed.ok_or("the metadata has no list of kernels")? {
            let text = |key| field(value, key).and_then(Value::as_str);
            let name = text(".name").ok_or("a kernel without a name")?.to_owned();
            let number = |key: &str| {
                let number = field(value, key).and_then(Value::as_u64);
                number.ok_or_else(|| format!("`{name}` has no {key} in the metadata"))
            };
            let arguments = field(value, ".args").and_then(Value::as_array);
            let arguments = arguments.into_iter().flatten().map(|argument| {
                let number = |key| field(argument, key).and_then(Value::as_u64);
                let kind = field(argument, ".value_kind").and_then(Value::as_str);
                Argument {
                    kind: kind.unwrap_or("?").to_owned(),
                    offset: number(".offset").unwrap_or(0),
                    size: number(".size").unwrap_or(0),
                }
            });
            kernels.push(Kernel {
                arguments: arguments.collect(),
                threads: number(".max_flat_workgroup_size")?,
                wave: number(".wavefront_size")?,
                vgprs: number(".vgpr_count")?,
                // Only processors that have them say how many.
                agprs: number(".agpr_count").unwrap_or(0),
                sgprs: number(".sgpr_count")?,
                vgpr_spills: number(".vgpr_spill_count")?,
                sgpr_spills: number(".sgpr_spill_count")?,
                scratch: number(".private_segment_fixed_size")?,
                dynamic_stack: field(value, ".uses_dynamic_stack").and_then(Value::as_bool)
                    == Some(true),
                lds: number(".group_segment_fixed_size")?,
                kernarg: number(".kernarg_segment_size")?,
                code: *functions
                    .get(&name)
                    .ok_or_else(|| format!("`{name}` has no symbol"))?,
                descriptor: *descriptors
                    .get(&name)
                    .ok_or_else(|| format!("`{name}` has no descriptor"))?,
                name,
            });
        }
        kernels.sort();
        Ok(Self {
            target: target.ok_or("the metadata names no target")?.to_owned(),
            kernels,
            undefined,
        })
    }
}

fn metadata(file: &ElfFile64<'_, LittleEndian>) -> Result<Value, String> {
    let wrong = |error: object::Error| format!("its notes cannot be read: {error}");
    let mut found = None;
    for section in file.sections() {
        let header = section.elf_section_header();
        let Some(mut notes) = header.notes(LittleEndian, file.data()).map_err(wrong)? else {
            continue;
        };
        while let Some(note) = notes.next().map_err(wrong)? {
            if note.name() != b"AMDGPU" || note.n_type(LittleEndian) != NT_AMDGPU_METADATA {
                continue;
            }
            let value = rmpv::decode::read_value(&mut note.desc())
                .map_err(|error| format!("its metadata cannot be read: {error}"))?;
            if found.replace(value).is_some() {
                return Err("it has two notes of metadata; runtimes read the first".to_owned());
            }
        }
    }
    found.ok_or_else(|| "it has no metadata".to_owned())
}

fn field<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let mut pairs = map.as_map()?.iter();
    pairs.find_map(|(name, value)| (name.as_str() == Some(key)).then_some(value))
}
