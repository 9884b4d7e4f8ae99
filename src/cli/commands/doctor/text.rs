//! The diagnosis for people.

use crate::base::nouns::counted;
use crate::cli::diagnosis::{Diagnosed, Diagnosis, Finding, NetworkKnown};
use crate::cli::inspect::Mpi;
use crate::cli::launcher::Launcher;
use crate::cli::trial::ProbedNode;
use crate::report::units;

/// The whole diagnosis.
pub(super) fn text(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    let mut line = |label: &str, value: String| {
        out.push_str(&format!("{label:<12}{}\n", units::printable(&value)));
    };
    let launch = &diagnosis.launch;
    let path = launch.path.as_ref().map(|p| format!(" ({})", p.display())).unwrap_or_default();
    line("launcher", format!("{}{path}", launch.launcher.name()));
    if let Some(mpi) = &diagnosis.launcher_mpi {
        line("  its MPI", described(mpi));
    }
    for program in &diagnosis.programs {
        let ranks =
            program.part.ranks.map(|n| format!(" ({})", counted(n, "rank"))).unwrap_or_default();
        line("program", format!("{}{ranks}", program.part.words.join(" ")));
        for (label, value) in facts(program) {
            line(label, value);
        }
        for finding in &program.findings {
            told(&mut line, finding);
        }
    }
    let way = match launch.launcher {
        Launcher::OpenMpi => "by -x LD_PRELOAD, into the MPI processes only",
        Launcher::Hydra => "by -genv LD_PRELOAD, into the MPI processes only",
        Launcher::Srun => "by --export LD_PRELOAD, into the MPI processes only",
        Launcher::Sbatch => "by --export LD_PRELOAD, into the script and everything it starts",
        Launcher::Other => "by the environment, into everything the command starts",
    };
    match &diagnosis.library {
        Some((path, _)) => line("preloaded", format!("{}, {way}", path.display())),
        None => line("preloaded", "nothing".into()),
    }
    if let Some(store) = &diagnosis.store {
        line("store", store.display().to_string());
    }
    if let Some(place) = &diagnosis.spill {
        line("spill", format!("{} until the matrix is in the store", place.display()));
    }
    if let Some((key, when)) = &diagnosis.key {
        let state =
            when.map_or("nothing stored yet".into(), |at| format!("recorded {}", units::time(at)));
        line("key", format!("{key}, {state}"));
    }
    if let Some(placing) = &diagnosis.placing {
        let advice = placing.advice.as_ref().map(|a| format!("; try: {a}")).unwrap_or_default();
        line("placement", format!("--place launcher is {}{advice}", placing.text));
    }
    for (label, value) in diagnosis.network.iter().flat_map(NetworkKnown::lines) {
        line(&label, value);
    }
    for node in diagnosis.nodes.iter().flatten() {
        let ProbedNode { name, processes, preloaded, .. } = node;
        let all = counted(*processes, "process");
        line("node", format!("{name}: library in {preloaded} of {all}"));
    }
    for finding in &diagnosis.findings {
        told(&mut line, finding);
    }
    line("outcome", diagnosis.outcome());
    out
}

fn told(line: &mut impl FnMut(&str, String), finding: &Finding) {
    let advice = finding.advice.as_ref().map(|a| format!("; try: {a}")).unwrap_or_default();
    line(&format!("  {}", finding.level.name()), format!("{}{advice}", finding.text));
}

fn described(mpi: &Mpi) -> String {
    let version = mpi.version().unwrap_or_else(|| "unknown MPI".into());
    format!("{version}, handles of {} ({})", mpi.family.name(), mpi.path.display())
}

fn facts(program: &Diagnosed) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let through: Vec<&str> = program.started.through.iter().map(|t| t.name.as_str()).collect();
    let through = match through.is_empty() {
        true => String::new(),
        false => format!(", through {}", through.join(", ")),
    };
    if let (Some(image), Some(path)) = (program.started.binary(), &program.started.path) {
        facts.push(("  file", format!("{}, {}{through}", path.display(), image.architecture())));
    }
    if let Some((mpi, how)) = &program.mpi {
        let how = if how.is_some() { ", loaded while it runs" } else { "" };
        facts.push(("  MPI", format!("{}{how}", described(mpi))));
    }
    let bindings = &program.bindings;
    let used: Vec<String> = [
        ("C", bindings.c.len()),
        ("Fortran mpif.h or use mpi", bindings.fortran.len()),
        ("Fortran use mpi_f08", bindings.fortran_2008.len()),
        ("C++", bindings.cxx.len()),
    ]
    .iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!("{name} ({})", counted(*count, "function")))
    .collect();
    if !used.is_empty() {
        let by = match bindings.libraries.is_empty() {
            true => String::new(),
            false => format!(", partly through {}", bindings.libraries.join(", ")),
        };
        facts.push(("  bindings", format!("{}{by}", used.join(", "))));
        let rest = "of these functions pass through the library; the matrix needs no others";
        facts.push(("  recorded", format!("{} {rest}", program.seen)));
    }
    facts
}
