//! What the host's library says of the kernels: their names and the sizes of their blocks and
//! arguments, which device objects must agree with.

use std::collections::BTreeMap;

use object::{Object, ObjectSection, ObjectSymbol};

/// What may be undefined in it: the C library's memory functions, which a compiler calls
/// unasked, and the loader's thread-local storage.
const MAY_CALL: [&str; 5] = ["__tls_get_addr", "memcpy", "memmove", "memset", "memcmp"];

/// A kernel as the host's library exports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of its arguments.
    pub(crate) arguments: u32,
}

/// The kernels of the library, by name.
///
/// # Errors
/// A library that cannot be read, calls another's functions, or lacks an export of a kernel.
pub(crate) fn kernels(library: &[u8]) -> Result<BTreeMap<String, Kernel>, String> {
    let wrong = |error: object::Error| format!("the host's library cannot be read: {error}");
    let file = object::File::parse(library).map_err(wrong)?;
    let mut functions = Vec::new();
    let mut numbers = BTreeMap::new();
    for symbol in file.dynamic_symbols() {
        let name = symbol.name().map_err(wrong)?;
        let is_allowed = MAY_CALL.contains(&name) || name.is_empty();
        if symbol.is_undefined() && !is_allowed {
            return Err(format!(
                "the host's library calls `{name}`, which no kernel may"
            ));
        }
        let Some(section) = symbol.section_index().filter(|_| symbol.is_definition()) else {
            continue;
        };
        if symbol.kind() == object::SymbolKind::Text {
            functions.push(name);
            continue;
        }
        let section = file.section_by_index(section).map_err(wrong)?;
        let number = section.data_range(symbol.address(), 4).ok().flatten();
        if let Some(number) = number.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) {
            numbers.insert(name, u32::from_le_bytes(number));
        }
    }
    let mut kernels = BTreeMap::new();
    for name in functions {
        let number = |suffix: &str| {
            let export = format!("{name}{suffix}");
            let number = numbers.get(export.as_str()).copied();
            number.ok_or_else(|| format!("the host's library exports `{name}` without `{export}`"))
        };
        let kernel = Kernel {
            threads: number("_threads")?,
            arguments: number("_args")?,
        };
        kernels.insert(name.to_owned(), kernel);
    }
    Ok(kernels)
}
