//! The layout of the wire: asserts that this build's compiler agrees with `plugin.h`, and the
//! list that `abi/plugin.lock` is written from.
//!
//! Generated from `wire.rs` and `kinds.rs`; do not edit. When an assert stops the build after a
//! change of the wire, `cargo run --package vmafx-codegen` writes this file anew (`cargo xtask
//! codegen` does the same, but is built with this crate). Whether the change is one that the
//! interface allows is said by `cargo xtask abi`.

use std::mem::offset_of;

use abi_stable::StableAbi;
use abi_stable::type_layout::TypeLayout;

use crate::kinds::*;
use crate::wire::*;

/// A struct as the compiler laid it out.
#[derive(Clone, Copy, Debug)]
pub struct StructLayout {
    /// Its name in `wire.rs`.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
    /// Whether it starts with `struct_size` and may grow at its end.
    pub extensible: bool,
    /// Whether it is outside the append-only promise.
    pub draft: bool,
    /// Names and offsets of its fields, in their order.
    pub fields: &'static [(&'static str, usize)],
    /// Names, types and signatures, by reflection.
    pub reflection: &'static TypeLayout,
}

/// A constant.
#[derive(Clone, Copy, Debug)]
pub struct ConstantLayout {
    /// Its name in `wire.rs`.
    pub name: &'static str,
    /// Its type.
    pub type_name: &'static str,
    /// Its value.
    pub value: u64,
    /// Whether it is outside the append-only promise.
    pub draft: bool,
}

/// A newtype over an integer, with the values that have names.
#[derive(Clone, Copy, Debug)]
pub struct NumberLayout {
    /// Its name in `kinds.rs`.
    pub name: &'static str,
    /// The integer.
    pub repr: &'static str,
    /// Names and values.
    pub values: fn() -> Vec<(&'static str, i128)>,
}

macro_rules! structs {
    ($($name:ident: size $size:literal, align $align:literal, extensible $extensible:literal,
       draft $draft:literal { $($field:ident $offset:literal,)* })*) => {
        #[cfg(target_pointer_width = "64")]
        const _: () = {
            $(
                assert!(size_of::<$name>() == $size, concat!("size of ", stringify!($name)));
                assert!(align_of::<$name>() == $align, concat!("alignment of ", stringify!($name)));
                $(assert!(
                    offset_of!($name, $field) == $offset,
                    concat!("offset of ", stringify!($name), ".", stringify!($field))
                );)*
            )*
        };

        /// Every struct of the wire that is more than a name, in the order of `wire.rs`.
        pub static STRUCTS: &[StructLayout] = &[$(StructLayout {
            name: stringify!($name),
            size: size_of::<$name>(),
            align: align_of::<$name>(),
            extensible: $extensible,
            draft: $draft,
            fields: &[$((stringify!($field), offset_of!($name, $field))),*],
            reflection: <$name as StableAbi>::LAYOUT,
        }),*];
    };
}

macro_rules! constants {
    ($($name:ident: $type:ident, draft $draft:literal;)*) => {
        /// Every constant of the wire but the entry symbol.
        pub static CONSTANTS: &[ConstantLayout] = &[$(ConstantLayout {
            name: stringify!($name),
            type_name: stringify!($type),
            value: { let value: $type = $name; value as u64 },
            draft: $draft,
        }),*];
    };
}

macro_rules! numbers {
    ($($name:ident: $repr:ident;)*) => {
        /// Every type whose values have names.
        pub static NUMBERS: &[NumberLayout] = &[$(NumberLayout {
            name: stringify!($name),
            repr: stringify!($repr),
            values: || $name::NAMED.iter().map(|&(name, $name(value))| (name, i128::from(value))).collect(),
        }),*];
    };
}

macro_rules! sets {
    ($($name:ident of $kind:ident: [$($value:ident),*];)*) => {
        /// Every set of such values.
        pub static SETS: &[NumberLayout] = &[$(NumberLayout {
            name: stringify!($name),
            repr: concat!("u64 of ", stringify!($kind)),
            values: || vec![$((stringify!($value), i128::from($name::$value.0))),*],
        }),*];
    };
}

/// The types of which C knows no more than the name.
pub static OPAQUE: &[&str] = &[
    "BackendObject",
    "DeviceObject",
    "ExtractorObject",
    "FrameObject",
    "DeviceFrameObject",
];

structs! {
    Text: size 16, align 8, extensible false, draft false {
        data 0,
        size 8,
    }
    Error: size 2192, align 8, extensible true, draft false {
        struct_size 0,
        reserved 4,
        code 8,
        subject 16,
        message 144,
    }
    Format: size 32, align 4, extensible false, draft false {
        width 0,
        height 4,
        pixel_format 8,
        depth 12,
        reserved 16,
    }
    Plane: size 24, align 8, extensible false, draft false {
        data 0,
        stride_bytes 8,
        width 16,
        height 20,
    }
    Frame: size 144, align 8, extensible true, draft false {
        struct_size 0,
        memory 4,
        format 8,
        planes 40,
        device_frame 112,
        object 120,
        retain 128,
        release 136,
    }
    FramePair: size 16, align 8, extensible false, draft false {
        reference 0,
        distorted 8,
    }
    Job: size 40, align 8, extensible true, draft false {
        struct_size 0,
        earlier_count 4,
        index 8,
        pair 16,
        earlier 32,
    }
    OptionValue: size 40, align 8, extensible false, draft false {
        kind 0,
        reserved 4,
        whole 8,
        number 16,
        text 24,
    }
    OptionSetting: size 56, align 8, extensible false, draft false {
        name 0,
        value 16,
    }
    FeatureRequest: size 40, align 8, extensible false, draft false {
        feature 0,
        options 16,
        option_count 24,
        definition 32,
        reserved 36,
    }
    Support: size 24, align 8, extensible true, draft false {
        struct_size 0,
        reserved 4,
        memory_kinds 8,
        pixel_formats 16,
    }
    PlanRequest: size 56, align 8, extensible true, draft false {
        struct_size 0,
        reserved 4,
        format 8,
        features 40,
        feature_count 48,
    }
    ExtractorInfo: size 24, align 8, extensible true, draft false {
        struct_size 0,
        columns 4,
        history 8,
        in_flight 12,
        memory_bytes 16,
    }
    OptionInfo: size 112, align 8, extensible true, draft false {
        struct_size 0,
        in_names 4,
        name 8,
        alias 24,
        help 40,
        default_value 56,
        min 96,
        max 104,
    }
    OutputInfo: size 24, align 8, extensible true, draft false {
        struct_size 0,
        reserved 4,
        name 8,
    }
    FeatureInfo: size 104, align 8, extensible true, draft false {
        struct_size 0,
        flags 4,
        name 8,
        summary 24,
        source 40,
        min_width 56,
        min_height 60,
        planes 64,
        reserved 68,
        options 72,
        option_count 80,
        outputs 88,
        output_count 96,
    }
    BackendInfo: size 72, align 8, extensible true, draft false {
        struct_size 0,
        priority 4,
        id 8,
        name 24,
        version 40,
        features 56,
        feature_count 64,
    }
    DeviceInfo: size 392, align 8, extensible true, draft false {
        struct_size 0,
        reserved 4,
        memory_kinds 8,
        acquire_kinds 16,
        acquire_on_device 24,
        release_kinds 32,
        release_on_device 40,
        total_memory 48,
        pci 56,
        name 72,
        isa 328,
    }
    DeviceDescriptor: size 48, align 8, extensible true, draft false {
        struct_size 0,
        index 4,
        flags 8,
        reserved 12,
        external 16,
        options 32,
        option_count 40,
    }
    Fence: size 24, align 8, extensible false, draft true {
        kind 0,
        fd 4,
        handle 8,
        value 16,
    }
    ImportPlane: size 48, align 8, extensible false, draft true {
        handle 0,
        fd 8,
        plane_index 12,
        offset 16,
        pitch 24,
        modifier 32,
        size 40,
    }
    ImportDescriptor: size 216, align 8, extensible true, draft true {
        struct_size 0,
        memory 4,
        format 8,
        plane_count 40,
        flags 44,
        planes 48,
        acquire 192,
    }
    Import: size 64, align 8, extensible true, draft true {
        struct_size 0,
        draft 4,
        frame_import 8,
        frame_release 16,
        frame_release_fence 24,
        fence_poll 32,
        fence_wait 40,
        fence_export 48,
        fence_destroy 56,
    }
    Backend: size 128, align 8, extensible true, draft false {
        struct_size 0,
        reserved 4,
        object 8,
        info 16,
        import 24,
        device_count 32,
        device_info 40,
        device_open 48,
        device_close 56,
        device_supports 64,
        device_prepare 72,
        extractor_destroy 80,
        extractor_admits 88,
        extractor_submit 96,
        extractor_collect 104,
        query 112,
        extractor_repeats 120,
    }
    Plugin: size 64, align 8, extensible true, draft false {
        struct_size 0,
        abi_chosen 4,
        version 8,
        license 24,
        backends 40,
        backend_count 48,
        quiesce 56,
    }
    Host: size 48, align 8, extensible true, draft false {
        struct_size 0,
        abi_min 4,
        abi_max 8,
        reserved 12,
        version 16,
        log_context 32,
        log 40,
    }
}

constants! {
    ABI_MAJOR: u32, draft false;
    ABI_REVISION: u32, draft false;
    DRAFT: u32, draft false;
    SUBJECT_CAPACITY: usize, draft false;
    MESSAGE_CAPACITY: usize, draft false;
    NAME_CAPACITY: usize, draft false;
    ISA_CAPACITY: usize, draft false;
    MAX_HISTORY: u32, draft false;
    MAX_OUTPUTS: u32, draft false;
    FEATURE_EVERY_FRAME: u32, draft false;
    IMPORT_ALLOW_COPY: u32, draft true;
}

numbers! {
    Status: i32;
    MemoryKind: u32;
    FenceKind: u32;
    PixelFormat: u32;
    OptionKind: u32;
    PlaneUse: u32;
    LogLevel: u32;
}

sets! {
    MemoryKinds of MemoryKind: [];
    FenceKinds of FenceKind: [];
    PixelFormats of PixelFormat: [PLANAR];
}
