//! The text of a code object's instructions, as llvm-objdump writes it.

use std::ffi::OsString;
use std::io::Write;
use std::process::Stdio;
use std::sync::LazyLock;

use crate::tool::Tool;

/// An instruction of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it lies in the object.
    pub address: u64,
    /// Its mnemonic and operands.
    pub text: &'a str,
    /// Its words, in hexadecimal digits.
    pub encoding: &'a str,
}

impl<'a> Line<'a> {
    /// Reads `\tv_add_u32_e32 v0, v1, v2      // 000000001500: 68000501`; none where a line is no
    /// instruction.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (text, comment) = line.strip_prefix('\t')?.split_once("//")?;
        let (address, encoding) = comment.trim().split_once(':')?;
        // The words end where a branch tells its target.
        let encoding = encoding.split('<').next().unwrap_or_default().trim();
        Some(Self {
            address: u64::from_str_radix(address, 16).ok()?,
            text: text.trim(),
            encoding,
        })
    }

    /// Whether it is padding of zeros, which would be an instruction.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        self.encoding == "00000000"
    }
}

/// The disassembler: `VMAFX_OBJDUMP`, else one of the usual names. Looked for once.
///
/// # Errors
/// What was tried and what to install.
pub fn objdump() -> Result<&'static Tool, String> {
    static FOUND: LazyLock<Result<Tool, String>> =
        LazyLock::new(|| find(|name| std::env::var_os(name)));
    FOUND.as_ref().map_err(Clone::clone)
}

fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Tool, String> {
    let candidates = match variable("VMAFX_OBJDUMP") {
        Some(path) => vec![path],
        None => vec!["llvm-objdump-22".into(), "llvm-objdump".into()],
    };
    let mut tried = Vec::new();
    for path in candidates {
        let program = Tool::new(path, None);
        match program.version() {
            Ok(_) => return Ok(program),
            Err(reason) => tried.push(reason),
        }
    }
    Err(format!(
        "no disassembler:\n  {}\ninstall llvm-22 (Debian 12's security suite has it; \
         scripts/setup.sh does it), or name llvm-objdump of LLVM 22 or newer in VMAFX_OBJDUMP",
        tried.join("\n  ")
    ))
}

/// The listing of a code object, of which [`Line::parse`] reads each line.
///
/// # Errors
/// What the disassembler says.
pub fn listing(objdump: &Tool, image: &[u8]) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", objdump.name());
    let mut child = objdump
        .command()
        .args(["-d", "--no-leading-addr", "--disassemble-zeroes", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut input = child.stdin.take().ok_or("no pipe to the disassembler")?;
    let output = std::thread::scope(|scope| {
        // A disassembler that gives up early tells why itself.
        scope.spawn(move || {
            let _ = input.write_all(image);
        });
        child.wait_with_output()
    });
    let output = output.map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_there_says_what_was_tried_and_what_to_do() {
        let failure = find(|name| Some(format!("/nowhere/{name}").into())).unwrap_err();
        assert!(failure.contains("/nowhere/VMAFX_OBJDUMP: "), "{failure}");
        assert!(failure.contains("install llvm-22"), "{failure}");
    }

    #[test]
    fn lines_are_read() {
        let line = "\ts_cbranch_execz 20    // 00000000E83C: BFA50014 <vx_begin+0x90>";
        let line = Line::parse(line).unwrap();
        assert_eq!((line.address, line.text), (0xe83c, "s_cbranch_execz 20"));
        assert_eq!((line.encoding, line.is_padding()), ("BFA50014", false));
        let long = "\ts_delay_alu instid0(VALU_DEP_2) | instskip(NEXT)// 000000000100: BF870092";
        assert_eq!(Line::parse(long).unwrap().address, 0x100);
        assert!(
            Line::parse("\tv_cndmask_b32_e32 v0, s0, v0, vcc // 000000000104: 00000000")
                .unwrap()
                .is_padding()
        );
        assert_eq!(Line::parse("0000000000000100 <vx_begin>:"), None);
    }
}
