//! `kernels/golden.txt`: every property of every kernel on every target of AMD, checked in, so that
//! a change of a kernel shows in review what it does to the code that ships, and a change that
//! nobody meant is red.
//!
//! The file has two tables. The first holds what the source and the ABI settle: the size of a wave
//! and of a block, memory, arguments, what must never be there, and whether a kernel waits and
//! counts. The second holds what a compiler decides: instructions, registers, spills, how a
//! division is expanded. With the compiler and linker that the file names, every difference is
//! an error. With others, a difference in the second table is the compiler's right and is told as a
//! note. So is the *number* of barriers and atomic operations, which unrolling a loop multiplies; that
//! there are none any more is an error, but for barriers of a block that is one wave, which a
//! compiler may leave out.
//!
//! What must stay true: figures come from one reading of the objects (report.rs), which the report
//! and `listing.json` show too; and blessing accepts differences, never findings.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use vmafx_gcnsim::object::Kernel;

use super::listing::Summary;
use super::report::Report;

/// Where it is.
pub(crate) const PATH: &str = "kernels/golden.txt";
/// What accepts the differences.
pub(crate) const ACCEPT: &str = "cargo xtask kernels --bless";

const HEAD: &str = "\
# What the kernels are on every target of AMD, written by `cargo xtask kernels --bless` and compared
# by `cargo xtask kernels --check`. A row holds for all the targets at its end. With this compiler
# and linker every difference is an error. With others, the first table must hold (barriers and
# atomics_64 may be more or fewer, but not none); differences in the second are told as notes.
";

const SOURCE: &str = "\
# What the source asks for. lds_bytes: of a block; scratch_bytes: of a thread; fused_outside: fused
# multiply-adds that are no step of a division or root; barriers: none where a block is one wave;
# atomics_64: atomic operations on 64 bits.
";

const COMPILER: &str = "\
# What this compiler makes of it. vgprs, agprs: of a thread; sgprs: of a wave; fused_inside: steps of
# divisions and roots; estimates: approximate reciprocals and roots.
";

/// When a difference is an error although the compiler is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Always: the source settles it.
    Source,
    /// When there were some and are none, or the reverse.
    Presence,
    /// The same, where a block is more than one wave.
    PresenceBetweenWaves,
    /// Never: the compiler settles it.
    Compiler,
}

/// Something that is known of each kernel.
pub(crate) struct Property {
    /// Its name, in the file, in messages and in `listing.json`.
    pub(crate) name: &'static str,
    rule: Rule,
    of: fn(&Kernel, &Summary) -> u64,
}

const fn property(name: &'static str, rule: Rule, of: fn(&Kernel, &Summary) -> u64) -> Property {
    Property { name, rule, of }
}

/// Every property, in the order of the tables' columns.
pub(crate) const PROPERTIES: [Property; 18] = [
    property("wave", Rule::Source, |kernel, _| kernel.wave),
    property("threads", Rule::Source, |kernel, _| kernel.threads),
    property("lds_bytes", Rule::Source, |kernel, _| kernel.lds),
    property("kernarg_bytes", Rule::Source, |kernel, _| kernel.kernarg),
    property("scratch_bytes", Rule::Source, |kernel, _| kernel.scratch),
    property("hidden_arguments", Rule::Source, |kernel, _| {
        let arguments = kernel.arguments.iter();
        arguments.filter(|argument| argument.is_hidden()).count() as u64
    }),
    property("flat_accesses", Rule::Source, |_, code| code.flat),
    property("fused_outside", Rule::Source, |_, code| code.fused_outside),
    property("barriers", Rule::PresenceBetweenWaves, |_, code| {
        code.barriers
    }),
    property("atomics_64", Rule::Presence, |_, code| code.atomics_64),
    property("instructions", Rule::Compiler, |_, code| code.instructions),
    property("vgprs", Rule::Compiler, |kernel, _| kernel.vgprs),
    property("agprs", Rule::Compiler, |kernel, _| kernel.agprs),
    property("sgprs", Rule::Compiler, |kernel, _| kernel.sgprs),
    property("vgpr_spills", Rule::Compiler, |kernel, _| {
        kernel.vgpr_spills
    }),
    property("sgpr_spills", Rule::Compiler, |kernel, _| {
        kernel.sgpr_spills
    }),
    property("fused_inside", Rule::Compiler, |_, code| code.fused_inside),
    property("estimates", Rule::Compiler, |_, code| code.estimates),
];

/// A figure for each property.
pub(crate) type Figures = [u64; PROPERTIES.len()];

/// What each property is of a kernel and its code.
pub(crate) fn figures(kernel: &Kernel, code: &Summary) -> Figures {
    PROPERTIES.map(|property| (property.of)(kernel, code))
}

/// The columns of the two tables.
const TABLES: [Range<usize>; 2] = [0..10, 10..PROPERTIES.len()];

/// What the file says, or what was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Golden {
    /// What compiler and linker say of themselves.
    made_by: [String; 2],
    /// Of each target, in the order of the tables: its kernels.
    targets: Vec<(String, BTreeMap<String, Figures>)>,
}

/// How what was built differs from the file.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// What must not be, or be accepted.
    pub(crate) differences: Vec<String>,
    /// What another compiler may do.
    pub(crate) notes: Vec<String>,
}

/// A difference of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    New,
    Gone,
    /// Of a property, by its place.
    Figure {
        property: usize,
        was: u64,
        is: u64,
        is_the_compilers: bool,
    },
}

impl Golden {
    /// What was read of the objects; `identity` is what compiler and linker say of themselves, a
    /// line each.
    pub(crate) fn of(report: &Report, identity: &str) -> Self {
        let mut lines = identity.lines().map(str::to_owned);
        let targets = report.targets.iter().map(|(target, kernels)| {
            let kernels = kernels.iter();
            let kernels = kernels.map(|kernel| (kernel.name.clone(), kernel.figures));
            ((*target).to_owned(), kernels.collect())
        });
        Self {
            made_by: [(); 2].map(|()| lines.next().unwrap_or_default()),
            targets: targets.collect(),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// The line that is not as the file is written.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader::default();
        for (at, line) in text.lines().enumerate() {
            reader.line(line).map_err(|reason| {
                format!("{PATH}:{}: {reason}; `{ACCEPT}` writes it anew", at + 1)
            })?;
        }
        reader
            .end()
            .map_err(|reason| format!("{PATH}: {reason}; `{ACCEPT}` writes it anew"))
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        let [compiler, linker] = &self.made_by;
        format!("{HEAD}compiler: {compiler}\nlinker: {linker}\n\n{self}")
    }

    /// How `now` differs from this file. `is_whole` tells that every target was built, so that a
    /// target of the file that is missing is a difference, too.
    pub(crate) fn compare(&self, now: &Self, is_whole: bool) -> Comparison {
        let mut comparison = Comparison::default();
        let mut changes: BTreeMap<(&str, Change), Vec<&str>> = BTreeMap::new();
        let nothing = BTreeMap::new();
        let of = |golden: &'_ Self, target: &str| {
            let mut targets = golden.targets.iter();
            targets.position(|(name, _)| name == target)
        };
        for (target, kernels) in &now.targets {
            let Some(at) = of(self, target) else {
                let difference = format!("{target}: the target is not in {PATH}");
                comparison.differences.push(difference);
                continue;
            };
            let before = self
                .targets
                .get(at)
                .map_or(&nothing, |(_, kernels)| kernels);
            let mut add = |kernel, change| {
                changes.entry((kernel, change)).or_default().push(target);
            };
            for kernel in before.keys().filter(|name| !kernels.contains_key(*name)) {
                add(kernel, Change::Gone);
            }
            for (kernel, is) in kernels {
                let Some(was) = before.get(kernel) else {
                    add(kernel, Change::New);
                    continue;
                };
                for change in changes_of(was, is) {
                    add(kernel, change);
                }
            }
        }
        if is_whole {
            let gone = self.targets.iter();
            let gone = gone.filter(|(target, _)| of(now, target).is_none());
            comparison.differences.extend(
                gone.map(|(target, _)| format!("{target}: the target is in {PATH} and not built")),
            );
        }
        let is_other = self.made_by != now.made_by;
        for ((kernel, change), targets) in changes {
            let targets = match targets.len() {
                1 => targets.concat(),
                n if n == now.targets.len() => format!("all {n} targets"),
                _ => targets.join(" "),
            };
            let text = format!("{targets} {kernel}: {change}");
            match is_other && change.is_the_compilers() {
                true => comparison.notes.push(text),
                false => comparison.differences.push(text),
            }
        }
        if !comparison.notes.is_empty() {
            let [compiler, linker] = &self.made_by;
            let advice = format!(
                "{PATH} was made by {compiler} and {linker}; what another compiler may do \
                 differently is told and is no error, and `{ACCEPT}` accepts it"
            );
            comparison.notes.insert(0, advice);
        }
        comparison
    }

    /// The rows of a table: figures that some targets share, and these targets.
    fn rows<'a>(&'a self, kernel: &str, table: &Range<usize>) -> Vec<(&'a [u64], Vec<&'a str>)> {
        let mut rows: Vec<(&[u64], Vec<&str>)> = Vec::new();
        for (target, kernels) in &self.targets {
            let Some(figures) = kernels.get(kernel).and_then(|all| all.get(table.clone())) else {
                continue;
            };
            match rows.iter_mut().find(|(known, _)| *known == figures) {
                Some((_, targets)) => targets.push(target),
                None => rows.push((figures, vec![target])),
            }
        }
        rows
    }
}

/// Both tables, for people.
impl fmt::Display for Golden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels = self.targets.iter().flat_map(|(_, kernels)| kernels.keys());
        let mut kernels: Vec<&String> = kernels.collect();
        kernels.sort();
        kernels.dedup();
        for (table, legend) in TABLES.iter().zip([SOURCE, COMPILER]) {
            let columns = PROPERTIES.get(table.clone()).unwrap_or_default();
            if table.start > 0 {
                writeln!(f)?;
            }
            write!(f, "{legend}{:<20}", "kernel")?;
            for column in columns {
                write!(f, "  {:>6}", column.name)?;
            }
            writeln!(f, "  targets")?;
            for kernel in &kernels {
                for (figures, targets) in self.rows(kernel, table) {
                    write!(f, "{kernel:<20}")?;
                    for (figure, column) in figures.iter().zip(columns) {
                        write!(f, "  {figure:>width$}", width = column.name.len().max(6))?;
                    }
                    writeln!(f, "  {}", targets.join(" "))?;
                }
            }
        }
        Ok(())
    }
}

/// The properties that differ.
fn changes_of(was: &Figures, is: &Figures) -> Vec<Change> {
    // The first two properties are the size of a wave and of a block.
    let is_one_wave = |[wave, threads, ..]: &Figures| threads <= wave;
    let is_one_wave = is_one_wave(was) && is_one_wave(is);
    let all = PROPERTIES.iter().zip(was.iter().zip(is)).enumerate();
    all.filter(|(_, (_, (was, is)))| was != is)
        .map(|(at, (property, (&was, &is)))| Change::Figure {
            property: at,
            was,
            is,
            is_the_compilers: match property.rule {
                Rule::Source => false,
                Rule::Presence => was != 0 && is != 0,
                Rule::PresenceBetweenWaves => is_one_wave || was != 0 && is != 0,
                Rule::Compiler => true,
            },
        })
        .collect()
}

impl Change {
    /// Whether it may be another compiler's doing, and the kernel is still right.
    fn is_the_compilers(self) -> bool {
        matches!(
            self,
            Self::Figure {
                is_the_compilers: true,
                ..
            }
        )
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::New => write!(f, "the kernel is not in {PATH}"),
            Self::Gone => write!(f, "the kernel is in {PATH} and not built"),
            Self::Figure {
                property, was, is, ..
            } => {
                write!(f, "{} {was} -> {is}", PROPERTIES[property].name)
            }
        }
    }
}

/// The file, as far as it was read.
#[derive(Default)]
struct Reader {
    compiler: Option<String>,
    linker: Option<String>,
    /// The table of the last head.
    table: Option<usize>,
    targets: Vec<(String, BTreeMap<String, Row>)>,
}

/// The figures of a kernel, by table.
type Row = [Option<Vec<u64>>; TABLES.len()];

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        for (start, value) in [
            ("compiler: ", &mut self.compiler),
            ("linker: ", &mut self.linker),
        ] {
            if let Some(text) = line.strip_prefix(start) {
                return match value.replace(text.to_owned()) {
                    None => Ok(()),
                    Some(_) => Err(format!("a second `{start}`")),
                };
            }
        }
        let mut words = line.split_whitespace();
        let kernel = words.next().unwrap_or_default();
        if kernel == "kernel" {
            let names: Vec<&str> = words.collect();
            self.table = TABLES.iter().position(|table| {
                let columns = PROPERTIES[table.clone()].iter().map(|column| column.name);
                columns.chain(["targets"]).eq(names.iter().copied())
            });
            return match self.table {
                Some(_) => Ok(()),
                None => Err("a table with other columns".to_owned()),
            };
        }
        let table = self.table.ok_or("a row before the head of its table")?;
        let figures = words.by_ref().take(TABLES[table].len());
        let figures: Result<Vec<u64>, _> = figures.map(str::parse).collect();
        let figures = figures.map_err(|error| format!("`{kernel}`: {error}"))?;
        let targets: Vec<&str> = words.collect();
        if figures.len() != TABLES[table].len() || targets.is_empty() {
            return Err(format!("`{kernel}`: the row ends early"));
        }
        for target in targets {
            let known = self.targets.iter().position(|(name, _)| name == target);
            let at = known.unwrap_or_else(|| {
                self.targets.push((target.to_owned(), BTreeMap::new()));
                self.targets.len() - 1
            });
            let row = self.targets[at].1.entry(kernel.to_owned()).or_default();
            if row[table].replace(figures.clone()).is_some() {
                return Err(format!("{target} `{kernel}`: a second row"));
            }
        }
        Ok(())
    }

    fn end(self) -> Result<Golden, String> {
        let mut targets = Vec::new();
        for (target, rows) in self.targets {
            let mut kernels = BTreeMap::new();
            for (kernel, row) in rows {
                let figures = row.into_iter().flatten().flatten().collect::<Vec<_>>();
                let figures = Figures::try_from(figures)
                    .map_err(|_| format!("{target} `{kernel}`: in one table only"))?;
                kernels.insert(kernel, figures);
            }
            targets.push((target, kernels));
        }
        Ok(Golden {
            made_by: [
                self.compiler.ok_or("it names no compiler")?,
                self.linker.ok_or("it names no linker")?,
            ],
            targets,
        })
    }
}

#[cfg(test)]
mod tests {
    use vmafx_gcnsim::object::Argument;

    use super::*;

    #[test]
    fn every_figure_is_in_its_column() {
        let hidden = Argument {
            kind: "hidden_group_size_x".to_owned(),
            ..Argument::default()
        };
        let kernel = Kernel {
            arguments: vec![hidden; 6],
            wave: 1,
            threads: 2,
            lds: 3,
            kernarg: 4,
            scratch: 5,
            vgprs: 12,
            agprs: 13,
            sgprs: 14,
            vgpr_spills: 15,
            sgpr_spills: 16,
            ..Kernel::default()
        };
        let code = Summary {
            flat: 7,
            fused_outside: 8,
            barriers: 9,
            atomics_64: 10,
            instructions: 11,
            fused_inside: 17,
            estimates: 18,
            findings: Vec::new(),
        };
        let figures = figures(&kernel, &code);
        assert_eq!(figures.to_vec(), (1..=18).collect::<Vec<u64>>());
        // A table has the properties of one kind.
        let is_the_compilers = PROPERTIES.map(|property| property.rule == Rule::Compiler);
        let [source, compiler] = TABLES;
        assert!(!is_the_compilers[source].contains(&true));
        assert!(!is_the_compilers[compiler].contains(&false));
    }
}
