//! The device code that a plugin carries: a table of objects and one compressed stream.
//!
//! Written by `cargo xtask kernels`. The table is text, one line an object,
//! `<target> <offset> <length> <sha256>`, offsets in the unpacked stream; the stream is one zstd
//! frame whose window holds all of it, since objects for one vendor are nearly equal. What must
//! stay true: an object is handed out only if its digest is the table's, and neither a table nor a
//! stream of any content panics or takes more memory than
//! [`ObjectTable::MAX_BYTES`] and a window.
//!
//! The decoder is ruzstd: written in Rust without a C compiler, and the stream is small enough
//! that its speed does not count.

use std::fmt::Write;
use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest, Sha256};

/// See [`ObjectTable::MAX_BYTES`].
const MAX_BYTES: u64 = 1 << 26;

/// Objects by the name of their target.
#[derive(Clone, Debug)]
pub struct ObjectTable {
    entries: Vec<Entry>,
    packed: &'static [u8],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    target: String,
    offset: u64,
    length: u64,
    sha256: String,
}

/// Why there is no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// A line of the table is not `<target> <offset> <length> <sha256>`.
    #[error("table of device code, line {line}: {reason}; build the plugin again")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No object for this target.
    #[error("no device code for `{target}`; this plugin has it for {known}")]
    NoTarget {
        /// The target that was asked for.
        target: String,
        /// All targets of the table, separated by commas.
        known: String,
    },
    /// The stream cannot be unpacked as far as the object.
    #[error("device code for `{target}` cannot be unpacked: {reason}; the plugin is damaged")]
    Stream {
        /// The target.
        target: String,
        /// What the decoder says.
        reason: String,
    },
    /// The object is not the one that the table describes.
    #[error(
        "device code for `{target}` has the SHA-256 {found}, its table says {expected}; the plugin \
         is damaged"
    )]
    Digest {
        /// The target.
        target: String,
        /// The digest of the table.
        expected: String,
        /// The digest of the object.
        found: String,
    },
}

impl ObjectTable {
    /// Most bytes of an unpacked stream, and of its window: what the packer keeps to.
    pub const MAX_BYTES: u64 = MAX_BYTES;

    /// Reads a table; `packed` is looked at when an object is asked for.
    ///
    /// # Errors
    /// The first line that is not right, that names a target again, or whose object would end
    /// beyond `MAX_BYTES`.
    pub fn parse(table: &str, packed: &'static [u8]) -> Result<Self, ObjectError> {
        let mut entries: Vec<Entry> = Vec::new();
        for (at, text) in table.lines().enumerate() {
            let entry = Entry::parse(text).and_then(|entry| {
                let again = entries.iter().any(|before| before.target == entry.target);
                match again {
                    true => Err("its target has a line already"),
                    false => Ok(entry),
                }
            });
            let line = at + 1;
            entries.push(entry.map_err(|reason| ObjectError::Line { line, reason })?);
        }
        Ok(Self { entries, packed })
    }

    /// The targets, in the order of the table.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.target.as_str())
    }

    /// Unpacks the object of a target, whose name must be equal to that of the table.
    ///
    /// # Errors
    /// No such target, a stream that ends early or is not zstd's, or an object whose digest is
    /// not the table's.
    pub fn get(&self, target: &str) -> Result<Vec<u8>, ObjectError> {
        let entry = self.entries.iter().find(|entry| entry.target == target);
        let entry = entry.ok_or_else(|| ObjectError::NoTarget {
            target: target.to_owned(),
            known: self.targets().collect::<Vec<_>>().join(", "),
        })?;
        let object = self.unpack(entry).map_err(|reason| ObjectError::Stream {
            target: target.to_owned(),
            reason,
        })?;
        let found = hexadecimal(&Sha256::digest(&object));
        match found == entry.sha256 {
            true => Ok(object),
            false => Err(ObjectError::Digest {
                target: target.to_owned(),
                expected: entry.sha256.clone(),
                found,
            }),
        }
    }

    fn unpack(&self, entry: &Entry) -> Result<Vec<u8>, String> {
        let stream = StreamingDecoder::new_with_max_window_size(self.packed, MAX_BYTES)
            .map_err(|error| error.to_string())?;
        let mut stream = stream.take(entry.offset + entry.length);
        let failed = |error: std::io::Error| error.to_string();
        let skipped = std::io::copy(&mut (&mut stream).take(entry.offset), &mut std::io::sink());
        let mut object = Vec::new();
        let read = stream.read_to_end(&mut object).map_err(failed)?;
        match (skipped.map_err(failed)? == entry.offset, read as u64) {
            (true, read) if read == entry.length => Ok(object),
            _ => Err("the stream ends before the object does".to_owned()),
        }
    }
}

impl Entry {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let parts: Vec<&str> = line.split(' ').collect();
        let [target, offset, length, sha256] = parts[..] else {
            return Err("not four words with single spaces between them");
        };
        if target.is_empty() {
            return Err("the target has no name");
        }
        let number = |text: &str| text.parse::<u64>().ok().filter(|&value| value <= MAX_BYTES);
        let (Some(offset), Some(length)) = (number(offset), number(length)) else {
            return Err("offset or length is no number up to 2^26");
        };
        if offset + length > MAX_BYTES {
            return Err("the object ends beyond 2^26 bytes");
        }
        let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if sha256.len() != 64 || !sha256.bytes().all(is_digit) {
            return Err("the digest is not 64 hexadecimal digits");
        }
        Ok(Self {
            target: target.to_owned(),
            offset,
            length,
            sha256: sha256.to_owned(),
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// Two objects of 3000 and 200 bytes.
    fn sample() -> (Vec<u8>, Vec<u8>, String, &'static [u8]) {
        let a: Vec<u8> = (0..3000u32).map(|i| ((i * i) >> 3) as u8).collect();
        let b: Vec<u8> = (0..200).collect();
        let digest = |bytes: &[u8]| hexadecimal(&Sha256::digest(bytes));
        let table = format!(
            "gfx90a 0 3000 {}\nsm_80 3000 200 {}\n",
            digest(&a),
            digest(&b)
        );
        let stream = [&a[..], &b[..]].concat();
        let packed = compress_to_vec(&stream[..], CompressionLevel::Fastest);
        (a, b, table, packed.leak())
    }

    #[test]
    fn objects_come_out_as_they_went_in() {
        let (a, b, table, packed) = sample();
        let table = ObjectTable::parse(&table, packed).unwrap();
        assert_eq!(table.targets().collect::<Vec<_>>(), ["gfx90a", "sm_80"]);
        assert_eq!(table.get("gfx90a").unwrap(), a);
        assert_eq!(table.get("sm_80").unwrap(), b);
        let failure = table.get("gfx90").unwrap_err().to_string();
        assert!(
            failure.contains("`gfx90`") && failure.contains("gfx90a, sm_80"),
            "{failure}"
        );
    }

    #[test]
    fn a_table_that_is_not_one_is_refused_by_line() {
        let digest = "0".repeat(64);
        let parse = |line: &str| {
            let table = format!("a 0 1 {digest}\n{line}\n");
            match ObjectTable::parse(&table, &[]) {
                Err(ObjectError::Line { line: 2, reason }) => reason,
                other => panic!("{other:?}"),
            }
        };
        assert!(parse("b 0 1").contains("four words"));
        assert!(parse(&format!("b  0 1 {digest}")).contains("four words"));
        assert!(parse(&format!(" 0 1 {digest}")).contains("no name"));
        assert!(parse(&format!("b -1 1 {digest}")).contains("no number"));
        assert!(parse(&format!("b 0 67108865 {digest}")).contains("no number"));
        assert!(parse(&format!("b 67108864 1 {digest}")).contains("ends beyond"));
        assert!(parse(&format!("b 0 1 {}", "G".repeat(64))).contains("64 hexadecimal"));
        assert!(parse(&format!("a 1 1 {digest}")).contains("already"));
    }

    #[test]
    fn a_damaged_stream_is_an_error() {
        let (a, _, table, packed) = sample();
        let get = |bytes: &[u8]| {
            let packed = bytes.to_vec().leak();
            ObjectTable::parse(&table, packed).unwrap().get("gfx90a")
        };
        for length in 0..packed.len() - 210 {
            let failure = get(&packed[..length]).unwrap_err();
            assert!(
                matches!(failure, ObjectError::Stream { .. }),
                "{length}: {failure}"
            );
        }
        // Whatever byte is wrong: an error, or the object where it needs neither that byte nor,
        // as with a larger window, its true value.
        let mut refused = 0;
        for at in 0..packed.len() {
            let mut bytes = packed.to_vec();
            bytes[at] ^= 0x55;
            match get(&bytes) {
                Ok(object) => assert_eq!(object, a, "{at}"),
                Err(_) => refused += 1,
            }
        }
        assert!(
            refused > packed.len() - 210,
            "{refused} of {}",
            packed.len()
        );
    }

    #[test]
    fn another_object_is_not_handed_out() {
        let (_, _, table, packed) = sample();
        let moved = table.replace("sm_80 3000 200", "sm_80 2999 200");
        let failure = ObjectTable::parse(&moved, packed).unwrap().get("sm_80");
        assert!(
            matches!(failure, Err(ObjectError::Digest { .. })),
            "{failure:?}"
        );
        let longer = table.replace("sm_80 3000 200", "sm_80 3000 201");
        let failure = ObjectTable::parse(&longer, packed).unwrap().get("sm_80");
        assert!(
            matches!(failure, Err(ObjectError::Stream { .. })),
            "{failure:?}"
        );
    }

    #[test]
    fn a_window_beyond_the_limit_is_refused() {
        // A frame's head that asks for 128 MiB: no single segment, window exponent 17.
        let packed: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0];
        let table = format!("a 0 1 {}\n", "0".repeat(64));
        let failure = ObjectTable::parse(&table, packed).unwrap().get("a");
        assert!(
            matches!(&failure, Err(ObjectError::Stream { reason, .. }) if reason.contains("indow")),
            "{failure:?}"
        );
    }
}
