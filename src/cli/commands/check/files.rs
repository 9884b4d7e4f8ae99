//! Output files of a program. They are restored before every run and compared between runs.

use crate::base::error::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that a program writes, with their content before the first run.
#[derive(Debug)]
pub(super) struct Files {
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Files {
    /// Reads the files. Errors: a file exists and cannot be read.
    pub(super) fn new(paths: &[PathBuf]) -> Result<Files> {
        let keep = |path: &PathBuf| Ok((path.clone(), content(path)?));
        Ok(Files { files: paths.iter().map(keep).collect::<Result<_>>()? })
    }

    /// Restores every file as it was before the first run.
    pub(super) fn put_back(&self) -> Result<()> {
        for (path, before) in &self.files {
            let done = match before {
                Some(bytes) => fs::write(path, bytes),
                None => match fs::remove_file(path) {
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
                    other => other,
                },
            };
            done.map_err(|e| Error::io("cannot put back", path, &e))?;
        }
        Ok(())
    }

    /// The content of the files now.
    pub(super) fn read(&self) -> Result<Vec<Option<Vec<u8>>>> {
        self.files.iter().map(|(path, _)| content(path)).collect()
    }

    /// The paths of the files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, _)| path.as_path())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            eprintln!("rankweave: {error}");
        }
    }
}

/// The content of a file; `None` if the file does not exist.
fn content(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(meta) if !meta.is_file() => {
            Err(Error::new(ErrorKind::Usage, "this is not a file").at(path.display()))
        }
        _ => fs::read(path).map(Some).map_err(|e| Error::io("cannot read", path, &e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "before").unwrap();
        {
            let files = Files::new(&[old.clone(), new.clone()]).unwrap();
            fs::write(&old, "after").unwrap();
            fs::write(&new, "made").unwrap();
            let found = files.read().unwrap();
            assert_eq!(found, [Some(b"after".to_vec()), Some(b"made".to_vec())]);
            files.put_back().unwrap();
            assert_eq!(files.read().unwrap(), [Some(b"before".to_vec()), None]);
            fs::write(&old, "again").unwrap();
        }
        assert_eq!(fs::read(&old).unwrap(), b"before");
        assert!(!new.exists());
        assert!(Files::new(&[dir.path().to_path_buf()]).is_err());
    }
}
