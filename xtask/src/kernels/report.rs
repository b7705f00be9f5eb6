//! What the objects of AMD cost and whether they are as they must be.

use std::collections::BTreeMap;
use std::path::Path;

use vmafx_gcnsim::disassembly;
use vmafx_gcnsim::object::CodeObject;

use super::allowed::Allowed;
use super::compile::in_parallel;
use super::golden::{Figures, PROPERTIES};
use super::listing::Summary;
use super::object::findings;
use super::target::Target;
use super::{golden, host, listing, read};

/// What was read of one kernel of one target.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// Every property of it.
    pub(crate) figures: Figures,
    /// Bytes of its instructions.
    code_bytes: u64,
}

/// What was read of the objects.
#[derive(Debug)]
pub(crate) struct Report {
    /// Of each target, in the order of the tables: its kernels.
    pub(crate) targets: Vec<(&'static str, Vec<Listed>)>,
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
        let objdump = disassembly::objdump()?;
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
            let text = disassembly::listing(objdump, &bytes).map_err(with_name)?;
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
                kernels.push(Listed {
                    figures: golden::figures(&kernel, &summary),
                    code_bytes: kernel.code.1,
                    name: kernel.name,
                });
            }
            report.targets.push((name, kernels));
        }
        Ok(report)
    }

    /// The text of `listing.json`: target, kernel, figures.
    pub(crate) fn json(&self) -> String {
        let targets = self.targets.iter().map(|(target, kernels)| {
            let kernels = kernels.iter().map(|kernel| {
                let figures = PROPERTIES.iter().zip(kernel.figures);
                let figures = figures.map(|(property, figure)| (property.name, figure));
                let figures = figures.chain([("code_bytes", kernel.code_bytes)]);
                let figures = figures.map(|(name, figure)| (name.to_owned(), figure.into()));
                let figures: serde_json::Map<_, _> = figures.collect();
                (kernel.name.clone(), serde_json::Value::from(figures))
            });
            let kernels: serde_json::Map<_, _> = kernels.collect();
            ((*target).to_owned(), serde_json::Value::from(kernels))
        });
        let targets: serde_json::Map<_, _> = targets.collect();
        format!("{:#}\n", serde_json::Value::from(targets))
    }
}

fn owned(summaries: BTreeMap<&str, Summary>) -> BTreeMap<String, Summary> {
    let summaries = summaries.into_iter();
    summaries
        .map(|(name, summary)| (name.to_owned(), summary))
        .collect()
}
