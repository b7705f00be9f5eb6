//! What device code of AMD is compiled for, and with which flags: the kernels that ship, and those
//! that prove this interpreter.
//!
//! The list is that of ROCm's own distribution: one object for each processor, in the older code
//! object version that every runtime since ROCm 6 reads. Generic objects, which serve a whole
//! family, exist only in the newer one.

/// Processors; each has its own object.
pub const PROCESSORS: [&str; 25] = [
    "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1030", "gfx1031",
    "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx1100", "gfx1101", "gfx1102",
    "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1200", "gfx1201", "gfx1250",
];

/// Families whose processors share an object; no family covers gfx1250.
pub const FAMILIES: [&str; 6] = [
    "gfx9-generic",
    "gfx9-4-generic",
    "gfx10-1-generic",
    "gfx10-3-generic",
    "gfx11-generic",
    "gfx12-generic",
];

/// Flags of the compiler, also for the machines of others.
pub const FLAGS: [&str; 15] = [
    "-std=c++17",
    "-O3",
    "-ffreestanding",
    // No header but ours: nothing of the machine gets in.
    "-nostdinc",
    "-fno-exceptions",
    "-fno-rtti",
    // Plain C++ would contract within a statement.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-fast-math",
    "-fdenormal-fp-math=ieee",
    "-fvisibility=hidden",
    "-fno-ident",
    "-Wall",
    "-Wextra",
    "-Werror",
];

/// Version of the code objects of a target.
#[must_use]
pub fn code_object_version(target: &str) -> u32 {
    if FAMILIES.contains(&target) { 6 } else { 5 }
}

/// Flags of the compiler for a target.
#[must_use]
pub fn flags(target: &str) -> Vec<String> {
    let common = FLAGS.into_iter().map(str::to_owned);
    let own = [
        "--target=amdgcn-amd-amdhsa".to_owned(),
        format!("-mcpu={target}"),
        format!("-mcode-object-version={}", code_object_version(target)),
        "-nogpulib".to_owned(),
    ];
    common.chain(own).collect()
}
