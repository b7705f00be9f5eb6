//! Replays the fuzz corpora, and mutations of them, through the bodies of the fuzz targets.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use vmafx_tests::fuzz_bodies::TARGETS;

/// Mutated inputs of each target.
const MUTATIONS: u32 = 4000;

/// One step from a corpus file to another input.
#[derive(Clone, Debug)]
enum Mutation {
    Cut(Index),
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, Index),
    Splice(Index, Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Mutation::Cut),
        (index(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        (index(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (index(), "[-+0-9.e:,= \n\"{}\\[\\]a-zA-Z]{1,8}")
            .prop_map(|(at, text)| Mutation::Insert(at, text.into_bytes())),
        (index(), 1usize..9).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (index(), index()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
        (index(), index(), index()).prop_map(|(other, from, to)| Mutation::Splice(other, from, to)),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation, corpus: &[Vec<u8>]) {
    let place = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
    match mutation {
        Mutation::Cut(at) => bytes.truncate(place(at, bytes)),
        Mutation::Set(at, byte) => {
            let at = place(at, bytes);
            if let Some(old) = bytes.get_mut(at) {
                *old = *byte;
            }
        }
        Mutation::Insert(at, new) => {
            let at = place(at, bytes);
            bytes.splice(at..at, new.iter().copied());
        }
        Mutation::Remove(at, count) => {
            let at = place(at, bytes);
            let end = bytes.len().min(at + count);
            bytes.drain(at..end);
        }
        Mutation::Repeat(from, to) => {
            let (a, b) = (place(from, bytes), place(to, bytes));
            let part = bytes[a.min(b)..a.max(b)].to_vec();
            bytes.splice(a..a, part);
        }
        Mutation::Splice(other, from, to) => {
            let other = &corpus[other.index(corpus.len())];
            bytes.truncate(place(from, bytes));
            bytes.extend_from_slice(&other[place(to, other)..]);
        }
    }
}

#[test]
fn corpora_and_mutations_break_no_parser() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let (mut replayed, mut mutated) = (0, 0);
    for (name, body) in TARGETS {
        let mut paths: Vec<_> = fs::read_dir(corpora.join(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        assert!(!paths.is_empty(), "{name} has no corpus");
        let corpus: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        for (path, bytes) in paths.iter().zip(&corpus) {
            let outcome = catch_unwind(AssertUnwindSafe(|| body(bytes)));
            let Ok(accepted) = outcome else {
                panic!("{name} fails on {}", path.display());
            };
            // The seeds of this name keep the fuzzer from only ever seeing refusals.
            let valid = path
                .file_name()
                .is_some_and(|f| f.to_string_lossy().starts_with("valid"));
            assert!(accepted || !valid, "{name} refuses {}", path.display());
        }

        let config = Config {
            failure_persistence: None,
            ..Config::with_cases(MUTATIONS)
        };
        let inputs = (any::<Index>(), prop::collection::vec(mutation(), 1..6));
        let run = TestRunner::new(config).run(&inputs, |(seed, mutations)| {
            let mut bytes = corpus[seed.index(corpus.len())].clone();
            for mutation in &mutations {
                mutate(&mut bytes, mutation, &corpus);
            }
            body(&bytes);
            Ok(())
        });
        assert!(run.is_ok(), "{name}: {}", run.unwrap_err());
        println!(
            "fuzz replay of {name}: {} corpus files, {MUTATIONS} mutations",
            corpus.len()
        );
        replayed += corpus.len();
        mutated += MUTATIONS;
    }
    println!("fuzz replay: {replayed} corpus files and {mutated} mutations, 0 failed");
}
