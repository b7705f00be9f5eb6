//! The real compiler on small kernels: what is made anew when a file changes, and that each check
//! finds the defect it is there for.

mod golden;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use vmafx_gcnsim::compiler::{self, Toolchain};
use vmafx_tests::data::workspace_root;

use super::allowed::Allowed;
use super::compile::{Build, Done};
use super::report::Report;
use super::target::{self, Target};
use super::{digest, ptx};

/// A root with `kernels/` in it: the layer, and one unit of this text.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(unit: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::create_dir(tree.0.path().join("kernels")).unwrap();
        for name in ["vx.h", "host.cpp"] {
            let text = fs::read_to_string(workspace_root().join("kernels").join(name)).unwrap();
            tree.write(name, &text);
        }
        tree.write("unit.cpp", unit);
        tree
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join("kernels").join(name), text).unwrap();
    }

    fn output(&self) -> std::path::PathBuf {
        self.0.path().join("out")
    }

    fn build(&self, targets: &[&str], flags: &[&str]) -> Result<Done, String> {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let build = Build {
            toolchain: &toolchain(),
            root: self.0.path(),
            output: &self.output(),
            flags: &flags,
        };
        build.run(&chosen(targets))
    }

    /// What the checks find on one target of AMD.
    fn findings(&self, target: &str, flags: &[&str]) -> Vec<String> {
        self.build(&[target, "host"], flags).unwrap();
        let targets = chosen(&[target]);
        let report = Report::read(&self.output(), &targets, &mut Allowed::default());
        report.unwrap().findings
    }
}

/// The compiler of this machine.
fn toolchain() -> Toolchain {
    compiler::find(|name| std::env::var_os(name)).unwrap_or_else(|reason| panic!("{reason}"))
}

fn chosen(names: &[&str]) -> Vec<Target> {
    let all = target::all().into_iter();
    all.filter(|target| names.contains(&target.name)).collect()
}

/// A kernel of 64 threads with this body.
fn kernel(body: &str) -> String {
    format!(
        "#include \"vx.h\"\nstruct Args {{ u64 at; u32 n; u32 unused; }};\n\
         VX_KERNEL(vx_unit, 64, Args) {{\n\
         [[maybe_unused]] VX_GLOBAL float *x = vx_at<float>(args.at);\n\
         [[maybe_unused]] VX_GLOBAL double *y = vx_at<double>(args.at + 4096);\n\
         u32 i = vx_thread() + args.n;\n{body}\n}}\n"
    )
}

/// Divisions and roots of every kind beside a product and a sum.
const ARITHMETIC: &str = "
    VX_GLOBAL u64 *wide = vx_at<u64>(args.at + 8192);
    VX_GLOBAL i32 *whole = vx_at<i32>(args.at + 16384);
    x[i] = x[i + 64] / x[i + 128] * x[i + 192] + x[i + 256];
    y[i] = y[i + 64] / y[i + 128] + __builtin_elementwise_sqrt(y[i + 192]) * y[i];
    x[i + 320] = __builtin_elementwise_sqrt(x[i + 64]) - x[i + 128] * x[i + 192];
    wide[i] = wide[i + 64] / wide[i + 128] + wide[i + 192] % args.at;
    whole[i] = whole[i + 64] / whole[i + 128] + (i32)args.n / (whole[i + 192] | 1);";

fn found(findings: &[String], parts: &[&str]) {
    assert!(!findings.is_empty(), "nothing was found");
    for part in parts {
        assert!(
            findings.iter().any(|finding| finding.contains(part)),
            "{part} is not in {findings:#?}"
        );
    }
}

#[test]
fn a_changed_header_makes_anew_what_includes_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let tree = Tree(folder);
    fs::create_dir(tree.0.path().join("kernels")).unwrap();
    for name in [
        "vx.h",
        "args.h",
        "account.h",
        "begin.cpp",
        "psnr.cpp",
        "host.cpp",
    ] {
        let text = fs::read_to_string(workspace_root().join("kernels").join(name)).unwrap();
        tree.write(name, &text);
    }
    let targets = ["gfx1036", "sm_80", "host"];
    let build = || tree.build(&targets, &[]).unwrap();
    let names = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
    let all = |unit: &str| BTreeSet::from(targets.map(|target| format!("{target}/{unit}")));

    let first = build();
    assert_eq!(first.compiled.len(), 2 * 3 + 1);
    assert_eq!(
        names(&first.linked),
        BTreeSet::from(targets.map(String::from))
    );
    assert_eq!(build(), Done::default());

    // psnr alone includes account.h.
    let account = fs::read_to_string(tree.0.path().join("kernels/account.h")).unwrap();
    let counting = "vx_atomic_add(results + frame.counter, 1)";
    assert!(account.contains(counting));
    tree.write(
        "account.h",
        &account.replace(counting, "vx_atomic_add(results + frame.counter, 2)"),
    );
    let after = build();
    assert_eq!(names(&after.compiled), all("psnr"));
    assert_eq!(
        names(&after.linked),
        BTreeSet::from(targets.map(String::from))
    );

    // A change without effect compiles, and what comes of it is not linked again.
    tree.write(
        "account.h",
        &account.replace(counting, "vx_atomic_add(results + frame.counter, 1 + 1)"),
    );
    let after = build();
    assert_eq!(names(&after.compiled), all("psnr"));
    assert_eq!(after.linked, Vec::<String>::new());

    // Everything includes vx.h, also through args.h.
    let vx = fs::read_to_string(tree.0.path().join("kernels/vx.h")).unwrap();
    tree.write("vx.h", &format!("{vx}\n"));
    assert_eq!(build().compiled.len(), 2 * 3 + 1);

    // A file that has the time of an older one, as a checkout may leave it, is still another file.
    let path = tree.0.path().join("kernels/psnr.cpp");
    let text = fs::read_to_string(&path).unwrap();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, format!("{text}\n")).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(time - std::time::Duration::from_secs(3600))
        .unwrap();
    assert_eq!(names(&build().compiled), all("psnr"));

    // Other flags.
    assert_eq!(
        tree.build(&targets, &["-DX"]).unwrap().compiled.len(),
        2 * 3 + 1
    );
}

#[test]
fn two_folders_give_the_same_bytes() {
    let targets = ["gfx90a", "gfx11-generic", "sm_90", "host"];
    let digests = |tree: &Tree| -> Vec<String> {
        tree.build(&targets, &[]).unwrap();
        let outputs = chosen(&targets).into_iter().map(|target| target.output());
        let read = |name: String| fs::read(tree.output().join(name)).unwrap();
        outputs.map(|name| digest(&read(name))).collect()
    };
    let text = kernel(ARITHMETIC);
    assert_eq!(digests(&Tree::new(&text)), digests(&Tree::new(&text)));
}

#[test]
fn every_family_passes_and_contraction_is_found_on_every_one() {
    let targets = [
        "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1036", "gfx1100", "gfx1150", "gfx1201",
        "gfx1250",
    ];
    let tree = Tree::new(&kernel(ARITHMETIC));
    for target in targets {
        assert_eq!(tree.findings(target, &[]), Vec::<String>::new(), "{target}");
        let contracted = tree.findings(target, &["-ffp-contract=fast"]);
        found(&contracted, &["contraction"]);
        // Each of the three statements of floating point.
        assert!(contracted.len() >= 3, "{target}: {contracted:#?}");
    }
}

#[test]
fn contraction_and_estimates_are_found_in_ptx() {
    let tree = Tree::new(&kernel(ARITHMETIC));
    let findings = |flags: &[&str]| {
        tree.build(&["sm_80", "host"], flags).unwrap();
        let module = fs::read_to_string(tree.output().join("sm_80.ptx")).unwrap();
        let unit = fs::read_to_string(tree.output().join("work/sm_80/unit.ll")).unwrap();
        ptx::findings(&module, &[unit], &mut Allowed::default())
    };
    assert_eq!(findings(&[]), Vec::<String>::new());
    let contracted = findings(&["-ffp-contract=fast"]);
    found(&contracted, &["vx_unit: contraction", "may be contracted"]);
    // Within a statement, which is a compiler's default.
    let contracted = findings(&["-ffp-contract=on"]);
    found(&contracted, &["vx_unit: contraction", "llvm.fmuladd"]);
    found(&findings(&["-ffast-math"]), &["not correctly rounded"]);
    found(
        &findings(&["-fdenormal-fp-math=preserve-sign"]),
        &["subnormals"],
    );
}

#[test]
fn subnormals_that_are_lost_are_found() {
    let tree = Tree::new(&kernel("x[i] = x[i + 64] * 0.5f;"));
    let flags = ["-fdenormal-fp-math=preserve-sign"];
    found(&tree.findings("gfx1036", &flags), &["floating-point mode"]);
}

#[test]
fn a_library_call_does_not_link() {
    let text = kernel("y[i] = log(y[i]);").replace(
        "struct Args",
        "extern \"C\" double log(double);\nstruct Args",
    );
    let failure = Tree::new(&text).build(&["gfx1036"], &[]).unwrap_err();
    assert!(
        failure.contains("gfx1036") && failure.contains("log"),
        "{failure}"
    );
}

#[test]
fn hidden_arguments_are_found() {
    let body =
        "#if defined(__AMDGCN__)\ni += __builtin_amdgcn_workgroup_size_x();\n#endif\nx[i] = 1;";
    found(
        &Tree::new(&kernel(body)).findings("gfx1036", &[]),
        &["takes by_value, hidden_", "not one structure by value"],
    );
}

#[test]
fn memory_of_a_thread_is_found_unless_it_is_listed() {
    let body = "float kept[64];\nfor (u32 k = 0; k < 64; k++) kept[k] = x[i + k];\n\
                for (u32 k = 0; k < 64; k++) kept[(i * k) & 63] += kept[(k * 7 + args.n) & 63];\n\
                x[i] = kept[args.n & 63];";
    let tree = Tree::new(&kernel(body));
    found(
        &tree.findings("gfx1100", &[]),
        &["vx_unit: 260 bytes of memory for each thread"],
    );
    let listed = |bytes| {
        let text = format!(
            "[[scratch]]\nkernels = [\"vx_unit\"]\ntargets = [\"gfx1100\"]\nbytes = {bytes}\n\
             reason = \"a test\"\n"
        );
        let mut allowed = Allowed::parse(&text).unwrap();
        let report = Report::read(&tree.output(), &chosen(&["gfx1100"]), &mut allowed);
        report.unwrap().findings.len()
    };
    assert_eq!((listed(260), listed(256)), (0, 1));
}

#[test]
fn an_access_of_no_known_memory_is_found() {
    let body = "VX_SHARED float part[64];\npart[i & 63] = x[i];\nvx_barrier();\n\
                volatile float *any = args.n & 1 ? (volatile float *)&part[3] : (volatile float *)&x[3];\n*any = 2;";
    found(
        &Tree::new(&kernel(body)).findings("gfx90a", &[]),
        &["no known memory at 0x", ": flat_store"],
    );
}

#[test]
fn structures_that_differ_from_the_host_are_found() {
    let text = kernel("x[i] = 1;").replace(
        "u32 unused;",
        "u32 unused;\n#if defined(__AMDGCN__)\nu64 more;\n#endif\n",
    );
    found(
        &Tree::new(&text).findings("gfx1036", &[]),
        &["arguments are 24 bytes"],
    );
    let text = kernel("x[i] = 1;").replace(
        "VX_KERNEL(vx_unit, 64,",
        "#if defined(__AMDGCN__)\n#define N 128\n#else\n#define N 64\n#endif\nVX_KERNEL(vx_unit, N,",
    );
    found(
        &Tree::new(&text).findings("gfx1036", &[]),
        &["128 threads a block"],
    );
}

#[test]
fn a_call_is_found() {
    let text = kernel("x[i] = apart(x[i]);").replace(
        "struct Args",
        "static __attribute__((noinline)) float apart(float a) { return a * a; }\nstruct Args",
    );
    found(
        &Tree::new(&text).findings("gfx1036", &[]),
        &["a call", "code of no kernel"],
    );
}

#[test]
fn objects_put_together_are_refused() {
    let tree = Tree::new(&kernel("x[i] = 1;"));
    let toolchain = toolchain();
    let folder = tree.0.path();
    for name in ["a", "b"] {
        let text = kernel("x[i] = 1;").replace("vx_unit", &format!("vx_{name}"));
        tree.write(&format!("{name}.cpp"), &text);
        let flags = chosen(&["gfx1036"])[0].flags();
        let flags = flags.iter().filter(|flag| *flag != "-emit-llvm");
        let mut command = toolchain.clang.command();
        command.current_dir(folder).args(flags);
        command
            .arg(format!("kernels/{name}.cpp"))
            .args(["-o", &format!("{name}.o")]);
        assert!(command.status().unwrap().success());
    }
    let mut command = toolchain.lld.command();
    command
        .current_dir(folder)
        .args(["-shared", "a.o", "b.o", "-o", "both"]);
    assert!(command.status().unwrap().success());
    let bytes = fs::read(folder.join("both")).unwrap();
    let failure = vmafx_gcnsim::object::CodeObject::read(&bytes).unwrap_err();
    assert!(failure.contains("two notes"), "{failure}");
}

#[test]
fn damaged_objects_are_errors() {
    let tree = Tree::new(&kernel("x[i] = 1;"));
    tree.build(&["gfx1036"], &[]).unwrap();
    let path: &Path = &tree.output().join("gfx1036.hsaco");
    let bytes = fs::read(path).unwrap();
    vmafx_gcnsim::object::CodeObject::read(&bytes).unwrap();
    for at in 0..bytes.len() {
        let _ = vmafx_gcnsim::object::CodeObject::read(&bytes[..at]);
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x81;
        let _ = vmafx_gcnsim::object::CodeObject::read(&bytes);
    }
    assert!(vmafx_gcnsim::object::CodeObject::read(&bytes[..64]).is_err());
}
