//! Memory that starts at a cache line, so that vectors in it cross none.

use super::Element;

/// Bytes of a cache line, and of the widest register.
const LINE: usize = 64;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "read through the pointer")] [u8; LINE]);

/// A fixed number of elements, zero at first, from the start of a cache line.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    lines: Vec<Line>,
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    pub(crate) fn new(len: usize) -> Self {
        Buffer {
            lines: vec![Line([0; LINE]); (len * size_of::<T>()).div_ceil(LINE)],
            len,
            element: std::marker::PhantomData,
        }
    }
}

impl<T: Element> std::ops::Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `new` made the lines long enough for `len` elements, aligned for any `Element`
        // and initialised; every bit pattern is an `Element`; the borrow is that of `self`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Element> std::ops::DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the borrow of `self` is exclusive; every `Element` is a
        // valid pattern of bytes.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
