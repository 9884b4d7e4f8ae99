//! The checks of one program: whether the library gets into it, and sees its MPI.

use super::diagnosis::{Diagnosed, Diagnosis};
use super::finding::{Finding, Severity};
use super::sanitizer;
use crate::cli::inspect::{Closure, Image, Mpi, Program};
use crate::cli::launcher::{Launcher, base_name};
use crate::cli::preload;
use crate::options::Family;
use crate::options::is_c_function;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the program needs and is not there.
pub(super) fn missing_libraries(program: &mut Diagnosed, closure: &Closure) {
    if !closure.missing.is_empty() {
        program.findings.push(Severity::Warning.finding(
            "libraries-missing",
            format!("libraries of the program are not found here: {}", closure.missing.join(", ")),
            "loading the modules that the job loads, or LD_LIBRARY_PATH",
        ));
    }
}

/// Everything about one program.
pub(super) fn check(program: &mut Diagnosed, diagnosis: &Diagnosis) {
    let mut found = Vec::new();
    ways(program, &mut found);
    match &program.started.program {
        Program::Binary(image) => binary(program, image, diagnosis, &mut found),
        Program::Script { text } => script(program, text, &mut found),
        Program::Container(name) => found.push(container(name, diagnosis)),
        Program::Strange(path) => found.push(Severity::Problem.finding(
            "not-a-program",
            format!("{} is neither a program nor a script", path.display()),
            "",
        )),
        Program::Unreadable(path, why) => found.push(Severity::Warning.finding(
            "program-unreadable",
            format!(
                "{} cannot be read ({why}): the library is preloaded into it, but it is not known what \
                 will be recorded",
                path.display()
            ),
            "'rankweave doctor' as a user who can read the file",
        )),
        Program::Missing(word) => found.push(Severity::Problem.finding(
            "program-missing",
            format!("there is no program '{word}' here"),
            "the full path, or 'rankweave doctor' on the node where the launch starts",
        )),
        Program::Nothing => found.push(Severity::Problem.finding(
            "no-program",
            match &diagnosis.launch.file {
                Some(file) => {
                    format!("the programs are named in a file ({file}), which is not read")
                }
                None => "the command line names no program".to_string(),
            },
            "",
        )),
    }
    if let Some((mpi, how)) = &program.mpi {
        mpi_library(program, mpi, how.as_deref(), diagnosis, &mut found);
    }
    program.findings.extend(found);
}

/// Programs that the program is started through.
fn ways(program: &Diagnosed, found: &mut Vec<Finding>) {
    for through in &program.started.through {
        if let Some(how) = &through.clears {
            found.push(Severity::Problem.finding(
                "clears-preload",
                format!("'{how}' removes LD_PRELOAD, so the program runs without the library"),
                "a command that keeps LD_PRELOAD and the RANKWEAVE_ variables",
            ));
        } else if let Some(value) = &through.preload {
            found.push(Severity::Problem.finding(
                "replaces-preload",
                format!(
                    "'{} LD_PRELOAD={value}' replaces LD_PRELOAD, so the program runs without the library",
                    through.name
                ),
                "setting this LD_PRELOAD before 'rankweave run', which adds the library to it",
            ));
        }
    }
}

/// A binary: nothing more is said about one into which nothing can be preloaded.
fn binary(program: &Diagnosed, image: &Image, diagnosis: &Diagnosis, found: &mut Vec<Finding>) {
    if let Some(obstacle) = obstacle(image, diagnosis) {
        found.push(obstacle);
        return;
    }
    dynamic_linker(image, found);
    privileges(&image.path, found);
    found.extend(sanitizer::finding(program, image));
    own_profiling_layer(image, found);
    use_of_mpi(program, image, found);
}

/// Why nothing can be preloaded into a binary, or its MPI calls do not leave it.
fn obstacle(image: &Image, diagnosis: &Diagnosis) -> Option<Finding> {
    if let Some((_, library)) = &diagnosis.library
        && !image.fits(library)
    {
        return Some(Severity::Problem.finding(
            "architecture",
            format!(
                "the program is for {}, the library for {}: the library cannot be loaded",
                image.architecture(),
                library.architecture()
            ),
            "",
        ));
    }
    if !image.dynamic || image.interpreter.is_none() && image.needed.is_empty() {
        return Some(Severity::Problem.finding(
            "static",
            "the program is linked statically: nothing can be preloaded into it",
            "linking it dynamically (without -static; on Cray: -dynamic)",
        ));
    }
    if image.linked_in.contains("PMPI_Init") || image.offers("PMPI_Init") {
        return Some(Severity::Problem.finding(
            "mpi-linked-in",
            "the MPI library is linked into the program statically: MPI calls do not reach the \
             preloaded library",
            "linking with the shared MPI library (libmpi.so)",
        ));
    }
    None
}

/// The dynamic linker that the program asks for.
fn dynamic_linker(image: &Image, found: &mut Vec<Finding>) {
    if let Some(interpreter) = image.interpreter.as_deref() {
        if interpreter.contains("ld-musl") {
            found.push(Severity::Problem.finding(
                "musl",
                "the program uses musl, the library needs glibc",
                "a build of the program for glibc",
            ));
        } else if !Path::new(interpreter).exists() {
            found.push(Severity::Warning.finding(
                "interpreter-missing",
                format!("the program asks for {interpreter}, which is not here"),
                "",
            ));
        }
    }
}

/// Calls of the profiling interface by the program itself.
fn own_profiling_layer(image: &Image, found: &mut Vec<Finding>) {
    let own: Vec<&str> = image
        .undefined
        .iter()
        .map(|symbol| symbol.name.as_str())
        .filter(|name| name.strip_prefix('P').is_some_and(|n| is_c_function(n.as_bytes())))
        .collect();
    if !own.is_empty() {
        found.push(Severity::Warning.finding(
            "profiles-itself",
            format!(
                "the program has a profiling layer linked in and calls {} functions such as {}: \
                 these calls are not recorded, and its launches keep the launcher's order",
                own.len(),
                own[0]
            ),
            "linking the program without this layer",
        ));
    }
}

/// Whether the program uses MPI, and how its library is known.
fn use_of_mpi(program: &Diagnosed, image: &Image, found: &mut Vec<Finding>) {
    let name = base_name(&image.path);
    if program.mpi.is_none() {
        found.push(match interpreter_of(&name) {
            Some(language) => Severity::Warning.finding(
                "mpi-unknown-yet",
                format!(
                    "{language} loads an MPI library while it runs, and it is not known which one: \
                     functions newer than MPI 3.1 are hidden from the program; if the MPI library has \
                     such functions, the launcher's order is kept"
                ),
                format!(
                    "{}=/path/to/libmpi.so with the library that the program will load",
                    preload::functions::MPI
                ),
            ),
            None => Severity::Problem.finding(
                "no-mpi",
                "neither the program nor one of its libraries is linked with an MPI library",
                "the MPI program that this program starts; or a program that was built with mpicc",
            ),
        });
    } else if let Some((_, Some(how))) = &program.mpi {
        let who = interpreter_of(&name).unwrap_or("the program");
        found.push(Severity::Note.finding(
            "loads-mpi",
            format!("{who} loads its MPI library while it runs; it is known which one: {how}"),
            "",
        ));
        if interpreter_of(&name).is_none() && program.bindings.count() == 0 {
            found.push(Severity::Warning.finding(
                "no-mpi-calls",
                "the program is not linked with MPI and calls none of its functions",
                "the MPI program that this program starts",
            ));
        }
    }
}

/// Languages whose programs load MPI while they run, by the name of the interpreter.
fn interpreter_of(name: &str) -> Option<&'static str> {
    const KNOWN: &str = "python=Python pypy=Python julia=Julia perl=Perl R=R Rscript=R java=Java \
        ruby=Ruby node=Node lua=Lua octave=Octave matlab=MATLAB MATLAB=MATLAB";
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || ".-".contains(c));
    let mut known = KNOWN.split_whitespace().filter_map(|pair| pair.split_once('='));
    known.find(|(start, _)| name.strip_prefix(start).is_some_and(is_version)).map(|known| known.1)
}

/// A program with rights of its own: the loader does not preload into it.
fn privileges(path: &Path, found: &mut Vec<Finding>) {
    let Ok(metadata) = path.metadata() else { return };
    // SAFETY: no preconditions.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let mode = metadata.mode();
    let ignored = "the dynamic linker ignores LD_PRELOAD with a path for it";
    if mode & 0o4000 != 0 || mode & 0o2000 != 0 {
        let own = (mode & 0o4000 == 0 || metadata.uid() == user)
            && (mode & 0o2000 == 0 || metadata.gid() == group);
        let level = if own { Severity::Warning } else { Severity::Problem };
        found.push(level.finding(
            "set-id",
            format!("{} is set-user-id or set-group-id: {ignored}", path.display()),
            "a copy of the program without these bits",
        ));
    }
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return };
    // SAFETY: two C strings; no buffer is given, only the size is asked for.
    let size = unsafe {
        libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
    };
    if size > 0 {
        // Root gains nothing from capabilities of a file, so nothing is ignored for it.
        let level = if user == 0 { Severity::Warning } else { Severity::Problem };
        found.push(level.finding(
            "capabilities",
            format!("{} has file capabilities: {ignored}", path.display()),
            "a copy of the program without them (cp does not keep them)",
        ));
    }
}

fn script(program: &Diagnosed, text: &str, found: &mut Vec<Finding>) {
    let name = program.started.words.first().cloned().unwrap_or_default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let clears = [
            "unset LD_PRELOAD",
            "env -u LD_PRELOAD",
            "export -n LD_PRELOAD",
            "env -i ",
            "LD_PRELOAD= ",
            "LD_PRELOAD=\"\"",
            "--cleanenv",
            "unset ${!LD_",
            "--clearenv",
        ]
        .iter()
        .any(|way| line.contains(way))
            || line.ends_with("LD_PRELOAD=")
            || line.contains("LD_PRELOAD=;");
        let replaces = line.contains("LD_PRELOAD=")
            && !line.contains("$LD_PRELOAD")
            && !line.contains("${LD_PRELOAD");
        if clears || replaces {
            found.push(Severity::Problem.finding(
                "script-clears",
                format!(
                    "line {} of the script clears or replaces LD_PRELOAD, so the program runs without the \
                     library: {}",
                    number + 1,
                    line.chars().take(80).collect::<String>()
                ),
                "removing this line, or adding to the variable: LD_PRELOAD=\"mine.so:$LD_PRELOAD\"",
            ));
        }
    }
    found.push(Severity::Warning.finding(
        "script",
        format!("'{name}' is a script; what it starts is not known without running it"),
        "rankweave doctor with the program that the script starts",
    ));
}

fn container(name: &str, diagnosis: &Diagnosis) -> Finding {
    let library = diagnosis.library.as_ref().map(|l| l.0.display().to_string());
    let library = library.unwrap_or_else(|| "librankweave.so".into());
    let directory = Path::new(&library).parent().unwrap_or(Path::new("/")).display().to_string();
    let advice = match name {
        "apptainer" | "singularity" => format!(
            "{name} exec --bind {directory} --env LD_PRELOAD={library} …, without --cleanenv, so that \
             the other variables are passed on"
        ),
        "docker" | "podman" | "podman-hpc" => format!(
            "{name} run --env-host (podman) or --env for each RANKWEAVE_ variable, --env \
             LD_PRELOAD={library}, --volume {directory}:{directory}"
        ),
        "enroot" => format!("enroot start --mount {directory}:{directory} --env LD_PRELOAD …"),
        _ => format!("making {directory} visible inside and passing LD_PRELOAD={library} on"),
    };
    Severity::Problem.finding(
        "container",
        format!(
            "{name} runs the program in a container: the library has to be visible inside under \
             the same path, and LD_PRELOAD has to be passed on"
        ),
        advice,
    )
}

fn mpi_library(
    program: &Diagnosed,
    mpi: &Mpi,
    how: Option<&str>,
    diagnosis: &Diagnosis,
    found: &mut Vec<Finding>,
) {
    if mpi.family == Family::Unknown {
        found.push(Severity::Problem.finding(
            "unknown-mpi",
            format!(
                "{} is an unknown kind of MPI library: calls are passed on to it, and nothing is recorded",
                mpi.path.display()
            ),
            "",
        ));
    }
    let other = match diagnosis.launch.launcher {
        Launcher::OpenMpi => mpi.family == Family::Mpich || mpi.family == Family::Standard,
        Launcher::Hydra => mpi.family == Family::OpenMpi,
        _ => false,
    };
    if other {
        found.push(Severity::Problem.finding(
            "other-launcher",
            format!(
                "the launcher is that of {}, the program uses {}: each process would be a job \
                     of its own",
                diagnosis.launch.launcher.name(),
                mpi.version().unwrap_or_else(|| mpi.family.name().into()),
            ),
            "the launcher of the program's own MPI",
        ));
    } else if how.is_none()
        && let Some(beside) = &diagnosis.launcher_mpi
        && beside.path != mpi.path
        && beside.family == mpi.family
        && beside.version() != mpi.version()
    {
        found.push(Severity::Warning.finding(
            "other-version",
            format!(
                "the launcher belongs to {}, the program uses {}",
                beside.version().unwrap_or_default(),
                mpi.version().unwrap_or_default()
            ),
            "",
        ));
    }
    if program.part.ranks == Some(1) && diagnosis.launch.parts.len() == 1 {
        found.push(Severity::Problem.finding(
            "one-rank",
            "the launch has one rank: no traffic is recorded",
            "",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_by_name() {
        assert_eq!(interpreter_of("python3.11"), Some("Python"));
        assert_eq!(interpreter_of("julia"), Some("Julia"));
        assert_eq!(interpreter_of("R"), Some("R"));
        for name in ["pythonic", "Rocket", "lmp", "nodeset"] {
            assert_eq!(interpreter_of(name), None, "{name}");
        }
    }
}
