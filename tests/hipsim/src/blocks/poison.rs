//! Shared memory of the kernels, which is the thread-local storage of their library.
//!
//! The storage holds nothing but the kernels' shared variables: the library is freestanding and
//! has no other thread-local variable. Its template must be empty (all of it `.tbss`); a library
//! for which that does not hold is not filled.

use std::ffi::{c_int, c_void};

use super::POISON;

/// Where the thread-local storage of a library is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    module: usize,
    size: usize,
}

impl Shared {
    /// The storage of the library that holds this address.
    pub(super) fn of(inside: *const c_void) -> Self {
        let mut search = Search {
            inside: inside as usize,
            found: Self { module: 0, size: 0 },
        };
        // SAFETY: `visit` takes what dl_iterate_phdr hands out and the search, which outlives the
        // call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        search.found
    }

    /// Fills the storage of the calling thread.
    pub(super) fn poison(&self) {
        if self.size == 0 {
            return;
        }
        let index = [self.module, 0];
        // SAFETY: the module is that of a library that is loaded (`Kernels` holds it), so the
        // address is that of `size` bytes of this thread's storage, and no kernel of this thread
        // runs.
        unsafe { __tls_get_addr(&index).write_bytes(POISON, self.size) };
    }
}

unsafe extern "C" {
    /// The address of a variable of a module's thread-local storage, by the number of the module
    /// and the offset; in every dynamic loader of ELF systems.
    fn __tls_get_addr(index: *const [usize; 2]) -> *mut u8;
}

struct Search {
    inside: usize,
    found: Shared,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    size: usize,
    search: *mut c_void,
) -> c_int {
    if size < size_of::<libc::dl_phdr_info>() {
        return 0;
    }
    // SAFETY: the loader hands out a valid entry, and `search` is what `Shared::of` handed in.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    // SAFETY: an entry holds that many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let holds = |h: &libc::Elf64_Phdr| {
        let start = (info.dlpi_addr as usize).wrapping_add(h.p_vaddr as usize);
        h.p_type == libc::PT_LOAD && search.inside.wrapping_sub(start) < h.p_memsz as usize
    };
    if !headers.iter().any(holds) {
        return 0;
    }
    if let Some(tls) = headers
        .iter()
        .find(|h| h.p_type == libc::PT_TLS && h.p_filesz == 0)
    {
        search.found = Shared {
            module: info.dlpi_tls_modid,
            size: tls.p_memsz as usize,
        };
    }
    1
}
