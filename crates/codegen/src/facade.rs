//! The object traits of `facade.rs`: their methods, in the order of their tables.
//!
//! `abi/plugin.lock` records them. The macro that makes the tables keeps them to itself, so they
//! are read from the source.

use std::path::Path;

use quote::ToTokens;
use syn::{FnArg, ReturnType, TraitItem};

use crate::{Error, source};

/// A trait whose objects stand for a backend or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trait {
    /// Its name.
    pub name: String,
    /// Whether it is outside the append-only promise.
    pub draft: bool,
    /// In the order of the table.
    pub methods: Vec<Method>,
}

/// One method of such a trait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Parameters and result, such as `fn(&self, count: &mut u32) -> Status`.
    pub signature: String,
    /// Whether every object has it: it comes before the mark or carries it.
    pub in_prefix: bool,
    /// Whether an object without it has another body to run.
    pub has_default: bool,
}

/// Reads the traits below `root`, the root of the repository.
///
/// # Errors
/// A file that cannot be read, or is no Rust.
pub fn facade(root: &Path) -> Result<Vec<Trait>, Error> {
    let path = root.join("crates/api/src/facade.rs");
    let text = std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
    read(&text)
}

fn read(text: &str) -> Result<Vec<Trait>, Error> {
    let file = syn::parse_file(text).map_err(|error| Error::Parse {
        file: "facade.rs",
        line: error.span().start().line,
        reason: error.to_string(),
    })?;
    let traits = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Trait(item) => Some(item),
        _ => None,
    });
    let objects = traits.filter(|item| {
        let mut attributes = item.attrs.iter();
        attributes.any(|attribute| attribute.path().is_ident("sabi_trait"))
    });
    Ok(objects.map(object_trait).collect())
}

fn object_trait(item: syn::ItemTrait) -> Trait {
    let mut methods = Vec::new();
    let mut last_of_prefix = None;
    for item in &item.items {
        let TraitItem::Fn(method) = item else {
            continue;
        };
        let marks = method.attrs.iter().filter(|a| a.path().is_ident("sabi"));
        let marked = |mark: &syn::Attribute| {
            let mark = mark.meta.to_token_stream().to_string();
            mark.contains("last_prefix_field")
        };
        if marks.into_iter().any(marked) {
            last_of_prefix = Some(methods.len());
        }
        methods.push(Method {
            name: method.sig.ident.to_string(),
            signature: signature(&method.sig),
            in_prefix: false,
            has_default: method.default.is_some(),
        });
    }
    for (at, method) in methods.iter_mut().enumerate() {
        method.in_prefix = last_of_prefix.is_some_and(|last| at <= last);
    }
    Trait {
        name: item.ident.to_string(),
        draft: source::is_draft(&source::docs(&item.attrs)),
        methods,
    }
}

fn signature(signature: &syn::Signature) -> String {
    let parameters = signature.inputs.iter().map(|input| match input {
        FnArg::Receiver(receiver) => receiver.to_token_stream().to_string(),
        FnArg::Typed(typed) => typed.to_token_stream().to_string(),
    });
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let result = match &signature.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, type_) => format!(" -> {}", type_.to_token_stream()),
    };
    let mut text = format!("fn({parameters}){result}");
    // As people write it.
    for (from, to) in [
        ("& ", "&"),
        (" :: ", "::"),
        ("* ", "*"),
        (" : ", ": "),
        (" < ", "<"),
        (" >", ">"),
    ] {
        text = text.replace(from, to);
    }
    text.replace("wire::", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_in_order_with_their_marks() {
        let text = "
            /// An object. Draft.
            #[sabi_trait]
            pub trait Thing: Send {
                unsafe fn first(&self, count: &mut u32, frame: *const wire::Frame) -> Status;
                #[sabi(last_prefix_field)]
                fn second(&self) -> ROption<ThingObject>;
                fn third(&self) { }
            }
            trait Other { fn a(); }";
        let traits = read(text).unwrap();
        assert_eq!(traits.len(), 1);
        assert!(traits[0].draft && traits[0].name == "Thing");
        let rows: Vec<_> = traits[0]
            .methods
            .iter()
            .map(|m| (m.signature.as_str(), m.in_prefix, m.has_default))
            .collect();
        assert_eq!(
            rows,
            [
                (
                    "fn(&self, count: &mut u32, frame: *const Frame) -> Status",
                    true,
                    false
                ),
                ("fn(&self) -> ROption<ThingObject>", true, false),
                ("fn(&self)", false, true),
            ]
        );
    }
}
