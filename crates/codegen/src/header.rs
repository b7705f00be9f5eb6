//! `include/vmafx/plugin.h`: the wire for C and C++.
//!
//! cbindgen writes the declarations. It is given a plain copy of the wire, with the macros of
//! `kinds.rs` expanded and every name as C has it. What must stay true: the header stands alone,
//! needs nothing but `stddef.h` and `stdint.h`, and is C99 and C++17 without a warning.

use std::io::Write;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::visit_mut::VisitMut;

use crate::source::Source;
use crate::{Error, GENERATED, LICENSE, names};

/// Columns of a comment, its frame not counted.
const WIDTH: usize = 89;

/// The text of the header.
pub(crate) fn plugin_h(source: &Source) -> Result<String, Error> {
    let plain = tempfile::Builder::new().suffix(".rs").tempfile();
    let plain = plain.and_then(|mut file| {
        file.write_all(plain_rust(source).as_bytes())?;
        Ok(file)
    });
    let plain = plain.map_err(|source| Error::File {
        path: std::env::temp_dir(),
        source,
    })?;
    let mut written = Vec::new();
    cbindgen::Builder::new()
        .with_config(config(source))
        .with_src(plain.path())
        .generate()
        .map_err(|error| Error::Cbindgen(error.to_string()))?
        .write(&mut written);
    let text = String::from_utf8_lossy(&written);
    Ok(finish(source, &text))
}

/// The wire without macros, in the names of C.
fn plain_rust(source: &Source) -> String {
    let mut rename = Rename(source);
    let documented = |lines: &[String]| {
        let lines = source.c_docs(lines, WIDTH);
        let lines = lines.iter().map(|line| match line.as_str() {
            "" => String::new(),
            line => format!(" {line}"),
        });
        quote!(#(#[doc = #lines])*)
    };
    let ident = |name: &str| Ident::new(name, Span::call_site());
    let mut items = TokenStream::new();
    for item in &source.constants {
        let docs = documented(&item.docs);
        let (name, type_, value) = (ident(&item.name), &item.type_, &item.value);
        items.extend(quote!(#docs pub const #name: #type_ = #value;));
    }
    for item in &source.numbers {
        let docs = documented(&item.docs);
        let (name, repr) = (ident(&item.name), &item.repr);
        let values = item.values.iter().map(|value| {
            let (docs, constant) = (documented(&value.docs), ident(&value.name));
            let number = proc_macro2::Literal::i64_unsuffixed(value.value);
            quote!(#docs pub const #constant: #name = #name(#number);)
        });
        items.extend(quote! {
            #docs #[repr(transparent)] pub struct #name(pub #repr);
            impl #name { #(#values)* }
        });
    }
    for item in &source.sets {
        let (docs, name) = (documented(&item.docs), ident(&item.name));
        let values = item.values.iter().map(|value| {
            let (docs, constant, bits) = (documented(&value.docs), ident(&value.name), value.bits);
            let bits = proc_macro2::Literal::u64_unsuffixed(bits);
            quote!(#docs pub const #constant: #name = #name(#bits);)
        });
        items.extend(quote! {
            #docs #[repr(transparent)] pub struct #name(pub u64);
            impl #name { #(#values)* }
        });
    }
    for item in &source.structs {
        let (docs, name) = (documented(&item.docs), ident(&item.name));
        if item.is_opaque() {
            items.extend(quote!(#docs pub struct #name { _opaque: [u8; 0] }));
            continue;
        }
        let fields = item.fields.iter().map(|field| {
            let (docs, name, type_) = (documented(&field.docs), ident(&field.name), &field.type_);
            quote!(#docs pub #name: #type_)
        });
        items.extend(quote!(#docs #[repr(C)] pub struct #name { #(#fields),* }));
    }
    for item in &source.aliases {
        let docs = documented(&item.docs);
        let (name, type_) = (ident(&item.name), &item.type_);
        items.extend(quote!(#docs pub type #name = #type_;));
    }
    if let Some(entry) = entry(source) {
        items.extend(entry);
    }
    let mut file: syn::File = syn::parse_quote!(#items);
    rename.visit_file_mut(&mut file);
    quote!(#file).to_string()
}

/// A declaration of the entry symbol, with the arguments of its type.
fn entry(source: &Source) -> Option<TokenStream> {
    let alias = source.aliases.iter().find(|a| a.name == "PluginEntry")?;
    let syn::Type::BareFn(function) = &alias.type_ else {
        return None;
    };
    let (inputs, output) = (&function.inputs, &function.output);
    let name = Ident::new(&source.symbol(), Span::call_site());
    let docs = " The entry of a plugin: see vmafx_plugin_entry.";
    Some(quote! {
        #[doc = #docs] #[unsafe(no_mangle)]
        pub unsafe extern "C" fn #name(#inputs) #output { }
    })
}

/// Gives every declared type and constant its C name.
struct Rename<'a>(&'a Source);

impl VisitMut for Rename<'_> {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if let Some(name) = self.0.c_name(&ident.to_string()) {
            *ident = Ident::new(&name, ident.span());
        }
    }
}

fn config(source: &Source) -> cbindgen::Config {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        include_guard: Some("VMAFX_PLUGIN_H".to_owned()),
        usize_is_size_t: true,
        style: cbindgen::Style::Both,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        line_length: 98,
        tab_width: 4,
        ..Default::default()
    };
    config.function.prefix = Some("VMAFX_PLUGIN_EXPORT".to_owned());
    config.export.include = [
        source.structs.iter().map(|s| &s.name).collect::<Vec<_>>(),
        source.numbers.iter().map(|n| &n.name).collect(),
        source.sets.iter().map(|s| &s.name).collect(),
        source.aliases.iter().map(|a| &a.name).collect(),
    ]
    .concat()
    .into_iter()
    .map(|name| names::type_name(name))
    .collect();
    config.header = Some(head(source));
    config.after_includes = Some(include_str!("plugin_macros.h").trim_end().to_owned());
    config
}

/// The comment at the top: the wire's own, but for what it says of its Rust file.
fn head(source: &Source) -> String {
    let head = source.head.join("\n");
    let head = head.split_once("\n\n").map_or("", |(_title, rest)| rest);
    let head = match head.split_once("`include/vmafx/plugin.h` is generated") {
        Some((before, after)) => {
            let after = after
                .split_once("\n\n")
                .map_or("", |(_sentence, rest)| rest);
            format!("{}\n\n{after}", before.trim_end())
        }
        None => head.to_owned(),
    };
    let lines: Vec<String> = head.lines().map(str::to_owned).collect();
    let mut text = format!("{LICENSE}\n/* {GENERATED} */\n\n");
    text.push_str("/**\n * @file\n * The interface between vmafx and its plugins.\n *\n");
    for line in source.c_docs(&lines, WIDTH) {
        text.push_str(format!(" * {line}").trim_end());
        text.push('\n');
    }
    text + " */"
}

/// What cbindgen has no setting for: values in capitals, negative ones in parentheses, and short
/// comments on one line.
fn finish(source: &Source, text: &str) -> String {
    let mut defined = Vec::new();
    let numbers = source.numbers.iter().flat_map(|item| {
        let values = item.values.iter().map(|value| &value.name);
        values.map(|value| (&item.name, value))
    });
    let sets = source.sets.iter().flat_map(|item| {
        let values = item.values.iter().map(|value| &value.name);
        values.map(|value| (&item.name, value))
    });
    for (type_, value) in numbers.chain(sets) {
        let from = format!("#define {}_{value} ", names::type_name(type_));
        let to = format!("#define {} ", names::value_name(type_, value));
        defined.push((from, to));
    }
    let mut finished = String::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        let comment =
            (lines.get(at + 1).copied().unwrap_or_default().trim_start()).strip_prefix("* ");
        let closed = lines.get(at + 2).is_some_and(|line| line.trim() == "*/");
        if let (true, Some(comment), true) = (line.trim() == "/**", comment, closed) {
            finished.push_str(&format!("{line} {comment} */\n"));
            at += 3;
            continue;
        }
        at += 1;
        let mut line = line.to_owned();
        if let Some((from, to)) = defined.iter().find(|(from, _)| line.starts_with(from)) {
            line = line.replacen(from, to, 1);
            if let Some((name, value)) = line.rsplit_once(' ').filter(|(_, v)| v.starts_with('-')) {
                line = format!("{name} ({value})");
            }
        }
        finished.push_str(line.trim_end());
        finished.push('\n');
    }
    finished
}
