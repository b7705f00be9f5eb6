//! The support vector machine of a model: a weighted sum of radial basis functions (RBF)
//! around training samples.
//!
//! Formula and text format are those of LIBSVM (Chang and Lin, "LIBSVM: a library for support
//! vector machines", 2011), the nu-SVR with RBF kernel only; the order of the sums is that of
//! libvmaf's `svm.cpp`.

use std::collections::HashMap;

use vmafx_metrics::math::exp;

use crate::{MAX_VECTORS, ModelError};

/// `sum over terms of coefficient * exp(-gamma * |x - vector|^2) - rho`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Machine {
    pub(crate) gamma: f64,
    pub(crate) rho: f64,
    /// Coefficient and place in the set's [`Vectors`], in file order.
    pub(crate) terms: Vec<(f64, usize)>,
}

/// The distinct support vectors of a model file, in the order of their first use. The members
/// of a collection share most of theirs.
#[derive(Clone, Debug)]
pub(crate) struct Vectors {
    width: usize,
    /// One vector behind the other, one component a feature. A component that a file leaves out
    /// is 0 here; `x - 0` squared is `x` squared to the bit, so sums are those over the sparse
    /// vectors of upstream.
    components: Vec<f64>,
}

impl Vectors {
    /// All vectors, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.components.chunks_exact(self.width)
    }
}

/// [`Vectors`] while a file is read, when a vector's place is asked for by its components.
pub(crate) struct VectorBuilder {
    vectors: Vectors,
    places: HashMap<Vec<u64>, usize>,
}

impl VectorBuilder {
    /// For vectors of `width` components, at least one.
    pub(crate) fn new(width: usize) -> Self {
        VectorBuilder {
            vectors: Vectors {
                width,
                components: Vec::new(),
            },
            places: HashMap::new(),
        }
    }

    fn width(&self) -> usize {
        self.vectors.width
    }

    /// The place of `vector`, put behind the others if it is new.
    pub(crate) fn place(&mut self, vector: &[f64]) -> usize {
        let bits = vector.iter().map(|component| component.to_bits()).collect();
        let next = self.places.len();
        let place = *self.places.entry(bits).or_insert(next);
        if place == next {
            self.vectors.components.extend_from_slice(vector);
        }
        place
    }

    /// The vectors placed.
    pub(crate) fn finish(self) -> Vectors {
        self.vectors
    }
}

/// Values of the kernel for one frame: `exp(-gamma * |x - vector|^2)` for the support vectors
/// that are asked for, each computed once however many members use it.
pub(crate) struct KernelValues<'a> {
    vectors: &'a Vectors,
    gamma: f64,
    x: Vec<f64>,
    values: Vec<Option<f64>>,
}

impl<'a> KernelValues<'a> {
    pub(crate) fn new(vectors: &'a Vectors, gamma: f64, x: Vec<f64>) -> Self {
        KernelValues {
            vectors,
            gamma,
            x,
            values: vec![None; vectors.iter().len()],
        }
    }

    /// Whether these are the values for `gamma` and `x`.
    pub(crate) fn are_of(&self, gamma: f64, x: &[f64]) -> bool {
        self.gamma == gamma && self.x == x
    }

    fn value(&mut self, place: usize) -> f64 {
        *self.values[place].get_or_insert_with(|| {
            let vector = &self.vectors.components[place * self.x.len()..];
            let mut distance = 0.0;
            for (x, component) in self.x.iter().zip(vector) {
                let d = x - component;
                distance += d * d;
            }
            exp(-self.gamma * distance)
        })
    }
}

impl Machine {
    /// The machine's answer, from kernel values of its gamma.
    pub(crate) fn predict(&self, kernel: &mut KernelValues) -> f64 {
        let mut total = 0.0;
        for (coefficient, place) in &self.terms {
            total += coefficient * kernel.value(*place);
        }
        total - self.rho
    }

    /// Reads LIBSVM's text; its vectors go to `vectors`. `key` names it in errors; `budget` is
    /// how many more terms the file may have, and is lowered.
    pub(crate) fn from_libsvm(
        text: &str,
        key: &str,
        vectors: &mut VectorBuilder,
        budget: &mut usize,
    ) -> Result<Self, ModelError> {
        let mut lines = (1..).zip(text.lines());
        let mut header = HashMap::new();
        for (number, line) in &mut lines {
            match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
                ["SV"] => break,
                [word, value] if HEADER.contains(&word) => {
                    if header.insert(word, (Line { key, number }, value)).is_some() {
                        return Err(ModelError::Twice {
                            key: format!("{key}: {word}"),
                        });
                    }
                }
                _ => {
                    let wanted = format!("WORD VALUE with one of {}, or SV", HEADER.join(", "));
                    return Err(Line { key, number }.wrong(line, &wanted));
                }
            }
        }
        let field = |word: &str| {
            header.get(word).ok_or_else(|| ModelError::Missing {
                key: format!("{key}: {word}"),
            })
        };
        for (word, only) in [
            ("svm_type", "nu_svr"),
            ("kernel_type", "rbf"),
            ("nr_class", "2"),
        ] {
            let (at, value) = field(word)?;
            if *value != only {
                return Err(at.wrong(value, &format!("`{only}`, the only kind this reads")));
            }
        }
        let number = |word: &str| field(word).and_then(|(at, value)| at.number(value));
        let (at, count) = field("total_sv")?;
        let total = count
            .parse()
            .ok()
            .filter(|total| (1..=*budget).contains(total));
        let wanted = format!("a count from 1 to {MAX_VECTORS} for the whole file");
        let total: usize = total.ok_or_else(|| at.wrong(count, &wanted))?;
        let mut machine = Machine {
            gamma: number("gamma")?,
            rho: number("rho")?,
            terms: Vec::new(),
        };
        let features = vectors.width();
        let mut vector = vec![0.0; features];
        for (number, line) in lines {
            let at = Line { key, number };
            let mut words = line.split_ascii_whitespace();
            let Some(coefficient) = words.next() else {
                continue;
            };
            if machine.terms.len() == total {
                return Err(at.wrong(line, &format!("the end: total_sv is {total}")));
            }
            let coefficient = at.number(coefficient)?;
            vector.fill(0.0);
            let mut last = 0;
            for word in words {
                let (index, value) = word.split_once(':').unwrap_or((word, ""));
                let wanted = format!("INDEX:NUMBER with an index from {} to {features}", last + 1);
                let index = index
                    .parse()
                    .ok()
                    .filter(|i| (last + 1..=features).contains(i));
                let index: usize = index.ok_or_else(|| at.wrong(word, &wanted))?;
                vector[index - 1] = at.number(value)?;
                last = index;
            }
            machine.terms.push((coefficient, vectors.place(&vector)));
        }
        if machine.terms.len() != total {
            return Err(ModelError::Count {
                key: format!("{key}: SV"),
                count: machine.terms.len(),
                wanted: format!("{total}, which is its total_sv"),
            });
        }
        *budget -= total;
        Ok(machine)
    }
}

/// What stands before the vectors, each once, in any order.
const HEADER: [&str; 6] = [
    "svm_type",
    "kernel_type",
    "nr_class",
    "gamma",
    "rho",
    "total_sv",
];

/// A line of the text, for errors.
struct Line<'a> {
    key: &'a str,
    number: usize,
}

impl Line<'_> {
    fn wrong(&self, value: &str, wanted: &str) -> ModelError {
        ModelError::value(&format!("{} line {}", self.key, self.number), value, wanted)
    }

    fn number(&self, word: &str) -> Result<f64, ModelError> {
        finite(word).ok_or_else(|| self.wrong(word, "a finite number"))
    }
}

/// A decimal number, rounded correctly, as C's `strtod` reads it.
pub(crate) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "svm_type nu_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\n\
                        rho -1.5\nSV\n4 1:0.25 3:1 \n-2 2:0.5 \n";

    fn read(text: &str) -> Result<(Machine, Vectors), ModelError> {
        let mut vectors = VectorBuilder::new(3);
        let machine = Machine::from_libsvm(text, "model", &mut vectors, &mut 10)?;
        Ok((machine, vectors.finish()))
    }

    #[test]
    fn sparse_vectors_are_filled_and_summed_in_order() {
        let (machine, vectors) = read(TEXT).unwrap();
        assert!(vectors.iter().eq([[0.25, 0.0, 1.0], [0.0, 0.5, 0.0]]));
        assert_eq!(machine.terms, [(4.0, 0), (-2.0, 1)]);
        // Distances 0.75^2 + 0.5^2 + 1 = 1.8125 and 1 + 0 + 4 = 5.
        let expected = (4.0 * exp(-0.90625) + -2.0 * exp(-2.5)) + 1.5;
        let mut kernel = KernelValues::new(&vectors, machine.gamma, vec![1.0, 0.5, 2.0]);
        assert_eq!(machine.predict(&mut kernel), expected);
        assert_eq!(machine.predict(&mut kernel), expected);
        assert!(kernel.are_of(0.5, &[1.0, 0.5, 2.0]));
        assert!(!kernel.are_of(0.25, &[1.0, 0.5, 2.0]) && !kernel.are_of(0.5, &[1.0, 0.5, 2.5]));
    }

    #[test]
    fn equal_vectors_share_a_place() {
        let (machine, vectors) = read(&TEXT.replace("2:0.5", "1:0.25 3:1")).unwrap();
        assert_eq!(machine.terms, [(4.0, 0), (-2.0, 0)]);
        assert_eq!(vectors.iter().len(), 1);
    }

    #[test]
    fn the_budget_is_kept() {
        let (mut budget, mut vectors) = (3, VectorBuilder::new(3));
        Machine::from_libsvm(TEXT, "model", &mut vectors, &mut budget).unwrap();
        assert_eq!(budget, 1);
        let error = Machine::from_libsvm(TEXT, "model", &mut vectors, &mut budget).unwrap_err();
        let text = "`model line 5` is 2, but must be a count from 1 to 65536 for the whole file";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, text) in [
            (
                "nu_svr",
                "c_svc",
                "`model line 1` is c_svc, but must be `nu_svr`, the only kind this reads",
            ),
            (
                "rbf",
                "linear",
                "`model line 2` is linear, but must be `rbf`, the only kind this reads",
            ),
            ("gamma 0.5\n", "", "`model: gamma` is missing"),
            ("nr_class 2\n", "", "`model: nr_class` is missing"),
            (
                "SV\n",
                "",
                "`model line 7` is 4 1:0.25 3:1 , but must be WORD VALUE with one of svm_type",
            ),
            ("rho", "gamma", "`model: gamma` is there twice"),
            (
                "0.5\nnr",
                "nan\nnr",
                "`model line 3` is nan, but must be a finite number",
            ),
            (
                "rho -1.5",
                "rho 1e999",
                "`model line 6` is 1e999, but must be a finite number",
            ),
            (
                "total_sv 2",
                "total_sv 3",
                "`model: SV` has 2 entries, but must have 3, which is its total_sv",
            ),
            (
                "total_sv 2",
                "total_sv 1",
                "`model line 9` is -2 2:0.5 , but must be the end: total_sv is 1",
            ),
            (
                "total_sv 2",
                "total_sv -1",
                "`model line 5` is -1, but must be a count",
            ),
            (
                "3:1",
                "4:1",
                "`model line 8` is 4:1, but must be INDEX:NUMBER with an index from 2 to 3",
            ),
            (
                "3:1",
                "1:1",
                "`model line 8` is 1:1, but must be INDEX:NUMBER with an index from 2 to 3",
            ),
            (
                "3:1",
                "3",
                "`model line 8` is , but must be a finite number",
            ),
            (
                "1:0.25",
                "0:0.25",
                "`model line 8` is 0:0.25, but must be INDEX:NUMBER with an index from 1",
            ),
            (
                "-2 2",
                "- 2",
                "`model line 9` is -, but must be a finite number",
            ),
        ] {
            let damaged = TEXT.replacen(from, to, 1);
            assert_ne!(damaged, TEXT, "{from}");
            let error = read(&damaged).unwrap_err().to_string();
            assert!(error.starts_with(text), "{from} -> {to}: {error}");
        }
        assert_eq!(
            read("").unwrap_err().to_string(),
            "`model: svm_type` is missing"
        );
    }
}
