//! The checks of a launch as a whole: the library, other preloaded tools, hosts, the store, the topology.
//! The checks of its programs are in [`program`](super::program).

use super::facts::{Diagnosed, Diagnosis, Placing};
use super::finding::{note, problem, warning};
use crate::base::file_system::FileSystem;
use crate::cli::inspect::{Image, NotElf, Search};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::cli::{placement, preload};
use crate::options::{Mode, Place, Spill};
use crate::store::{Store, spill};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Finds the library and reads its file.
pub(in crate::cli) fn library(diagnosis: &mut Diagnosis) {
    let path = match preload::library::find() {
        Ok(path) => path,
        Err(error) => {
            return diagnosis.findings.push(problem("library-missing", error.to_string()));
        }
    };
    let broken = match Image::read(&path) {
        Ok(image) if image.soname.is_none() && !image.offers("MPI_Init") => {
            "the file to preload is not the library of rankweave".into()
        }
        Ok(image) => {
            if path.metadata().is_ok_and(|m| m.mode() & 0o004 == 0) {
                let name = path.display();
                let text = format!("other users cannot read {name}: it is not preloaded for them");
                let advice = "run chmod a+r, if others shall use it";
                diagnosis.findings.push(warning("library-private", text).advise(advice));
            }
            diagnosis.library = Some((path, image));
            return;
        }
        Err(NotElf::Unreadable(why)) => format!("the library cannot be read: {why}"),
        Err(_) => "the file to preload is not a library".into(),
    };
    let found = problem("library-unreadable", format!("{broken} ({})", path.display()));
    diagnosis.findings.push(found.advise("install the library again"));
}

/// Finds what is preloaded already, and whether it wraps MPI too.
pub(in crate::cli) fn preloaded(diagnosis: &mut Diagnosis) {
    let mut lists: Vec<String> = std::env::var("LD_PRELOAD").ok().into_iter().collect();
    for program in &diagnosis.programs {
        let set = program.part.variables.iter().filter(|v| v.0 == "LD_PRELOAD");
        lists.extend(set.filter_map(|v| v.1.clone()));
    }
    let ours = diagnosis.library.as_ref().map(|l| l.0.clone());
    let search = Search::new(std::env::var("LD_LIBRARY_PATH").ok().as_deref());
    for entry in lists.iter().flat_map(|list| list.split([':', ' '])).filter(|e| !e.is_empty()) {
        let path = PathBuf::from(entry);
        if diagnosis.before.contains(&path) || ours.as_ref() == Some(&path) {
            continue;
        }
        let image = match (entry.contains('/'), &diagnosis.library) {
            (false, Some((_, like))) => search.open(entry, like),
            _ => Image::read(&path).ok(),
        };
        let advice = "remove it from LD_PRELOAD";
        let found = match image {
            None => {
                let text = format!(
                    "LD_PRELOAD already names {entry}, which does not exist or is not a library: every \
                     process of the launch prints an error about it"
                );
                warning("preload-missing", text).advise(advice)
            }
            Some(image) if entry.ends_with("librankweave.so") => {
                let text = "LD_PRELOAD already names another librankweave.so: only the first of the two works";
                let text = format!("{text} ({})", image.path.display());
                warning("preload-twice", text).advise(advice)
            }
            Some(image) if image.offers("MPI_Init") || image.offers("MPI_Send") => {
                let text =
                    format!("{entry} wraps MPI calls too; calls reach it after this library");
                note("preload-tool", text)
            }
            Some(_) => {
                let text = format!("{entry} is preloaded too; it does not wrap MPI calls");
                note("preload-other", text)
            }
        };
        diagnosis.before.push(path);
        diagnosis.findings.push(found);
    }
}

/// Checks the launcher, the hosts, the mode, and whether all ranks run one program.
pub(in crate::cli) fn launch(diagnosis: &mut Diagnosis, found: &LocatedLauncher) {
    let mut list = Vec::new();
    let is_alone = |program: &Diagnosed| program.findings.iter().any(|f| f.code == "alone");
    if diagnosis.launch.launcher == Launcher::Other && !diagnosis.programs.iter().any(is_alone) {
        let text = "no launcher is recognised; settings go through the environment, which reaches the \
                    processes of other nodes only if the launcher passes it on";
        let advice = "give mpirun, mpiexec or srun as the first word; or keep this launcher, if it passes the \
                      environment on";
        list.push(warning("no-launcher", text).advise(advice));
    }
    if let Some(image) = &diagnosis.launch.container {
        let text =
            format!("the launcher starts the container {image}: the library has to be inside");
        let advice =
            "use --container-mounts with the directory of the library, under the same path";
        list.push(problem("container", text).advise(advice));
    }
    let nodes = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    let several = diagnosis.launch.hosts
        || nodes("SLURM_JOB_NUM_NODES") > 1
        || nodes("PBS_NUM_NODES") > 1
        || found.launcher == Launcher::Srun && nodes("SLURM_NNODES") > 1;
    diagnosis.launch.hosts = several;
    if several
        && let Some((path, _)) = &diagnosis.library
        && let Some(kind) = local_type(path)
    {
        let text = format!(
            "{} is on a local file system ({kind}): if a node of the launch does not have it, all \
             ranks run without recording and reordering",
            path.display()
        );
        let advice = "install it under the same path on every node, or on a shared file system";
        list.push(warning("library-local", text).advise(advice));
    }
    if diagnosis.settings.mode == Mode::Off {
        list.push(problem("mode-off", "the mode is off: nothing is recorded or reordered"));
    }
    if let Some(reason) = diagnosis.left_alone() {
        let text = format!("{reason}: nothing is recorded or reordered");
        list.push(
            problem("left-alone", text)
                .advise("change --skip or --only, or its setting in 'rankweave env'"),
        );
    }
    if !diagnosis.is_one_program() {
        let what = "the launch starts different programs";
        let text = format!("{what}: their traffic is recorded, and they are not reordered");
        list.push(note("several-programs", text));
    }
    diagnosis.findings.extend(list);
}

/// The type of the file system of a path, unless all nodes see it.
fn local_type(path: &Path) -> Option<String> {
    match FileSystem::of(path) {
        FileSystem::Shared => None,
        FileSystem::Local(name) => Some(name.into()),
        FileSystem::Unknown(number) => Some(format!("type {number}")),
    }
}

/// Finds out where the store is, and whether it can be written.
pub(in crate::cli) fn store(diagnosis: &mut Diagnosis) {
    let directory = match diagnosis.settings.store.clone().map_or_else(Store::default_dir, Ok) {
        Ok(directory) => directory,
        Err(error) => return diagnosis.findings.push(problem("store-unknown", error.to_string())),
    };
    if let Err(why) = writable(&directory) {
        let text = format!("the store cannot be written: {why} ({})", directory.display());
        let advice = "use --store with a directory that the node of rank 0 can write";
        diagnosis.findings.push(problem("store-blocked", text).advise(advice));
    }
    diagnosis.store = Some(directory);
}

/// Finds out where the counters are kept on this node while the program runs.
pub(in crate::cli) fn spill(diagnosis: &mut Diagnosis) {
    let lost = "a program that does not reach MPI_Finalize leaves no matrix";
    let spill = &diagnosis.settings.spill;
    if *spill == Spill::Off {
        let text = format!("no spill files are kept: {lost}");
        return diagnosis.findings.push(note("spill-off", text));
    }
    let places = spill::candidates(spill.directory());
    let usable = |place: &&PathBuf| place.is_dir() && writable(place).is_ok();
    diagnosis.spill = places.iter().find(usable).cloned();
    if diagnosis.spill.is_none() {
        let list: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        let text = format!("no spill file can be kept in {}: {lost}", list.join(" or "));
        let advice = "use --spill with a directory of the nodes that can be written, or off";
        diagnosis.findings.push(warning("spill-blocked", text).advise(advice));
    } else if let Some(place) = &diagnosis.spill
        && FileSystem::of(place) == FileSystem::Shared
    {
        let place = place.display();
        let text =
            format!("{place} is on a shared file system, where no spill files are kept: {lost}");
        let advice = "use --spill with a directory on a local file system, such as /dev/shm";
        diagnosis.findings.push(warning("spill-shared", text).advise(advice));
    }
}

/// Whether a directory can be written, or made. Errors: why it cannot.
fn writable(directory: &Path) -> Result<(), String> {
    let mut place = directory;
    while !place.exists() {
        place = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    }
    if !place.is_dir() {
        return Err(format!("{} is not a directory", place.display()));
    }
    let Ok(name) = CString::new(place.as_os_str().as_bytes()) else {
        return Err("its name contains a zero byte".into());
    };
    // SAFETY: a C string.
    match unsafe { libc::access(name.as_ptr(), libc::W_OK | libc::X_OK) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().to_string()),
    }
}

/// Finds out whether the launcher can place the ranks before the launch (`--place launcher`).
pub(in crate::cli) fn placement(
    diagnosis: &mut Diagnosis,
    found: &LocatedLauncher,
    command: &[String],
) {
    let settings = &diagnosis.settings;
    if matches!(settings.mode, Mode::Off | Mode::Record | Mode::Shuffle) {
        return;
    }
    let possible = placement::possible(found, command, settings, |name| std::env::var(name).ok());
    let placing = match possible {
        Ok(how) => Placing { possible: true, text: format!("possible: {how}"), advice: None },
        Err(refusal) => {
            // What was recorded already does not have to be recorded again.
            let is_recorded = matches!(diagnosis.key, Some((_, Some(_))));
            let usual = "run the launch once with 'rankweave run', which records it".to_string();
            let advice = refusal.advice().map(String::from);
            if settings.place != Place::Library && !refusal.is_usual() {
                let text = format!("the launcher will not place the ranks: {}", refusal.what());
                let finding = warning("no-placement", text);
                diagnosis.findings.push(match &advice {
                    Some(advice) => finding.advise(advice.clone()),
                    None => finding,
                });
            }
            let advice = advice.or((refusal.is_usual() && !is_recorded).then_some(usual));
            Placing { possible: false, text: format!("not possible: {}", refusal.what()), advice }
        }
    };
    diagnosis.placing = Some(placing);
}

/// Finds out where the topology comes from.
pub(in crate::cli) fn topology(diagnosis: &mut Diagnosis, search: &Search) {
    if let Some(text) = &diagnosis.settings.topology {
        if let Err(error) = crate::topology::parse(text) {
            let text = format!("{error}; ranks will not be reordered");
            diagnosis.findings.push(warning("topology", text));
        }
        return;
    }
    // The architecture of libhwloc has to be that of the library. A missing library has a finding already.
    let Some((_, like)) = &diagnosis.library else { return };
    let names = ["libhwloc.so.15", "libhwloc.so.16", "libhwloc.so.17", "libhwloc.so"];
    if !names.iter().any(|name| search.open(name, like).is_some()) {
        let text = "libhwloc is not found on this node: the topology is read from /sys instead";
        let advice = "install hwloc on the compute nodes: it recognises the caches and packages of \
                      more machines";
        diagnosis.findings.push(note("hwloc-missing", text).advise(advice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(writable(&dir.path().join("a/b/c")), Ok(()));
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(writable(&file.join("store")).unwrap_err().contains("not a directory"));
    }
}
