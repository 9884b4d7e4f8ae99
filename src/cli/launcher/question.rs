//! Starts a program with a harmless question, such as for its version, and waits for the answer.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time that a program has to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest number of bytes of an answer that are read.
const LONGEST: u64 = 64 << 10;

/// The standard output of `program` when it is started with `arguments`, with any exit code. `None` if the program
/// cannot be started or does not end in time.
pub(in crate::cli) fn answer(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let start = Instant::now();
    // An answer fits into the buffer of a pipe, so the program does not block before the answer is read.
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > PATIENCE {
            // These calls fail only if the child has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut bytes = Vec::new();
    child.stdout.take()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_whatever_the_exit_code() {
        let shell = Path::new("/bin/sh");
        assert_eq!(answer(shell, &["-c", "echo yes; exit 3"]).as_deref(), Some("yes\n"));
        assert_eq!(answer(Path::new("/no/such/program"), &[]), None);
    }
}
