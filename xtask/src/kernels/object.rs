//! What an AMD code object must not say of its kernels.

use std::collections::BTreeMap;

use vmafx_gcnsim::object::{CodeObject, FLOAT_MODE_IEEE};

use super::allowed::Allowed;
use super::host;

/// What is wrong with an object. `host` are the kernels as the host's library has them.
pub(crate) fn findings(
    object: &CodeObject,
    target: &str,
    host: &BTreeMap<String, host::Kernel>,
    allowed: &mut Allowed,
) -> Vec<String> {
    let mut findings: Vec<String> = object
        .undefined
        .iter()
        .map(|name| format!("{target}: `{name}` is not defined"))
        .collect();
    let names = |of: &mut dyn Iterator<Item = &String>| of.cloned().collect::<Vec<_>>();
    let ours = names(&mut object.kernels.iter().map(|kernel| &kernel.name));
    if ours != names(&mut host.keys()) {
        findings.push(format!("{target}: kernels are not those of the host"));
    }
    for kernel in &object.kernels {
        let host = host.get(&kernel.name);
        let mut add = |what: String| findings.push(format!("{target} {}: {what}", kernel.name));
        match &kernel.arguments[..] {
            [argument] if argument.kind == "by_value" => {
                if host.is_some_and(|host| u64::from(host.arguments) != argument.size) {
                    add(format!(
                        "its arguments are {} bytes, not so on the host",
                        argument.size
                    ));
                }
            }
            arguments => {
                let kinds: Vec<_> = arguments
                    .iter()
                    .map(|argument| argument.kind.as_str())
                    .collect();
                add(format!(
                    "takes {}, not one structure by value",
                    kinds.join(", ")
                ));
            }
        }
        if host.is_some_and(|host| u64::from(host.threads) != kernel.threads) {
            add(format!(
                "{} threads a block, not so on the host",
                kernel.threads
            ));
        }
        if kernel.descriptor.float_mode() != FLOAT_MODE_IEEE {
            add(format!(
                "floating-point mode {:#x} is not to nearest with subnormals",
                kernel.descriptor.float_mode() >> 12
            ));
        }
        if u64::from(kernel.descriptor.wave()) != kernel.wave {
            add(format!(
                "waves of {} lanes by its metadata, of {} by its descriptor",
                kernel.wave,
                kernel.descriptor.wave()
            ));
        }
        if kernel.dynamic_stack {
            add("its stack has no known end".to_owned());
        }
        if let Some(finding) = allowed.scratch(target, kernel) {
            add(finding);
        }
    }
    findings
}
