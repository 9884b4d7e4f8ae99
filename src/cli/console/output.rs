//! Standard output and output files.
//!
//! If the reader closes the pipe (`rankweave show | head`), the command ends without a message and with exit
//! code 0.

use crate::base::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Standard output, buffered; a closed pipe ends the process with code 0.
struct Stdout(io::StdoutLock<'static>);

fn quiet<T>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other,
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        quiet(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        quiet(self.0.flush())
    }
}

/// Writes to a file, or to standard output for `None` and `-`.
///
/// A file is written under another name first and renamed at the end, so after an error the previous file
/// is still there.
pub(in crate::cli) fn write_to(
    path: Option<&Path>,
    content: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match path.filter(|p| p.as_os_str() != "-") {
        None => {
            let mut out = BufWriter::new(Stdout(io::stdout().lock()));
            content(&mut out)?;
            out.flush().map_err(crate::formats::write_error).map_err(|e| e.at("standard output"))
        }
        Some(path) => {
            let failed = |e: &io::Error| Error::io("cannot write", path, e);
            // Devices and pipes are written directly.
            let plain = std::fs::metadata(path).map_or(true, |m| m.is_file());
            let target = match plain {
                false => path.to_path_buf(),
                true => {
                    let mut name = path.as_os_str().to_owned();
                    name.push(format!(".{}.tmp", std::process::id()));
                    name.into()
                }
            };
            let mut out = BufWriter::new(File::create(&target).map_err(|e| failed(&e))?);
            let written = content(&mut out)
                .and_then(|()| out.flush().map_err(|e| failed(&e)))
                .and_then(|()| match plain {
                    true => std::fs::rename(&target, path).map_err(|e| failed(&e)),
                    false => Ok(()),
                });
            if written.is_err() && plain {
                // The error to report is the first one.
                let _ = std::fs::remove_file(&target);
            }
            written
        }
    }
}

/// Prints a text.
pub(in crate::cli) fn print(text: &str) -> Result<()> {
    write_to(None, |out| out.write_all(text.as_bytes()).map_err(crate::formats::write_error))
}

/// Prints a result: for scripts as JSON, or for people as text.
pub(in crate::cli) fn print_as<T: serde::Serialize>(
    json: bool,
    value: impl FnOnce() -> T,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if json { print_json(&value()) } else { print(&text()) }
}

/// Prints a JSON object, indented.
pub(in crate::cli) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    write_to(None, |out| {
        serde_json::to_writer_pretty(&mut *out, value)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(crate::formats::write_error)
    })
}
