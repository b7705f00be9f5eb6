//! Well-known file types that people feed to a scorer by mistake, told by their first bytes.
//!
//! Raw video has no header, so any bytes could be a frame. A type is listed only with a
//! signature that plain samples do not form by chance: long, or with a structure behind it. Flat
//! frames, dark frames with a little noise and periodic patterns must all pass.

/// Bytes looked at: eight packets of a transport stream.
pub(crate) const PROBE: usize = 8 * TS_PACKET;

const TS_PACKET: usize = 188;

/// A type of file that is not plain frames.
pub(crate) struct Container {
    /// What it is, with its article.
    pub(crate) name: &'static str,
    /// What to do about it.
    pub(crate) remedy: &'static str,
}

const DECODE: &str = "decode it first, for example with `ffmpeg -i FILE -f yuv4mpegpipe -`";
const UNPACK: &str = "unpack it first";
const PICTURE: &str = "convert the picture to y4m first";

/// A signature: bytes at a place of the file.
type Magic = (usize, &'static [u8]);

#[rustfmt::skip]
const SIGNATURES: &[(&[Magic], &str, &str)] = &[
    (&[(0, b"\x1a\x45\xdf\xa3")], "a Matroska or WebM file", DECODE),
    (&[(4, b"ftyp")], "an MP4, MOV or HEIF file", DECODE),
    (&[(4, b"moov")], "a MOV file", DECODE),
    (&[(4, b"mdat")], "a MOV file", DECODE),
    (&[(0, b"RIFF"), (8, b"AVI ")], "an AVI file", DECODE),
    (&[(0, b"RIFF"), (8, b"WAVE")], "a WAV file", "give it video"),
    (&[(0, b"RIFF"), (8, b"WEBP")], "a WebP picture", PICTURE),
    (&[(0, b"DKIF\0\0")], "an IVF file", DECODE),
    (&[(0, b"FLV\x01")], "a Flash video file", DECODE),
    (&[(0, b"OggS\0")], "an Ogg file", DECODE),
    (&[(0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11")], "an ASF or WMV file", DECODE),
    (&[(0, b"\x06\x0e\x2b\x34\x02\x05\x01\x01")], "an MXF file", DECODE),
    (&[(0, b"nut/multimedia container\0")], "a NUT file", DECODE),
    (&[(0, b"\0\0\x01\xba\x44")], "an MPEG program stream", DECODE),
    (&[(0, b"\0\0\x01\xba\x21")], "an MPEG program stream", DECODE),
    (&[(0, b"YUV4MPEG2 ")], "a y4m file", "leave width, height, pixel format and bit depth out"),
    (&[(0, b"\x89PNG\r\n\x1a\n")], "a PNG picture", PICTURE),
    (&[(0, b"\xff\xd8\xff\xe0"), (6, b"JFIF\0")], "a JPEG picture or Motion JPEG", DECODE),
    (&[(0, b"\xff\xd8\xff\xe1"), (6, b"Exif\0")], "a JPEG picture or Motion JPEG", DECODE),
    (&[(0, b"\xff\xd8\xff\xdb\0\x43\0")], "a JPEG picture or Motion JPEG", DECODE),
    (&[(0, b"\xff\xd8\xff\xdb\0\x84\0")], "a JPEG picture or Motion JPEG", DECODE),
    (&[(0, b"\xff\xd8\xff\xfe\0\x10Lavc")], "a JPEG picture or Motion JPEG", DECODE),
    (&[(0, b"\0\0\0\x0cjP  \r\n\x87\n")], "a JPEG 2000 picture", PICTURE),
    (&[(0, b"\0\0\0\x0cJXL \r\n\x87\n")], "a JPEG XL picture", PICTURE),
    (&[(0, b"GIF87a")], "a GIF picture", PICTURE),
    (&[(0, b"GIF89a")], "a GIF picture", PICTURE),
    (&[(0, b"\x76\x2f\x31\x01\x02\0\0\0")], "an OpenEXR picture", PICTURE),
    (&[(0, b"SDPX"), (8, b"V")], "a DPX picture", PICTURE),
    (&[(0, b"XPDS"), (8, b"V")], "a DPX picture", PICTURE),
    (&[(0, b"\xfd7zXZ\0")], "an xz archive", UNPACK),
    (&[(0, b"PK\x03\x04")], "a zip archive", UNPACK),
    (&[(0, b"\x28\xb5\x2f\xfd")], "a zstd archive", UNPACK),
    (&[(0, b"BZh"), (4, b"\x31\x41\x59\x26\x53\x59")], "a bzip2 archive", UNPACK),
    (&[(0, b"7z\xbc\xaf\x27\x1c")], "a 7z archive", UNPACK),
];

/// Tells the type of a file by its first bytes, [`PROBE`] of them where there are as many.
pub(crate) fn identify(head: &[u8]) -> Option<Container> {
    let holds = |&(at, bytes): &Magic| head.get(at..at + bytes.len()) == Some(bytes);
    if let Some((_, name, remedy)) = SIGNATURES
        .iter()
        .find(|(magic, ..)| magic.iter().all(holds))
    {
        return Some(Container { name, remedy });
    }
    let (name, remedy) = if gzip(head) {
        ("a gzip archive", UNPACK)
    } else if transport_stream(head) {
        ("an MPEG transport stream", DECODE)
    } else {
        (elementary_stream(head)?, DECODE)
    };
    Some(Container { name, remedy })
}

/// RFC 1952: magic, method 8, no reserved flag, a known level and a known system.
fn gzip(head: &[u8]) -> bool {
    matches!(head, [0x1f, 0x8b, 8, flags, _, _, _, _, level, system, ..]
        if *flags < 0x20 && matches!(level, 0 | 2 | 4) && (*system <= 13 || *system == 255))
}

/// ISO/IEC 13818-1: a sync byte every 188 bytes, and in each packet no error flag, no reserved
/// scrambling mode and an adaptation field control other than the reserved 0; one of the packets
/// starts the program association table, and their identifiers are not all one.
fn transport_stream(head: &[u8]) -> bool {
    let packets: Vec<&[u8]> = head.chunks_exact(TS_PACKET).collect();
    let valid = |p: &&[u8]| p[0] == 0x47 && p[1] & 0x80 == 0 && p[3] >> 6 != 1 && p[3] & 0x30 != 0;
    let table = |p: &&[u8]| p[1] & 0x5f == 0x40 && p[2] == 0 && p[4..7] == [0, 0, 0xb0];
    packets.len() >= 5 && packets.iter().all(valid) && packets.iter().any(table)
}

/// A stream of coded pictures without a container, told by its first unit and the fields that
/// must follow in it.
fn elementary_stream(head: &[u8]) -> Option<&'static str> {
    let unit = head.strip_prefix(b"\0\0\0\x01");
    let Some(unit) = unit.or_else(|| head.strip_prefix(b"\0\0\x01")) else {
        // AV1 section 7.5: a temporal delimiter, then a sequence header with its size; the
        // header's first byte holds profile 0 to 2 and the two still-picture flags.
        return match head {
            [0x12, 0, 0x0a, size @ 0x09..=0x14, first, ..]
                if matches!(first & 0xf8, 0 | 0x20 | 0x40) && head.get(5..9)? != [0; 4] =>
            {
                let follows = head.get(5 + usize::from(*size) - 1)?;
                matches!(follows, 0x32 | 0x30 | 0x2a | 0x22 | 0x0a).then_some("an AV1 stream")
            }
            _ => None,
        };
    };
    let start_code_follows = |from: usize| unit.get(from..from + 3) == Some(&[0, 0, 1]);
    match unit {
        // H.264 sequence parameter set: profile, two reserved bits, level.
        [
            0x27 | 0x47 | 0x67,
            42 | 44 | 66 | 77 | 88 | 100 | 110 | 118 | 122 | 128 | 144 | 244,
            constraints,
            9..=62,
            ..,
        ] if constraints & 3 == 0 => Some("an H.264 stream"),
        // H.264 and H.265 access unit delimiters and the start code after them.
        [9, kind, ..] if kind & 0x1f == 0x10 => {
            (start_code_follows(2) || start_code_follows(3)).then_some("an H.264 stream")
        }
        [0x46, 1, kind, ..] if kind & 0x1f == 0x10 => {
            (start_code_follows(3) || start_code_follows(4)).then_some("an H.265 stream")
        }
        // H.265 video parameter set with its reserved 16 ones.
        [0x40, 1, _, _, 0xff, 0xff, ..] => Some("an H.265 stream"),
        // MPEG-2 sequence header: marker bit after the rate; a size, an aspect and a rate code.
        [0xb3, _, _, _, codes, _, _, marker, ..]
            if marker & 0x20 != 0
                && (1..=14).contains(&(codes >> 4))
                && (1..=8).contains(&(codes & 15)) =>
        {
            Some("an MPEG-1 or MPEG-2 stream")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(head: &[u8]) -> Option<&'static str> {
        identify(head).map(|c| c.name)
    }

    #[test]
    fn files_that_people_feed_by_mistake() {
        assert_eq!(
            name(b"\0\0\0\x20ftypisom\0\0\x02\0"),
            Some("an MP4, MOV or HEIF file")
        );
        assert_eq!(
            name(b"\x1a\x45\xdf\xa3\x01\0\0\0"),
            Some("a Matroska or WebM file")
        );
        assert_eq!(name(b"RIFF\x24\0\0\0AVI LIST"), Some("an AVI file"));
        assert_eq!(name(b"YUV4MPEG2 W4 H4\n"), Some("a y4m file"));
        assert_eq!(name(b"\xfd7zXZ\0\0\x04"), Some("an xz archive"));
        assert_eq!(
            name(b"\0\0\0\x01\x67\x64\0\x1f\xac\xd9"),
            Some("an H.264 stream")
        );
        assert_eq!(
            name(b"\0\0\0\x01\x09\xf0\0\0\0\x01\x67"),
            Some("an H.264 stream")
        );
        let vps = b"\0\0\0\x01\x40\x01\x0c\x01\xff\xff\x01\x60";
        assert_eq!(name(vps), Some("an H.265 stream"));
        let seq = b"\0\0\x01\xb3\x16\0\xf0\xc4\x02\x71\x33\xa0";
        assert_eq!(name(seq), Some("an MPEG-1 or MPEG-2 stream"));
        let av1 = b"\x12\0\x0a\x0b\0\0\0\x04\x3c\xff\xbc\xff\xf9\x80\x40\x32\x10";
        assert_eq!(name(av1), Some("an AV1 stream"));
        assert_eq!(
            name(b"\x1f\x8b\x08\0\0\0\0\0\0\x03"),
            Some("a gzip archive")
        );

        let mut ts = Vec::new();
        for pid in [0x11u8, 0, 0x20, 0x21, 0x21] {
            let mut packet = [0xff; TS_PACKET];
            packet[..8].copy_from_slice(&[0x47, 0x40, pid, 0x10, 0, 0, 0xb0, 0x0d]);
            ts.extend_from_slice(&packet);
        }
        assert_eq!(name(&ts), Some("an MPEG transport stream"));
        assert_eq!(name(&ts[..4 * TS_PACKET]), None);
    }

    #[test]
    fn plain_samples_pass() {
        for value in 0..=255 {
            assert_eq!(name(&[value; PROBE]), None, "flat {value}");
        }
        // Columns that repeat with the period of a transport packet.
        let columns: Vec<u8> = (0..PROBE)
            .map(|i| [0x47, 0x40, 0, 0x10][(i % TS_PACKET).min(3)])
            .collect();
        assert_eq!(name(&columns), None);
        // Black with a little noise, as bytes and as words.
        for i in 0..1u32 << 12 {
            let bits: Vec<u8> = (0..12).map(|b| (i >> b & 1) as u8).collect();
            assert_eq!(name(&bits), None);
        }
        assert_eq!(name(&[]), None);
    }
}
