//! What the objects of AMD cost and whether they are as they must be.

use std::collections::BTreeMap;
use std::path::Path;

use vmafx_gcnsim::disassembly;
use vmafx_gcnsim::object::{CodeObject, Kernel};

use super::allowed::Allowed;
use super::compile::in_parallel;
use super::object::findings;
use super::target::Target;
use super::{host, listing, read};

/// Columns of the table.
const COLUMNS: [&str; 9] = [
    "wave", "vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "kernarg", "instr",
];

/// What was read of the objects.
#[derive(Debug)]
pub(crate) struct Report {
    /// Of each target, in the order of the tables: kernels and their instructions.
    targets: Vec<(&'static str, Vec<(Kernel, u64)>)>,
    /// What is wrong.
    pub(crate) findings: Vec<String>,
}

impl Report {
    /// Reads the objects of `targets` that are AMD's below `output`.
    ///
    /// # Errors
    /// No disassembler; an object that cannot be read.
    pub(crate) fn read(
        output: &Path,
        targets: &[Target],
        allowed: &mut Allowed,
    ) -> Result<Self, String> {
        let objdump = disassembly::objdump(|name| std::env::var_os(name))?;
        let host = host::kernels(&read(&output.join("libvmafx_kernels_host.so"))?)?;
        let targets: Vec<(usize, Target)> = targets
            .iter()
            .copied()
            .filter(Target::is_amd)
            .enumerate()
            .collect();
        let objects = in_parallel(&targets, |&(at, target)| {
            let with_name = |reason| format!("{}: {reason}", target.output());
            let bytes = read(&output.join(target.output()))?;
            let object = CodeObject::read(&bytes).map_err(with_name)?;
            let text = disassembly::listing(&objdump, &bytes).map_err(with_name)?;
            let kernels = object.kernels.iter();
            let kernels = kernels.map(|kernel| (kernel.name.as_str(), kernel.code));
            let (summaries, stray) = listing::read(&text, kernels).map_err(with_name)?;
            let summaries = owned(summaries);
            Ok(Some((at, object, summaries, stray)))
        })?;
        let mut report = Self {
            targets: Vec::new(),
            findings: Vec::new(),
        };
        for (at, object, mut summaries, stray) in objects {
            let name = targets[at].1.name;
            let stray = stray.map(|finding| format!("{name}: {finding}"));
            report.findings.extend(stray);
            let findings = findings(&object, name, &host, allowed);
            report.findings.extend(findings);
            let mut kernels = Vec::new();
            for kernel in object.kernels {
                let summary = summaries.remove(&kernel.name).unwrap_or_default();
                let of_code = summary.findings.iter();
                let of_code = of_code.map(|finding| format!("{name} {}: {finding}", kernel.name));
                report.findings.extend(of_code);
                kernels.push((kernel, summary.instructions));
            }
            report.targets.push((name, kernels));
        }
        Ok(report)
    }

    /// The text of `listing.json`: target, kernel, figures.
    pub(crate) fn json(&self) -> String {
        let targets = self.targets.iter().map(|(target, kernels)| {
            let kernels = kernels.iter().map(|(kernel, instructions)| {
                let figures = serde_json::json!({
                    "wave": kernel.wave,
                    "threads": kernel.threads,
                    "vgprs": kernel.vgprs,
                    "agprs": kernel.agprs,
                    "sgprs": kernel.sgprs,
                    "vgpr_spills": kernel.vgpr_spills,
                    "sgpr_spills": kernel.sgpr_spills,
                    "scratch_bytes": kernel.scratch,
                    "lds_bytes": kernel.lds,
                    "kernarg_bytes": kernel.kernarg,
                    "instructions": instructions,
                    "code_bytes": kernel.code.1,
                });
                (kernel.name.clone(), figures)
            });
            let kernels: serde_json::Map<_, _> = kernels.collect();
            ((*target).to_owned(), serde_json::Value::from(kernels))
        });
        let targets: serde_json::Map<_, _> = targets.collect();
        format!("{:#}\n", serde_json::Value::from(targets))
    }

    /// The figures for people: targets of which all are equal share a row.
    pub(crate) fn table(&self) -> String {
        type Row<'a> = ([u64; COLUMNS.len()], Vec<&'a str>);
        let mut rows: BTreeMap<&str, Vec<Row<'_>>> = BTreeMap::new();
        for (target, kernels) in &self.targets {
            for (kernel, instructions) in kernels {
                let figures = [
                    kernel.wave,
                    kernel.vgprs,
                    kernel.agprs,
                    kernel.sgprs,
                    kernel.vgpr_spills + kernel.sgpr_spills,
                    kernel.scratch,
                    kernel.lds,
                    kernel.kernarg,
                    *instructions,
                ];
                let rows = rows.entry(&kernel.name).or_default();
                match rows.iter_mut().find(|(known, _)| *known == figures) {
                    Some((_, targets)) => targets.push(target),
                    None => rows.push((figures, vec![target])),
                }
            }
        }
        let heads: Vec<String> = COLUMNS.iter().map(|head| format!("{head:>8}")).collect();
        let mut table = format!("{:<24}{}  targets\n", "kernel", heads.concat());
        for (kernel, rows) in rows {
            for (figures, targets) in rows {
                let figures: Vec<String> = figures.iter().map(|n| format!("{n:>8}")).collect();
                let targets = targets.join(" ");
                table.push_str(&format!("{kernel:<24}{}  {targets}\n", figures.concat()));
            }
        }
        table
    }
}

fn owned(summaries: BTreeMap<&str, listing::Summary>) -> BTreeMap<String, listing::Summary> {
    let summaries = summaries.into_iter();
    summaries
        .map(|(name, summary)| (name.to_owned(), summary))
        .collect()
}
