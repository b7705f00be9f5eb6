//! Code objects: what the runtime's loader looks at before it takes one.
//!
//! A module must be an ELF for AMD GPUs whose machine is the simulated target, or a generic
//! machine that covers it where the version of ROCm knows those. Names, argument sizes and the
//! like come from the metadata notes, as [`vmafx_gcnsim`] reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::elf;
use object::read::elf::FileHeader;
use vmafx_gcnsim::Program;
use vmafx_gcnsim::object::{CodeObject, Kernel};

use crate::abi::{Answer, Code};
use crate::blocks::Kernels;
use crate::settings::Rocm;

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) kernels: BTreeMap<String, Metadata>,
    /// Its instructions, where they are what runs.
    pub(crate) program: Option<Program>,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) metadata: Metadata,
    /// The library that has it for the host, where that is what runs.
    pub(crate) kernels: Option<&'static Kernels>,
    /// The module, which must not be unloaded before.
    pub(crate) module: Arc<Module>,
}

/// What the metadata says of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// Offset and size of each explicit argument.
    pub(crate) args: Vec<(usize, usize)>,
    pub(crate) max_threads: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) private_bytes: u32,
    pub(crate) registers: u32,
}

impl Metadata {
    fn of(kernel: &Kernel) -> Self {
        let explicit = kernel.arguments.iter().filter(|one| !one.is_hidden());
        Self {
            args: explicit
                .map(|one| (one.offset as usize, one.size as usize))
                .collect(),
            max_threads: kernel.threads as u32,
            shared_bytes: kernel.lds as u32,
            private_bytes: kernel.scratch as u32,
            registers: kernel.vgprs as u32,
        }
    }

    /// Bytes of all explicit arguments.
    pub(crate) fn args_bytes(&self) -> usize {
        self.args
            .iter()
            .map(|(at, size)| at + size)
            .max()
            .unwrap_or(0)
    }
}

/// `EF_AMDGPU_MACH`, the part of `e_flags` that names the machine.
const MACHINE: u32 = 0xff;
/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI: u8 = 64;

/// Machines of `e_flags` by target, as in LLVM's AMDGPU usage guide.
const MACHINES: [(&str, u32); 31] = [
    ("gfx908", 0x030),
    ("gfx90a", 0x03f),
    ("gfx942", 0x04c),
    ("gfx950", 0x04f),
    ("gfx1010", 0x033),
    ("gfx1011", 0x034),
    ("gfx1012", 0x035),
    ("gfx1030", 0x036),
    ("gfx1031", 0x037),
    ("gfx1032", 0x038),
    ("gfx1033", 0x039),
    ("gfx1034", 0x03e),
    ("gfx1035", 0x03d),
    ("gfx1036", 0x045),
    ("gfx1100", 0x041),
    ("gfx1101", 0x046),
    ("gfx1102", 0x047),
    ("gfx1103", 0x044),
    ("gfx1150", 0x043),
    ("gfx1151", 0x04a),
    ("gfx1152", 0x055),
    ("gfx1153", 0x058),
    ("gfx1200", 0x048),
    ("gfx1201", 0x04e),
    ("gfx1250", 0x049),
    ("gfx9-generic", 0x051),
    ("gfx10-1-generic", 0x052),
    ("gfx10-3-generic", 0x053),
    ("gfx11-generic", 0x054),
    ("gfx12-generic", 0x059),
    ("gfx9-4-generic", 0x05f),
];

/// Targets that a generic target covers.
const GENERIC: [(&str, &[&str]); 6] = [
    (
        "gfx9-generic",
        &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    ),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    (
        "gfx10-1-generic",
        &["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
    ),
    (
        "gfx10-3-generic",
        &[
            "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
        ],
    ),
    (
        "gfx11-generic",
        &[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// Reads a code object as the loader of a device does. `device` may carry features
/// (`gfx942:xnack-`). Answers the module and the target that the object is for.
pub(crate) fn load(image: &[u8], device: &str, rocm: Rocm) -> Answer<(Module, &'static str)> {
    let bad = |_| Code::INVALID_IMAGE;
    let header = elf::FileHeader64::<object::Endianness>::parse(image).map_err(bad)?;
    let endian = header.endian().map_err(bad)?;
    if header.e_machine(endian) != elf::EM_AMDGPU
        || header.e_ident().os_abi.0 != OS_ABI
        || header.e_type(endian) != elf::ET_DYN
    {
        return Err(Code::INVALID_IMAGE);
    }
    let machine = header.e_flags(endian).0 & MACHINE;
    let target = MACHINES.iter().find(|(_, m)| *m == machine);
    let target = target.ok_or(Code::NO_BINARY)?.0;
    let device = device.split(':').next().unwrap_or(device);
    // Versions 2 to 5 of code objects are ABI versions 0 to 3, version 6 is 4.
    let knows_generic = (rocm.major, rocm.minor) >= (6, 3);
    match header.e_ident().abi_version {
        2 | 3 => {}
        4 if knows_generic => {}
        _ => return Err(Code::INVALID_IMAGE),
    }
    let covers = GENERIC
        .iter()
        .any(|(generic, all)| *generic == target && all.contains(&device));
    if target != device && !(covers && knows_generic) {
        return Err(Code::NO_BINARY);
    }
    let object = CodeObject::read(image).map_err(|_| Code::INVALID_IMAGE)?;
    if object.kernels.is_empty() {
        return Err(Code::INVALID_IMAGE);
    }
    let kernels = object.kernels.into_iter().map(|kernel| {
        let metadata = Metadata::of(&kernel);
        (kernel.name, metadata)
    });
    let module = Module {
        kernels: kernels.collect(),
        program: None,
    };
    Ok((module, target))
}

/// The target of a code object, or the number of its machine.
pub(crate) fn target(image: &[u8]) -> String {
    let flags = image.get(48..52).map_or(0, |flags| u32::from(flags[0]));
    let known = MACHINES.iter().find(|(_, machine)| *machine == flags);
    known.map_or(format!("machine {flags:#x}"), |(name, _)| {
        (*name).to_owned()
    })
}

/// Bytes of the image at an address, which the loader is given without a size: up to the end of
/// what its headers name.
pub(crate) fn size_of_image(header: &[u8; 64]) -> Option<usize> {
    let header = elf::FileHeader64::<object::Endianness>::parse(&header[..]).ok()?;
    let endian = header.endian().ok()?;
    let sections = usize::from(header.e_shnum(endian)) * usize::from(header.e_shentsize(endian));
    let end = usize::try_from(header.e_shoff(endian))
        .ok()?
        .checked_add(sections)?;
    // The section headers are last in the file; no code object comes near this size.
    (end > 64 && end < 1 << 30).then_some(end)
}
