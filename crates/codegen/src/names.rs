//! One spelling for the same thing: how a name of the wire is written in C.
//!
//! Types are `vmafx_plugin_<name>`, constants `VMAFX_PLUGIN_<NAME>`, so that they never meet the
//! names of the C interface, which are `vmafx_*` and `VMAFX_*`. The two structs of the entry and
//! the entry's type are the exceptions.

use crate::source::Source;

/// The C name of a type, such as `vmafx_plugin_memory_kind` for `MemoryKind`.
pub(crate) fn type_name(name: &str) -> String {
    match name {
        "Host" => "vmafx_host".to_owned(),
        "Plugin" => "vmafx_plugin".to_owned(),
        "PluginEntry" => "vmafx_plugin_entry".to_owned(),
        _ => format!("vmafx_plugin_{}", snake_case(name)),
    }
}

/// The C name of a constant of the wire.
pub(crate) fn constant_name(name: &str) -> String {
    format!("VMAFX_PLUGIN_{name}")
}

/// The C name of a value of a type, such as `VMAFX_PLUGIN_MEMORY_KIND_HOST`.
pub(crate) fn value_name(type_: &str, value: &str) -> String {
    format!("VMAFX_PLUGIN_{}_{value}", snake_case(type_).to_uppercase())
}

/// `MemoryKind` as `memory_kind`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

impl Source {
    /// The C name of a declared type or constant.
    pub(crate) fn c_name(&self, name: &str) -> Option<String> {
        if self.constants.iter().any(|c| c.name == name) {
            return Some(constant_name(name));
        }
        let types = self.structs.iter().map(|item| &item.name);
        let types = types.chain(self.numbers.iter().map(|item| &item.name));
        let types = types.chain(self.sets.iter().map(|item| &item.name));
        let mut types = types.chain(self.aliases.iter().map(|item| &item.name));
        types.any(|known| known == name).then(|| type_name(name))
    }

    /// A comment for readers of C: links become plain names, paragraphs are filled to `width`.
    pub(crate) fn c_docs(&self, docs: &[String], width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut block = String::new();
        for line in docs.iter().map(String::as_str).chain([""]) {
            let starts = line.is_empty() || line.starts_with("- ");
            if starts && !block.is_empty() {
                fill(&self.without_links(&block), width, &mut lines);
                block.clear();
            }
            match line {
                "" => lines.push(String::new()),
                line if block.is_empty() => block.push_str(line),
                line => {
                    block.push(' ');
                    block.push_str(line.trim_start());
                }
            }
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Turns ``[`Backend::device_open`]`` into the C name, and drops a target in parentheses.
    fn without_links(&self, text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, link)) = rest.split_once("[`") {
            let Some((name, after)) = link.split_once("`]") else {
                break;
            };
            plain.push_str(before);
            plain.push_str(&self.linked(name));
            rest = match after.strip_prefix('(').and_then(|t| t.split_once(')')) {
                Some((_target, after)) => after,
                None => after,
            };
        }
        plain + rest
    }

    fn linked(&self, name: &str) -> String {
        match name.split_once("::") {
            None => self.c_name(name).unwrap_or_else(|| name.to_owned()),
            Some((type_, member)) if member.chars().all(|c| !c.is_ascii_lowercase()) => {
                value_name(type_, member)
            }
            Some((type_, member)) => format!("{}.{member}", type_name(type_)),
        }
    }
}

/// Breaks `text` into lines of at most `width`; what follows a `- ` is indented.
fn fill(text: &str, width: usize, lines: &mut Vec<String>) {
    let indent = if text.starts_with("- ") { "  " } else { "" };
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.trim_start().is_empty() && line.len() + 1 + word.len() > width {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        } else if !line.trim_start().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_in_one_way() {
        assert_eq!(
            type_name("DeviceFrameObject"),
            "vmafx_plugin_device_frame_object"
        );
        assert_eq!(type_name("Host"), "vmafx_host");
        assert_eq!(
            value_name("PixelFormat", "P010"),
            "VMAFX_PLUGIN_PIXEL_FORMAT_P010"
        );
    }

    #[test]
    fn links_become_names_and_paragraphs_are_filled() {
        let source = Source::read(
            "pub const DRAFT: u32 = 1; #[repr(C)] pub struct Backend { pub a: u32 }",
            "",
        )
        .unwrap();
        let docs = [
            "An open device, made by [`Backend::device_open`]: see",
            "[`DRAFT`] and [`Shape`](crate::Shape).",
            "",
            "- a list that goes on and on",
            "  for two lines",
        ];
        let lines = source.c_docs(&docs.map(str::to_owned), 40);
        assert_eq!(
            lines,
            [
                "An open device, made by",
                "vmafx_plugin_backend.device_open: see",
                "VMAFX_PLUGIN_DRAFT and Shape.",
                "",
                "- a list that goes on and on for two",
                "  lines",
            ]
        );
    }
}
