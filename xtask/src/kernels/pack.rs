//! What a plugin carries: a table of objects and one compressed stream of them.
//!
//! The table is text, one line an object: `<target> <offset> <length> <sha256>`, offsets in the
//! unpacked stream. Objects of one vendor are nearly equal, so the stream is one zstd frame whose
//! window holds all of it. What must stay true: the plugins' reader (`vmafx_gpu::ObjectTable`)
//! takes what is written, and the same objects give the same bytes.

use std::io::Write;

use super::digest;

/// Most bytes of a stream and so of its window: what the plugins' reader takes.
const MAX_BYTES: usize = 1 << 26;

/// The strongest level: a megabyte takes a second, once.
const LEVEL: i32 = 22;

/// A table and its stream.
pub(crate) struct Pack {
    /// The text of the table.
    pub(crate) table: String,
    /// The compressed stream.
    pub(crate) packed: Vec<u8>,
}

/// Packs objects, each with the name of its target.
///
/// # Errors
/// More bytes than a window holds.
pub(crate) fn pack(objects: &[(&str, Vec<u8>)]) -> Result<Pack, String> {
    let mut table = String::new();
    let mut stream = Vec::new();
    for (target, object) in objects {
        let (offset, length) = (stream.len(), object.len());
        table.push_str(&format!("{target} {offset} {length} {}\n", digest(object)));
        stream.extend_from_slice(object);
    }
    if stream.len() > MAX_BYTES {
        return Err(format!(
            "{} bytes of objects; a plugin unpacks {MAX_BYTES}",
            stream.len()
        ));
    }
    // Room for the stream, at least what the format asks for.
    let window_log = stream.len().next_power_of_two().ilog2().max(10);
    let compress = || -> std::io::Result<Vec<u8>> {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(window_log)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(stream.len() as u64))?;
        encoder.write_all(&stream)?;
        encoder.finish()
    };
    let packed = compress().map_err(|error| format!("zstd: {error}"))?;
    Ok(Pack { table, packed })
}

#[cfg(test)]
mod tests {
    use vmafx_gpu::ObjectTable;

    use super::*;

    #[test]
    fn a_table_tells_where_each_object_lies() {
        let (a, b) = (vec![1; 700], (0..=255).collect::<Vec<u8>>());
        let Pack { table, packed } = pack(&[("gfx1", a.clone()), ("gfx2", b.clone())]).unwrap();
        assert_eq!(
            table,
            format!("gfx1 0 700 {}\ngfx2 700 256 {}\n", digest(&a), digest(&b))
        );
        let table = ObjectTable::parse(&table, packed.leak()).unwrap();
        assert_eq!(table.get("gfx1").unwrap(), a);
        assert_eq!(table.get("gfx2").unwrap(), b);
    }

    #[test]
    fn the_largest_pack_is_one_that_a_plugin_takes() {
        assert_eq!(MAX_BYTES as u64, ObjectTable::MAX_BYTES);
        let object = vec![7; MAX_BYTES];
        let Pack { table, packed } = pack(&[("gfx1", object.clone())]).unwrap();
        let table = ObjectTable::parse(&table, packed.leak()).unwrap();
        assert!(table.get("gfx1").unwrap() == object);
        let more = [("gfx1", object), ("gfx2", vec![0])];
        assert!(pack(&more).err().unwrap().contains("67108865 bytes"));
    }

    #[test]
    fn equal_objects_far_apart_cost_nothing() {
        // Bytes without order, so that only the other copy can help.
        let mut state = 1u64;
        let noise = (0..1 << 20).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        });
        let object: Vec<u8> = noise.collect();
        let objects = vec![("a", object.clone()), ("b", object.clone()), ("c", object)];
        let packed = pack(&objects).unwrap().packed;
        assert!(packed.len() < (1 << 20) + 4096, "{}", packed.len());
        assert_eq!(packed, pack(&objects).unwrap().packed);
    }
}
