//! The enumerations of the wire: numbers with names.
//!
//! Each is a transparent newtype over an integer and not a Rust `enum`, because the other side
//! of the boundary may be newer: a number without a name here is kept and told as a number.
//! The numbers are frozen once a release has carried them; new ones come after the last.

use std::fmt;

use abi_stable::StableAbi;

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident($repr:ty) as $unknown:literal {
        $($(#[$item_doc:meta])* $item:ident = $number:literal, $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, StableAbi)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$item_doc])* pub const $item: $name = $name($number);)*

            /// Every number that has a name, with the name of its constant.
            pub const NAMED: &'static [(&'static str, $name)] =
                &[$((stringify!($item), $name::$item)),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($number => f.write_str($text),)*
                    other => write!(f, concat!($unknown, " {}"), other),
                }
            }
        }
    };
}

macro_rules! sets {
    ($(#[$doc:meta])* $set:ident of $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, StableAbi)]
        #[repr(transparent)]
        pub struct $set(pub u64);

        impl $set {
            /// A set of the kinds given, each below 64.
            pub const fn of(kinds: &[$kind]) -> Self {
                let mut bits = 0;
                let mut at = 0;
                while at < kinds.len() {
                    bits |= 1 << kinds[at].0;
                    at += 1;
                }
                $set(bits)
            }

            /// Whether `kind` is in the set.
            pub const fn contains(self, kind: $kind) -> bool {
                kind.0 < u64::BITS && self.0 >> kind.0 & 1 == 1
            }

            /// Whether every kind of `other` is in the set, too.
            pub const fn includes(self, other: Self) -> bool {
                other.0 & !self.0 == 0
            }

            /// The kinds in the set, in the order of their numbers.
            pub fn kinds(self) -> impl Iterator<Item = $kind> {
                (0..u64::BITS).map($kind).filter(move |&kind| self.contains(kind))
            }
        }

        impl fmt::Display for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (place, kind) in self.kinds().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{kind}")?;
                }
                if self.0 == 0 { f.write_str("none") } else { Ok(()) }
            }
        }
    };
}

numbers! {
    /// Answer of a call: 0, or the negative class of a failure. Positive numbers are
    /// information and no failure.
    Status(i32) as "status" {
        /// The call did what it says.
        OK = 0, "ok";
        /// Not yet: a fence that has not been signalled.
        PENDING = 1, "pending";
        /// An argument is wrong: a bad value, an unknown name, a missing handle.
        INVALID = -1, "invalid";
        /// Host or device memory ran out.
        NO_MEMORY = -2, "out of memory";
        /// The thing is well formed but not offered here.
        NOT_SUPPORTED = -3, "not supported";
        /// No such device, feature or model.
        NOT_FOUND = -4, "not found";
        /// Not now: the same call may succeed later.
        BUSY = -5, "busy";
        /// A device or its driver failed.
        DEVICE = -6, "device failure";
        /// Reading or writing failed.
        IO = -7, "i/o failure";
        /// A number lies outside its range.
        RANGE = -8, "out of range";
        /// A broken invariant inside this library or a backend.
        INTERNAL = -9, "internal error";
        /// A bounded wait ran out.
        TIMEOUT = -10, "timed out";
        /// The two sides of the boundary disagree about a layout.
        ABI = -11, "interface mismatch";
        /// A panic or exception was stopped at the boundary. The device that the call was for,
        /// or the backend, is poisoned: it is closed and not called again.
        PANIC = -13, "panic";
    }
}

numbers! {
    /// Where the samples of a frame are.
    MemoryKind(u32) as "memory kind" {
        /// Nowhere: a field that was not filled in.
        NONE = 0, "no memory";
        /// Host memory.
        HOST = 1, "host memory";
        /// A pointer of the device's own runtime.
        DEVICE_POINTER = 2, "device pointer";
        /// An array object of the device's own runtime.
        DEVICE_ARRAY = 3, "device array";
        /// A Linux dma-buf.
        DMA_BUF = 4, "dma-buf";
        /// A Metal surface.
        METAL_SURFACE = 5, "Metal surface";
        /// A Metal texture.
        METAL_TEXTURE = 6, "Metal texture";
        /// A shared handle of Windows.
        WIN32_SHARED = 7, "Win32 shared handle";
        /// A texture of the current GL context.
        GL_TEXTURE = 8, "GL texture";
        /// Exported Vulkan memory.
        VULKAN = 9, "Vulkan memory";
    }
}

sets! {
    /// A set of memory kinds: bit `k` is the kind of number `k`.
    MemoryKinds of MemoryKind
}

numbers! {
    /// What can be waited for, or signalled.
    FenceKind(u32) as "fence kind" {
        /// No fence: the samples are there already.
        NONE = 0, "no fence";
        /// A flag in the host's library, set once.
        HOST = 1, "host fence";
        /// An event of the CUDA driver.
        CUDA_EVENT = 2, "CUDA event";
        /// An event of the HIP runtime.
        HIP_EVENT = 3, "HIP event";
        /// An event of a SYCL queue.
        SYCL_EVENT = 4, "SYCL event";
        /// A Linux sync_file.
        SYNC_FILE = 5, "sync_file";
        /// A Metal shared event.
        METAL_SHARED_EVENT = 6, "Metal shared event";
        /// A shared fence of Windows.
        WIN32_SHARED = 7, "Win32 shared fence";
        /// A sync object of the current GL context.
        GL_SYNC = 8, "GL sync";
        /// A Vulkan semaphore.
        VULKAN_SEMAPHORE = 9, "Vulkan semaphore";
        /// A DRM synchronisation object, binary or timeline.
        DRM_SYNCOBJ = 10, "DRM syncobj";
    }
}

sets! {
    /// A set of fence kinds: bit `k` is the kind of number `k`.
    FenceKinds of FenceKind
}

numbers! {
    /// Layout of the samples of a frame. 1 to 4 are planar and equal libvmaf's; the others are
    /// layouts of producers that a device may read in place or take apart on import.
    PixelFormat(u32) as "pixel format" {
        /// No layout: a field that was not filled in.
        NONE = 0, "no layout";
        /// Planar 4:2:0.
        YUV420P = 1, "yuv420p";
        /// Planar 4:2:2.
        YUV422P = 2, "yuv422p";
        /// Planar 4:4:4.
        YUV444P = 3, "yuv444p";
        /// Luma alone.
        YUV400P = 4, "yuv400p";
        /// 4:2:0, Cb and Cr interleaved, 8 bits.
        NV12 = 16, "nv12";
        /// 4:2:0, Cb and Cr interleaved, 10 bits in the high bits of words.
        P010 = 17, "p010";
        /// 4:2:0, Cb and Cr interleaved, 16 bits.
        P016 = 18, "p016";
        /// 4:2:2, Cb and Cr interleaved, 8 bits.
        NV16 = 19, "nv16";
        /// 4:2:2, Cb and Cr interleaved, 10 bits in the high bits of words.
        P210 = 20, "p210";
        /// 4:2:2, Cb and Cr interleaved, 16 bits.
        P216 = 21, "p216";
        /// 4:4:4, Cb and Cr interleaved, 8 bits.
        NV24 = 22, "nv24";
        /// 4:4:4, Cb and Cr interleaved, 10 bits in the high bits of words.
        P410 = 23, "p410";
        /// 4:4:4, Cb and Cr interleaved, 16 bits.
        P416 = 24, "p416";
        /// 4:2:2 packed as words Y Cb Y Cr, 10 bits high.
        Y210 = 25, "y210";
        /// 4:4:4 packed into 32-bit words, 10 bits each.
        XV30 = 26, "xv30";
        /// 4:2:2 packed as bytes Y Cb Y Cr.
        YUYV422 = 27, "yuyv422";
        /// 4:2:2 packed as words Y Cb Y Cr, 12 bits high.
        Y212 = 28, "y212";
        /// 4:4:4 packed as bytes Cr Cb Y X.
        VUYX = 29, "vuyx";
        /// 4:4:4 packed as words Cb Y Cr X, 12 bits high.
        XV36 = 30, "xv36";
        /// Planar 4:4:4, 9 to 16 bits in the high bits of words.
        YUV444P16MSB = 31, "yuv444p16msb";
        /// 4:4:4 packed as bytes A Y Cb Cr.
        AYUV = 32, "ayuv";
        /// 4:2:2 packed as bytes Cb Y Cr Y.
        UYVY422 = 33, "uyvy422";
        /// 4:2:2, six pixels in sixteen bytes, 10 bits.
        V210 = 34, "v210";
        /// R G B.
        RGB = 35, "rgb";
        /// R G B A.
        RGBA = 36, "rgba";
        /// B G R A.
        BGRA = 37, "bgra";
    }
}

sets! {
    /// A set of layouts: bit `k` is the layout of number `k`.
    PixelFormats of PixelFormat
}

impl PixelFormats {
    /// The four planar layouts.
    pub const PLANAR: PixelFormats = PixelFormats::of(&[
        PixelFormat::YUV420P,
        PixelFormat::YUV422P,
        PixelFormat::YUV444P,
        PixelFormat::YUV400P,
    ]);
}

numbers! {
    /// Kind of an option's value.
    OptionKind(u32) as "option kind" {
        /// Nothing: a field that was not filled in.
        NONE = 0, "no value";
        /// `true` or `false`.
        SWITCH = 1, "switch";
        /// A whole number.
        WHOLE = 2, "whole number";
        /// A number.
        NUMBER = 3, "number";
        /// A word or a path.
        TEXT = 4, "text";
    }
}

numbers! {
    /// The planes that a feature reads.
    PlaneUse(u32) as "plane use" {
        /// Nothing: a field that was not filled in.
        NONE = 0, "no planes";
        /// Luma alone: the frames may come without chroma (4:0:0).
        LUMA = 1, "luma only";
        /// Every plane of the layout.
        ALL = 2, "every plane";
    }
}

numbers! {
    /// Importance of a line of a log.
    LogLevel(u32) as "log level" {
        /// Something failed.
        ERROR = 1, "error";
        /// Something a user should know.
        WARNING = 2, "warning";
        /// Something a user may want to know.
        INFO = 3, "info";
        /// Something a developer may want to know.
        DEBUG = 4, "debug";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_name_their_members() {
        let set = MemoryKinds::of(&[MemoryKind::DMA_BUF, MemoryKind::HOST]);
        assert!(set.contains(MemoryKind::HOST) && !set.contains(MemoryKind::VULKAN));
        assert_eq!(set.to_string(), "host memory, dma-buf");
        assert_eq!(FenceKinds::default().to_string(), "none");
        assert!(set.includes(MemoryKinds::of(&[MemoryKind::HOST])));
        assert!(!MemoryKinds::of(&[MemoryKind::HOST]).includes(set));
    }

    #[test]
    fn numbers_of_the_future_are_kept_and_told() {
        let set = MemoryKinds(1 << 40 | 1 << 1);
        assert_eq!(set.to_string(), "host memory, memory kind 40");
        assert!(!set.contains(MemoryKind(64 + 1)));
        assert_eq!(Status(-77).to_string(), "status -77");
    }
}
