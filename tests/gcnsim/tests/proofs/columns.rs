//! Kernels that compute columns of results from three columns of operands, and tables in Rust that
//! say what each must be.
//!
//! A column has a name. The names of a table are compared with those of the `PUT`s in the kernel's
//! source, so that no column is compared with another one's reference.

use vmafx_gcnsim::{Options, Program};

use crate::device::{Arguments, Buffer, Word, launch};

/// Threads of a block.
pub(crate) const BLOCK: u32 = 64;
/// The number that the compiler does not know.
pub(crate) const EXTRA: u32 = 1_000_003;

/// Who takes the operands with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// A thread.
    Thread,
    /// A block, all of whose threads compute the same. The kernels are compiled with `UNIFORM`.
    Block,
}

/// One column: its name and its value from the three operands.
pub(crate) type Column<T> = (&'static str, fn(T, T, T) -> T);

/// Runs a kernel and compares every column. Where a column is floating point by its macro, any NaN
/// is as good as another. Returns how many values were compared.
///
/// # Errors
/// The first value that differs, with its operands.
pub(crate) fn compare<T: Word>(
    program: &Program,
    position: Position,
    (source, kernel): (&str, &str),
    columns: &[Column<T>],
    operands: &[Vec<T>; 3],
    is_nan: fn(T) -> bool,
) -> Result<u64, String> {
    let listed = listed(source, kernel);
    let names: Vec<&str> = listed.iter().map(|(_, name)| *name).collect();
    let known: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut both = names.iter().zip(&known);
    if let Some((name, known)) = both.find(|(name, known)| name != known) {
        return Err(format!(
            "{kernel} has `{name}` where its table has `{known}`"
        ));
    }
    if names.len() != known.len() {
        return Err(format!(
            "{kernel} has {} columns, its table {}",
            names.len(),
            known.len()
        ));
    }
    let count = operands[0].len();
    let found = run(program, position, kernel, columns.len(), operands)?;
    let mut values = 0;
    for (k, (&(name, reference), (makes, _))) in columns.iter().zip(&listed).enumerate() {
        let real = *makes != "PUT";
        for i in 0..count {
            let [a, b, c] = [0, 1, 2].map(|column: usize| operands[column][i]);
            let (found, wanted) = (found[k * count + i], reference(a, b, c));
            if found != wanted && !(real && is_nan(found) && is_nan(wanted)) {
                return Err(format!(
                    "{kernel}: {name}({a:#x}, {b:#x}, {c:#x}) is {found:#x} and not {wanted:#x}"
                ));
            }
            values += 1;
        }
    }
    Ok(values)
}

/// The results of a kernel, column by column.
fn run<T: Word>(
    program: &Program,
    position: Position,
    kernel: &str,
    columns: usize,
    operands: &[Vec<T>; 3],
) -> Result<Vec<T>, String> {
    let count = operands[0].len();
    let mut inputs = operands.each_ref().map(|column| Buffer::new(column));
    let mut out = Buffer::<T>::unwritten(columns * count);
    let mut arguments = Arguments::default();
    for input in &mut inputs {
        arguments = arguments.buffer(input);
    }
    let arguments = arguments
        .buffer(&mut out)
        .number(count as u32)
        .number(EXTRA);
    let (blocks, threads) = match position {
        Position::Thread => ((count as u32).div_ceil(BLOCK), BLOCK),
        // All threads write to the same place, so they must be one wave.
        Position::Block => (count as u32, 32),
    };
    launch(
        program,
        kernel,
        blocks,
        threads,
        &arguments,
        &Options::default(),
    )
    .map_err(|error| error.to_string())?;
    Ok(out.words().to_vec())
}

/// The macro and the name of each column that a kernel writes, in the order of its source.
fn listed<'a>(source: &'a str, kernel: &str) -> Vec<(&'a str, &'a str)> {
    let start = source.find(&format!("({kernel}, ")).unwrap_or(source.len());
    let text = &source[start..];
    let text = &text[..text.find("\n}").unwrap_or(text.len())];
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let Some((macro_name, rest)) = line.split_once('(') else {
            continue;
        };
        if let ("PUT" | "PUTF" | "PUTD" | "PUT2", Some((name, _))) =
            (macro_name, rest.split_once(','))
        {
            // Two columns for the halves of a number.
            let columns = if macro_name == "PUT2" { 2 } else { 1 };
            if name != "name" {
                found.extend([(macro_name, name)].repeat(columns));
            }
        }
    }
    found
}
