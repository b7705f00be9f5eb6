//! A table of numbers that grows by rows without growing in memory.
//!
//! Rows are kept in groups. The first groups stay in memory; when a clip is longer, all
//! complete groups move to a temporary file that nobody else sees and that goes with its last
//! user. Where no such file can be had the groups stay in memory, and [`Table::spill_failure`]
//! says why.
//!
//! The file is the groups one after another, group `g` at byte `8 * g * columns * GROUP`; in a
//! group the numbers of the first column, then those of the next, each the 8 bytes of an `f64` in
//! the machine's order, [`MISSING`] where there is none. It has no header, as only the process
//! that made it can read it. It lies where temporary files lie (`TMPDIR`); where that is a tmpfs,
//! it is memory all the same.
//!
//! What must stay true: every bit comes back; a row that is closed does not change; a file that
//! cannot be made or written costs memory, never a score.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows of a group.
const GROUP: usize = 256;

/// Complete groups that stay in memory as long as there are no more.
const RESIDENT: usize = 4;

/// A quiet NaN with a payload that no arithmetic makes: the place of a number that is not there.
const MISSING: u64 = 0x7ff8_6d69_7373_0000;

/// Bits of the numbers of one group, column by column.
type Numbers = Box<[u64]>;

/// A table of `f64`, some of which may be absent.
#[derive(Debug)]
pub(crate) struct Table {
    columns: usize,
    /// `None`: in the file.
    groups: Vec<Option<Numbers>>,
    /// Rows from the first on that do not change any more.
    closed: u64,
    /// Groups from the first on that are in the file.
    spilled: usize,
    file: Option<Mutex<File>>,
    make_file: fn() -> io::Result<File>,
    failure: Option<io::Error>,
}

impl Table {
    pub(crate) fn new(columns: usize) -> Self {
        Table {
            columns,
            groups: Vec::new(),
            closed: 0,
            spilled: 0,
            file: None,
            make_file: tempfile::tempfile,
            failure: None,
        }
    }

    /// Why groups stay in memory that should not.
    pub(crate) fn spill_failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Writes a number; false if there is one, the row is closed or the column does not exist.
    pub(crate) fn set(&mut self, column: usize, row: u64, value: f64) -> bool {
        let Ok(place) = usize::try_from(row) else {
            return false;
        };
        if column >= self.columns || row < self.closed {
            return false;
        }
        let (group, at) = (place / GROUP, column * GROUP + place % GROUP);
        while self.groups.len() <= group {
            let numbers = vec![MISSING; self.columns * GROUP];
            self.groups.push(Some(numbers.into()));
        }
        let Some(numbers) = &mut self.groups[group] else {
            return false;
        };
        if numbers[at] != MISSING {
            return false;
        }
        // One NaN for all, so that no machine's own one shows.
        numbers[at] = if value.is_nan() { f64::NAN } else { value }.to_bits();
        true
    }

    /// Notes that the first rows up to `row` do not change any more.
    pub(crate) fn close(&mut self, row: u64) {
        self.closed = self.closed.max(row);
        let complete = (self.closed / GROUP as u64) as usize;
        if complete - self.spilled > RESIDENT && self.failure.is_none() {
            self.failure = self.spill(complete).err();
        }
    }

    /// Moves the groups in memory, up to number `end`, to the file.
    fn spill(&mut self, end: usize) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(Mutex::new((self.make_file)()?));
        }
        let start = self.position(self.spilled, 0);
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        for group in self.groups.iter_mut().take(end).skip(self.spilled) {
            if let Some(numbers) = group {
                let bytes: Vec<u8> = numbers.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
                file.write_all(&bytes)?;
                *group = None;
                self.spilled += 1;
            }
        }
        Ok(())
    }

    /// Where a number of a group is in the file; `at` counts its numbers.
    fn position(&self, group: usize, at: usize) -> u64 {
        8 * (group as u64 * (self.columns * GROUP) as u64 + at as u64)
    }

    /// Adds the bits of numbers `range` of a group to `numbers`.
    fn read(&self, group: usize, range: Range<usize>, numbers: &mut Vec<u64>) -> io::Result<()> {
        match (self.groups.get(group), &self.file) {
            (Some(Some(kept)), _) => numbers.extend_from_slice(&kept[range]),
            (Some(None), Some(file)) => {
                let mut bytes = vec![0; 8 * range.len()];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(self.position(group, range.start)))?;
                file.read_exact(&mut bytes)?;
                let (bits, _) = bytes.as_chunks();
                numbers.extend(bits.iter().map(|bits| u64::from_ne_bytes(*bits)));
            }
            _ => numbers.resize(numbers.len() + range.len(), MISSING),
        }
        Ok(())
    }

    /// One number, if it is there.
    pub(crate) fn get(&self, column: usize, row: u64) -> io::Result<Option<f64>> {
        let (group, at) = split(row);
        if let Some(Some(kept)) = self.groups.get(group) {
            return Ok(number(kept[column * GROUP + at]));
        }
        self.column(column, row..row.saturating_add(1))
            .next()
            .unwrap_or(Ok(None))
    }

    /// The numbers of a column in `rows`.
    pub(crate) fn column(
        &self,
        column: usize,
        rows: Range<u64>,
    ) -> impl Iterator<Item = io::Result<Option<f64>>> + '_ {
        let mut rest = rows;
        let mut numbers = Vec::new();
        let mut taken = 0;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            if taken == numbers.len() {
                let (group, first) = split(rest.start);
                let count = (rest.end - rest.start).min((GROUP - first) as u64) as usize;
                let start = column * GROUP + first;
                numbers.clear();
                taken = 0;
                if let Err(error) = self.read(group, start..start + count, &mut numbers) {
                    rest = 0..0;
                    return Some(Err(error));
                }
            }
            rest.start += 1;
            taken += 1;
            Some(Ok(number(numbers[taken - 1])))
        })
    }

    /// Calls `visit` with every row of `rows`: its number and its numbers.
    pub(crate) fn visit_rows(
        &self,
        rows: Range<u64>,
        mut visit: impl FnMut(u64, &[Option<f64>]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut numbers = Vec::new();
        let mut values = Vec::with_capacity(self.columns);
        for row in rows.clone() {
            let (group, at) = split(row);
            if at == 0 || row == rows.start {
                numbers.clear();
                self.read(group, 0..self.columns * GROUP, &mut numbers)?;
            }
            values.clear();
            let columns = 0..self.columns;
            values.extend(columns.map(|column| number(numbers[column * GROUP + at])));
            visit(row, &values)?;
        }
        Ok(())
    }
}

/// Group and place within it of a row.
fn split(row: u64) -> (usize, usize) {
    let group = usize::try_from(row / GROUP as u64).unwrap_or(usize::MAX);
    (group, (row % GROUP as u64) as usize)
}

fn number(bits: u64) -> Option<f64> {
    (bits != MISSING).then(|| f64::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(column: usize, row: u64) -> f64 {
        match (column, row % 5) {
            (1, 0) => f64::INFINITY,
            (1, 1) => -0.0,
            _ => 1.0 / (row as f64 + 3.0) + column as f64,
        }
    }

    fn filled(rows: u64, close: bool) -> Table {
        let mut table = Table::new(3);
        fill(&mut table, 0..rows, close);
        table
    }

    fn fill(table: &mut Table, rows: Range<u64>, close: bool) {
        for row in rows {
            for column in 0..3 {
                // Column 2 is sparse.
                if column < 2 || row.is_multiple_of(3) {
                    assert!(table.set(column, row, value(column, row)));
                }
            }
            if close {
                table.close(row + 1);
            }
        }
    }

    fn check(table: &Table, rows: u64) {
        let expected = |column: usize, row: u64| {
            let there = row < rows && (column < 2 || row.is_multiple_of(3));
            there.then(|| value(column, row).to_bits())
        };
        for column in 0..3 {
            let range = 7..rows + 9;
            let read: Vec<_> = table
                .column(column, range.clone())
                .map(Result::unwrap)
                .collect();
            for (row, read) in range.zip(read) {
                assert_eq!(
                    read.map(f64::to_bits),
                    expected(column, row),
                    "{column}, {row}"
                );
            }
            let one = table.get(column, rows / 2).unwrap();
            assert_eq!(one.map(f64::to_bits), expected(column, rows / 2));
            assert_eq!(table.get(column, u64::MAX).unwrap(), None);
        }
        let mut next = 5;
        table
            .visit_rows(5..rows, |row, values| {
                assert_eq!(row, next);
                next += 1;
                for (column, read) in values.iter().enumerate() {
                    assert_eq!(read.map(f64::to_bits), expected(column, row));
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(next, rows.max(5));
    }

    #[test]
    fn every_bit_comes_back() {
        let group = GROUP as u64;
        for rows in [1, group, 4 * group + group - 1, 5 * group, 11 * group + 3] {
            for close in [false, true] {
                let table = filled(rows, close);
                let complete = (rows / group) as usize;
                assert_eq!(table.spilled > 0, close && complete > RESIDENT);
                let resident = table.groups.iter().flatten().count();
                assert!(
                    !close || resident <= RESIDENT + 1,
                    "{resident} groups of {rows} rows"
                );
                check(&table, rows);
            }
        }
    }

    #[test]
    fn a_number_is_written_once() {
        let mut table = filled(6 * GROUP as u64, false);
        assert!(!table.set(0, 9, 1.0), "it is there");
        assert!(table.set(2, 10, 1.0), "it is not there");
        table.close(12);
        assert!(!table.set(2, 11, 1.0), "the row is closed");
        table.close(6 * GROUP as u64);
        assert!(!table.set(2, 13, 1.0), "the group is in the file");
        assert!(
            !table.set(3, u64::from(u32::MAX), 1.0),
            "there is no such column"
        );
        assert_eq!(table.get(2, 10).unwrap(), Some(1.0));
    }

    #[test]
    fn there_is_one_nan() {
        let mut table = Table::new(1);
        assert!(table.set(0, 0, -f64::NAN) && table.set(0, 1, f64::from_bits(MISSING)));
        for row in [0, 1] {
            let nan = table.get(0, row).unwrap().unwrap();
            assert_eq!(nan.to_bits(), f64::NAN.to_bits());
        }
    }

    #[test]
    fn without_a_file_the_groups_stay() {
        let rows = 20 * GROUP as u64;
        let mut table = filled(rows, false);
        table.make_file = || Err(io::ErrorKind::PermissionDenied.into());
        table.close(rows);
        let failure = table.spill_failure().map(io::Error::kind);
        assert_eq!(failure, Some(io::ErrorKind::PermissionDenied));
        assert_eq!(table.spilled, 0);
        check(&table, rows);
    }

    /// A file that takes no more data keeps what it has; the rest stays in memory.
    #[test]
    fn a_file_that_cannot_be_written_loses_nothing() {
        let rows = 7 * GROUP as u64;
        let mut table = filled(rows, true);
        let spilled = table.spilled;
        assert!(spilled > 0);
        let copy = tempfile::NamedTempFile::new().unwrap();
        let file = table.file.as_mut().unwrap().get_mut().unwrap();
        file.rewind().unwrap();
        io::copy(file, &mut copy.as_file()).unwrap();
        // The copy can only be read.
        *file = File::open(copy.path()).unwrap();
        fill(&mut table, rows..3 * rows, true);
        assert!(table.spill_failure().is_some());
        assert_eq!(table.spilled, spilled);
        check(&table, 3 * rows);
    }
}
