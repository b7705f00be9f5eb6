//! `kernels/args.h`: what host code hands to the kernels, as `crates/gpu/src/args.rs` has it.
//!
//! A structure that begins with the frame is the argument of a kernel: `Psnr` becomes
//! `VxPsnrArgs`; any other `Plane` becomes `VxPlane`; a constant `FAULT_WORD` becomes
//! `VX_FAULT_WORD`. What must stay true: every byte has a name, so no target lays a structure out
//! in its own way, and each target's compiler asserts the sizes that are computed here.

use syn::spanned::Spanned;
use syn::{Expr, Fields, Lit, Type};

use crate::Error;
use crate::source::{docs, last_segment};

/// Name of the source, for errors.
const FILE: &str = "args.rs";
/// Type of the field with which the arguments of a kernel begin.
const FRAME: &str = "Frame";

/// Types of numbers: in Rust, in the kernels, bytes.
const NUMBERS: [(&str, &str, usize); 5] = [
    ("u64", "u64", 8),
    ("f64", "double", 8),
    ("u32", "u32", 4),
    ("i32", "i32", 4),
    ("f32", "float", 4),
];

/// A structure whose size is known.
struct Known {
    rust: String,
    kernel: String,
    size: usize,
    alignment: usize,
}

/// The text of the header.
///
/// # Errors
/// A declaration that a kernel could not have: another type, padding, no `#[repr(C)]`.
pub(crate) fn args_h(source: &str) -> Result<String, Error> {
    let file = syn::parse_file(source).map_err(|error| wrong(error.span(), error.to_string()))?;
    let mut header = Header::default();
    // The first line says what the Rust file is.
    for line in docs(&file.attrs).iter().skip_while(|line| !line.is_empty()) {
        header.comment("", line);
    }
    let head = std::mem::take(&mut header.text);
    for item in &file.items {
        match item {
            syn::Item::Struct(item) => header.structure(item)?,
            syn::Item::Const(item) => header.constant(item)?,
            syn::Item::Use(_) => {}
            other => {
                let reason = "neither a structure nor a constant; a kernel has no use for it";
                return Err(wrong(other.span(), reason.to_owned()));
            }
        }
    }
    // Comments name structures that may come later, so names are put in at the end.
    let body = header.names(&header.text);
    let head = header.names(&head);
    Ok(format!(
        "// What host code hands to the kernels.\n\
         //\n\
         // Generated from crates/gpu/src/args.rs; do not edit. Run `cargo xtask codegen`.\n\
         {head}#pragma once\n#include \"vx.h\"\n{body}"
    ))
}

#[derive(Default)]
struct Header {
    text: String,
    known: Vec<Known>,
}

impl Header {
    fn comment(&mut self, indent: &str, line: &str) {
        self.text.push_str(format!("{indent}// {line}").trim_end());
        self.text.push('\n');
    }

    fn constant(&mut self, item: &syn::ItemConst) -> Result<(), Error> {
        let Expr::Lit(syn::ExprLit {
            lit: Lit::Int(value),
            ..
        }) = &*item.expr
        else {
            let reason = format!("{} is no whole number", item.ident);
            return Err(wrong(item.span(), reason));
        };
        self.text.push('\n');
        for line in docs(&item.attrs) {
            self.comment("", &line);
        }
        let value = value.base10_digits();
        self.text
            .push_str(&format!("#define VX_{} {value}\n", item.ident));
        Ok(())
    }

    fn structure(&mut self, item: &syn::ItemStruct) -> Result<(), Error> {
        let rust = item.ident.to_string();
        let is_c = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("repr")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|ident| ident == "C")
        });
        if !is_c {
            return Err(wrong(item.span(), format!("{rust} is not `#[repr(C)]`")));
        }
        let Fields::Named(fields) = &item.fields else {
            return Err(wrong(item.span(), format!("{rust} has no named fields")));
        };
        let first = fields.named.first();
        let is_argument = first.is_some_and(|field| last_segment(&field.ty) == FRAME);
        let kernel = match is_argument {
            true => format!("Vx{rust}Args"),
            false => format!("Vx{rust}"),
        };
        self.text.push('\n');
        for line in docs(&item.attrs) {
            self.comment("", &line);
        }
        self.text.push_str(&format!("struct {kernel} {{\n"));
        let (mut size, mut alignment) = (0usize, 1usize);
        for field in &fields.named {
            for line in docs(&field.attrs) {
                self.comment("    ", &line);
            }
            let name = field.ident.as_ref().map(|ident| ident.to_string());
            let name = name.unwrap_or_default();
            let (count, element) = elements(&field.ty)?;
            let (type_, bytes, aligned) = self.element(element)?;
            if size % aligned != 0 {
                let reason = format!("there is padding before {rust}.{name}; reorder or fill it");
                return Err(wrong(field.span(), reason));
            }
            size += bytes * count.unwrap_or(1);
            alignment = alignment.max(aligned);
            let count = count.map_or(String::new(), |count| format!("[{count}]"));
            self.text.push_str(&format!("    {type_} {name}{count};\n"));
        }
        if size == 0 || size % alignment != 0 {
            let reason = format!("{rust} has no fields or padding at its end; fill it");
            return Err(wrong(item.span(), reason));
        }
        self.text.push_str(&format!(
            "}};\nstatic_assert(sizeof({kernel}) == {size}, \"another layout than the host's\");\n"
        ));
        self.known.push(Known {
            rust,
            kernel,
            size,
            alignment,
        });
        Ok(())
    }

    /// Name in the kernels, bytes and alignment of a number or a structure.
    fn element(&self, type_: &Type) -> Result<(String, usize, usize), Error> {
        let name = last_segment(type_);
        if let Some(&(_, kernel, bytes)) = NUMBERS.iter().find(|(rust, ..)| *rust == name) {
            return Ok((kernel.to_owned(), bytes, bytes));
        }
        let known = self.known.iter().find(|known| known.rust == name);
        let known = known.ok_or_else(|| {
            let reason = format!(
                "`{name}` is neither u64, u32, i32, f64, f32 nor a structure declared before; \
                 allowed are these and arrays of them"
            );
            wrong(type_.span(), reason)
        })?;
        Ok((known.kernel.clone(), known.size, known.alignment))
    }

    /// Writes the names of the kernels where a comment links to those of Rust.
    fn names(&self, text: &str) -> String {
        let mut named = text.to_owned();
        for known in &self.known {
            for end in ["`]", "::"] {
                let link = format!("[`{}{end}", known.rust);
                let name = match end {
                    "`]" => known.kernel.clone(),
                    _ => format!("[`{}::", known.kernel),
                };
                named = named.replace(&link, &name);
            }
        }
        // What is left are links to fields.
        let mut plain = String::new();
        let mut rest = named.as_str();
        while let Some((before, link)) = rest.split_once("[`") {
            plain.push_str(before);
            let (name, after) = link.split_once("`]").unwrap_or((link, ""));
            plain.push_str(name);
            rest = after;
        }
        plain + rest
    }
}

/// The length of an array, if it is one, and the type of its elements.
fn elements(type_: &Type) -> Result<(Option<usize>, &Type), Error> {
    let Type::Array(array) = type_ else {
        return Ok((None, type_));
    };
    let length = match &array.len {
        Expr::Lit(syn::ExprLit {
            lit: Lit::Int(length),
            ..
        }) => length.base10_parse().ok().filter(|&length| length > 0),
        _ => None,
    };
    match length {
        Some(length) => Ok((Some(length), &array.elem)),
        None => Err(wrong(
            array.span(),
            "the length of an array is a number above 0, written out".to_owned(),
        )),
    }
}

fn wrong(span: proc_macro2::Span, reason: String) -> Error {
    Error::Parse {
        file: FILE,
        line: span.start().line,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! The mirror.\n//!\n//! Of [`Frame`].\n\nuse bytemuck::Pod;\n\n\
        /// A plane.\n#[repr(C)]\n#[derive(Pod)]\npub struct Plane {\n    /// Where.\n    pub address: u64,\n\
        \x20   pub pitch: [u32; 2],\n}\n\n/// Begins [`Sum`].\n#[repr(C)]\npub struct Frame {\n    \
        /// See [`Plane::pitch`].\n    pub planes: [Plane; 3],\n}\n\n/// A word.\npub const FAULT_WORD: usize = 1;\n\n\
        #[repr(C)]\npub struct Sum {\n    pub frame: Frame,\n    pub gain: f64,\n    pub half: f32,\n    pub shift: i32,\n}\n";

    #[test]
    fn structures_become_those_of_the_kernels() {
        let text = args_h(SOURCE).unwrap();
        let expected = "// What host code hands to the kernels.\n//\n\
            // Generated from crates/gpu/src/args.rs; do not edit. Run `cargo xtask codegen`.\n\
            //\n// Of VxFrame.\n#pragma once\n#include \"vx.h\"\n\n\
            // A plane.\nstruct VxPlane {\n    // Where.\n    u64 address;\n    u32 pitch[2];\n};\n\
            static_assert(sizeof(VxPlane) == 16, \"another layout than the host's\");\n\n\
            // Begins VxSumArgs.\nstruct VxFrame {\n    // See VxPlane::pitch.\n    VxPlane planes[3];\n};\n\
            static_assert(sizeof(VxFrame) == 48, \"another layout than the host's\");\n\n\
            // A word.\n#define VX_FAULT_WORD 1\n\n\
            struct VxSumArgs {\n    VxFrame frame;\n    double gain;\n    float half;\n    i32 shift;\n};\n\
            static_assert(sizeof(VxSumArgs) == 64, \"another layout than the host's\");\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_a_target_could_lay_out_in_its_own_way_is_refused() {
        let refused = |from: &str, to: &str, part: &str| {
            let changed = SOURCE.replace(from, to);
            assert_ne!(changed, SOURCE);
            let failure = args_h(&changed).unwrap_err().to_string();
            assert!(
                failure.starts_with("args.rs:") && failure.contains(part),
                "{failure}"
            );
        };
        refused("pub half: f32,\n", "", "padding at its end");
        refused(
            "pub half: f32,\n    pub shift: i32",
            "pub half: f32,\n    pub gap: f64",
            "before Sum.gap",
        );
        refused("half: f32", "half: u16", "`u16` is neither");
        refused("half: f32", "half: bool", "`bool` is neither");
        refused("half: f32", "half: *const u32", "`` is neither");
        refused(
            "planes: [Plane; 3]",
            "planes: [Later; 3]",
            "`Later` is neither",
        );
        refused("[Plane; 3]", "[Plane; N]", "written out");
        refused("[Plane; 3]", "[Plane; 0]", "written out");
        refused(
            "#[repr(C)]\npub struct Frame",
            "pub struct Frame",
            "Frame is not `#[repr(C)]`",
        );
        refused("= 1;", "= OTHER;", "no whole number");
        refused(
            "use bytemuck::Pod;",
            "fn f() {}",
            "neither a structure nor a constant",
        );
    }
}
