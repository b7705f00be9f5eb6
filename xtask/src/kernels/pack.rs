//! What a plugin carries: a table of objects and one compressed stream of them.
//!
//! The table is text, one line an object: `<target> <offset> <length> <sha256>`, offsets in the
//! unpacked stream. Objects of one vendor are nearly equal, so the stream is one zstd frame whose
//! window holds all of it. What must stay true: the window is one that the plugins' decoder takes
//! (`crates/gpu/src/objects.rs`), and the same objects give the same bytes.

use std::io::Write;

use super::digest;

/// Largest window, as a power of two: 64 MiB. The plugins' decoder ends at 100 MiB.
const MAX_WINDOW_LOG: u32 = 26;

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
    // Room for the stream, at least what the format asks for.
    let window_log = stream.len().next_power_of_two().ilog2().max(10);
    if window_log > MAX_WINDOW_LOG {
        return Err(format!(
            "{} bytes of objects; a window holds 2^{MAX_WINDOW_LOG}",
            stream.len()
        ));
    }
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
    use super::*;

    #[test]
    fn a_table_tells_where_each_object_lies() {
        let (a, b) = (vec![1; 700], (0..=255).collect::<Vec<u8>>());
        let Pack { table, packed } = pack(&[("gfx1", a.clone()), ("gfx2", b.clone())]).unwrap();
        assert_eq!(
            table,
            format!("gfx1 0 700 {}\ngfx2 700 256 {}\n", digest(&a), digest(&b))
        );
        let stream = zstd::decode_all(&packed[..]).unwrap();
        assert_eq!((&stream[..700], &stream[700..]), (&a[..], &b[..]));
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
