//! A look at a library's file before the dynamic linker sees it.
//!
//! The linker's own words for a wrong file are poor, and opening a library runs its code. So
//! what can be told from the file is told first: not ELF, another machine, no shared library,
//! no entry, half of a file; and the libraries that it is linked against, to name the one that is
//! missing.
//!
//! What must stay true: any file gives an answer, without a panic and without reading more than
//! the tables that are asked for; where the tables are stripped the linker has the last word.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use object::Endianness;
use object::elf;
use object::read::ReadCache;
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _, Sym as _};

use super::record::{Reason, Stage, Verdict, shown};
use crate::wire::{ABI_MAJOR, ENTRY_SYMBOL};

#[cfg(target_pointer_width = "64")]
type Header = elf::FileHeader64<Endianness>;
#[cfg(target_pointer_width = "32")]
type Header = elf::FileHeader32<Endianness>;

/// Longest name of a library that is looked at.
const MAX_NAME: usize = 1024;

/// What the file of a plugin says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// Libraries that it is linked against.
    pub(super) needed: Vec<String>,
}

/// Looks at the file of a plugin.
pub(super) fn inspect(path: &Path) -> Result<Elf, Verdict> {
    let unreadable = |error: io::Error| {
        let line = format!("{} cannot be read: {error}", shown(path));
        Verdict::new(Stage::Open, Reason::Unreadable, line)
    };
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        let line = format!("{} is no file", shown(path));
        return Err(Verdict::new(Stage::Open, Reason::NotElf, line));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut head = Vec::new();
    file.by_ref()
        .take(20)
        .read_to_end(&mut head)
        .map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    check_head(path, &head)?;

    let size = file.metadata().map_err(unreadable)?.len();
    let cache = ReadCache::new(file);
    if ends_early(&cache, size) {
        return Err(truncated(&shown(path)));
    }
    let Ok(tables) = tables(&cache) else {
        // The linker reads other tables than these; let it say what it thinks of the file.
        return Ok(Elf::default());
    };
    if tables.has_symbols && !tables.entries.contains(&ABI_MAJOR) {
        return Err(no_entry(path, &tables.entries));
    }
    Ok(Elf {
        needed: tables.needed,
    })
}

/// What is wrong with a library that does not export the entry of this major number.
pub(super) fn no_entry(path: &Path, others: &[u32]) -> Verdict {
    let path = shown(path);
    match others.iter().max() {
        Some(major) => {
            let line = format!(
                "{path} speaks major number {major} of the interface; this host speaks {ABI_MAJOR}"
            );
            let hint = match *major > ABI_MAJOR {
                true => "update vmafx, or install an older package of the backend",
                false => "install a newer package of the backend",
            };
            Verdict::new(Stage::Symbol, Reason::WrongMajor, line).hint(hint)
        }
        None => {
            let line = format!("{path} does not export `{ENTRY_SYMBOL}`: it is no plugin of vmafx");
            Verdict::new(Stage::Symbol, Reason::MissingSymbol, line)
                .hint("export the entry with default visibility and C linkage")
        }
    }
}

/// Checks the first bytes: all that an ELF file of any class and order has in common.
fn check_head(path: &Path, head: &[u8]) -> Result<(), Verdict> {
    let path = shown(path);
    let open = |reason, line| Verdict::new(Stage::Open, reason, line);
    if !head.starts_with(&elf::ELFMAG) {
        let line = format!("{path} is not an ELF file");
        return Err(open(Reason::NotElf, line).hint("`library` must name a shared library"));
    }
    let &[
        _,
        _,
        _,
        _,
        class,
        order,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        t0,
        t1,
        m0,
        m1,
    ] = head
    else {
        return Err(truncated(&path));
    };
    let little = order == elf::ELFDATA2LSB.0;
    let word = |a, b| match little {
        true => u16::from_le_bytes([a, b]),
        false => u16::from_be_bytes([a, b]),
    };
    let (kind, machine) = (word(t0, t1), word(m0, m1));
    let native_class = match cfg!(target_pointer_width = "64") {
        true => elf::ELFCLASS64.0,
        false => elf::ELFCLASS32.0,
    };
    let same_machine = native_machine().is_none_or(|native| native == machine);
    if class != native_class || little != cfg!(target_endian = "little") || !same_machine {
        let bits = match class {
            class if class == elf::ELFCLASS64.0 => "64-bit",
            class if class == elf::ELFCLASS32.0 => "32-bit",
            _ => "unknown-class",
        };
        let order = if little {
            "little-endian"
        } else {
            "big-endian"
        };
        let line = format!(
            "{path} is built for {bits} {order} {}; this program is {}",
            machine_name(machine),
            std::env::consts::ARCH
        );
        return Err(open(Reason::OtherMachine, line).hint("install the package for this machine"));
    }
    if kind != elf::ET_DYN.0 {
        let what = match kind {
            kind if kind == elf::ET_EXEC.0 => "a program",
            kind if kind == elf::ET_REL.0 => "an object file that is not linked",
            kind if kind == elf::ET_CORE.0 => "a core dump",
            _ => "something else",
        };
        let line = format!("{path} is {what}, not a shared library");
        return Err(open(Reason::NotALibrary, line).hint("link it with `-shared`"));
    }
    Ok(())
}

/// What is wrong with a file of which only the beginning is there.
fn truncated(path: &str) -> Verdict {
    let line = format!("{path} is cut short: it ends before what its headers say is in it");
    Verdict::new(Stage::Open, Reason::Truncated, line).hint("install its package again")
}

/// Whether a file of `size` bytes ends before something that the linker maps: it would not find
/// that out, and end the process by reading there.
fn ends_early(cache: &ReadCache<File>, size: u64) -> bool {
    /// Words of the file's class, whichever it is.
    fn beyond(start: impl Into<u64>, length: impl Into<u64>, size: u64) -> bool {
        let end = start.into().checked_add(length.into());
        end.is_none_or(|end| end > size)
    }
    if beyond(0u64, size_of::<Header>() as u64, size) {
        return true;
    }
    let Ok(header) = Header::parse(cache) else {
        return false;
    };
    let Ok(endian) = header.endian() else {
        return false;
    };
    match header.program_headers(endian, cache) {
        Ok(segments) => segments.iter().any(|segment| {
            let (start, length) = segment.file_range(endian);
            beyond(start, length, size)
        }),
        Err(_) => {
            let length = u64::from(header.e_phnum(endian)) * u64::from(header.e_phentsize(endian));
            beyond(header.e_phoff(endian), length, size)
        }
    }
}

/// The part of the dynamic tables that the loader looks at.
struct Tables {
    needed: Vec<String>,
    /// Major numbers for which the library exports an entry.
    entries: Vec<u32>,
    has_symbols: bool,
}

fn tables(cache: &ReadCache<File>) -> object::Result<Tables> {
    let header = Header::parse(cache)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, cache)?;

    let mut needed = Vec::new();
    let dynamic = sections.dynamic_table(endian, cache)?;
    for entry in dynamic.dynamics() {
        if entry.tag(endian) != elf::DT_NEEDED {
            continue;
        }
        let name = entry.string(endian, *dynamic.strings())?;
        if name.len() <= MAX_NAME {
            needed.push(String::from_utf8_lossy(name).into_owned());
        }
    }

    let symbols = sections.symbols(endian, cache, elf::SHT_DYNSYM)?;
    let stem = ENTRY_SYMBOL.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let mut entries = Vec::new();
    for symbol in symbols.iter() {
        if symbol.is_undefined(endian) || symbol.is_local() {
            continue;
        }
        let name = symbol.name(endian, symbols.strings())?;
        let major = std::str::from_utf8(name)
            .ok()
            .and_then(|name| name.strip_prefix(stem));
        if let Some(Ok(major)) = major.map(str::parse) {
            entries.push(major);
        }
    }
    Ok(Tables {
        needed,
        entries,
        has_symbols: !symbols.is_empty(),
    })
}

/// ELF's number of the machine that this program is built for, if it is known here.
fn native_machine() -> Option<u16> {
    let known = MACHINES
        .iter()
        .find(|(_, arch, _)| *arch == std::env::consts::ARCH);
    known.map(|(number, ..)| number.0)
}

fn machine_name(number: u16) -> String {
    let known = MACHINES.iter().find(|(known, ..)| known.0 == number);
    known.map_or_else(
        || format!("machine {number}"),
        |(.., name)| (*name).to_owned(),
    )
}

/// ELF's number, Rust's name and a name for people.
const MACHINES: [(elf::Machine, &str, &str); 9] = [
    (elf::EM_X86_64, "x86_64", "x86-64"),
    (elf::EM_386, "x86", "x86"),
    (elf::EM_AARCH64, "aarch64", "AArch64"),
    (elf::EM_ARM, "arm", "Arm"),
    (elf::EM_RISCV, "riscv64", "RISC-V"),
    (elf::EM_LOONGARCH, "loongarch64", "LoongArch"),
    (elf::EM_PPC64, "powerpc64", "PowerPC 64"),
    (elf::EM_S390, "s390x", "s390x"),
    (elf::EM_AMDGPU, "amdgpu", "AMD GPU"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn head(class: u8, order: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut head = elf::ELFMAG.to_vec();
        head.extend([class, order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let words = [kind, machine].map(|word| match order {
            1 => word.to_le_bytes(),
            _ => word.to_be_bytes(),
        });
        head.extend(words.concat());
        head
    }

    fn verdict(bytes: &[u8]) -> (Reason, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.so");
        std::fs::write(&path, bytes).unwrap();
        match inspect(&path) {
            Ok(_) => (Reason::Ok, String::new()),
            Err(verdict) => (verdict.reason, verdict.line),
        }
    }

    #[cfg(all(target_arch = "x86_64", target_endian = "little"))]
    #[test]
    fn wrong_files_are_named() {
        assert_eq!(verdict(b"#!/bin/sh\n").0, Reason::NotElf);
        assert_eq!(verdict(b"").0, Reason::NotElf);
        assert_eq!(verdict(b"\x7fELF\x02\x01").0, Reason::Truncated);
        let (reason, line) = verdict(&head(2, 1, 3, 183));
        assert_eq!(reason, Reason::OtherMachine);
        assert!(
            line.contains("64-bit little-endian AArch64; this program is x86_64"),
            "{line}"
        );
        assert_eq!(verdict(&head(1, 1, 3, 3)).0, Reason::OtherMachine);
        assert_eq!(verdict(&head(2, 2, 3, 62)).0, Reason::OtherMachine);
        assert_eq!(verdict(&head(1, 1, 3, 62)).0, Reason::OtherMachine);
        let (reason, line) = verdict(&head(2, 1, 2, 62));
        assert_eq!(reason, Reason::NotALibrary);
        assert!(line.contains("is a program"), "{line}");
        assert!(verdict(&head(2, 1, 1, 62)).1.contains("object file"));
        let alone = head(2, 1, 3, 62);
        assert_eq!(verdict(&alone).0, Reason::Truncated);
        // A whole header of version 0 and without any table: the linker has the last word.
        let mut whole = alone;
        whole.resize(64, 0);
        assert_eq!(verdict(&whole).0, Reason::Ok);
    }

    #[test]
    fn a_program_without_the_entry_is_no_plugin() {
        let this = std::env::current_exe().unwrap();
        let reason = inspect(&this).unwrap_err().reason;
        assert!(
            [Reason::MissingSymbol, Reason::NotALibrary].contains(&reason),
            "{reason}"
        );
        let folder = std::env::temp_dir();
        assert_eq!(inspect(&folder).unwrap_err().reason, Reason::NotElf);
    }

    #[test]
    fn other_majors_are_told_from_no_plugin() {
        let verdict = no_entry(Path::new("/x.so"), &[2]);
        assert_eq!(verdict.reason, Reason::WrongMajor);
        assert_eq!(
            verdict.line,
            "/x.so speaks major number 2 of the interface; this host speaks 1"
        );
        assert_eq!(
            no_entry(Path::new("/x.so"), &[]).reason,
            Reason::MissingSymbol
        );
    }
}
