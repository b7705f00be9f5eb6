//! What the kernels are compiled for, and with which flags.
//!
//! What is AMD's is that of `vmafx_gcnsim::target`. What must stay true: floating point is IEEE 754
//! in the order written on every target, and nothing of the machine that compiles reaches an object.

use vmafx_gcnsim::target::{self, FAMILIES, FLAGS, PROCESSORS};

/// Architectures of NVIDIA, with the version of PTX that each needs. Without it clang writes the
/// oldest, which knows neither the architecture nor exchanges between lanes.
const NVIDIA: [(&str, &str); 2] = [("sm_80", "+ptx71"), ("sm_90", "+ptx78")];

/// The name of the processor that compiles.
const HOST: &str = "host";

/// Which kind of machine a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One processor of AMD.
    Amd,
    /// A family of AMD's processors.
    AmdGeneric,
    /// An architecture of NVIDIA.
    Nvidia {
        /// The feature that names the version of PTX.
        ptx: &'static str,
    },
    /// The processor that compiles: the simulated device.
    Host,
}

/// A machine that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name for the compiler.
    pub(crate) name: &'static str,
    /// Its kind.
    pub(crate) kind: Kind,
}

/// Every target, in the order of the tables.
pub(crate) fn all() -> Vec<Target> {
    let of = |kind| move |name: &&'static str| Target { name, kind };
    let mut targets: Vec<Target> = PROCESSORS.iter().map(of(Kind::Amd)).collect();
    targets.extend(FAMILIES.iter().map(of(Kind::AmdGeneric)));
    targets.extend(NVIDIA.iter().map(|&(name, ptx)| Target {
        name,
        kind: Kind::Nvidia { ptx },
    }));
    targets.push(Target {
        name: HOST,
        kind: Kind::Host,
    });
    targets
}

impl Target {
    /// Whether its objects are AMD's.
    pub(crate) fn is_amd(&self) -> bool {
        matches!(self.kind, Kind::Amd | Kind::AmdGeneric)
    }

    /// Whether its module is PTX.
    pub(crate) fn is_nvidia(&self) -> bool {
        matches!(self.kind, Kind::Nvidia { .. })
    }

    /// The file that all units become.
    pub(crate) fn output(&self) -> String {
        match self.kind {
            Kind::Amd | Kind::AmdGeneric => format!("{}.hsaco", self.name),
            Kind::Nvidia { .. } => format!("{}.ptx", self.name),
            Kind::Host => "libvmafx_kernels_host.so".to_owned(),
        }
    }

    /// What the compiler writes for one unit.
    pub(crate) fn unit_output(&self, unit: &str) -> String {
        match self.kind {
            Kind::Nvidia { .. } => format!("{unit}.ll"),
            _ => format!("{unit}.o"),
        }
    }

    /// Version of the code objects.
    pub(crate) fn code_object_version(&self) -> Option<u32> {
        let version = || target::code_object_version(self.name);
        self.is_amd().then(version)
    }

    /// Flags of the compiler.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = match self.is_amd() {
            true => target::flags(self.name),
            false => FLAGS.map(str::to_owned).to_vec(),
        };
        let mut add = |more: &[&str]| flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        match self.kind {
            Kind::Amd | Kind::AmdGeneric => add(&["-emit-llvm", "-c"]),
            Kind::Nvidia { ptx } => add(&[
                "--target=nvptx64-nvidia-cuda",
                &format!("-march={}", self.name),
                "-Xclang",
                "-target-feature",
                "-Xclang",
                ptx,
                "-nogpulib",
                "-emit-llvm",
                "-S",
            ]),
            Kind::Host => {
                add(&["-fPIC", "-c"]);
                if cfg!(target_arch = "x86_64") {
                    add(&["-mno-fma"]);
                }
            }
        }
        flags
    }

    /// Flags of the compiler that make PTX of a unit's optimised intermediate code, which is kept:
    /// it tells which fused operations the source asks for.
    pub(crate) fn ptx_flags(&self) -> Vec<String> {
        let flags = self.flags().into_iter();
        let mut flags: Vec<String> = flags
            .filter(|flag| !["-emit-llvm", "-nostdinc"].contains(&flag.as_str()))
            .collect();
        let more = ["-Xclang", "-disable-llvm-passes", "-x", "ir"];
        flags.extend(more.map(str::to_owned));
        flags
    }

    /// Flags of the linker, for targets that have one.
    pub(crate) fn link_flags(&self) -> Vec<String> {
        let flags: &[&str] = match self.kind {
            // A call that a library would have to serve is an error here. Units come as bitcode,
            // optimised, and the linker generates code: objects that are merely put together keep
            // a metadata note each, and the runtime sees the kernels of the first alone.
            Kind::Amd | Kind::AmdGeneric => &[
                "-shared",
                "--no-undefined",
                "-s",
                "--lto-O0",
                "--lto-CGO3",
                &format!("-plugin-opt=mcpu={}", self.name),
            ],
            Kind::Nvidia { .. } => &[],
            Kind::Host => &["-shared", "-s", "--build-id=none"],
        };
        flags.iter().map(|flag| (*flag).to_owned()).collect()
    }
}
