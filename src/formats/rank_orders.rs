//! Files that tell launchers where ranks go: rank files, host files, rank orders.
//!
//! Every file places rank r of the next launch where process σ(r) of the recorded launch was. σ is the
//! exported rank order. Host names are spelled as the processes reported them. A launcher may expect the
//! spelling of its allocation instead (short or fully qualified).

use super::{Export, Format, write_lines};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::store::Record;
use crate::topology::{Tree, UNPLACED, from_launch};
use std::io::Write;

/// Rank files of Open MPI 4: `mpirun -np N --rankfile FILE`.
pub const RANKFILE: Format =
    Format::new("rankfile", "rank file of Open MPI 4: mpirun --rankfile FILE")
        .placing_ranks(open_mpi_4);
/// Rank files of Open MPI 5 and PRRTE: `mpirun --map-by rankfile:file=FILE`.
pub const PRRTE: Format =
    Format::new("prrte", "rank file of Open MPI 5: mpirun --map-by rankfile:file=FILE")
        .placing_ranks(open_mpi_5);
/// Options of MPICH's mpiexec from 5.0: `mpiexec $(cat FILE) -n N …`.
pub const MPICH_RANKMAP: Format = Format::new(
    "mpich-rankmap",
    "options -hosts and -rankmap of MPICH 5: mpiexec $(cat FILE) -n N",
)
.placing_ranks(mpich);
/// Host files of MPICH and Intel MPI: `mpiexec -f FILE`.
pub const HYDRA: Format =
    Format::new("hydra", "host file of MPICH and Intel MPI: mpiexec -f FILE").placing_ranks(hydra);
/// Host files of Slurm: `SLURM_HOSTFILE=FILE srun -n N --distribution=arbitrary`.
pub const SLURM: Format =
    Format::new("slurm", "host file of Slurm: SLURM_HOSTFILE=FILE srun --distribution=arbitrary")
        .placing_ranks(slurm);
/// MPICH_RANK_ORDER files of Cray MPICH.
pub const CRAY: Format =
    Format::new("cray", "MPICH_RANK_ORDER of Cray MPICH: MPICH_RANK_REORDER_METHOD=3")
        .placing_ranks(cray);

/// The processes of the recorded launch as a tree. Errors: the record does not say where they were.
pub fn tree(record: &Record) -> Result<Tree> {
    known(record)?;
    let launch = &record.launch;
    let costs = match launch.placement.level_costs.is_empty() {
        true => vec![crate::topology::costs::NODE],
        false => launch.placement.level_costs.clone(),
    };
    from_launch(&launch.placement.node_of_process, &launch.placement.place_of_process, &costs)
}

/// The error of an export for which a record is not fit.
pub(super) fn infeasible(record: &Record, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Infeasible, what).at(&record.key)
}

/// Errors unless the record says where its processes were.
fn known(record: &Record) -> Result<()> {
    if record.launch.placement.node_of_process.is_empty() {
        return Err(infeasible(record, "the record does not say where its processes were")
            .advise("use a matrix that was recorded in a launch, not imported"));
    }
    Ok(())
}

/// The number of the node of each rank.
fn nodes(export: &Export<'_>) -> Result<Vec<usize>> {
    known(export.record)?;
    let node_of = &export.record.launch.placement.node_of_process;
    let node = |&process: &u32| {
        node_of.get(process as usize).map(|&node| node as usize).ok_or_else(|| {
            infeasible(export.record, format!("the launch had no process {process}"))
        })
    };
    export.process_of_task.iter().map(node).collect()
}

/// The host name of each rank. Errors: a name that the line structure of the files does not allow.
fn hosts<'a>(export: &'a Export<'_>) -> Result<Vec<&'a str>> {
    let names = &export.record.launch.placement.node_names;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let host = |node: usize| {
        let name = names.get(node).map_or("", String::as_str);
        if name.is_empty() || !name.chars().all(is_plain) {
            let what = format!("the host name '{name}' cannot be written to such a file");
            return Err(infeasible(export.record, what).advise("record on the machine itself"));
        }
        Ok(name)
    };
    nodes(export)?.into_iter().map(host).collect()
}

/// The core of each process, and whether the cores were recorded. If some process was not bound to one
/// core, the processes of each node are numbered from 0 instead.
fn cores(record: &Record) -> (Vec<u32>, bool) {
    let placement = &record.launch.placement;
    let level = placement.level_names.iter().position(|n| n == "core");
    // The node is the first level, and not part of the places.
    let recorded: Option<Vec<u32>> = level.and_then(|l| l.checked_sub(1)).and_then(|level| {
        let core = |place: &Vec<u32>| place.get(level).copied().filter(|&c| c != UNPLACED);
        placement.place_of_process.iter().map(core).collect()
    });
    if let Some(cores) = recorded.filter(|cores| cores.len() == placement.node_of_process.len()) {
        return (cores, true);
    }
    let mut used = vec![0u32; placement.node_names.len()];
    let mut next = |&node: &u32| {
        let count = used.get_mut(node as usize)?;
        *count += 1;
        Some(*count - 1)
    };
    (placement.node_of_process.iter().map(|n| next(n).unwrap_or(0)).collect(), false)
}

fn rankfile(export: &Export<'_>, usage: &str, out: &mut dyn Write) -> Result<()> {
    let hosts = hosts(export)?;
    let (cores, recorded) = cores(export.record);
    let source = match recorded {
        true => "logical numbers, as recorded",
        false => "numbered from 0 on each node, because the launch was not bound to cores",
    };
    let row = |(rank, (host, &process)): (usize, (&&str, &u32))| {
        let core = cores.get(process as usize).copied().unwrap_or(0);
        format!("rank {rank}={host} slot={core}")
    };
    let rows = hosts.iter().zip(&export.process_of_task).enumerate().map(row);
    write_lines(out, [format!("# {usage}"), format!("# cores: {source}")].into_iter().chain(rows))
}

fn open_mpi_4(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let usage = format!("mpirun -np {} --rankfile THIS_FILE", export.process_of_task.len());
    rankfile(export, &usage, out)
}

fn open_mpi_5(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    rankfile(export, "mpirun --map-by rankfile:file=THIS_FILE", out)
}

fn mpich(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    hosts(export)?;
    let map: Vec<String> = nodes(export)?.iter().map(usize::to_string).collect();
    let names = export.record.launch.placement.node_names.join(",");
    write_lines(out, [format!("-hosts {names} -rankmap {}", map.join(","))])
}

fn hydra(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let hosts = hosts(export)?;
    let head = format!("# mpiexec -f THIS_FILE -n {}", hosts.len());
    let runs = hosts.chunk_by(|a, b| a == b).map(|run| format!("{}:{}", run[0], run.len()));
    write_lines(out, std::iter::once(head).chain(runs))
}

fn slurm(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    write_lines(out, hosts(export)?.into_iter().map(String::from))
}

fn cray(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    /// The number of ranks in a line. Cray MPICH concatenates lines of any length.
    const IN_LINE: usize = 16;
    let nodes = nodes(export)?;
    // Cray MPICH fills the slots node by node, in the order of this list of ranks.
    let mut ranks: Vec<usize> = (0..nodes.len()).collect();
    ranks.sort_by_key(|&rank| (nodes[rank], export.process_of_task[rank]));
    let head = [
        "# MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=THIS_FILE".to_string(),
        format!("# {}, in the order in which nodes are filled", counted(ranks.len(), "rank")),
    ];
    let row = |ranks: &[usize]| ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    write_lines(out, head.into_iter().chain(ranks.chunks(IN_LINE).map(row)))
}
