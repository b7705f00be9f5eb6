//! Where every field lies, as three compilers have to agree: asserts for C, C++ and Rust.
//!
//! The numbers are worked out here by the rules of `repr(C)` on machines with 64-bit pointers.
//! They are no second source of the layout: each compiler checks them against its own. What must
//! stay true: only types of fixed size occur, so that one set of numbers serves all of them.

use std::fmt::Write;

use quote::ToTokens;
use syn::Type;

use crate::source::{Source, last_segment};
use crate::{Error, GENERATED, LICENSE, names};

/// One struct, measured.
pub(crate) struct Layout {
    name: String,
    size: usize,
    align: usize,
    draft: bool,
    extensible: bool,
    /// Names and offsets.
    fields: Vec<(String, usize)>,
}

/// Measures every struct but the opaque ones.
///
/// # Errors
/// A field of a type that the wire does not allow.
pub(crate) fn measure(source: &Source) -> Result<Vec<Layout>, Error> {
    let known = source.structs.iter().filter(|item| !item.is_opaque());
    known.map(|item| measure_struct(source, item)).collect()
}

fn measure_struct(source: &Source, item: &crate::source::Struct) -> Result<Layout, Error> {
    let (mut end, mut align) = (0usize, 1);
    let mut fields = Vec::new();
    for field in &item.fields {
        let (size, field_align) = size_and_align(source, &field.type_)?.ok_or(Error::Type {
            field: format!("{}.{}", item.name, field.name),
            type_: field.type_.to_token_stream().to_string(),
        })?;
        let offset = end.next_multiple_of(field_align);
        fields.push((field.name.clone(), offset));
        end = offset + size;
        align = align.max(field_align);
    }
    Ok(Layout {
        name: item.name.clone(),
        size: end.next_multiple_of(align),
        align,
        draft: item.is_draft(),
        extensible: item.is_extensible(),
        fields,
    })
}

/// `None` for a type that the wire does not allow.
fn size_and_align(source: &Source, type_: &Type) -> Result<Option<(usize, usize)>, Error> {
    let path = match type_ {
        Type::Ptr(_) => return Ok(Some((8, 8))),
        Type::Array(array) => {
            let element = size_and_align(source, &array.elem)?;
            let length = length(source, &array.len);
            return Ok(match (element, length) {
                (Some((size, align)), Some(length)) => Some((size * length, align)),
                _ => None,
            });
        }
        Type::Path(_) => last_segment(type_),
        _ => return Ok(None),
    };
    if let Some(number) = source.numbers.iter().find(|item| item.name == path) {
        return Ok(primitive(&number.repr.to_string()));
    }
    if source.sets.iter().any(|item| item.name == path) {
        return Ok(primitive("u64"));
    }
    if let Some(item) = source.structs.iter().find(|item| item.name == path) {
        let layout = measure_struct(source, item)?;
        return Ok((!item.is_opaque()).then_some((layout.size, layout.align)));
    }
    if path == "Option" {
        let text = type_.to_token_stream().to_string();
        return Ok(text.contains("extern \"C\" fn").then_some((8, 8)));
    }
    Ok(primitive(&path))
}

fn primitive(name: &str) -> Option<(usize, usize)> {
    match name {
        "c_char" | "u8" | "i8" => Some((1, 1)),
        "u16" | "i16" => Some((2, 2)),
        "u32" | "i32" => Some((4, 4)),
        "u64" | "i64" | "f64" | "usize" => Some((8, 8)),
        _ => None,
    }
}

/// The length of an array: a number, or the name of a constant.
fn length(source: &Source, expr: &syn::Expr) -> Option<usize> {
    match expr {
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        syn::Expr::Path(path) => {
            let name = path.path.get_ident()?.to_string();
            let constant = source.constants.iter().find(|c| c.name == name)?;
            length(source, &constant.value)
        }
        _ => None,
    }
}

/// `tests/abi/layout.c`. C99 has no static assert: an array of -1 elements stops the compiler.
pub(crate) fn c(layouts: &[Layout]) -> String {
    let mut text = start(
        "Stops the compiler if plugin.h lays a struct out otherwise than the Rust side.",
        "#define LAYOUT(name, condition) typedef char name[(condition) ? 1 : -1]",
    );
    for layout in layouts {
        let c_name = names::type_name(&layout.name);
        let name = names::snake_case(&layout.name);
        let _ = writeln!(
            text,
            "\nLAYOUT(size_of_{name}, sizeof({c_name}) == {});",
            layout.size
        );
        for (field, offset) in &layout.fields {
            let _ = writeln!(
                text,
                "LAYOUT({name}_{field}, offsetof({c_name}, {field}) == {offset});"
            );
        }
    }
    text + "\n#endif\n"
}

/// `tests/abi/layout.cpp`.
pub(crate) fn cpp(layouts: &[Layout]) -> String {
    let mut text = start(
        "Stops the compiler if plugin.h lays a struct out otherwise in C++ than the Rust side.",
        "#define LAYOUT(condition) static_assert(condition, \"the layout of the wire\")",
    );
    for layout in layouts {
        let name = names::type_name(&layout.name);
        let _ = writeln!(text, "\nLAYOUT(sizeof({name}) == {});", layout.size);
        let _ = writeln!(text, "LAYOUT(alignof({name}) == {});", layout.align);
        for (field, offset) in &layout.fields {
            let _ = writeln!(text, "LAYOUT(offsetof({name}, {field}) == {offset});");
        }
    }
    text + "\n#endif\n"
}

fn start(what: &str, assert: &str) -> String {
    format!(
        "{LICENSE}\n/* {GENERATED} */\n\n/* {what} */\n\n#include <vmafx/plugin.h>\n\n\
         #if UINTPTR_MAX == UINT64_MAX\n\n{assert}\n"
    )
}

/// `crates/api/src/layout.rs`.
pub(crate) fn rust(source: &Source, layouts: &[Layout]) -> String {
    let mut structs = String::new();
    for layout in layouts {
        let Layout {
            name,
            size,
            align,
            draft,
            extensible,
            fields,
        } = layout;
        let _ = writeln!(
            structs,
            "    {name}: size {size}, align {align}, extensible {extensible}, draft {draft} {{"
        );
        for (field, offset) in fields {
            let _ = writeln!(structs, "        {field} {offset},");
        }
        structs.push_str("    }\n");
    }
    let mut constants = String::new();
    for item in source.constants.iter().filter(|c| c.name != "ENTRY_SYMBOL") {
        let (name, type_) = (&item.name, item.type_.to_token_stream());
        let draft = item.is_draft();
        let _ = writeln!(constants, "    {name}: {type_}, draft {draft};");
    }
    let mut numbers = String::new();
    for item in &source.numbers {
        let _ = writeln!(numbers, "    {}: {};", item.name, item.repr);
    }
    let mut sets = String::new();
    for item in &source.sets {
        let values: Vec<&str> = item.values.iter().map(|v| v.name.as_str()).collect();
        let values = values.join(", ");
        let _ = writeln!(sets, "    {} of {}: [{values}];", item.name, item.kind);
    }
    let opaque = source.structs.iter().filter(|item| item.is_opaque());
    let opaque: Vec<String> = opaque
        .map(|item| format!("\n    \"{}\",", item.name))
        .collect();
    include_str!("layout_template.rs.in")
        .replace("@structs@\n", &structs)
        .replace("@constants@\n", &constants)
        .replace("@numbers@\n", &numbers)
        .replace("@sets@\n", &sets)
        .replace("@opaque@", &(opaque.concat() + "\n"))
}
