//! Whether an installation of Apptainer starts containers by a program with setuid. The dynamic linker removes LD_PRELOAD from the
//! variables of such a program.
//!
//! `apptainer` calls `starter` or, with setuid, `starter-suid`. Both are in a folder of their own below the prefix. Packages
//! without setuid leave out `starter-suid`.
//!
//! Limits: the installation of this machine is looked at, and that of a node of the launch may be another one. A site may have
//! switched setuid off in `apptainer.conf`, which is not read.

use crate::cli::launcher::base_name;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The bit of a file's mode.
const SETUID: u32 = 0o4000;

/// Whether the installation that has this command starts containers with setuid. `None` if it has an unknown layout.
pub(super) fn has_setuid(command: &Path) -> Option<bool> {
    // `singularity` may be a link to Apptainer.
    let command = command.canonicalize().ok()?;
    let prefix = command.parent()?.parent()?;
    let name = base_name(&command);
    let folder = folders(prefix, &name).find(|folder| folder.join("starter").is_file())?;
    let mode = folder.join("starter-suid").metadata().map(|meta| meta.permissions().mode());
    Some(mode.is_ok_and(|mode| mode & SETUID != 0))
}

/// Where its starters may be: in `libexec`, or, as Debian has it, in a folder of libraries.
fn folders(prefix: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let libraries = prefix.join("lib");
    let of_processors = std::fs::read_dir(&libraries).into_iter().flatten().flatten();
    let of_processors: Vec<PathBuf> = of_processors.map(|entry| entry.path()).collect();
    let places = [prefix.join("libexec"), prefix.join("lib64"), libraries];
    let name = name.to_string();
    places.into_iter().chain(of_processors).map(move |place| place.join(&name).join("bin"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn file(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_starter_says_it() {
        for folder in ["libexec", "lib64", "lib", "lib/x86_64-linux-gnu"] {
            let dir = tempfile::tempdir().unwrap();
            let command = dir.path().join("bin/apptainer");
            assert_eq!(has_setuid(&command), None);
            file(&command, 0o755);
            assert_eq!(has_setuid(&command), None);
            let starters = dir.path().join(folder).join("apptainer/bin");
            file(&starters.join("starter"), 0o755);
            assert_eq!(has_setuid(&command), Some(false));
            let link = dir.path().join("bin/singularity");
            std::os::unix::fs::symlink(&command, &link).unwrap();
            assert_eq!(has_setuid(&link), Some(false));
            file(&starters.join("starter-suid"), 0o755);
            assert_eq!(has_setuid(&command), Some(false));
            file(&starters.join("starter-suid"), 0o4755);
            assert_eq!(has_setuid(&command), Some(true));
            assert_eq!(has_setuid(&link), Some(true));
        }
    }
}
