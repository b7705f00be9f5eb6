//! The wire as its source states it: names, comments, values and types.
//!
//! `kinds.rs` makes its types with two macros, which no parser of headers expands; here their
//! arguments are read as the small language that they are. What must stay true: nothing of the
//! wire is known to this crate but by reading these two files.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Fields, Ident, LitInt, LitStr, Token, Type};

use crate::Error;

/// Everything that the two files declare, in their order.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Lines of the comment at the head of `wire.rs`.
    pub(crate) head: Vec<String>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) numbers: Vec<Number>,
    pub(crate) sets: Vec<Set>,
    pub(crate) structs: Vec<Struct>,
    pub(crate) aliases: Vec<Alias>,
}

/// A constant of the wire.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) type_: Type,
    pub(crate) value: Expr,
}

/// A type whose values have names: a newtype over an integer.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) repr: Ident,
    pub(crate) values: Vec<NumberValue>,
}

#[derive(Debug)]
pub(crate) struct NumberValue {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) value: i64,
}

/// A set of such values: bit `k` is the value `k`.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) values: Vec<SetValue>,
}

#[derive(Debug)]
pub(crate) struct SetValue {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) bits: u64,
}

/// A struct of the wire.
#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) type_: Type,
}

/// A name for a type.
#[derive(Debug)]
pub(crate) struct Alias {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) type_: Type,
}

impl Struct {
    /// Whether C knows no more than its name.
    pub(crate) fn is_opaque(&self) -> bool {
        matches!(&self.fields[..], [only] if only.name == "_opaque")
    }

    /// Whether it may grow at its end.
    pub(crate) fn is_extensible(&self) -> bool {
        self.fields.first().is_some_and(|f| f.name == "struct_size")
    }

    /// Whether it is outside the append-only promise.
    pub(crate) fn is_draft(&self) -> bool {
        is_draft(&self.docs)
    }
}

impl Constant {
    /// Whether it is outside the append-only promise.
    pub(crate) fn is_draft(&self) -> bool {
        is_draft(&self.docs)
    }
}

/// A comment that ends in the word *Draft*, or says it before a colon, marks what it describes.
pub(crate) fn is_draft(docs: &[String]) -> bool {
    let text = docs.join(" ");
    text.ends_with("Draft.") || text.contains(" Draft: ")
}

impl Source {
    /// Reads the texts of `wire.rs` and `kinds.rs`.
    pub(crate) fn read(wire: &str, kinds: &str) -> Result<Self, Error> {
        let mut source = Source::default();
        for (file, text) in [("kinds.rs", kinds), ("wire.rs", wire)] {
            let parsed = syn::parse_file(text).map_err(|error| Error::Parse {
                file,
                line: error.span().start().line,
                reason: error.to_string(),
            })?;
            if file == "wire.rs" {
                source.head = docs(&parsed.attrs);
            }
            for item in parsed.items {
                source.item(file, item)?;
            }
        }
        Ok(source)
    }

    /// The name of the entry symbol.
    pub(crate) fn symbol(&self) -> String {
        self.literal("ENTRY_SYMBOL")
            .map(|literal| match literal {
                syn::Lit::Str(text) => text.value(),
                other => other.to_token_stream().to_string(),
            })
            .unwrap_or_default()
    }

    /// The newest revision of the wire.
    pub(crate) fn revision(&self) -> u32 {
        match self.literal("ABI_REVISION") {
            Some(syn::Lit::Int(number)) => number.base10_parse().unwrap_or_default(),
            _ => 0,
        }
    }

    fn literal(&self, constant: &str) -> Option<&syn::Lit> {
        let found = self.constants.iter().find(|item| item.name == constant)?;
        match &found.value {
            Expr::Lit(literal) => Some(&literal.lit),
            _ => None,
        }
    }

    fn item(&mut self, file: &'static str, item: syn::Item) -> Result<(), Error> {
        let macro_error = |what: &str, error: syn::Error| Error::Parse {
            file,
            line: error.span().start().line,
            reason: format!("{what}!: {error}"),
        };
        match item {
            syn::Item::Macro(item) if item.mac.path.is_ident("numbers") => {
                let number = syn::parse2(item.mac.tokens).map_err(|e| macro_error("numbers", e))?;
                self.numbers.push(number);
            }
            syn::Item::Macro(item) if item.mac.path.is_ident("sets") => {
                let set = syn::parse2(item.mac.tokens).map_err(|e| macro_error("sets", e))?;
                self.sets.push(set);
            }
            syn::Item::Impl(item) if item.trait_.is_none() => self.set_values(file, &item)?,
            syn::Item::Const(item) => self.constants.push(Constant {
                docs: docs(&item.attrs),
                name: item.ident.to_string(),
                type_: *item.ty,
                value: *item.expr,
            }),
            syn::Item::Type(item) => self.aliases.push(Alias {
                docs: docs(&item.attrs),
                name: item.ident.to_string(),
                type_: *item.ty,
            }),
            syn::Item::Struct(item) => {
                let name = item.ident.to_string();
                let Fields::Named(fields) = item.fields else {
                    return Err(Error::Unnamed { name });
                };
                let fields = fields.named.into_iter().map(|field| Field {
                    docs: docs(&field.attrs),
                    name: field.ident.map(|i| i.to_string()).unwrap_or_default(),
                    type_: field.ty,
                });
                self.structs.push(Struct {
                    docs: docs(&item.attrs),
                    name,
                    fields: fields.collect(),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// `impl Set { const NAME: Set = Set::of(&[Kind::A, …]); }`
    fn set_values(&mut self, file: &'static str, item: &syn::ItemImpl) -> Result<(), Error> {
        let name = last_segment(&item.self_ty);
        let Some(set) = self.sets.iter_mut().find(|set| set.name == name) else {
            return Ok(());
        };
        let number = self.numbers.iter().find(|number| number.name == set.kind);
        for item in &item.items {
            let syn::ImplItem::Const(constant) = item else {
                continue;
            };
            let unknown = || Error::Parse {
                file,
                line: constant.ident.span().start().line,
                reason: format!(
                    "{name}::{} is not of the form `{name}::of(&[…])`",
                    constant.ident
                ),
            };
            let members = members(&constant.expr).ok_or_else(unknown)?;
            let mut bits = 0;
            for member in members {
                let value = number
                    .and_then(|number| number.values.iter().find(|value| value.name == member))
                    .ok_or_else(unknown)?;
                bits |= 1u64 << value.value;
            }
            set.values.push(SetValue {
                docs: docs(&constant.attrs),
                name: constant.ident.to_string(),
                bits,
            });
        }
        Ok(())
    }
}

/// The last names of the paths in `X::of(&[A::B, …])`.
fn members(expr: &Expr) -> Option<Vec<String>> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Reference(reference) = call.args.first()? else {
        return None;
    };
    let Expr::Array(array) = &*reference.expr else {
        return None;
    };
    let name = |expr: &Expr| match expr {
        Expr::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        _ => None,
    };
    array.elems.iter().map(name).collect()
}

/// The last name of a path, or nothing.
pub(crate) fn last_segment(type_: &Type) -> String {
    match type_ {
        Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        _ => None,
    }
    .unwrap_or_default()
}

/// Lines of the doc comments, without the space that starts each.
pub(crate) fn docs(attributes: &[Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let syn::Meta::NameValue(meta) = &attribute.meta else {
            continue;
        };
        let (true, Expr::Lit(literal)) = (meta.path.is_ident("doc"), &meta.value) else {
            continue;
        };
        if let syn::Lit::Str(text) = &literal.lit {
            let text = text.value();
            lines.push(text.strip_prefix(' ').unwrap_or(&text).to_owned());
        }
    }
    lines
}

impl Parse for Number {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let name: Ident = input.parse()?;
        let repr;
        syn::parenthesized!(repr in input);
        let repr: Ident = repr.parse()?;
        input.parse::<Token![as]>()?;
        input.parse::<LitStr>()?;
        let body;
        syn::braced!(body in input);
        let mut values = Vec::new();
        while !body.is_empty() {
            let attributes = body.call(Attribute::parse_outer)?;
            let name: Ident = body.parse()?;
            body.parse::<Token![=]>()?;
            let minus: Option<Token![-]> = body.parse()?;
            let value: i64 = body.parse::<LitInt>()?.base10_parse()?;
            body.parse::<Token![,]>()?;
            body.parse::<LitStr>()?;
            body.parse::<Token![;]>()?;
            values.push(NumberValue {
                docs: docs(&attributes),
                name: name.to_string(),
                value: if minus.is_some() { -value } else { value },
            });
        }
        Ok(Number {
            docs: docs(&attributes),
            name: name.to_string(),
            repr,
            values,
        })
    }
}

impl Parse for Set {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let name: Ident = input.parse()?;
        if input.parse::<Ident>()? != "of" {
            return Err(input.error("expected `of`"));
        }
        let kind: Ident = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(Set {
            docs: docs(&attributes),
            name: name.to_string(),
            kind: kind.to_string(),
            values: Vec::new(),
        })
    }
}
