//! Runs one launch and waits for it: output into files, a time limit, signals passed on.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::raw_words::{decoded, shown};
use crate::cli::preload::command::LaunchCommand;
use crate::report::units::printable;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The time that a launch has to end after it got a signal.
const GRACE: Duration = Duration::from_secs(10);
/// The largest number of bytes of output that are read.
const LARGEST: u64 = 256 << 20;

/// How a launch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum End {
    /// It ended with an exit code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// This command ended it at the time limit.
    TimedOut,
}

impl End {
    /// The end in words.
    pub(in crate::cli) fn words(self) -> String {
        match self {
            End::Code(code) => format!("exit code {code}"),
            End::Signal(signal) => format!("signal {signal}"),
            End::TimedOut => "time limit".into(),
        }
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(in crate::cli) struct TrialRun {
    /// How it ended.
    pub(in crate::cli) end: End,
    /// How long it took, from the start of the launcher to its end.
    pub(in crate::cli) seconds: f64,
    /// Standard output.
    pub(in crate::cli) out: Vec<u8>,
    /// Standard error.
    pub(in crate::cli) err: Vec<u8>,
}

impl TrialRun {
    /// How the run failed, with the last line of its standard error. `None` if the run ended with exit code 0.
    pub(in crate::cli) fn failure(&self) -> Option<String> {
        let err = String::from_utf8_lossy(&self.err);
        let last = err.lines().rfind(|line| !line.trim().is_empty()).map(str::trim);
        let last = last.map(|line| format!(" ({})", printable(line))).unwrap_or_default();
        (self.end != End::Code(0)).then(|| self.end.words() + &last)
    }
}

/// A directory for the output of a run.
#[derive(Debug)]
pub(in crate::cli) struct Streams {
    directory: tempfile::TempDir,
}

impl Streams {
    pub(in crate::cli) fn new() -> Result<Streams> {
        let directory = tempfile::Builder::new().prefix("rankweave-").tempdir().map_err(|e| {
            Error::io("cannot create a directory for output", &std::env::temp_dir(), &e)
                .advise("set TMPDIR=/another/directory")
        })?;
        Ok(Streams { directory })
    }

    /// A path in this directory.
    pub(in crate::cli) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The signal that was received and has to be passed on.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

extern "C" fn remember(signal: libc::c_int) {
    RECEIVED.store(signal, Ordering::Relaxed);
}

/// Delays the signals that would end this command, so that it can end the launch and restore files first.
fn catch_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores a number. An ignored signal stays ignored (nohup).
        unsafe {
            let before = libc::signal(signal, remember as *const () as libc::sighandler_t);
            if before == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// Runs a launch to its end. The launch does not inherit the variables `removed`.
///
/// Errors: it cannot be started, or its output cannot be read, or a signal told this command to stop. After
/// a signal the launch was ended.
pub(in crate::cli) fn execute(
    plan: &LaunchCommand,
    removed: &[&str],
    stdin: Option<&Path>,
    streams: &Streams,
    timeout: Option<Duration>,
) -> Result<TrialRun> {
    catch_signals();
    let [out_path, err_path] = ["out", "err"].map(|name| streams.path(name));
    let create = |path| File::create(path).map_err(|e| Error::io("cannot write", path, &e));
    let (out, err) = (create(&out_path)?, create(&err_path)?);
    let input = match stdin {
        None => Stdio::null(),
        Some(path) => {
            File::open(path).map(Stdio::from).map_err(|e| Error::io("cannot read", path, &e))?
        }
    };
    let Some((program, arguments)) = plan.command.split_first() else {
        return Err(Error::new(ErrorKind::Usage, "there is nothing to run"));
    };
    let mut command = Command::new(decoded(program));
    command.args(arguments.iter().map(|word| decoded(word))).stdin(input).stdout(out).stderr(err);
    for name in removed {
        command.env_remove(name);
    }
    // The launch has a process group of its own, so that all its processes can be ended.
    command
        .envs(plan.environment.iter().map(|(name, value)| (name, decoded(value))))
        .process_group(0);
    let started = Instant::now();
    let mut child = command.spawn().map_err(|e| {
        Error::new(ErrorKind::Io, format!("cannot start the launcher: {e}"))
            .at(shown(program))
            .advise("give the name of a launcher that is in PATH, after --")
    })?;
    let group = child.id() as libc::pid_t;
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let status = child.wait();
        // This fails only without a receiver. Then this command is about to end.
        let _ = sender.send((status, Instant::now()));
    });
    let mut timed_out = false;
    let mut told: Option<Instant> = None;
    let (status, at) = loop {
        match ended.recv_timeout(Duration::from_millis(20)) {
            Ok(end) => break end,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Error::new(ErrorKind::Io, "cannot wait for the launcher").at(program));
            }
        }
        let late = timeout.is_some_and(|limit| started.elapsed() > limit);
        let signal = RECEIVED.load(Ordering::Relaxed);
        match told {
            None if late || signal != 0 => {
                timed_out = late && signal == 0;
                told = Some(Instant::now());
                tell(group, if signal == 0 { libc::SIGTERM } else { signal });
            }
            Some(since) if since.elapsed() > GRACE => tell(group, libc::SIGKILL),
            _ => {}
        }
    };
    // The launcher may have left processes of its group.
    if told.is_some() {
        tell(group, libc::SIGKILL);
    }
    let signal = RECEIVED.load(Ordering::Relaxed);
    if signal != 0 {
        return Err(Error::new(ErrorKind::Io, format!("ended by signal {signal}")));
    }
    let status = status
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot wait for the launcher: {e}")))?;
    let end = match (timed_out, status.code(), status.signal()) {
        (true, ..) => End::TimedOut,
        (_, Some(code), _) => End::Code(code),
        (_, _, Some(signal)) => End::Signal(signal),
        _ => End::Code(-1),
    };
    Ok(TrialRun {
        end,
        seconds: at.duration_since(started).as_secs_f64(),
        out: content(&out_path)?,
        err: content(&err_path)?,
    })
}

fn tell(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: the group was made for the launcher. The call fails if the group has no process left.
    unsafe {
        libc::kill(-group, signal);
    }
}

fn content(path: &Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| Error::io("cannot read", path, &e);
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > LARGEST {
        return Err(Error::new(ErrorKind::Infeasible, "the program prints more than 256 MiB")
            .advise(
                "use a shorter input, or write the output to a file that is named with --file",
            ));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, timeout: Option<f64>) -> (TrialRun, Duration) {
        let plan = LaunchCommand {
            command: ["/bin/sh", "-c", text].map(String::from).to_vec(),
            environment: vec![("GIVEN".into(), "yes".into())],
        };
        let since = Instant::now();
        let streams = Streams::new().unwrap();
        let limit = timeout.map(Duration::from_secs_f64);
        (execute(&plan, &["HOME"], None, &streams, limit).unwrap(), since.elapsed())
    }

    #[test]
    fn output_end_and_environment() {
        let (run, _) = shell("echo $GIVEN ${HOME:-none}; echo bad >&2; cat; exit 7", None);
        assert_eq!(
            (run.end, run.out, run.err),
            (End::Code(7), b"yes none\n".into(), b"bad\n".into())
        );
        let (run, _) = shell("kill -9 $$", None);
        assert_eq!(run.end, End::Signal(9));
    }

    #[test]
    fn time_limits_end_the_whole_group() {
        let (run, took) = shell("echo begun; sleep 60 & wait", Some(0.2));
        assert_eq!((run.end, run.out.as_slice()), (End::TimedOut, &b"begun\n"[..]));
        assert!(took < GRACE, "{took:?}");
    }
}
