//! The HIP runtime's C names.
//!
//! Each function does what HIP's documentation says of it; where that leaves freedom, the least
//! helpful behaviour is taken (asynchronous copies of pageable memory read late, freeing does not
//! wait) unless a setting asks for another. Handles are looked up, never looked through.
//!
//! # Safety
//! Of every function, as of HIP's: pointers to results are null or valid for writing, pointers to
//! descriptions null or valid for reading, and memory that enqueued work uses stays valid until
//! that work is done.

pub(crate) mod array;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod external;
pub(crate) mod graph;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod pool;
pub(crate) mod stream;

use std::ffi::{CStr, c_char};

use crate::abi::{Answer, Code};

/// Defines functions of the interface: when they run (see `sim::When`), and what they do.
macro_rules! hip {
    ($($(#[$doc:meta])* $when:ident fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub(crate) unsafe extern "C" fn $name($($arg: $kind),*) -> u32 {
            $crate::sim::enter(stringify!($name), $crate::sim::When::$when, move || $body)
        }
    )*};
}
pub(crate) use hip;

/// A pointer through which a result is given.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out<T>(pub(crate) *mut T);

impl<T> Out<T> {
    /// Gives the result.
    pub(crate) fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: see the head of this module; a result may be unaligned as far as anybody knows.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Fails where there is no place for the result.
    pub(crate) fn check(self) -> Answer {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(())
    }
}

/// A pointer to a description.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct In<T>(pub(crate) *const T);

impl<T: Copy> In<T> {
    pub(crate) fn get(self) -> Answer<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: see the head of this module.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

/// A C string.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get(self) -> Answer<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: see the head of this module.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// A place for a C string of so many bytes.
pub(crate) fn set_text(to: Out<c_char>, bytes: i32, text: &str) -> Answer {
    to.check()?;
    let room = usize::try_from(bytes)
        .ok()
        .filter(|&n| n > 0)
        .ok_or(Code::INVALID_VALUE)?;
    let text = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the caller has room for that many bytes; see the head of this module.
    unsafe {
        to.0.cast::<u8>()
            .copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.0.add(text.len()).write(0);
    }
    Ok(())
}
