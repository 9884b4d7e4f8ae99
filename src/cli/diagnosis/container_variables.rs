//! LD_PRELOAD in a container: what the options in front of the image pass on, set and remove.

use super::container_options::{ContainerLine, Runtime, Surroundings, is_true};
use crate::base::raw_words::decoded;
use std::ffi::CString;
use std::io::Read;

const PRELOAD: &str = "LD_PRELOAD";

/// A file of variables is read up to this size.
const LONGEST_FILE: u64 = 1 << 20;

/// LD_PRELOAD in a container.
pub(super) struct Preload {
    pub value: Value,
    /// Why it may have another value, in words.
    pub doubt: Option<String>,
}

pub(super) enum Value {
    /// It has none, for this reason.
    Nothing(String),
    /// That of the host, which is the library.
    OfHost,
    /// This text.
    Set(String),
    /// It is not known, for this reason.
    Unclear(String),
}

impl Value {
    /// The value that `NAME=TEXT` sets. A container of Apptainer or Charliecloud may get another text than the one here.
    fn set(text: &str, runtime: Runtime) -> Value {
        let expands = matches!(runtime, Runtime::Apptainer | Runtime::Charliecloud);
        if expands && text.contains(['$', '`', '"', '\\']) {
            return Value::Unclear(format!("the value of LD_PRELOAD is not understood ({text})"));
        }
        match text {
            "" => Value::Nothing("LD_PRELOAD is empty".into()),
            text => Value::Set(text.into()),
        }
    }
}

/// LD_PRELOAD in the container of this command line.
pub(super) fn preload(
    runtime: Runtime,
    name: &str,
    line: &ContainerLine,
    around: &Surroundings,
) -> Preload {
    let nothing = || Value::Nothing("LD_PRELOAD is not passed on".into());
    let mut preload = Preload { value: nothing(), doubt: None };
    match runtime {
        Runtime::Docker | Runtime::Podman | Runtime::Enroot if line.command == "exec" => {
            let why = "the variables of a container that runs already are not known";
            preload.value = Value::Unclear(why.into());
        }
        Runtime::Docker | Runtime::Enroot => {}
        Runtime::Podman => of_host(line, &mut preload),
        Runtime::Apptainer => apptainer(name, line, around, &mut preload),
        Runtime::Charliecloud => preload.value = Value::OfHost,
    }
    for file in line.values("env-file").filter(|file| mentions(file, runtime, around)) {
        let why = format!("the file {file} sets LD_PRELOAD or passes it on, and is not understood");
        preload = Preload { value: Value::Unclear(why), doubt: None };
    }
    for option in &line.options {
        let value = option.value.as_deref().unwrap_or_default();
        let assignments = match (runtime, option.name.as_str()) {
            (Runtime::Apptainer, "env") => value.split(',').collect(),
            (_, "env") | (Runtime::Charliecloud, "set-env") => vec![value],
            (Runtime::Charliecloud, "unset-env") => {
                match removes(value) {
                    Some(true) => preload.value = Value::Nothing("LD_PRELOAD is removed".into()),
                    Some(false) => {}
                    None => preload.value = Value::Unclear(format!("'{value}' is not understood")),
                }
                continue;
            }
            (_, "env-merge") if value.starts_with(PRELOAD) => {
                preload.value = Value::Unclear(format!("--env-merge {value} is not understood"));
                continue;
            }
            _ => continue,
        };
        for assignment in assignments {
            let set = match assignment.split_once('=') {
                Some((PRELOAD, text)) => Value::set(text, runtime),
                Some(_) => continue,
                // Charliecloud reads a file, and Apptainer refuses a name without a value.
                None if runtime == Runtime::Charliecloud
                    && mentions(assignment, runtime, around) =>
                {
                    Value::Unclear(format!("LD_PRELOAD is set in the file {assignment}"))
                }
                None if matches!(runtime, Runtime::Apptainer | Runtime::Charliecloud) => continue,
                None if assignment == PRELOAD => Value::OfHost,
                None if runtime == Runtime::Podman && is_start(assignment) => Value::OfHost,
                None => continue,
            };
            preload = Preload { value: set, doubt: None };
        }
    }
    preload
}

/// Whether `NAME*` of Podman means LD_PRELOAD, too.
fn is_start(text: &str) -> bool {
    text.strip_suffix('*').is_some_and(|start| PRELOAD.starts_with(start))
}

/// What `--env-host` of Podman passes on.
fn of_host(line: &ContainerLine, preload: &mut Preload) {
    if !line.is_on("env-host") {
        return;
    }
    preload.value = Value::OfHost;
    let is_unset = line.values("unsetenv").any(|name| name == PRELOAD);
    if is_unset || line.is_on("unsetenv-all") {
        preload.doubt = Some("--unsetenv may remove LD_PRELOAD".into());
    }
}

/// What Apptainer passes on without `--env`.
fn apptainer(name: &str, line: &ContainerLine, around: &Surroundings, preload: &mut Preload) {
    let cleans = ["cleanenv", "containall", "compat"];
    let cleans_by = |name: &str| {
        let values = around.of_apptainer(name, &["CLEANENV", "CONTAINALL", "COMPAT"]);
        values.iter().any(|value| is_true(value))
    };
    if cleans.iter().any(|name| line.is_on(name)) || cleans_by(name) {
        let why = "LD_PRELOAD is not passed on to a clean environment".into();
        preload.value = Value::Nothing(why);
    } else if cleans_by("apptainer") {
        let why = format!(
            "a variable of Apptainer asks for a clean environment, and {name} may be another program"
        );
        preload.value = Value::Unclear(why);
    } else {
        preload.value = Value::OfHost;
        let kind = match around.has_setuid {
            Some(true) => format!("this installation of {name} starts"),
            _ => format!("{name} may start"),
        };
        let why = format!(
            "{kind} containers with setuid, which removes LD_PRELOAD, unless --env sets it"
        );
        let keeps = around.has_setuid == Some(false) || line.is_on("userns");
        preload.doubt = Some(why).filter(|_| !keeps);
    }
    for prefix in ["SINGULARITYENV_", "APPTAINERENV_"] {
        let variable = format!("{prefix}{PRELOAD}");
        if let Some(text) = around.variable(&variable) {
            let value = match prefix == "APPTAINERENV_" && name != "apptainer" {
                true => Value::Unclear(format!("{variable} counts only if {name} is Apptainer")),
                false => Value::set(&text, Runtime::Apptainer),
            };
            *preload = Preload { value, doubt: None };
        }
    }
}

/// Whether a file of variables has LD_PRELOAD, or a line `LD_*` of Podman. A file that cannot be read has none: the launch fails.
fn mentions(file: &str, runtime: Runtime, around: &Surroundings) -> bool {
    let mut bytes = Vec::new();
    let path = around.directory.join(decoded(file));
    let Some(file) = path.is_file().then(|| std::fs::File::open(path).ok()).flatten() else {
        return false;
    };
    if file.take(LONGEST_FILE).read_to_end(&mut bytes).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&bytes);
    text.contains(PRELOAD)
        || runtime == Runtime::Podman && text.lines().any(|line| is_start(line.trim()))
}

/// Whether a pattern of `--unset-env` removes LD_PRELOAD; `None` if the pattern is not understood.
fn removes(pattern: &str) -> Option<bool> {
    let text = CString::new(pattern).ok().filter(|_| !pattern.contains('('))?;
    // SAFETY: two C strings.
    Some(unsafe { libc::fnmatch(text.as_ptr(), c"LD_PRELOAD".as_ptr(), 0) } == 0)
}
