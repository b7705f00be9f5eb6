//! Which targets a sample takes: as many instruction streams as asked for, beginning with another
//! one at each commit, and of each stream one of its targets.
//!
//! What must stay true: the same commit gives the same sample; any number of streams up to all of
//! them is met exactly; every target of a stream is met by some commit.

use std::path::Path;
use std::process::Command;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _};
use vmafx_gcnsim::mix;

use super::Target;

/// The section that holds the instructions of all kernels.
pub(super) fn text(object: &[u8]) -> Result<Vec<u8>, String> {
    let file = ElfFile64::<LittleEndian>::parse(object).map_err(|error| error.to_string())?;
    let text = file.section_by_name(".text").ok_or("it has no .text")?;
    let data = text.data().map_err(|error| error.to_string())?;
    Ok(data.to_vec())
}

/// Targets whose instructions are the same.
pub(crate) struct Streams {
    /// Places of targets, and their names.
    streams: Vec<Vec<(usize, &'static str)>>,
}

impl Streams {
    /// Groups targets, in their order.
    pub(super) fn of(targets: &[Target]) -> Self {
        let mut streams: Vec<Vec<(usize, &'static str)>> = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            let same = |stream: &&mut Vec<(usize, _)>| targets[stream[0].0].text == target.text;
            match streams.iter_mut().find(same) {
                Some(stream) => stream.push((at, target.name)),
                None => streams.push(vec![(at, target.name)]),
            }
        }
        Self { streams }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.streams.len()
    }

    /// The names of the targets of each.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vec<&'static str>> {
        let names = |stream: &Vec<(usize, &'static str)>| {
            let names = stream.iter().map(|(_, name)| *name);
            names.collect()
        };
        self.streams.iter().map(names)
    }

    /// Whether a target is the first of its stream.
    pub(crate) fn is_first(&self, name: &str) -> bool {
        self.streams.iter().any(|stream| stream[0].1 == name)
    }

    /// Places of targets, of `count` different streams or as many as there are.
    pub(super) fn sample(&self, count: usize, commit: &Commit) -> Vec<usize> {
        let (all, first) = (self.count(), commit.number() as usize % self.count());
        let count = count.min(all);
        // Spread out, for neighbours are of one family.
        let taken = (0..count).map(|turn| {
            let stream = (first + turn * all / count) % all;
            let all = &self.streams[stream];
            let of_stream = mix(commit.number() ^ stream as u64) as usize % all.len();
            all[of_stream].0
        });
        taken.collect()
    }
}

/// What a sample is drawn from.
pub(crate) struct Commit(Option<String>);

impl Commit {
    /// The commit that is checked out; none outside of a checkout.
    pub(super) fn current(root: &Path) -> Self {
        let git = Command::new("git")
            .args(["rev-parse", "HEAD"])
            .current_dir(root)
            .output();
        let hash = git.ok().filter(|git| git.status.success());
        let hash = hash.map(|git| String::from_utf8_lossy(&git.stdout).trim().to_owned());
        Self::of(hash)
    }

    pub(super) fn of(hash: Option<String>) -> Self {
        Self(hash.filter(|hash| hash.is_ascii() && hash.len() >= 16))
    }

    /// Its first 16 digits; 0 where there is none.
    pub(super) fn number(&self) -> u64 {
        let digits = self.0.as_ref().map(|hash| &hash[..16]);
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number.unwrap_or(0)
    }

    /// In words.
    pub(super) fn told(&self) -> String {
        match &self.0 {
            Some(hash) => format!("commit {hash}"),
            None => "no commit, so the first streams".to_owned(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use vmafx_gcnsim::object::CodeObject;

    use super::*;

    /// Targets whose text is one byte.
    pub(crate) fn targets(all: &[(&'static str, u8)]) -> Vec<Target> {
        let target = |&(name, text): &(&'static str, u8)| Target {
            name,
            device: name,
            bytes: 1,
            text: vec![text],
            object: CodeObject {
                target: name.to_owned(),
                kernels: Vec::new(),
                undefined: Vec::new(),
            },
        };
        all.iter().map(target).collect()
    }

    #[test]
    fn a_sample_is_of_different_streams_and_rotates_over_all_targets() {
        let targets = targets(&[("a", 1), ("b", 2), ("c", 1), ("d", 3), ("e", 1), ("f", 4)]);
        let streams = Streams::of(&targets);
        let names: Vec<_> = streams.names().collect();
        assert_eq!(
            names,
            [vec!["a", "c", "e"], vec!["b"], vec!["d"], vec!["f"]]
        );
        assert!(streams.is_first("b") && !streams.is_first("c"));
        let mut seen = BTreeSet::new();
        for number in 0..40_u64 {
            let commit = Commit::of(Some(format!("{number:016x}{:024}", 0)));
            let sample = streams.sample(3, &commit);
            let texts: BTreeSet<_> = sample.iter().map(|&at| &targets[at].text).collect();
            assert_eq!(texts.len(), 3, "{sample:?}");
            assert_eq!(sample, streams.sample(3, &commit));
            let first = usize::from(targets[sample[0]].text[0]) - 1;
            assert_eq!(first, number as usize % 4);
            seen.extend(sample);
        }
        assert_eq!(seen.len(), 6);
        let two = streams.sample(2, &Commit::of(None));
        assert_eq!(targets[two[1]].text, [3], "not the neighbour");
        let all = streams.sample(9, &Commit::of(None));
        assert_eq!(all.len(), 4);
        assert_eq!(targets[all[0]].text, [1], "a fixed start");
    }

    #[test]
    fn a_commit_is_its_first_digits() {
        let commit = Commit::of(Some("0316a671c293eab6cb1b05d873e80cf4be4b77ba".to_owned()));
        assert_eq!(commit.number(), 0x0316_a671_c293_eab6);
        assert_eq!(Commit::of(None).number(), 0);
        assert_eq!(Commit::of(Some("fatal".to_owned())).number(), 0);
    }
}
