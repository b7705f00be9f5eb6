//! `kernels/allowed.toml`: what the checks let pass in which kernels, each with the reason.
//!
//! What must stay true: an entry that no kernel needs is a finding, so the file tells what is.

use serde::Deserialize;

use vmafx_gcnsim::object::Kernel;

/// Where it is.
pub(crate) const PATH: &str = "kernels/allowed.toml";

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    #[serde(default)]
    scratch: Vec<Scratch>,
    #[serde(default)]
    estimate: Vec<Estimate>,
}

/// Kernels whose threads may have memory, or that may spill registers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scratch {
    kernels: Vec<String>,
    /// Names of targets; `*` at the end of one stands for any.
    targets: Vec<String>,
    /// Most bytes of a thread.
    bytes: u64,
    reason: String,
    #[serde(skip)]
    is_needed: bool,
}

/// Kernels that may estimate a reciprocal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Estimate {
    kernels: Vec<String>,
    reason: String,
    #[serde(skip)]
    is_needed: bool,
}

impl Allowed {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// What is not as it should be; an entry without a reason.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let allowed: Self = toml::from_str(text).map_err(|error| format!("{PATH}: {error}"))?;
        let scratch = allowed.scratch.iter().map(|e| (&e.kernels, &e.reason));
        let estimate = allowed.estimate.iter().map(|e| (&e.kernels, &e.reason));
        match scratch
            .chain(estimate)
            .find(|(_, reason)| reason.trim().is_empty())
        {
            Some((kernels, _)) => Err(format!("{PATH}: no reason for {}", kernels.join(", "))),
            None => Ok(allowed),
        }
    }

    /// Whether a kernel may estimate a reciprocal.
    pub(crate) fn estimate(&mut self, kernel: &str) -> bool {
        let entry = self
            .estimate
            .iter_mut()
            .find(|entry| entry.kernels.iter().any(|name| name == kernel));
        entry.map(|entry| entry.is_needed = true).is_some()
    }

    /// What is wrong with the memory of a kernel's threads.
    pub(crate) fn scratch(&mut self, target: &str, kernel: &Kernel) -> Option<String> {
        if (kernel.scratch, kernel.vgpr_spills, kernel.sgpr_spills) == (0, 0, 0) {
            return None;
        }
        let of_target = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => target.starts_with(start),
            None => target == pattern,
        };
        let entry = self.scratch.iter_mut().find(|entry| {
            entry.kernels.contains(&kernel.name) && entry.targets.iter().any(of_target)
        });
        let limit = entry.map(|entry| {
            entry.is_needed = true;
            entry.bytes
        });
        if limit.is_some_and(|limit| kernel.scratch <= limit) {
            return None;
        }
        let limit = limit.map_or("none".to_owned(), |bytes| format!("{bytes} bytes"));
        Some(format!(
            "{} bytes of memory for each thread, {} vector and {} scalar registers spilled; {PATH} \
             allows {limit}",
            kernel.scratch, kernel.vgpr_spills, kernel.sgpr_spills,
        ))
    }

    /// Entries that no kernel needed, once all targets were looked at.
    pub(crate) fn unneeded(&self) -> Vec<String> {
        let scratch = self.scratch.iter().filter(|entry| !entry.is_needed);
        let estimate = self.estimate.iter().filter(|entry| !entry.is_needed);
        let scratch = scratch.map(|entry| ("scratch", &entry.kernels));
        scratch
            .chain(estimate.map(|entry| ("estimate", &entry.kernels)))
            .map(|(what, kernels)| {
                format!("{PATH}: nobody needs the {what} of {}", kernels.join(", "))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[scratch]]\nkernels = [\"k\", \"l\"]\ntargets = [\"gfx1\", \"gfx2*\"]\n\
                        bytes = 8\nreason = \"r\"\n[[estimate]]\nkernels = [\"m\"]\nreason = \"s\"\n";

    #[test]
    fn only_what_is_listed_passes() {
        let mut allowed = Allowed::parse(TEXT).unwrap();
        let mut judge = |target, name: &str, scratch, vgpr_spills| {
            let kernel = Kernel {
                name: name.to_owned(),
                scratch,
                vgpr_spills,
                ..Kernel::default()
            };
            allowed.scratch(target, &kernel).unwrap_or_default()
        };
        assert_eq!(judge("gfx1", "k", 8, 0), "");
        assert_eq!(judge("gfx3", "k", 0, 0), "");
        assert_eq!(judge("gfx20", "k", 8, 0), "");
        assert!(judge("gfx11", "k", 4, 0).ends_with("allows none"));
        assert!(judge("gfx1", "k", 12, 0).ends_with("allows 8 bytes"));
        assert!(judge("gfx3", "k", 4, 0).ends_with("allows none"));
        assert!(judge("gfx1", "m", 0, 1).ends_with("allows none"));
        assert!(allowed.estimate("m"));
        assert!(!allowed.estimate("k"));
        assert!(Allowed::parse(&TEXT.replace("\"s\"", "\" \"")).is_err());
        assert!(Allowed::parse(&TEXT.replace("bytes", "byte")).is_err());
    }

    #[test]
    fn what_nobody_needs_is_told() {
        let mut allowed = Allowed::parse(TEXT).unwrap();
        assert_eq!(allowed.unneeded().len(), 2);
        allowed.estimate("m");
        let kernel = Kernel {
            name: "l".to_owned(),
            sgpr_spills: 1,
            ..Kernel::default()
        };
        assert_eq!(allowed.scratch("gfx2", &kernel), None);
        assert_eq!(allowed.unneeded(), Vec::<String>::new());
    }
}
