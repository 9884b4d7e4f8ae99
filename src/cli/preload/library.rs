//! Finds the library to preload.

use crate::base::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The variable that names the library directly.
pub(super) const VARIABLE: &str = "RANKWEAVE_LIBRARY";
const NAME: &str = "librankweave.so";

/// The directories that may have the library, relative to the directory of this program.
const PLACES: [&str; 5] = [".", "../lib", "../lib64", "../lib/rankweave", "../lib64/rankweave"];

/// The library, as an absolute path.
pub(in crate::cli) fn find() -> Result<PathBuf> {
    let executable = std::env::current_exe().and_then(|exe| exe.canonicalize());
    let directory = executable.ok().and_then(|exe| exe.parent().map(Path::to_path_buf));
    find_in(std::env::var_os(VARIABLE).map(PathBuf::from), directory.as_deref())
}

fn find_in(named: Option<PathBuf>, directory: Option<&Path>) -> Result<PathBuf> {
    let missing = |what: String| {
        Error::new(ErrorKind::Io, what)
            .advise(format!("set {VARIABLE}=/path/to/{NAME}, or install it next to this program"))
    };
    if let Some(path) = named.filter(|p| !p.as_os_str().is_empty()) {
        return match path.is_file() {
            true => preloadable(std::path::absolute(&path).unwrap_or(path)),
            false => Err(missing("the library is not there".into())
                .at(format_args!("{VARIABLE}={}", path.display()))),
        };
    }
    let mut searched = Vec::new();
    for place in PLACES {
        let Some(directory) = directory else { break };
        let candidate = directory.join(place).join(NAME);
        if let Ok(path) = candidate.canonicalize() {
            return preloadable(path);
        }
        searched.push(directory.join(place).display().to_string());
    }
    Err(missing(format!("{NAME} was not found; searched {}", searched.join(", "))))
}

/// The path, if LD_PRELOAD can hold it. The dynamic linker splits LD_PRELOAD at blanks and colons, and there is
/// no way to quote them.
fn preloadable(path: PathBuf) -> Result<PathBuf> {
    let text = path.to_string_lossy();
    if text.contains([' ', ':', '\t', '\n']) {
        return Err(Error::new(ErrorKind::Usage, "a library cannot be preloaded from such a path")
            .at(text)
            .advise("use a path without blanks and colons"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_around_the_program() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let bin = root.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(root.join("lib/rankweave")).unwrap();
        let error = find_in(None, Some(&bin)).unwrap_err().to_string();
        assert!(error.contains("bin/../lib/rankweave") && error.contains(VARIABLE), "{error}");
        let library = root.join("lib/rankweave/librankweave.so");
        for folder in ["lib64/rankweave", "lib/rankweave", "lib64", "lib"] {
            let library = root.join(folder).join(NAME);
            std::fs::create_dir_all(root.join(folder)).unwrap();
            std::fs::write(&library, "").unwrap();
            assert_eq!(find_in(None, Some(&bin)).unwrap(), library);
        }
        let beside = bin.join(NAME);
        std::fs::write(&beside, "").unwrap();
        assert_eq!(find_in(None, Some(&bin)).unwrap(), beside);
        assert_eq!(find_in(Some(library.clone()), Some(&bin)).unwrap(), library);
        assert!(find_in(Some(root.join("absent")), Some(&bin)).is_err());
        let odd = root.join("a b.so");
        std::fs::write(&odd, "").unwrap();
        assert!(find_in(Some(odd), None).unwrap_err().to_string().contains("blanks"));
    }
}
