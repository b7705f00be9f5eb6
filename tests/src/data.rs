//! Where the data outside the tree is: the folder of real clips and model files.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn workspace_root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A file or folder of the test data, by its path below the data folder, or the reason why a
/// test that needs it must be skipped.
///
/// The data folder is `$VMAFX_TEST_DATA`, else `../shared` beside the repository.
///
/// # Errors
/// One sentence that names the place looked at.
pub fn find(path: &str) -> Result<PathBuf, String> {
    let folder = match std::env::var_os("VMAFX_TEST_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => workspace_root().join("../shared"),
    };
    let place = folder.join(path);
    if place.exists() {
        return Ok(place);
    }
    Err(format!(
        "{} does not exist; set VMAFX_TEST_DATA to the folder that holds the test data",
        place.display()
    ))
}

/// Prints a line that the test harness does not capture.
pub fn announce(line: &str) {
    use std::io::Write;
    // A closed standard error must not fail a test.
    let _ = writeln!(std::io::stderr(), "{line}");
}
