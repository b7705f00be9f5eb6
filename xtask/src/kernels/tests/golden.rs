//! Each property of `kernels/golden.txt` is changed in a kernel, and the comparison names it.

use super::{ARITHMETIC, Tree, chosen, kernel, toolchain};
use crate::kernels::allowed::Allowed;
use crate::kernels::golden::{Comparison, Golden};
use crate::kernels::report::Report;

/// An old processor, whose waves have 64 lanes, and two of 32 that write barriers differently.
const TARGETS: [&str; 3] = ["gfx908", "gfx1036", "gfx1201"];

/// How the messages begin that all of these share, and those of the ones with 32 lanes.
const ALL: &str = "all 3 targets vx_unit: ";
const OF_32: &str = "gfx1036 gfx1201 vx_unit: ";

/// A kernel with a barrier, an atomic addition, and a product that could be contracted. A block is
/// more than a wave on all of the targets.
fn unit() -> String {
    kernel(
        "VX_SHARED float part[64];\n\
         part[i & 63] = x[i];\n\
         vx_barrier();\n\
         vx_atomic_add(vx_at<u64>(args.at + 8192), 1);\n\
         x[i] = part[63 - (i & 63)] * x[i + 64] + x[i + 128];",
    )
    .replace("vx_unit, 64,", "vx_unit, 128,")
}

/// Builds a unit for some targets of AMD and reads what came of it.
fn golden(unit: &str, targets: &[&str], flags: &[&str]) -> Golden {
    let tree = Tree::new(unit);
    tree.build(&["host"], &[]).unwrap();
    tree.build(targets, flags).unwrap();
    let report = Report::read(&tree.output(), &chosen(targets), &mut Allowed::default());
    Golden::of(&report.unwrap(), &toolchain().identity)
}

/// The same figures, as another compiler left them.
fn by_another_compiler(golden: &Golden) -> Golden {
    let text = golden.text();
    let (before, rest) = text.split_once("\ncompiler: ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    Golden::parse(&format!("{before}\ncompiler: another\n{after}")).unwrap()
}

/// A defect, how it comes into the unit, and the messages that it brings.
#[derive(Default)]
struct Planted<'a> {
    /// What of the text is replaced, by what.
    text: (&'a str, &'a str),
    flags: &'a [&'a str],
    /// How messages begin that it brings, and what they go on to say of the kernel.
    targets: &'a str,
    changes: &'a [&'a str],
    /// Whether another compiler may do this, too.
    is_the_compilers: bool,
}

impl Planted<'_> {
    fn check(&self, before: &Golden) {
        let (from, to) = self.text;
        let text = unit();
        assert!(text.contains(from), "{from}");
        let now = golden(&text.replace(from, to), &TARGETS, self.flags);
        let names = |texts: &[String]| {
            let names = |text: &String, change: &&str| {
                text.starts_with(self.targets) && text.contains(&format!("vx_unit: {change}"))
            };
            let mut changes = self.changes.iter();
            changes.all(|change| texts.iter().any(|text| names(text, change)))
        };
        let Comparison { differences, notes } = before.compare(&now, true);
        let told = names(&differences) && notes.is_empty();
        assert!(told, "{:?}: {differences:#?} {notes:#?}", self.changes);

        let other = by_another_compiler(before).compare(&now, true);
        let told = match self.is_the_compilers {
            true => names(&other.notes) && other.differences.is_empty(),
            false => names(&other.differences),
        };
        assert!(told, "{:?}: {other:#?}", self.changes);
        // None is lost between errors and notes, the first of which is the advice.
        let count = other.differences.len() + other.notes.len().saturating_sub(1);
        assert_eq!(count, differences.len(), "{other:#?}");
        if let Some(advice) = other.notes.first() {
            assert!(advice.contains("another and ") && advice.contains("--bless"));
        }
    }
}

#[test]
fn what_the_source_settles_is_an_error_with_every_compiler() {
    let before = golden(&unit(), &TARGETS, &[]);
    let flat = "volatile float *any = args.n & 1 ? (volatile float *)&part[3] : (volatile float *)&x[3];\n\
                *any = 2;\nvx_barrier();";
    let scratch = "float kept[64];\nfor (u32 k = 0; k < 64; k++) kept[k] = x[i + k];\n\
                   for (u32 k = 0; k < 64; k++) kept[(i * k) & 63] += kept[(k * 7 + args.n) & 63];\n\
                   x[i] = kept[args.n & 63];\nvx_barrier();";
    let hidden =
        "#if defined(__AMDGCN__)\ni += __builtin_amdgcn_workgroup_size_x();\n#endif\nvx_barrier();";
    for (from, to, targets, change) in [
        ("vx_barrier();", flat, ALL, "flat_accesses 0 -> "),
        ("vx_barrier();", scratch, "", "scratch_bytes 0 -> 2"),
        ("vx_barrier();", hidden, ALL, "hidden_arguments 0 -> "),
        ("vx_barrier();", "", ALL, "barriers 1 -> 0"),
        ("vx_atomic_add(", "(void)(", ALL, "atomics_64 1 -> 0"),
        ("vx_unit, 128,", "vx_unit, 256,", ALL, "threads 128 -> 256"),
        (
            "u32 unused;",
            "u32 unused; u64 more;",
            ALL,
            "kernarg_bytes 16 -> 24",
        ),
        ("part[64];", "part[192];", ALL, "lds_bytes 256 -> 768"),
    ] {
        Planted {
            text: (from, to),
            targets,
            changes: &[change],
            ..Planted::default()
        }
        .check(&before);
    }
    for (flag, targets, change) in [
        ("-ffp-contract=fast", ALL, "fused_outside 0 -> 1"),
        ("-mwavefrontsize64", OF_32, "wave 32 -> 64"),
    ] {
        Planted {
            flags: &[flag],
            targets,
            changes: &[change],
            ..Planted::default()
        }
        .check(&before);
    }
}

#[test]
fn what_the_compiler_settles_is_a_note_with_another() {
    let before = golden(&unit(), &TARGETS, &[]);
    let same = golden(&unit(), &TARGETS, &[]);
    for before in [&before, &by_another_compiler(&before)] {
        let Comparison { differences, notes } = before.compare(&same, true);
        assert_eq!((differences, notes), (vec![], vec![]));
    }
    let twice = "vx_barrier(); part[i & 63] += 1; vx_barrier();";
    // Eight sums at once, and eight numbers that all threads share.
    let sums = "float sum = 0; u32 all = 0;\n\
                for (u32 k = 0; k < 8; k++) sum += x[i + 512 * k + args.n];\n\
                for (u32 k = 0; k < 8; k++) all = all * 3 ^ vx_at<u32>(args.at + 16384)[args.n + 99 * k];\n\
                x[i] = sum + (float)all;\nvx_barrier();";
    for (from, to, changes) in [
        ("vx_barrier();", twice, &["barriers 1 -> 2"][..]),
        (
            "* x[i + 64]",
            "/ x[i + 64]",
            &["estimates 0 -> 1", "fused_inside 0 -> "],
        ),
        (
            "vx_barrier();",
            sums,
            &["instructions ", "vgprs ", "sgprs "],
        ),
    ] {
        Planted {
            text: (from, to),
            changes,
            is_the_compilers: true,
            ..Planted::default()
        }
        .check(&before);
    }
}

#[test]
fn a_block_of_one_wave_may_lose_its_barriers_to_another_compiler() {
    let small = |barrier: &str| {
        let unit = unit().replace("vx_unit, 128,", "vx_unit, 32,");
        golden(&unit.replace("vx_barrier();", barrier), &["gfx1036"], &[])
    };
    let dropped = small("vx_barrier();").text();
    // The compiler drops it. One that did not would have left this.
    let row = dropped
        .lines()
        .find(|line| line.starts_with("vx_unit"))
        .unwrap();
    let kept = row.replace(
        "       0           1  gfx1036",
        "       1           1  gfx1036",
    );
    assert_ne!(kept, row);
    let kept = Golden::parse(&dropped.replace(row, &kept)).unwrap();
    let now = small("vx_barrier();");
    assert_eq!(kept.compare(&now, true).differences.len(), 1);
    let other = by_another_compiler(&kept).compare(&now, true);
    assert_eq!(
        (other.differences.len(), other.notes.len()),
        (0, 2),
        "{other:?}"
    );
}

#[test]
fn targets_and_kernels_that_come_and_go_are_named() {
    let two = format!("{}{}", unit(), {
        let second = unit().replace("vx_unit", "vx_second");
        second[second.find("VX_KERNEL").unwrap()..].to_owned()
    });
    let [one, two] = [unit(), two].map(|unit| golden(&unit, &TARGETS, &[]));
    let differences = |before: &Golden, now: &Golden, is_whole| {
        // It makes no difference which compiler it was.
        let other = by_another_compiler(before).compare(now, is_whole);
        let Comparison { differences, notes } = before.compare(now, is_whole);
        assert_eq!((&other.differences, notes), (&differences, vec![]));
        differences
    };
    assert_eq!(
        differences(&two, &one, true),
        ["all 3 targets vx_second: the kernel is in kernels/golden.txt and not built"]
    );
    assert_eq!(
        differences(&one, &two, true),
        ["all 3 targets vx_second: the kernel is not in kernels/golden.txt"]
    );
    let fewer = golden(&unit(), &TARGETS[..2], &[]);
    assert_eq!(
        differences(&one, &fewer, true),
        ["gfx1201: the target is in kernels/golden.txt and not built"]
    );
    assert_eq!(differences(&one, &fewer, false), Vec::<String>::new());
    assert_eq!(
        differences(&fewer, &one, true),
        ["gfx1201: the target is not in kernels/golden.txt"]
    );
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_refused() {
    let written = golden(&kernel(ARITHMETIC), &TARGETS, &[]);
    let text = written.text();
    assert_eq!(Golden::parse(&text).unwrap(), written);
    let row = text
        .lines()
        .find(|line| line.starts_with("vx_unit"))
        .unwrap();
    let second = text
        .lines()
        .rfind(|line| line.starts_with("vx_unit"))
        .unwrap();
    let broken = |from: &str, to: &str, part: &str| {
        assert!(text.contains(from), "{from}");
        let failure = Golden::parse(&text.replacen(from, to, 1)).unwrap_err();
        let says = failure.starts_with("kernels/golden.txt")
            && failure.contains(part)
            && failure.contains("--bless");
        assert!(says, "{failure}");
    };
    broken(row, &format!("<<<<<<< HEAD\n{row}"), "`<<<<<<<`: ");
    broken(row, &format!("{row}\n{row}"), "a second row");
    broken(row, "vx_unit 1 2", "the row ends early");
    broken(&format!("{second}\n"), "", "in one table only");
    broken("  scratch_bytes", "", "other columns");
    broken("linker: ", "# ", "names no linker");
    broken("linker: ", "compiler: ", "a second `compiler: `");
}
