//! The checks of one program: whether the library gets into the program, and whether it sees the calls to
//! MPI.

use super::alone;
use super::container;
use super::facts::{Diagnosed, Diagnosis};
use super::finding::{Finding, Severity, note, problem, warning};
use super::sanitizer;
use crate::base::file;
use crate::base::nouns::counted;
use crate::cli::inspect::{Closure, Image, Mpi, Program};
use crate::cli::launcher::{Launcher, base_name};
use crate::cli::preload;
use crate::options::Family;
use crate::options::is_c_function;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Warns of libraries that the program needs and that are not found.
pub(in crate::cli) fn missing_libraries(program: &mut Diagnosed, closure: &Closure) {
    if !closure.missing.is_empty() {
        let names = closure.missing.join(", ");
        let text = format!("libraries of the program are not found here: {names}");
        let advice = "load the modules that the job loads, or set LD_LIBRARY_PATH";
        program.findings.push(warning("libraries-missing", text).advise(advice));
    }
}

/// Does all other checks of one program.
pub(in crate::cli) fn check(program: &mut Diagnosed, diagnosis: &Diagnosis) {
    let mut found = Vec::new();
    ways(program, &mut found);
    match &program.started.program {
        Program::Binary(image) => binary(program, image, diagnosis, &mut found),
        Program::Script { text } => script(program, text, &mut found),
        Program::Container(name) => found.push(container::finding(name, program, diagnosis)),
        Program::Strange(path) => {
            let text = format!("{} is neither a program nor a script", path.display());
            found.push(problem("not-a-program", text));
        }
        Program::Unreadable(path, why) => {
            let text = format!(
                "{} cannot be read ({why}): the library is preloaded into it, but it is not known what \
                 will be recorded",
                path.display()
            );
            let advice = "run 'rankweave doctor' as a user who can read the file";
            found.push(warning("program-unreadable", text).advise(advice));
        }
        Program::Missing(word) => {
            let text = format!("there is no program '{word}' here");
            let advice =
                "give the full path, or run 'rankweave doctor' on the node where the launch starts";
            found.push(problem("program-missing", text).advise(advice));
        }
        Program::Nothing if diagnosis.launch.launcher == Launcher::Sbatch => {
            let text = match &diagnosis.launch.file {
                Some(script) => {
                    format!("the script '{script}' is not run, so its launches are not known")
                }
                None => "the launches of the batch job are not known".into(),
            };
            let advice = "rankweave doctor with a launch of the script, such as srun ./app";
            found.push(warning("batch-script", text).advise(advice));
        }
        Program::Nothing => {
            let from_file =
                |file| format!("the programs are named in a file ({file}), which is not read");
            let text = diagnosis.launch.file.as_ref().map(from_file);
            let text = text.unwrap_or_else(|| "the command line names no program".into());
            found.push(problem("no-program", text));
        }
    }
    if let Some((mpi, how)) = &program.mpi {
        mpi_library(program, mpi, how.as_deref(), diagnosis, &mut found);
    }
    program.findings.extend(found);
}

/// Finds out whether the programs that the program is started through keep LD_PRELOAD.
fn ways(program: &Diagnosed, found: &mut Vec<Finding>) {
    for through in &program.started.through {
        if let Some(how) = &through.clears {
            let text =
                format!("'{how}' removes LD_PRELOAD, so the program runs without the library");
            let advice = "use a command that keeps LD_PRELOAD and the RANKWEAVE_ variables";
            found.push(problem("clears-preload", text).advise(advice));
        } else if let Some(value) = &through.preload {
            let text = format!(
                "'{} LD_PRELOAD={value}' replaces LD_PRELOAD, so the program runs without the library",
                through.name
            );
            let advice = "set this LD_PRELOAD before 'rankweave run', which adds the library to it";
            found.push(problem("replaces-preload", text).advise(advice));
        }
    }
}

/// Checks a binary. If nothing can be preloaded into it, this is the only finding.
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

/// The reason why nothing can be preloaded into a binary, or why its calls to MPI do not leave it.
fn obstacle(image: &Image, diagnosis: &Diagnosis) -> Option<Finding> {
    if let Some((_, library)) = &diagnosis.library
        && !image.fits(library)
    {
        let (own, other) = (image.architecture(), library.architecture());
        let what = format!("the program is for {own}, the library for {other}");
        return Some(problem("architecture", what + ": the library cannot be loaded"));
    }
    if image.is_static() {
        let text = "the program is linked statically: nothing can be preloaded into it";
        let advice = "link it dynamically (without -static; on Cray: -dynamic)";
        return Some(problem("static", text).advise(advice));
    }
    if image.linked_in.contains("PMPI_Init") || image.offers("PMPI_Init") {
        let text = "the MPI library is linked into the program statically: MPI calls do not reach the \
                    preloaded library";
        let advice = "link it with the shared MPI library (libmpi.so)";
        return Some(problem("mpi-linked-in", text).advise(advice));
    }
    None
}

/// Checks the dynamic linker that the program asks for.
fn dynamic_linker(image: &Image, found: &mut Vec<Finding>) {
    if let Some(interpreter) = image.interpreter.as_deref() {
        if interpreter.contains("ld-musl") {
            let text = "the program uses musl, the library needs glibc";
            found.push(problem("musl", text).advise("build the program for glibc"));
        } else if !Path::new(interpreter).exists() {
            let text = format!("the program asks for {interpreter}, which is not here");
            found.push(warning("interpreter-missing", text));
        }
    }
}

/// Looks for calls of the profiling interface by the program itself.
fn own_profiling_layer(image: &Image, found: &mut Vec<Finding>) {
    let names = image.undefined.iter().map(|symbol| symbol.name.as_str());
    let is_of_fortran = |name: &str| {
        name.ends_with('_')
            && name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("pmpi_"))
    };
    let is_own = |name: &&str| {
        is_of_fortran(name) || name.strip_prefix('P').is_some_and(|n| is_c_function(n.as_bytes()))
    };
    let own: Vec<&str> = names.filter(is_own).collect();
    if let Some(first) = own.first() {
        let text = format!(
            "the program has a profiling layer linked in and calls {} such as {first}: \
             these calls are not recorded, and its launches keep the launcher's order",
            counted(own.len(), "function")
        );
        let advice = "link the program without this layer";
        found.push(warning("profiles-itself", text).advise(advice));
    }
}

/// Finds out whether the program uses MPI, and how its MPI library is known.
fn use_of_mpi(program: &Diagnosed, image: &Image, found: &mut Vec<Finding>) {
    let language = interpreter_of(&base_name(&image.path));
    match (&program.mpi, language) {
        (None, Some(language)) => {
            let text = format!(
                "{language} loads an MPI library while it runs, and it is not known which one: \
                 functions newer than MPI 3.1 are hidden from the program; if the MPI library has \
                 such functions, the launcher's order is kept"
            );
            let variable = preload::functions::MPI;
            let advice = format!(
                "set {variable}=/path/to/libmpi.so with the library that the program will load"
            );
            found.push(warning("mpi-unknown-yet", text).advise(advice));
        }
        (None, None) => {
            let text = "neither the program nor one of its libraries is linked with an MPI library";
            let advice = "give the MPI program that this program starts, or a program that was built with mpicc";
            found.push(problem("no-mpi", text).advise(advice));
        }
        (Some((_, Some(how))), _) => {
            let who = language.unwrap_or("the program");
            let text =
                format!("{who} loads its MPI library while it runs; it is known which one: {how}");
            found.push(note("loads-mpi", text));
            if language.is_none() && program.bindings.count() == 0 {
                let text = "the program is not linked with MPI and calls none of its functions";
                let advice = "give the MPI program that this program starts";
                found.push(warning("no-mpi-calls", text).advise(advice));
            }
        }
        (Some((_, None)), _) => {}
    }
}

/// The language of a program that loads MPI while it runs, by the name of the interpreter.
fn interpreter_of(name: &str) -> Option<&'static str> {
    const KNOWN: &str = "python=Python pypy=Python julia=Julia perl=Perl R=R Rscript=R java=Java \
        ruby=Ruby node=Node lua=Lua octave=Octave matlab=MATLAB MATLAB=MATLAB";
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || ".-".contains(c));
    let mut known = KNOWN.split_whitespace().filter_map(|pair| pair.split_once('='));
    known.find(|(start, _)| name.strip_prefix(start).is_some_and(is_version)).map(|known| known.1)
}

/// Finds programs that run with rights of their own: the loader does not preload into them.
fn privileges(path: &Path, found: &mut Vec<Finding>) {
    let Ok(metadata) = path.metadata() else { return };
    // SAFETY: getegid has no preconditions and cannot fail.
    let (user, group) = (file::user(), unsafe { libc::getegid() });
    let mode = metadata.mode();
    let level = |is_own| if is_own { Severity::Warning } else { Severity::Problem };
    let ignored = "the dynamic linker ignores LD_PRELOAD with a path for it";
    if mode & 0o4000 != 0 || mode & 0o2000 != 0 {
        let is_own = (mode & 0o4000 == 0 || metadata.uid() == user)
            && (mode & 0o2000 == 0 || metadata.gid() == group);
        let text = format!("{} is set-user-id or set-group-id: {ignored}", path.display());
        let advice = "use a copy of the program without these bits";
        found.push(level(is_own).finding("set-id", text).advise(advice));
    }
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return };
    // SAFETY: two C strings; no buffer is given, only the size is asked for.
    let size = unsafe {
        libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
    };
    if size > 0 {
        // Root gains nothing from capabilities of a file, so the linker ignores nothing for root.
        let text = format!("{} has file capabilities: {ignored}", path.display());
        let advice = "use a copy of the program without them (cp does not keep them)";
        found.push(level(user == 0).finding("capabilities", text).advise(advice));
    }
}

/// Texts in a line of a script that clear LD_PRELOAD, separated by `|`.
const CLEARING: &str = "unset LD_PRELOAD|env -u LD_PRELOAD|export -n LD_PRELOAD|env -i |LD_PRELOAD= |\
    LD_PRELOAD=\"\"|LD_PRELOAD=;|--cleanenv|unset ${!LD_|--clearenv";

/// Looks for lines of a script that clear or replace LD_PRELOAD.
fn script(program: &Diagnosed, text: &str, found: &mut Vec<Finding>) {
    let name = program.started.words.first().cloned().unwrap_or_default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let clears =
            CLEARING.split('|').any(|way| line.contains(way)) || line.ends_with("LD_PRELOAD=");
        let replaces = line.contains("LD_PRELOAD=")
            && !line.contains("$LD_PRELOAD")
            && !line.contains("${LD_PRELOAD");
        if clears || replaces {
            let text = format!(
                "line {} of the script clears or replaces LD_PRELOAD, so the program runs without the \
                 library: {}",
                number + 1,
                line.chars().take(80).collect::<String>()
            );
            let advice =
                "remove this line, or add to the variable: LD_PRELOAD=\"mine.so:$LD_PRELOAD\"";
            found.push(problem("script-clears", text).advise(advice));
        }
    }
    let text = format!("'{name}' is a script; what it starts is not known without running it");
    let advice = "run 'rankweave doctor' with the program that the script starts";
    found.push(warning("script", text).advise(advice));
}

/// Checks the MPI library of the program: its family, and whether the launcher belongs to it. `how` says
/// how a library is known that the program loads while it runs.
fn mpi_library(
    program: &Diagnosed,
    mpi: &Mpi,
    how: Option<&str>,
    diagnosis: &Diagnosis,
    found: &mut Vec<Finding>,
) {
    if mpi.family == Family::Unknown {
        let text = format!(
            "{} is an unknown kind of MPI library: calls are passed on to it, and nothing is recorded",
            mpi.path.display()
        );
        found.push(problem("unknown-mpi", text));
    }
    let launcher = diagnosis.launch.launcher;
    let other = match launcher {
        Launcher::OpenMpi => mpi.family == Family::Mpich || mpi.family == Family::Standard,
        Launcher::Hydra => mpi.family == Family::OpenMpi,
        _ => false,
    };
    if other {
        let text = format!(
            "the launcher is that of {}, the program uses {}: each process would be a job of its own",
            launcher.name(),
            mpi.version().unwrap_or_else(|| mpi.family.name().into()),
        );
        let advice = "use the launcher of the program's own MPI";
        found.push(problem("other-launcher", text).advise(advice));
    } else if how.is_none()
        && let Some(beside) = &diagnosis.launcher_mpi
        && beside.path != mpi.path
        && beside.family == mpi.family
        && beside.version() != mpi.version()
    {
        let [beside, used] = [beside, mpi].map(|mpi| mpi.version().unwrap_or_default());
        let text = format!("the launcher belongs to {beside}, the program uses {used}");
        found.push(warning("other-version", text));
    }
    if alone::may_be(launcher, |name| std::env::var(name).ok())
        && let Some(word) = alone::first_word(program)
    {
        let advice = format!("rankweave doctor -- {}", alone::meant(program));
        found.push(problem("alone", alone::what(word)).advise(advice));
    } else if program.part.ranks == Some(1) && diagnosis.launch.parts.len() == 1 {
        found.push(problem("one-rank", "the launch has one rank: no traffic is recorded"));
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
