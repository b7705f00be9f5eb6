//! What the instructions of an AMD code object do, counted, and what they must not do, read from its
//! disassembly.
//!
//! Contraction is the hard one. The compiler expands a division and a square root into an estimate
//! and fused steps that refine it, so a fused multiply-add is not wrong by itself. It is right when
//! an operand descends from the estimate (`v_rcp`, `v_rsq`, `v_sqrt`) or from the scaled operands
//! of the division (`v_div_scale`) through nothing but the steps of those sequences, and it makes
//! no difference when it multiplies by 2^32, as the division of 64-bit integers does: that product
//! is exact. All others come from contraction. The results of the sequences (`v_div_fixup`,
//! `v_cndmask`, `v_ldexp`, `v_cvt`) do not count as descendants, so what is made of a quotient is
//! not excused.
//!
//! What must stay true: an instruction that is not known ends a descent, so it can bring a false
//! finding, never hide one.

use std::collections::BTreeMap;

use vmafx_gcnsim::disassembly::Line;

/// 2^32 and -2^32 in f32.
const POWERS: [&str; 2] = ["0x4f800000", "0xcf800000"];

/// How the names of atomic operations on LDS begin.
const LDS_ATOMICS: [&str; 18] = [
    "add_",
    "sub_",
    "rsub_",
    "inc_",
    "dec_",
    "min_",
    "max_",
    "and_",
    "or_",
    "xor_",
    "mskor_",
    "cmpst_",
    "cmpstore_",
    "wrxchg_",
    "wrxchg2",
    "storexchg_",
    "condxchg",
    "pk_add_",
];

/// What a listing says of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Summary {
    /// Instructions.
    pub(crate) instructions: u64,
    /// Places where a wave waits for the others of its block.
    pub(crate) barriers: u64,
    /// Fused multiply-adds that are steps of a division or a root.
    pub(crate) fused_inside: u64,
    /// All other fused multiply-adds: contraction.
    pub(crate) fused_outside: u64,
    /// Accesses of no known memory.
    pub(crate) flat: u64,
    /// Approximate reciprocals and roots.
    pub(crate) estimates: u64,
    /// Atomic operations on 64 bits.
    pub(crate) atomics_64: u64,
    /// What must not be there.
    pub(crate) findings: Vec<String>,
}

/// Reads what `llvm-objdump -d` wrote; `kernels` are names with address and bytes of the code.
/// Returns a summary for each and what is wrong with the rest.
///
/// # Errors
/// A kernel without instructions.
pub(crate) fn read<'a>(
    text: &str,
    kernels: impl Iterator<Item = (&'a str, (u64, u64))>,
) -> Result<(BTreeMap<&'a str, Summary>, Option<String>), String> {
    let mut listing: BTreeMap<u64, Line<'_>> = text
        .lines()
        .filter_map(Line::parse)
        .filter(|line| !line.is_padding())
        .map(|instruction| (instruction.address, instruction))
        .collect();
    let mut summaries = BTreeMap::new();
    for (name, (address, size)) in kernels {
        let mut rest = listing.split_off(&address);
        let mut after = rest.split_off(&(address + size));
        listing.append(&mut after);
        if rest.is_empty() {
            return Err(format!("the listing has no instruction of `{name}`"));
        }
        summaries.insert(name, Summary::of(rest.values().copied()));
    }
    // Between kernels there is padding.
    let stray = listing.values().find(|instruction| {
        let (operation, _) = split(instruction.text);
        !["s_nop", "s_code_end", "s_endpgm", "v_illegal"].contains(&operation)
    });
    let stray = stray.map(|stray| {
        format!(
            "code of no kernel at {:#x}, so a function was not inlined: {}",
            stray.address, stray.text
        )
    });
    Ok((summaries, stray))
}

impl Summary {
    fn of<'a>(code: impl Iterator<Item = Line<'a>>) -> Self {
        let mut summary = Self::default();
        let mut registers = Registers::default();
        for line in code {
            summary.instructions += 1;
            // Halves of a dual instruction read before either writes.
            let halves: Vec<_> = line.text.split(" :: ").map(Half::parse).collect();
            let mut writes = Vec::new();
            for half in &halves {
                summary.count(half, &registers, &line);
                writes.push(registers.result(half));
            }
            for (half, result) in halves.iter().zip(writes) {
                registers.write(half, result);
            }
        }
        summary
    }

    /// Counts an instruction; `line` is all of it, and `registers` are as it finds them.
    fn count(&mut self, half: &Half<'_>, registers: &Registers, line: &Line<'_>) {
        let (at, text) = (line.address, line.text);
        let mut add = |what: &str| self.findings.push(format!("{what} at {at:#x}: {text}"));
        if half.name.starts_with("flat_") {
            self.flat += 1;
            add("an access of no known memory");
        }
        if ["s_swappc_b64", "s_call_b64"].contains(&half.name) {
            add("a call of a function that was not inlined");
        }
        if half.is_fused() {
            match registers.excuse(half) {
                true => self.fused_inside += 1,
                false => {
                    self.fused_outside += 1;
                    add("contraction");
                }
            }
        }
        if half.is_approximate_function() {
            add("an approximation that processors do not make alike");
        }
        if half.adds_floats_atomically() {
            add("a sum of floating point in an order that is luck");
        }
        self.estimates += u64::from(half.is_estimate());
        self.atomics_64 += u64::from(half.is_atomic_of_64_bits());
        // Newer processors tell and wait apart; older ones have one instruction for both.
        self.barriers += u64::from(["s_barrier", "s_barrier_wait"].contains(&half.name));
    }
}

/// An instruction, or a half of a dual one.
struct Half<'a> {
    /// Its name without encoding.
    name: &'a str,
    /// Its operands, first the result.
    operands: Vec<&'a str>,
}

impl<'a> Half<'a> {
    fn parse(text: &'a str) -> Self {
        let (operation, operands) = split(text.trim());
        let mut name = operation;
        for suffix in ["_dpp", "_e64", "_e32", "_sdwa"] {
            name = name.strip_suffix(suffix).unwrap_or(name);
        }
        // The commas of modifiers lie within brackets and part nothing that matters.
        let operands = operands.split(',').map(str::trim);
        Self {
            name,
            operands: operands.filter(|text| !text.is_empty()).collect(),
        }
    }

    /// The name without its unit: `fma_f32` of `v_pk_fma_f32`.
    fn step(&self) -> &'a str {
        let mut step = self.name;
        for prefix in ["v_", "s_", "dual_", "pk_"] {
            step = step.strip_prefix(prefix).unwrap_or(step);
        }
        step
    }

    /// Whether it multiplies and adds floating point with one rounding, or with its own.
    fn is_fused(&self) -> bool {
        let step = self.step();
        let multiplies = ["fma", "mad", "mac", "mfma", "wmma", "dot"];
        let floats = ["_f16", "_f32", "_f64", "_bf16"];
        multiplies.iter().any(|start| step.starts_with(start))
            && floats.iter().any(|part| step.contains(part))
    }

    /// Whether it approximates a reciprocal or a root; divisions and roots start from these.
    fn is_estimate(&self) -> bool {
        ["rcp_", "rsq_", "sqrt_"]
            .iter()
            .any(|start| self.step().starts_with(start))
    }

    /// Whether it approximates a function that nothing rounds correctly.
    fn is_approximate_function(&self) -> bool {
        ["exp_", "log_", "sin_", "cos_", "tanh_"]
            .iter()
            .any(|start| self.step().starts_with(start))
    }

    /// The operation on memory that this is, if it is atomic: `add_u64` of `global_atomic_add_u64`.
    fn atomic(&self) -> Option<&'a str> {
        if let Some((_, operation)) = self.name.split_once("_atomic_") {
            return Some(operation);
        }
        // LDS has no such word, but its other operations move data.
        let operation = self.name.strip_prefix("ds_")?;
        LDS_ATOMICS
            .iter()
            .any(|start| operation.starts_with(start))
            .then_some(operation)
    }

    fn is_atomic_of_64_bits(&self) -> bool {
        self.atomic()
            .is_some_and(|operation| operation.ends_with("_x2") || operation.contains("64"))
    }

    fn adds_floats_atomically(&self) -> bool {
        self.atomic().is_some_and(|operation| {
            let operation = operation.strip_prefix("pk_").unwrap_or(operation);
            operation.starts_with("add_")
                && ["_f16", "_bf16", "_f32", "_f64"]
                    .iter()
                    .any(|kind| operation.contains(kind))
        })
    }

    /// The registers of an operand: the kind and the numbers.
    fn registers(operand: &str) -> Option<(char, std::ops::RangeInclusive<u32>)> {
        let word = operand.split_whitespace().next()?;
        let word = word.trim_matches(['-', '|']);
        let word = word.strip_prefix("abs(").unwrap_or(word);
        let kind = word
            .chars()
            .next()
            .filter(|c| ['v', 's', 'a'].contains(c))?;
        let numbers = word[1..].trim_end_matches(')');
        let numbers = numbers.trim_end_matches(".l").trim_end_matches(".h");
        let range = match numbers.strip_prefix('[') {
            Some(list) => {
                let (first, last) = list.trim_end_matches(']').split_once(':')?;
                first.parse().ok()?..=last.parse().ok()?
            }
            None => {
                let number = numbers.parse().ok()?;
                number..=number
            }
        };
        Some((kind, range))
    }
}

/// What is known of the content of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// An estimate or a scaled operand, or a refinement of one.
    Refined,
    /// 2^32 or -2^32.
    Power,
}

/// The registers of which something is known.
#[derive(Default)]
struct Registers(BTreeMap<(char, u32), Content>);

impl Registers {
    /// Whether any source, or for an accumulation the result, has this content.
    fn any(&self, half: &Half<'_>, content: Content) -> bool {
        let accumulates = ["fmac", "mac"]
            .iter()
            .any(|step| half.step().starts_with(step));
        let sources = &half.operands[usize::from(!accumulates).min(half.operands.len())..];
        sources.iter().any(|operand| {
            let power = content == Content::Power && POWERS.contains(operand);
            power
                || Half::registers(operand).is_some_and(|(kind, mut numbers)| {
                    numbers.all(|number| self.0.get(&(kind, number)) == Some(&content))
                })
        })
    }

    fn excuse(&self, half: &Half<'_>) -> bool {
        // The factors are the first two sources, but for `madmk` and its like, whose constant is
        // the second: an addend of 2^32 excuses nothing.
        let factors = Half {
            name: "",
            operands: half.operands.iter().take(3).copied().collect(),
        };
        self.any(half, Content::Refined) || self.any(&factors, Content::Power)
    }

    /// What is known of the result.
    fn result(&self, half: &Half<'_>) -> Option<Content> {
        let step = half.step();
        let is = |starts: &[&str]| starts.iter().any(|start| step.starts_with(start));
        if is(&["rcp_", "rsq_", "sqrt_", "div_scale_"]) {
            return Some(Content::Refined);
        }
        if step == "mov_b32"
            && half
                .operands
                .get(1)
                .is_some_and(|text| POWERS.contains(text))
        {
            return Some(Content::Power);
        }
        // Square roots try the neighbours of the estimate, which are one integer away.
        let steps = ["mul_f", "trunc_f", "mov_b", "add_u32", "add_nc_u32"];
        let passes = half.is_fused() || is(&steps);
        (passes && self.any(half, Content::Refined)).then_some(Content::Refined)
    }

    fn write(&mut self, half: &Half<'_>, content: Option<Content>) {
        // Stores have no result, and forgetting their operands would only be too strict; but a
        // store between the steps of a division is common, so they are let alone.
        if ["global_store", "ds_write", "ds_store", "buffer_store"]
            .iter()
            .any(|start| half.name.starts_with(start))
        {
            return;
        }
        let results = match half.name.contains("swap") {
            true => half.operands.len(),
            false => 1,
        };
        let results = half.operands.iter().take(results);
        for (kind, numbers) in results.filter_map(|operand| Half::registers(operand)) {
            for number in numbers {
                match content {
                    Some(content) => self.0.insert((kind, number), content),
                    None => self.0.remove(&(kind, number)),
                };
            }
        }
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_by_kernel() {
        let text = "\nDisassembly of section .text:\n\n<a>:\n\
            \ts_endpgm     // 000000001500: BF810000\n\ts_nop 0   // 000000001504: BF800000\n\n<b>:\n\
            \tv_mov_b32_e32 v0, 0  // 000000001600: 7E000280\n\ts_endpgm  // 000000001604: BF810000\n";
        let kernels = || [("a", (0x1500, 4)), ("b", (0x1600, 8))].into_iter();
        let (read, stray) = read(text, kernels()).unwrap();
        assert_eq!((read["a"].instructions, read["b"].instructions), (1, 2));
        assert_eq!(stray, None);
        let apart = text.replace("s_nop 0", "v_mov_b32_e32 v0, 0");
        let padded = apart.replace("BF800000", "00000000");
        assert_eq!(super::read(&padded, kernels()).unwrap().1, None);
        let (_, stray) = super::read(&apart, kernels()).unwrap();
        assert!(stray.unwrap().ends_with("inlined: v_mov_b32_e32 v0, 0"));
        let cut = text.lines().take(5).collect::<Vec<_>>().join("\n");
        assert!(super::read(&cut, kernels()).unwrap_err().contains("`b`"));
    }

    fn summary(code: &[&str]) -> Summary {
        let lines = code.iter().enumerate().map(|(at, text)| Line {
            address: 4 * at as u64,
            text,
            encoding: "",
        });
        Summary::of(lines)
    }

    fn findings(code: &[&str]) -> Vec<String> {
        summary(code).findings
    }

    #[test]
    fn instructions_are_counted_by_kind() {
        let summary = summary(&[
            "s_barrier",
            "s_barrier_signal -1",
            "s_barrier_wait -1",
            "v_rcp_iflag_f32_e32 v1, v2",
            "v_s_rcp_f32 s1, s2",
            "v_s_sqrt_f32 s3, s2",
            "v_rsq_f64_e32 v[26:27], v[24:25]",
            "v_fma_f32 v19, -v8, v1, 1.0",
            "v_fma_f32 v4, v5, v6, v7",
            "flat_atomic_add_x2 v[0:1], v[2:3]",
            "global_atomic_add_u64 v0, v[2:3], s[0:1]",
            "global_atomic_add v0, v2, s[0:1]",
            "global_atomic_add_u32 v0, v2, s[0:1]",
            "ds_add_u64 v0, v[2:3]",
            "ds_max_rtn_i64 v[4:5], v0, v[2:3]",
            "ds_read_b64 v[4:5], v0",
            "ds_add_u32 v0, v2",
        ]);
        let findings = summary.findings.clone();
        let expected = Summary {
            instructions: 17,
            barriers: 2,
            fused_inside: 1,
            fused_outside: 1,
            flat: 1,
            estimates: 4,
            atomics_64: 4,
            findings,
        };
        assert_eq!(summary, expected);
        assert_eq!(summary.findings.len(), 2, "{:?}", summary.findings);
    }

    #[test]
    fn divisions_and_roots_are_known() {
        let f32_division = [
            "v_div_scale_f32 v8, s[0:1], v1, v1, v9",
            "v_rcp_f32_e32 v13, v8",
            "v_div_scale_f32 v11, vcc, v9, v1, v9",
            "v_fma_f32 v19, -v8, v13, 1.0",
            "global_store_dword v10, v13, s[6:7]",
            "v_dual_fmac_f32 v13, v19, v13 :: v_dual_cndmask_b32 v7, v14, v10",
            "v_mul_f32_e32 v19, v11, v13",
            "v_fma_f32 v22, -v8, v19, v11",
            "v_fmac_f32_e32 v19, v22, v13",
            "v_fma_f32 v8, -v8, v19, v11",
            "v_div_fmas_f32 v13, v8, v13, v19",
            "v_div_fixup_f32 v1, v13, v1, v9",
        ];
        assert_eq!(findings(&f32_division), Vec::<String>::new());
        let u64_division = [
            "s_mov_b32 s4, 0x4f800000",
            "v_cvt_f32_u32_e32 v1, v4",
            "v_fmac_f32_e32 v1, s4, v2",
            "v_rcp_f32_e32 v1, v1",
            "v_mul_f32_e32 v1, 0x5f7ffffc, v1",
            "v_mul_f32_e32 v2, 0x2f800000, v1",
            "v_trunc_f32_e32 v2, v2",
            "v_fmamk_f32 v1, v2, 0xcf800000, v1",
        ];
        assert_eq!(findings(&u64_division), Vec::<String>::new());
        let f64_root = [
            "v_rsq_f64_e32 v[26:27], v[24:25]",
            "v_mul_f64 v[28:29], v[24:25], v[26:27]",
            "v_mul_f64 v[26:27], v[26:27], 0.5",
            "v_fma_f64 v[32:33], -v[26:27], v[28:29], 0.5",
            "v_fmac_f64_e32 v[28:29], v[28:29], v[32:33]",
            "v_fma_f64 v[32:33], -v[28:29], v[28:29], v[24:25]",
        ];
        assert_eq!(findings(&f64_root), Vec::<String>::new());
    }

    #[test]
    fn contraction_is_found_also_beside_divisions() {
        let found = |code: &[&str], count: usize| {
            let found = findings(code);
            assert_eq!(found.len(), count, "{code:?}: {found:?}");
            assert!(found.iter().all(|text| text.starts_with("contraction")));
        };
        for fused in [
            "v_fma_f32 v1, v2, v3, v4",
            "v_fmac_f64_e32 v[0:1], v[2:3], v[4:5]",
            "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0,1]",
            "v_mad_f32 v1, v2, v3, v4",
            "v_mac_f32_e32 v1, v2, v3",
            "v_fmaak_f32 v1, v2, v3, 0x4f800000",
            "v_dual_mul_f32 v9, v8, v7 :: v_dual_fmac_f32 v1, v2, v3",
            "s_fmac_f32 s1, s2, s3",
            "v_fma_mix_f32 v1, v2, v3, v4 op_sel_hi:[0,1,0]",
        ] {
            found(&[fused], 1);
        }
        // What is made of a quotient or of a root is not a step of it.
        let after = [
            "v_div_fixup_f32 v1, v13, v1, v9",
            "v_fma_f32 v2, v1, v3, v4",
        ];
        found(&after, 1);
        let after = [
            "v_sqrt_f32_e32 v1, v2",
            "v_cndmask_b32_e32 v1, v1, v2, vcc",
            "v_fma_f32 v2, v1, v3, v4",
        ];
        found(&after, 1);
        // A register that was written again.
        let again = [
            "v_rcp_f32_e32 v1, v2",
            "global_load_dword v1, v2, s[0:1]",
            "v_fma_f32 v2, v1, v3, v4",
        ];
        found(&again, 1);
        // Half of a pair is no pair.
        let half = [
            "v_rcp_f32_e32 v1, v2",
            "v_fma_f64 v[4:5], v[0:1], v[2:3], v[6:7]",
        ];
        found(&half, 1);
        found(&["v_mad_u64_u32 v[8:9], s[0:1], v15, v1, 0"], 0);
        found(
            &["v_mad_u32_u24 v1, v2, v3, v4", "v_mul_f32_e32 v1, v2, v3"],
            0,
        );
    }

    #[test]
    fn what_must_not_be_there_is_found() {
        for (text, part) in [
            ("flat_load_dword v1, v[2:3]", "no known memory"),
            ("s_swappc_b64 s[30:31], s[4:5]", "a call"),
            ("v_exp_f32_e32 v1, v2", "not make alike"),
            ("v_s_log_f32 s1, s2", "not make alike"),
            ("global_atomic_add_f64 v0, v[2:3], s[0:1]", "is luck"),
            ("global_atomic_pk_add_bf16 v0, v1, s[0:1]", "is luck"),
            ("ds_add_rtn_f32 v0, v1, v2", "is luck"),
        ] {
            let found = findings(&[text]);
            assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
        }
        for text in [
            "global_load_dword v1, v2, s[0:1]",
            "global_atomic_add_x2 v0, v[2:3], s[0:1]",
            "v_frexp_exp_i32_f32_e32 v1, v2",
            "v_ldexp_f32 v1, v2, 3",
        ] {
            assert_eq!(findings(&[text]), Vec::<String>::new());
        }
    }
}
