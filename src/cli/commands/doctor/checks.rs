//! The checks of a launch as a whole: library, other preloaded tools, hosts, store, topology.
//! Those of its programs are in [`program`](super::program).

use super::diagnosis::Diagnosis;
use super::finding::Severity;
use crate::cli::inspect::{Image, NotElf, Search};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::cli::preload;
use crate::options::{Mode, Spill};
use crate::store::{Store, spill};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Finds the library and looks at it.
pub(super) fn library(diagnosis: &mut Diagnosis) {
    let path = match preload::library::find() {
        Ok(path) => path,
        Err(error) => {
            let found = Severity::Problem.finding("library-missing", error.to_string(), "");
            return diagnosis.findings.push(found);
        }
    };
    let broken = |what: String| {
        Severity::Problem.finding(
            "library-unreadable",
            format!("{what} ({})", path.display()),
            "installing the library again",
        )
    };
    match Image::read(&path) {
        Ok(image) if image.soname.is_none() && !image.offers("MPI_Init") => diagnosis
            .findings
            .push(broken("the file to preload is not the library of rankweave".into())),
        Ok(image) => {
            if path.metadata().is_ok_and(|m| m.mode() & 0o004 == 0) {
                diagnosis.findings.push(Severity::Warning.finding(
                    "library-private",
                    format!(
                        "other users cannot read {}: it is not preloaded for them",
                        path.display()
                    ),
                    "chmod a+r, if others shall use it",
                ));
            }
            diagnosis.library = Some((path, image));
        }
        Err(NotElf::Unreadable(why)) => {
            diagnosis.findings.push(broken(format!("the library cannot be read: {why}")));
        }
        Err(_) => diagnosis.findings.push(broken("the file to preload is not a library".into())),
    }
}

/// What is preloaded already, and whether it wraps MPI, too.
pub(super) fn preloaded(diagnosis: &mut Diagnosis) {
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
        let found = match image {
            None => Severity::Warning.finding(
                "preload-missing",
                format!(
                    "LD_PRELOAD already names {entry}, which does not exist or is not a library: every \
                     process of the launch prints an error about it"
                ),
                "removing it from LD_PRELOAD",
            ),
            Some(image) if entry.ends_with("librankweave.so") => Severity::Warning.finding(
                "preload-twice",
                format!(
                    "LD_PRELOAD already names another librankweave.so: only the first of the two works \
                     ({})",
                    image.path.display()
                ),
                "removing it from LD_PRELOAD",
            ),
            Some(image) if image.offers("MPI_Init") || image.offers("MPI_Send") => Severity::Note
                .finding(
                    "preload-tool",
                    format!("{entry} wraps MPI calls too; calls reach it after this library"),
                    "",
                ),
            Some(_) => Severity::Note.finding(
                "preload-other",
                format!("{entry} is preloaded too; it does not wrap MPI calls"),
                "",
            ),
        };
        diagnosis.before.push(path);
        diagnosis.findings.push(found);
    }
}

/// What concerns the launch as a whole.
pub(super) fn launch(diagnosis: &mut Diagnosis, found: &LocatedLauncher) {
    let mut list = Vec::new();
    if diagnosis.launch.launcher == Launcher::Other {
        list.push(Severity::Warning.finding(
            "no-launcher",
            "no launcher is recognised; settings go through the environment, which reaches the \
             processes of other nodes only if the launcher passes it on",
            "mpirun, mpiexec or srun as the first word; or this launcher, if it passes the \
             environment on",
        ));
    }
    if let Some(image) = &diagnosis.launch.container {
        list.push(Severity::Problem.finding(
            "container",
            format!("the launcher starts the container {image}: the library has to be inside"),
            "--container-mounts with the directory of the library, under the same path",
        ));
    }
    let nodes = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    let several = diagnosis.launch.hosts
        || nodes("SLURM_JOB_NUM_NODES") > 1
        || nodes("PBS_NUM_NODES") > 1
        || found.launcher == Launcher::Srun && nodes("SLURM_NNODES") > 1;
    diagnosis.launch.hosts = several;
    if several && let Some((path, _)) = &diagnosis.library {
        match file_system(path) {
            FileSystem::Shared => {}
            FileSystem::Local(kind) => list.push(Severity::Warning.finding(
                "library-local",
                format!(
                    "{} is on a local file system ({kind}): if a node of the launch does not have it, all \
                     ranks run without recording and reordering",
                    path.display()
                ),
                "installing it under the same path on every node, or on a shared file system",
            )),
        }
    }
    if diagnosis.settings.mode == Mode::Off {
        list.push(Severity::Problem.finding(
            "mode-off",
            "the mode is off: nothing is recorded or reordered",
            "",
        ));
    }
    let alike = diagnosis.programs.windows(2).all(|p| p[0].started.words == p[1].started.words);
    if !alike {
        list.push(Severity::Note.finding(
            "several-programs",
            "the launch starts different programs: their traffic is recorded, and they are not reordered",
            "",
        ));
    }
    diagnosis.findings.extend(list);
}

/// Who sees a file system.
enum FileSystem {
    /// All nodes.
    Shared,
    /// This node only; with its kind.
    Local(String),
}

fn file_system(path: &Path) -> FileSystem {
    // Of linux/magic.h and the file systems' own headers.
    const SHARED: [i64; 11] = [
        0x6969,
        0x0bd0_0bd0,
        0x4750_4653,
        0x1983_0326,
        0x00c3_6400,
        0x5346_414f,
        0xff53_4d42,
        0x6573_5546,
        0xaad7_aaea,
        0x2003_0528,
        0x0102_1997,
    ];
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return FileSystem::Shared };
    // SAFETY: a C string and a struct of the right type, zeroed.
    let (code, data) = unsafe {
        let mut data: libc::statfs = std::mem::zeroed();
        (libc::statfs(name.as_ptr(), &raw mut data), data)
    };
    let kind = data.f_type;
    if code != 0 || SHARED.contains(&kind) {
        return FileSystem::Shared;
    }
    FileSystem::Local(match kind {
        0xef53 => "ext4".into(),
        0x5846_5342 => "xfs".into(),
        0x0102_1994 => "tmpfs".into(),
        0x794c_7630 => "overlay".into(),
        0x9123_683e => "btrfs".into(),
        other => format!("type {other:#x}"),
    })
}

/// The store, and whether it can be written.
pub(super) fn store(diagnosis: &mut Diagnosis) {
    let directory = match diagnosis.settings.store.clone().map_or_else(Store::default_dir, Ok) {
        Ok(directory) => directory,
        Err(error) => {
            let found = Severity::Problem.finding("store-unknown", error.to_string(), "");
            return diagnosis.findings.push(found);
        }
    };
    if let Err(why) = writable(&directory) {
        diagnosis.findings.push(Severity::Problem.finding(
            "store-blocked",
            format!("the store cannot be written: {why} ({})", directory.display()),
            "--store with a directory that the node of rank 0 can write",
        ));
    }
    diagnosis.store = Some(directory);
}

/// Where the counters are kept while the program runs, on this node.
pub(super) fn spill(diagnosis: &mut Diagnosis) {
    let spill = &diagnosis.settings.spill;
    if *spill == Spill::Off {
        let text =
            "no spill files are kept: a program that does not reach MPI_Finalize leaves no matrix";
        return diagnosis.findings.push(Severity::Note.finding("spill-off", text, ""));
    }
    let places = spill::candidates(spill.directory());
    let usable = |place: &&PathBuf| place.is_dir() && writable(place).is_ok();
    diagnosis.spill = places.iter().find(usable).cloned();
    if diagnosis.spill.is_none() {
        let list: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        diagnosis.findings.push(Severity::Warning.finding(
            "spill-blocked",
            format!(
                "no spill file can be kept in {}: a program that does not reach MPI_Finalize \
                     leaves no matrix",
                list.join(" or ")
            ),
            "--spill with a directory of the nodes that can be written, or off",
        ));
    } else if let Some(place) = &diagnosis.spill
        && let FileSystem::Shared = file_system(place)
    {
        diagnosis.findings.push(Severity::Warning.finding(
            "spill-shared",
            format!(
                "{} is on a shared file system, where no spill files are kept: a program that does not \
                 reach MPI_Finalize leaves no matrix",
                place.display()
            ),
            "--spill with a directory on a local file system, such as /dev/shm",
        ));
    }
}

/// Whether a directory can be written, or made.
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

/// Where the topology comes from.
pub(super) fn topology(diagnosis: &mut Diagnosis, search: &Search) {
    if let Some(text) = &diagnosis.settings.topology {
        if let Err(error) = crate::topology::parse(text) {
            diagnosis.findings.push(Severity::Warning.finding(
                "topology",
                format!("{error}; ranks will not be reordered"),
                "",
            ));
        }
        return;
    }
    // Without the library nothing tells which kind of libhwloc would do, and its absence is said.
    let Some((_, like)) = &diagnosis.library else { return };
    let names = ["libhwloc.so.15", "libhwloc.so.16", "libhwloc.so.17", "libhwloc.so"];
    if !names.iter().any(|name| search.open(name, like).is_some()) {
        diagnosis.findings.push(Severity::Note.finding(
            "hwloc-missing",
            "libhwloc is not found on this node: the topology is read from /sys instead",
            "installing hwloc on the compute nodes: it recognises the caches and packages of more \
             machines",
        ));
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
