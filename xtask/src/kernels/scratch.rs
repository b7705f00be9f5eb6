//! `kernels/scratch.toml`: the kernels that may keep memory of a thread, each with the reason.

use serde::Deserialize;

use super::object::Kernel;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    #[serde(default, rename = "allow")]
    entries: Vec<Entry>,
    /// Indices of entry and target that were needed.
    #[serde(skip)]
    needed: Vec<(usize, usize)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    kernel: String,
    targets: Vec<String>,
    bytes: u64,
    reason: String,
}

impl Allowed {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// What is not as it should be; an entry without a reason.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let allowed: Self =
            toml::from_str(text).map_err(|e| format!("kernels/scratch.toml: {e}"))?;
        match allowed.entries.iter().find(|e| e.reason.trim().is_empty()) {
            Some(entry) => Err(format!(
                "kernels/scratch.toml: `{}` has no reason",
                entry.kernel
            )),
            None => Ok(allowed),
        }
    }

    /// What is wrong with the memory of a kernel's threads.
    pub(crate) fn judge(&mut self, target: &str, kernel: &Kernel) -> Option<String> {
        if (kernel.scratch, kernel.vgpr_spills, kernel.sgpr_spills) == (0, 0, 0) {
            return None;
        }
        let limit = self.entries.iter().enumerate().find_map(|(at, entry)| {
            let of_target = entry.targets.iter().position(|name| name == target)?;
            (entry.kernel == kernel.name).then_some(((at, of_target), entry.bytes))
        });
        if let Some((needed, bytes)) = limit {
            self.needed.push(needed);
            if kernel.scratch <= bytes {
                return None;
            }
        }
        Some(format!(
            "{} bytes of memory for each thread, {} vector and {} scalar registers spilled; \
             kernels/scratch.toml allows {}",
            kernel.scratch,
            kernel.vgpr_spills,
            kernel.sgpr_spills,
            match limit {
                Some((_, bytes)) => format!("{bytes} bytes"),
                None => "none".to_owned(),
            }
        ))
    }

    /// Entries that no kernel needed, for targets that were looked at.
    pub(crate) fn unneeded(&self, targets: &[&str]) -> Vec<String> {
        let mut findings = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            for (of_target, target) in entry.targets.iter().enumerate() {
                let is_needed = self.needed.contains(&(at, of_target));
                if !is_needed && targets.contains(&target.as_str()) {
                    findings.push(format!(
                        "kernels/scratch.toml: `{}` does not need its entry for {target}",
                        entry.kernel
                    ));
                }
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_allowed_and_only_as_long_as_it_is_needed() {
        let text = "[[allow]]\nkernel = \"k\"\ntargets = [\"gfx1\", \"gfx2\"]\nbytes = 8\n\
                    reason = \"r\"\n";
        let mut allowed = Allowed::parse(text).unwrap();
        let kernel = |scratch| Kernel {
            name: "k".to_owned(),
            scratch,
            ..Kernel::default()
        };
        assert_eq!(allowed.judge("gfx1", &kernel(8)), None);
        assert!(
            allowed
                .judge("gfx1", &kernel(12))
                .unwrap()
                .contains("allows 8 bytes")
        );
        assert_eq!(allowed.judge("gfx2", &kernel(0)), None);
        assert!(
            allowed
                .judge("gfx3", &kernel(4))
                .unwrap()
                .contains("allows none")
        );
        assert_eq!(allowed.unneeded(&["gfx1"]), Vec::<String>::new());
        assert_eq!(allowed.unneeded(&["gfx1", "gfx2"]).len(), 1);
        assert!(Allowed::parse(&text.replace("\"r\"", "\" \"")).is_err());
        assert!(Allowed::parse(&text.replace("bytes", "byte")).is_err());
    }
}
