//! What an elevated process may load: files that only a trusted user can have put there.
//!
//! A process that runs with rights its caller lacks must not run the caller's code. Its search
//! ignores the environment (see `search`); here, each manifest and library must belong to the
//! trusted user and be writable by nobody else, and so must every folder on the way to it, or
//! someone else could put another file in its place.
//!
//! What must stay true: a symbolic link is followed before the check, and both its own folders
//! and those of what it names are checked; what is opened afterwards is the resolved path.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::record::{Reason, Stage, Verdict, shown};

/// Permissions of group and others to write, and the sticky bit.
const WRITABLE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The resolved path of a file that an elevated process may trust; of any file if the process
/// is not elevated.
pub(super) fn trusted(machine: &Machine, path: &Path, stage: Stage) -> Result<PathBuf, Verdict> {
    let unreadable = |error: std::io::Error| {
        let line = format!("{} cannot be read: {error}", shown(path));
        Verdict::new(stage, Reason::Unreadable, line)
    };
    let resolved = path.canonicalize().map_err(unreadable)?;
    if !machine.elevated {
        return Ok(resolved);
    }
    let root = machine.root.canonicalize().map_err(unreadable)?;
    check(machine, &resolved, stage, false)?;
    for file in [&resolved, path] {
        for folder in file.ancestors().skip(1) {
            if folder.as_os_str().is_empty() {
                break;
            }
            check(machine, folder, stage, true)?;
            if folder == root || folder == machine.root {
                break;
            }
        }
    }
    Ok(resolved)
}

fn check(machine: &Machine, path: &Path, stage: Stage, folder: bool) -> Result<(), Verdict> {
    let unreadable = |error: std::io::Error| {
        let line = format!("{} cannot be read: {error}", shown(path));
        Verdict::new(stage, Reason::Unreadable, line)
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    let link = std::fs::symlink_metadata(path).map_err(unreadable)?;
    let mode = metadata.mode();
    let hint = "an elevated process loads what only its trusted user can change";
    // Folders of the superuser are above the trusted user's.
    let ours = |owner| owner == machine.trusted_owner || (folder && owner == 0);
    let foreign = [metadata.uid(), link.uid()]
        .into_iter()
        .find(|&owner| !ours(owner));
    if let Some(owner) = foreign {
        let trusted = machine.trusted_owner;
        let line = format!("{} belongs to user {owner}, not to {trusted}", shown(path));
        return Err(Verdict::new(stage, Reason::ForeignOwner, line).hint(hint));
    }
    // In a folder with the sticky bit, others cannot replace what is not theirs.
    let shared = folder && mode & STICKY != 0;
    if mode & WRITABLE != 0 && !shared {
        let line = format!(
            "{} can be written by others (mode {:o})",
            shown(path),
            mode & 0o7777
        );
        return Err(Verdict::new(stage, Reason::WritableByOthers, line).hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn reason(machine: &Machine, path: &str) -> Result<PathBuf, Reason> {
        trusted(machine, &machine.root.join(path), Stage::Search).map_err(|verdict| verdict.reason)
    }

    #[test]
    fn only_what_nobody_else_can_change_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mode = |path: &str, mode| {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        for path in ["good", "open"] {
            fs::create_dir(root.join(path)).unwrap();
            fs::write(root.join(path).join("a.toml"), "").unwrap();
            mode(&format!("{path}/a.toml"), 0o644);
        }
        mode("", 0o755);
        mode("good", 0o755);
        mode("open", 0o777);
        symlink("../open/a.toml", root.join("good/out.toml")).unwrap();
        symlink("../good/a.toml", root.join("open/in.toml")).unwrap();

        let mut machine = Machine::at(&root);
        machine.trusted_owner = fs::metadata(&root).unwrap().uid();
        // Anything goes in a plain process.
        assert_eq!(
            reason(&machine, "open/a.toml"),
            Ok(root.join("open/a.toml"))
        );
        assert_eq!(
            reason(&machine, "good/out.toml"),
            Ok(root.join("open/a.toml"))
        );

        machine.elevated = true;
        assert_eq!(
            reason(&machine, "good/a.toml"),
            Ok(root.join("good/a.toml"))
        );
        assert_eq!(
            reason(&machine, "open/a.toml"),
            Err(Reason::WritableByOthers)
        );
        assert_eq!(
            reason(&machine, "good/out.toml"),
            Err(Reason::WritableByOthers)
        );
        assert_eq!(
            reason(&machine, "open/in.toml"),
            Err(Reason::WritableByOthers)
        );
        assert_eq!(reason(&machine, "good/none.toml"), Err(Reason::Unreadable));
        mode("open", 0o1777);
        assert_eq!(
            reason(&machine, "good/out.toml"),
            Ok(root.join("open/a.toml"))
        );
        mode("good/a.toml", 0o664);
        assert_eq!(
            reason(&machine, "good/a.toml"),
            Err(Reason::WritableByOthers)
        );
        mode("good/a.toml", 0o646);
        assert_eq!(
            reason(&machine, "good/a.toml"),
            Err(Reason::WritableByOthers)
        );
        mode("good/a.toml", 0o644);
        machine.trusted_owner += 1;
        assert_eq!(reason(&machine, "good/a.toml"), Err(Reason::ForeignOwner));
    }
}
