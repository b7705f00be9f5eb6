//! `cargo xtask codegen`: what is generated from the wire and from the arguments of the kernels,
//! rewritten or compared.

use vmafx_tests::data::workspace_root;

use crate::Failure;

/// Rewrites the files that are not current, or with `check` only names them.
///
/// # Errors
/// A source that is not understood; with `check`, files that are not current.
pub(crate) fn run(check: bool) -> Result<(), Failure> {
    let root = workspace_root();
    if check {
        return Ok(vmafx_codegen::check(root)?);
    }
    for path in vmafx_codegen::write(root)? {
        println!("{path}: written");
    }
    Ok(())
}
