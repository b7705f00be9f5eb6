//! PTX: units become one module, and the module is checked.
//!
//! Plain C++ has no attribute for the size of a block, so it is written in here: the driver's
//! compiler then gives each thread as many registers as the block allows. What must stay true:
//! an addition, subtraction or multiplication of floating point says how it rounds, because the
//! driver's compiler fuses those that do not say; and a kernel fuses no more than its source asks
//! for by name, which the compiler's intermediate code tells: there a fused operation is a call,
//! and what may be contracted later is marked.

use std::collections::{BTreeMap, BTreeSet};

use super::allowed::Allowed;
use super::host::Kernel;

/// The only estimates that a kernel may be allowed.
const ESTIMATES: [&str; 2] = ["rcp.approx.ftz.f32", "rcp.approx.ftz.f64"];

/// Marks of intermediate code that let an operation be changed.
const MARKS: [&str; 5] = ["contract", "fast", "reassoc", "arcp", "afn"];

/// Makes one module of the modules of the units and writes the size of its block to each entry.
///
/// # Errors
/// Modules for different machines, a name that two of them define, an entry that the host's
/// library does not know, or text that is not what the compiler is known to write.
pub(crate) fn merge(
    modules: &[String],
    kernels: &BTreeMap<String, Kernel>,
) -> Result<String, String> {
    let mut merged = String::new();
    let mut head = None;
    let mut defined = BTreeSet::new();
    for module in modules {
        let start = module.find(".version").unwrap_or_default();
        let end = module
            .find(".address_size 64\n")
            .ok_or("a module does not name its address size")?
            + ".address_size 64\n".len();
        let (this, body) = (&module[start..end], &module[end..]);
        match head {
            None => {
                merged.push_str(this);
                head = Some(this);
            }
            Some(first) if first == this => {}
            Some(first) => return Err(format!("modules differ: {first:?} and {this:?}")),
        }
        for name in definitions(body) {
            if !defined.insert(name.to_owned()) {
                return Err(format!("two units define `{name}`; rename one"));
            }
        }
        merged.push_str(&size_blocks(body, kernels)?);
    }
    Ok(merged)
}

/// What must not be in a module, each with its line; `units` are what the compiler made of the
/// units before.
pub(crate) fn findings(module: &str, units: &[String], allowed: &mut Allowed) -> Vec<String> {
    let mut findings = Vec::new();
    let mut asked_for = BTreeMap::new();
    for unit in units {
        findings.extend(read_unit(unit, &mut asked_for));
    }
    let mut fused: BTreeMap<&str, usize> = BTreeMap::new();
    let mut entry = "";
    for (at, line) in module.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default().trim();
        let operation = code
            .split_whitespace()
            .find(|word| !word.starts_with('@') && !word.ends_with(':'))
            .unwrap_or_default();
        let parts: Vec<&str> = operation.split('.').collect();
        let name = parts.first().copied().unwrap_or_default();
        let is_float = parts
            .iter()
            .any(|part| ["f16", "f32", "f64"].contains(part));
        let has = |part: &str| parts.contains(&part);
        if let Some((_, name)) = code.split_once(".entry ") {
            entry = name.trim_end_matches('(');
        }
        let reason = if ESTIMATES.contains(&operation) && allowed.estimate(entry) {
            None
        } else if code.contains(".extern") {
            Some("something that is not in the module")
        } else if ["call", "call.uni"].contains(&operation) {
            Some("a call")
        } else if has("ftz") {
            Some("subnormals become zero")
        } else if has("approx") {
            Some("not correctly rounded")
        } else if is_float && ["fma", "mad"].contains(&name) {
            *fused.entry(entry).or_default() += 1;
            None
        } else if is_float && ["add", "sub", "mul"].contains(&name) && !has("rn") {
            Some("no rounding, so it may be fused")
        } else if [".local", "ld.local", "st.local"]
            .iter()
            .any(|word| operation.starts_with(word))
        {
            Some("memory of a thread")
        } else {
            None
        };
        if let Some(reason) = reason {
            findings.push(format!("{entry}, line {}: {reason}: {code}", at + 1));
        }
    }
    for (entry, count) in fused {
        let asked_for = asked_for.get(entry).copied().unwrap_or(0);
        if count > asked_for {
            findings.push(format!(
                "{entry}: contraction: {count} fused operations, the source asks for {asked_for}"
            ));
        }
    }
    findings
}

/// Counts the fused operations of each function of a unit and finds those that are not asked for.
fn read_unit<'a>(unit: &'a str, asked_for: &mut BTreeMap<&'a str, usize>) -> Vec<String> {
    let mut findings = Vec::new();
    let mut function = "";
    for line in unit.lines() {
        if line.starts_with("define ") {
            let name = line.split_once('@').map_or("", |(_, rest)| rest);
            function = name.split('(').next().unwrap_or_default();
        }
        // An instruction; attributes and metadata have words of their own.
        let Some(code) = line.strip_prefix("  ") else {
            continue;
        };
        if code.contains("@llvm.fma.") {
            *asked_for.entry(function).or_default() += 1;
        }
        let is_marked = code.split_whitespace().any(|word| MARKS.contains(&word));
        if is_marked || code.contains("@llvm.fmuladd.") {
            findings.push(format!("{function}: may be contracted: {}", code.trim()));
        }
    }
    findings
}

/// Names that a module defines outside functions.
fn definitions(body: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0usize;
    for line in body.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let is_directive = [".entry", ".func", ".shared", ".global", ".const"]
            .iter()
            .any(|word| code.split_whitespace().any(|part| part == *word));
        if depth == 0 && is_directive {
            // A variable ends with its size or its value, a function with its parameters.
            let end = code.find(['[', '=', '(', ';']).unwrap_or(code.len());
            names.extend(code[..end].split_whitespace().next_back());
        }
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
    }
    names
}

fn size_blocks(body: &str, kernels: &BTreeMap<String, Kernel>) -> Result<String, String> {
    let mut sized = String::new();
    let mut rest = body;
    while let Some(at) = rest.find(".entry ") {
        let after = &rest[at + ".entry ".len()..];
        let open = after.find('(').ok_or("an entry without parameters")?;
        let name = after[..open].trim();
        let kernel = kernels
            .get(name)
            .ok_or_else(|| format!("the host's library has no kernel `{name}`"))?;
        // The list ends with a line of its own, after which a comment may follow.
        let close = after.find("\n)").ok_or("an entry whose list has no end")? + 1;
        let line = after[close..].find('\n').ok_or("an entry without a body")? + 1;
        let end = at + ".entry ".len() + close + line;
        sized.push_str(&rest[..end]);
        sized.push_str(&format!(".maxntid {}, 1, 1\n", kernel.threads));
        rest = &rest[end..];
    }
    sized.push_str(rest);
    Ok(sized)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "//\n// Generated\n//\n\n.version 7.1\n.target sm_80\n.address_size 64\n";

    fn unit(name: &str) -> String {
        format!(
            "{HEAD}\n.visible .entry {name}(\n\t.param .align 8 .b8 {name}_param_0[48]\n)  // @{name}\n{{\n\t\
             .shared .align 8 .b8 part[64];\n\tret;\n}}\n"
        )
    }

    fn kernels() -> BTreeMap<String, Kernel> {
        let kernel = |threads| Kernel {
            threads,
            arguments: 48,
        };
        BTreeMap::from([("a".to_owned(), kernel(256)), ("b".to_owned(), kernel(64))])
    }

    #[test]
    fn units_become_one_module_with_the_sizes_of_blocks() {
        let merged = merge(&[unit("a"), unit("b")], &kernels()).unwrap();
        assert_eq!(merged.matches(".version 7.1").count(), 1);
        assert!(merged.contains("a_param_0[48]\n)  // @a\n.maxntid 256, 1, 1\n{"));
        assert!(merged.contains("b_param_0[48]\n)  // @b\n.maxntid 64, 1, 1\n{"));
    }

    #[test]
    fn units_that_do_not_fit_are_refused() {
        let failure = |modules: &[String]| merge(modules, &kernels()).unwrap_err();
        assert!(failure(&[unit("a"), unit("a")]).contains("two units define `a`"));
        let shared = |unit: String| unit.replace("64\n\n", "64\n.shared .align 8 .b8 tile[4];\n\n");
        let failed = failure(&[shared(unit("a")), shared(unit("b"))]);
        assert!(failed.contains("two units define `tile`"), "{failed}");
        assert!(failure(&[unit("c")]).contains("no kernel `c`"));
        let newer = unit("b").replace("sm_80", "sm_90");
        assert!(failure(&[unit("a"), newer]).contains("modules differ"));
    }

    #[test]
    fn what_a_module_must_not_hold_is_found() {
        for (line, part) in [
            ("\t.extern .func powf", "not in the module"),
            ("\tcall.uni (retval0), powf, (p);", "a call"),
            ("\tfma.rn.f32 %f1, %f2, %f3, %f4;", "asks for 0"),
            ("\tmad.rn.f64 %f1, %f2, %f3, %f4;", "asks for 0"),
            ("\tadd.f64 %f1, %f2, %f3;", "may be fused"),
            ("\t@%p1 mul.f32 %f1, %f2, %f3;", "may be fused"),
            ("\tadd.rn.ftz.f32 %f1, %f2, %f3;", "subnormals"),
            ("\tsqrt.approx.f32 %f1, %f2;", "not correctly rounded"),
            (
                "\t.local .align 8 .b8 __local_depot0[64];",
                "memory of a thread",
            ),
        ] {
            let found = findings(line, &[], &mut Allowed::default());
            assert_eq!(found.len(), 1, "{line}");
            assert!(found[0].contains(part), "{found:?}");
        }
        for line in [
            "\tmad.lo.s32 %r1, %r2, %r3, %r4; // fma.rn.f32",
            "\tadd.rn.f64 %f1, %f2, %f3;",
            "\tdiv.rn.f32 %f1, %f2, %f3;",
            "\tadd.s64 %rd1, %rd2, %rd3;",
            "\tatom.global.add.u64 %rd1, [%rd2], %rd3;",
        ] {
            assert_eq!(
                findings(line, &[], &mut Allowed::default()),
                Vec::<String>::new()
            );
        }
    }

    #[test]
    fn an_estimate_is_for_the_kernels_that_are_listed() {
        let list = "[[estimate]]\nkernels = [\"a\"]\nreason = \"r\"\n";
        let mut allowed = Allowed::parse(list).unwrap();
        let module = "\
            .visible .entry a(\n\trcp.approx.ftz.f32 \t%r1, %r2;\n\
            .visible .entry b(\n\trcp.approx.ftz.f32 \t%r1, %r2;\n";
        let found = findings(module, &[], &mut allowed);
        assert!(
            found.len() == 1 && found[0].starts_with("b, line 4"),
            "{found:?}"
        );
        let root = "\tsqrt.approx.ftz.f32 \t%r1, %r2;\n";
        assert_eq!(
            findings(&module.replace("b(", "a("), &[], &mut allowed).len(),
            0
        );
        assert_eq!(
            findings(&format!("{module}{root}"), &[], &mut allowed).len(),
            2
        );
    }

    #[test]
    fn fused_operations_are_those_of_the_source() {
        let unit = "define void @a(ptr %0) {\n  %1 = call double @llvm.fma.f64(double %0)\n}\n\
                    define void @b(ptr %0) {\n  ret void\n}\ndeclare double @llvm.fma.f64(double)\n";
        let module = ".visible .entry a(\n\tfma.rn.f64 \t%rd1, %rd2;\n.visible .entry b(\n\tret;\n";
        let find = |module: &str, unit: &str| {
            findings(module, &[unit.to_owned()], &mut Allowed::default())
        };
        assert_eq!(find(module, unit), Vec::<String>::new());
        // The count is that of the kernel.
        let other = module.replace("\tret;", "\tfma.rn.f64 \t%rd1, %rd2;");
        let found = find(&other, unit);
        assert!(
            found.len() == 1 && found[0].starts_with("b: contraction: 1"),
            "{found:?}"
        );
        for instruction in [
            "  %2 = fmul contract double %1, %1",
            "  %2 = tail call fast double @llvm.sqrt.f64(double %1)",
            "  %2 = call double @llvm.fmuladd.f64(double %1, double %1, double %1)",
        ] {
            let marked = unit.replace("  ret void", instruction);
            let found = find(module, &marked);
            assert!(
                found.len() == 1 && found[0].starts_with("b: may be"),
                "{found:?}"
            );
        }
    }
}
