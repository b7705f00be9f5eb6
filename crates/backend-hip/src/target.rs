//! Which code object a device takes: that of its own architecture, else a generic one of its
//! family where the runtime can load such a thing.
//!
//! What must stay true: nothing else is tried: code of another architecture may load and then fail
//! in the middle of a run, and nothing is compiled for a device at run time
//! (`docs/decisions/0007-no-runtime-compiler.md`).

use crate::functions::Version;

/// The first ROCm whose runtime loads generic code objects.
pub(crate) const GENERIC_SINCE: Version = Version::new(6, 3);

/// Architectures of each generic target, as LLVM's manual of the AMDGPU target lists them.
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

/// The architecture of a name such as `gfx90a:sramecc+:xnack-`.
pub(crate) fn architecture(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// The target among `built` whose code `architecture` takes under a runtime of `version`.
pub(crate) fn choose<'a>(
    built: impl Iterator<Item = &'a str> + Clone,
    architecture: &str,
    version: Version,
) -> Option<&'a str> {
    let exact = built.clone().find(|target| *target == architecture);
    if exact.is_some() || version < GENERIC_SINCE {
        return exact;
    }
    let family = GENERIC.iter();
    let mut family = family.filter(|(_, members)| members.contains(&architecture));
    let (generic, _) = family.next()?;
    let mut built = built;
    built.find(|target| target == generic)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: [&str; 4] = ["gfx90a", "gfx1030", "gfx9-generic", "gfx10-3-generic"];

    #[test]
    fn exact_code_comes_before_generic_code() {
        let choose = |name, version| choose(BUILT.into_iter(), name, version);
        let (old, new) = (Version::new(6, 2), Version::new(6, 3));
        assert_eq!(choose("gfx90a", old), Some("gfx90a"));
        assert_eq!(choose("gfx1030", new), Some("gfx1030"));
        assert_eq!(choose("gfx906", new), Some("gfx9-generic"));
        assert_eq!(choose("gfx906", old), None);
        assert_eq!(
            choose("gfx1036", Version::new(10, 0)),
            Some("gfx10-3-generic")
        );
        // A family without code, and an architecture of no family.
        assert_eq!(choose("gfx1100", new), None);
        assert_eq!(choose("gfx908", new), None);
        assert_eq!(choose("gfx9-generi", new), None);
    }

    #[test]
    fn features_are_no_part_of_an_architecture() {
        assert_eq!(architecture("gfx90a:sramecc+:xnack-"), "gfx90a");
        assert_eq!(architecture("gfx1100"), "gfx1100");
        assert_eq!(architecture(""), "");
    }
}
