//! What an AMD code object says of its kernels, and what it must not say.
//!
//! Read from the metadata note, the kernel descriptors and the symbols: that is what the runtime
//! goes by. The instructions are read by listing.rs.

use std::collections::BTreeMap;

use object::elf::NoteType;
use object::read::elf::{ElfFile64, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};
use rmpv::Value;

use super::allowed::Allowed;
use super::host;

/// The note that holds the metadata, a MessagePack map.
const NT_AMDGPU_METADATA: NoteType = NoteType(32);
/// `compute_pgm_rsrc1` in a kernel descriptor of 64 bytes.
const DESCRIPTOR_RSRC1: usize = 48;
/// Rounding (to nearest: 0) and subnormals (kept: 3) of f32, f16 and f64 in that word.
const FLOAT_MODE: u32 = 0xff << 12;
const FLOAT_MODE_IEEE: u32 = 0xf << 16;

/// A kernel of a code object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kernel {
    /// Its name.
    pub(crate) name: String,
    /// Address and bytes of its code.
    pub(crate) code: (u64, u64),
    /// Kinds and bytes of its arguments.
    pub(crate) arguments: Vec<(String, u64)>,
    /// Threads of a block.
    pub(crate) threads: u64,
    /// Lanes of a wave.
    pub(crate) wave: u64,
    /// Vector registers of a thread, accumulation registers not counted.
    pub(crate) vgprs: u64,
    /// Accumulation registers of a thread.
    pub(crate) agprs: u64,
    /// Scalar registers of a wave.
    pub(crate) sgprs: u64,
    /// Vector registers that were spilled.
    pub(crate) vgpr_spills: u64,
    /// Scalar registers that were spilled.
    pub(crate) sgpr_spills: u64,
    /// Bytes of memory of a thread.
    pub(crate) scratch: u64,
    /// Whether the stack of a thread has no known end.
    pub(crate) dynamic_stack: bool,
    /// Bytes that a block shares.
    pub(crate) lds: u64,
    /// Bytes of the arguments.
    pub(crate) kernarg: u64,
    /// Rounding and subnormals, as the descriptor has them.
    pub(crate) float_mode: u32,
}

/// A code object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodeObject {
    /// Its kernels, sorted by name.
    pub(crate) kernels: Vec<Kernel>,
    /// Symbols that something else would have to define.
    pub(crate) undefined: Vec<String>,
}

impl CodeObject {
    /// Reads a linked code object.
    ///
    /// # Errors
    /// What is not as the ABI has it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |error: object::Error| format!("not a code object: {error}");
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(wrong)?;
        let (mut undefined, mut functions) = (Vec::new(), BTreeMap::new());
        let mut modes = BTreeMap::new();
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
                let at = symbol.address() + DESCRIPTOR_RSRC1 as u64;
                let word = section.data_range(at, 4).map_err(wrong)?;
                let word = word.and_then(|word| <[u8; 4]>::try_from(word).ok());
                let word = word.ok_or_else(|| format!("no descriptor of `{kernel}`"))?;
                modes.insert(kernel.to_owned(), u32::from_le_bytes(word) & FLOAT_MODE);
            }
        }
        let metadata = metadata(&file)?;
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
                let kind = field(argument, ".value_kind").and_then(Value::as_str);
                let size = field(argument, ".size").and_then(Value::as_u64);
                (kind.unwrap_or("?").to_owned(), size.unwrap_or(0))
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
                float_mode: *modes
                    .get(&name)
                    .ok_or_else(|| format!("`{name}` has no descriptor"))?,
                name,
            });
        }
        kernels.sort();
        Ok(Self { kernels, undefined })
    }

    /// What is wrong with it. `host` are the kernels as the host's library has them.
    pub(crate) fn findings(
        &self,
        target: &str,
        host: &BTreeMap<String, host::Kernel>,
        allowed: &mut Allowed,
    ) -> Vec<String> {
        let mut findings: Vec<String> = self
            .undefined
            .iter()
            .map(|name| format!("{target}: `{name}` is not defined"))
            .collect();
        let names = |of: &mut dyn Iterator<Item = &String>| of.cloned().collect::<Vec<_>>();
        let ours = names(&mut self.kernels.iter().map(|kernel| &kernel.name));
        if ours != names(&mut host.keys()) {
            findings.push(format!("{target}: kernels are not those of the host"));
        }
        for kernel in &self.kernels {
            let host = host.get(&kernel.name);
            let mut add = |what: String| findings.push(format!("{target} {}: {what}", kernel.name));
            match &kernel.arguments[..] {
                [(kind, size)] if kind == "by_value" => {
                    if host.is_some_and(|host| u64::from(host.arguments) != *size) {
                        add(format!(
                            "its arguments are {size} bytes, not so on the host"
                        ));
                    }
                }
                arguments => {
                    let kinds: Vec<_> = arguments.iter().map(|(kind, _)| kind.as_str()).collect();
                    add(format!(
                        "takes {}, not one structure by value",
                        kinds.join(", ")
                    ));
                }
            }
            if host.is_some_and(|host| u64::from(host.threads) != kernel.threads) {
                add(format!(
                    "{} threads a block, not so on the host",
                    kernel.threads
                ));
            }
            if kernel.float_mode != FLOAT_MODE_IEEE {
                add(format!(
                    "floating-point mode {:#x} is not to nearest with subnormals",
                    kernel.float_mode >> 12
                ));
            }
            if kernel.dynamic_stack {
                add("its stack has no known end".to_owned());
            }
            if let Some(finding) = allowed.scratch(target, kernel) {
                add(finding);
            }
        }
        findings
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
