//! `include/vmafx/plugin.hpp`: the wire's numbers as C++ enumerations, in the frame of
//! `plugin.hpp.in`, which holds the classes.

use std::fmt::Write;

use crate::names;
use crate::source::Source;

/// Names of values that are words of C++.
const WORDS_OF_CPP: [&str; 4] = ["switch", "double", "float", "default"];

/// The text of the header.
pub(crate) fn plugin_hpp(source: &Source) -> String {
    let mut enums = String::new();
    for item in &source.numbers {
        let repr = match item.repr == "i32" {
            true => "int32_t",
            false => "uint32_t",
        };
        enums.push_str(&comment(source, &item.docs, ""));
        let _ = writeln!(enums, "enum class {} : {repr} {{", item.name);
        for value in &item.values {
            let mut name = value.name.to_lowercase();
            if WORDS_OF_CPP.contains(&name.as_str()) {
                name.push('_');
            }
            enums.push_str(&comment(source, &value.docs, "    "));
            let constant = names::value_name(&item.name, &value.name);
            let _ = writeln!(enums, "    {name} = {constant},");
        }
        enums.push_str("};\n\n");
    }
    let mut sets = String::new();
    for item in &source.sets {
        let _ = writeln!(sets, "using {} = Kinds<{}>;", item.name, item.kind);
    }
    let revision = source.revision().to_string();
    include_str!("plugin.hpp.in")
        .replace("@enums@\n", &enums)
        .replace("@sets@", &sets)
        .replace("@revision@", &revision)
        .replace("@symbol@", &source.symbol())
}

/// A comment of one line or, if it is longer, of several.
fn comment(source: &Source, docs: &[String], indent: &str) -> String {
    match &source.c_docs(docs, 90)[..] {
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let lines: Vec<String> = lines.iter().map(|l| format!("{indent} * {l}\n")).collect();
            format!("{indent}/**\n{}{indent} */\n", lines.concat())
        }
    }
}
