//! Files of programs: the file that a shell starts for a word, and the name of a file.

use crate::base::raw_words::decoded;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program that a shell would start for a word.
pub(in crate::cli) fn in_path(word: &str) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let file = decoded(word);
    if word.contains('/') {
        return Some(PathBuf::from(file)).filter(executable);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|dir| dir.join(&file)).find(executable)
}

/// The last part of a path; empty if there is none.
pub(in crate::cli) fn base_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
