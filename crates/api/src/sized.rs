//! Reading and writing structs of the wire whose other side may be older or newer.
//!
//! What must stay true: no byte past the smaller of the two sizes is touched, and what the
//! other side does not know reads as zero.

use std::ffi::c_char;
use std::mem::size_of;

use crate::error::ApiError;
use crate::kinds::Status;
use crate::wire;

/// Largest believable `struct_size`. A larger one is a lie or garbage.
pub(crate) const MAX_STRUCT_SIZE: u32 = 1 << 16;

/// A struct of the wire that starts with a `u32` size and grows at its end.
///
/// # Safety
/// The type is `repr(C)`, its first field is `struct_size: u32`, and all zeros is a valid value.
pub(crate) unsafe trait Extensible: Copy {
    /// Name in messages.
    const NAME: &'static str;
    /// Bytes of the struct in the revision that introduced it: the least that a writer has.
    const INTRODUCED: u32;

    /// All zeros but for the size.
    fn empty() -> Self;
}

macro_rules! extensible {
    ($($name:ident: $introduced:expr;)*) => { $(
        // SAFETY: wire::$name is repr(C), starts with `struct_size: u32`, and consists of
        // integers, floats, raw pointers, nullable function pointers and arrays of them, all of
        // which may be zero.
        unsafe impl Extensible for wire::$name {
            const NAME: &'static str = stringify!($name);
            const INTRODUCED: u32 = match cfg!(target_pointer_width = "64") {
                true => $introduced,
                // The widths differ, and no release of the wire has been of that kind.
                false => size_of::<wire::$name>() as u32,
            };

            fn empty() -> Self {
                // SAFETY: all zeros is a valid value, see above.
                let mut value: Self = unsafe { std::mem::zeroed() };
                value.struct_size = size_of::<Self>() as u32;
                value
            }
        }

        impl wire::$name {
            /// All zeros but for `struct_size`.
            pub fn empty() -> Self {
                <Self as Extensible>::empty()
            }
        }
    )* };
}

// Bytes of each struct in the revision that introduced it, on a 64-bit machine. They stay when a
// struct grows; `abi/plugin.lock` has them, too.
extensible! {
    Error: 2192;
    Frame: 144;
    Job: 40;
    Support: 24;
    PlanRequest: 56;
    ExtractorInfo: 24;
    OptionInfo: 112;
    OutputInfo: 24;
    FeatureInfo: 104;
    BackendInfo: 72;
    DeviceInfo: 392;
    DeviceDescriptor: 48;
    ImportDescriptor: size_of::<wire::ImportDescriptor>() as u32;
    Import: size_of::<wire::Import>() as u32;
    Backend: 120;
    Plugin: 64;
    Host: 48;
}

/// What is wrong with a struct's size.
fn check<T: Extensible>(size: u32) -> Result<usize, ApiError> {
    // A struct of any revision ends where a field ends, which is at a multiple of its alignment.
    let whole = (size as usize).is_multiple_of(align_of::<T>());
    if !whole || !(T::INTRODUCED..=MAX_STRUCT_SIZE).contains(&size) {
        let message = format!(
            "{} has struct_size {size}, outside {} to {MAX_STRUCT_SIZE} or in the middle of a field",
            T::NAME,
            T::INTRODUCED
        );
        return Err(ApiError::new(Status::ABI, "struct_size", message));
    }
    Ok((size as usize).min(size_of::<T>()))
}

/// What is wrong with a struct's address.
fn placed<T: Extensible>(at: *const T) -> Result<(), ApiError> {
    if at.is_null() || !at.is_aligned() {
        let message = match at.is_null() {
            true => format!("no {} was given", T::NAME),
            false => format!("the {} at {at:p} is not aligned", T::NAME),
        };
        return Err(ApiError::new(Status::INVALID, T::NAME, message));
    }
    Ok(())
}

/// A copy of the struct at `from` as this side knows it.
///
/// # Errors
/// A null or unaligned pointer, a size below the first revision's or beyond belief.
///
/// # Safety
/// `from` is null or unaligned, or readable for its first field and for as many bytes as that
/// field says.
pub(crate) unsafe fn read<T: Extensible>(from: *const T) -> Result<T, ApiError> {
    placed(from)?;
    // SAFETY: the first field is a u32 (trait) and readable (caller).
    let size = check::<T>(unsafe { from.cast::<u32>().read() })?;
    let mut value = T::empty();
    // SAFETY: `size` bytes are readable (caller) and fit into `value` (the minimum was taken).
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), size);
        (&raw mut value).cast::<u32>().write(size as u32);
    }
    Ok(value)
}

/// Writes to `to`, of its caller's size, what both sides know of `value`.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// `to` is null or unaligned, or writable for its first field and for as many bytes as that field
/// says.
pub(crate) unsafe fn write<T: Extensible>(to: *mut T, value: &T) -> Result<(), ApiError> {
    placed(to)?;
    // SAFETY: the first field is a u32 (trait) and readable (caller).
    let size = check::<T>(unsafe { to.cast::<u32>().read() })?;
    // The size stays the caller's: it is the one who says how large its struct is.
    let head = size_of::<u32>();
    // SAFETY: `size` bytes are readable in `value` and writable at `to` (the minimum was
    // taken), and the size field is a part of them; the two are different objects, as `value` is
    // a reference of this side.
    unsafe {
        let from = (&raw const *value).cast::<u8>().add(head);
        std::ptr::copy_nonoverlapping(from, to.cast::<u8>().add(head), size - head);
    }
    Ok(())
}

impl wire::Text {
    /// A borrowed text. It is for the caller to keep `text` alive.
    pub fn new(text: &str) -> Self {
        wire::Text {
            data: text.as_ptr().cast(),
            size: text.len(),
        }
    }

    /// The text.
    ///
    /// # Errors
    /// Null with a size, more than a mebibyte, bytes that are not UTF-8; `subject` names it.
    ///
    /// # Safety
    /// `data` is null, or `size` bytes from it are readable and unchanged for `'a`.
    pub unsafe fn read<'a>(self, subject: &str) -> Result<&'a str, ApiError> {
        const MAX_TEXT: usize = 1 << 20;
        if self.size == 0 {
            return Ok("");
        }
        if self.data.is_null() || self.size > MAX_TEXT {
            let message = match self.data.is_null() {
                true => format!("the text is null, its size {}", self.size),
                false => format!("the text has {} bytes, more than {MAX_TEXT}", self.size),
            };
            return Err(ApiError::new(Status::INVALID, subject, message));
        }
        // SAFETY: not null, so `size` bytes are readable and unchanged (caller).
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.size) };
        std::str::from_utf8(bytes).map_err(|error| {
            let message = format!("the text is not UTF-8 from byte {}", error.valid_up_to());
            ApiError::new(Status::INVALID, subject, message)
        })
    }
}

/// Writes `text` and a final zero to `field`; what does not fit is cut at a character.
pub(crate) fn fill(field: &mut [c_char], text: &str) {
    let Some(room) = field.len().checked_sub(1) else {
        return;
    };
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in field.iter_mut().zip(text.as_bytes()[..end].iter()) {
        *to = *from as c_char;
    }
    field[end..].fill(0);
}

/// The text of `field` up to its first zero; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn text_of(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field
        .iter()
        .map(|&c| c as u8)
        .take_while(|&byte| byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A slice of a wire array; null is allowed for no elements.
///
/// # Errors
/// Null with a count, a count beyond belief; `subject` names it.
///
/// # Safety
/// `data` is null, or `count` elements from it are readable and unchanged for `'a`.
pub(crate) unsafe fn slice<'a, T>(
    data: *const T,
    count: usize,
    subject: &str,
) -> Result<&'a [T], ApiError> {
    const MAX_COUNT: usize = 1 << 16;
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() || count > MAX_COUNT {
        let message = format!("an array of {count} elements at {data:p}");
        return Err(ApiError::new(Status::INVALID, subject, message));
    }
    // SAFETY: not null, aligned, and `count` elements are readable and unchanged (caller).
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An older side's struct: the same start, fewer fields.
    #[repr(C)]
    struct Older {
        info: wire::ExtractorInfo,
        sentinel: u64,
    }

    #[test]
    fn sizes_are_respected_in_both_directions() {
        let mut older = Older {
            info: wire::ExtractorInfo::empty(),
            sentinel: 0xdead_beef,
        };
        older.info.columns = 7;
        // SAFETY: a reference of this side.
        let copy = unsafe { read(&raw const older.info) }.unwrap();
        assert_eq!((copy.columns, copy.history), (7, 0));
        // A newer writer has more than this side knows: the rest is not looked at.
        older.info.struct_size += 8;
        // SAFETY: `sentinel` makes the eight bytes more readable.
        let copy = unsafe { read((&raw const older).cast::<wire::ExtractorInfo>()) }.unwrap();
        assert_eq!(copy.struct_size as usize, size_of::<wire::ExtractorInfo>());
        let mut value = copy;
        value.history = 3;
        // SAFETY: as before, and writable.
        unsafe { write((&raw mut older).cast::<wire::ExtractorInfo>(), &value) }.unwrap();
        assert_eq!((older.info.history, older.sentinel), (3, 0xdead_beef));
        // The caller is the one who says how large its struct is.
        let stated = size_of::<wire::ExtractorInfo>() as u32 + 8;
        assert_eq!(older.info.struct_size, stated);
    }

    #[test]
    fn lies_about_sizes_are_refused() {
        let whole = size_of::<wire::DeviceInfo>() as u32;
        for size in [0, 4, whole + 4, MAX_STRUCT_SIZE + 8, u32::MAX] {
            let mut info = wire::DeviceInfo::empty();
            info.struct_size = size;
            // SAFETY: refused before anything past the first field is read.
            let error = unsafe { read(&raw const info) }.unwrap_err();
            assert_eq!(error.status, Status::ABI);
            assert!(
                error.message.contains(&format!("struct_size {size}")),
                "{error}"
            );
        }
        // SAFETY: null.
        let error = unsafe { read::<wire::Job>(std::ptr::null()) }.unwrap_err();
        assert_eq!(error.status, Status::INVALID);
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let mut field = [1; 6];
        fill(&mut field, "abcdé");
        assert_eq!(text_of(&field), "abcd");
        fill(&mut field, "é");
        assert_eq!(text_of(&field), "é");
        assert_eq!(field[2..], [0; 4]);
    }

    #[test]
    fn text_of_the_other_side_is_checked() {
        let text = |data: *const u8, size| wire::Text {
            data: data.cast(),
            size,
        };
        let bytes = [b'a', 0xff];
        // SAFETY: null, or within `bytes`.
        unsafe {
            assert_eq!(text(bytes.as_ptr(), 1).read("x").unwrap(), "a");
            assert_eq!(text(std::ptr::null(), 0).read("x").unwrap(), "");
            let error = text(bytes.as_ptr(), 2).read("x").unwrap_err();
            assert!(error.to_string().contains("byte 1"), "{error}");
            assert!(text(std::ptr::null(), 1).read("x").is_err());
            assert!(text(bytes.as_ptr(), usize::MAX).read("x").is_err());
        }
    }
}
