//! Files that tell launchers where ranks go: rank files, host files, rank orders.
//!
//! All of these place rank r of the next launch where process σ(r) of the recorded launch was. σ is
//! the exported rank order. Host names are those that the processes reported. A launcher may expect
//! another spelling, that of its allocation (short or fully qualified).

use super::{Export, Format, write_error};
use crate::base::error::{Error, ErrorKind, Result};
use crate::store::Record;
use crate::topology::{Tree, UNPLACED, from_launch};
use std::io::Write;

/// Rank files of Open MPI 4: `mpirun -np N --rankfile FILE`.
pub const RANKFILE: Format =
    Format::rank_order("rankfile", "rank file of Open MPI 4: mpirun --rankfile FILE", open_mpi_4);
/// Rank files of Open MPI 5 and PRRTE: `mpirun --map-by rankfile:file=FILE`.
pub const PRRTE: Format = Format::rank_order(
    "prrte",
    "rank file of Open MPI 5: mpirun --map-by rankfile:file=FILE",
    open_mpi_5,
);
/// Options of MPICH's mpiexec from 5.0: `mpiexec $(cat FILE) -n N …`.
pub const MPICH_RANKMAP: Format = Format::rank_order(
    "mpich-rankmap",
    "options -hosts and -rankmap of MPICH 5: mpiexec $(cat FILE) -n N",
    mpich,
);
/// Host files of MPICH and Intel MPI: `mpiexec -f FILE`.
pub const HYDRA: Format =
    Format::rank_order("hydra", "host file of MPICH and Intel MPI: mpiexec -f FILE", hydra);
/// Host files of Slurm: `SLURM_HOSTFILE=FILE srun -n N --distribution=arbitrary`.
pub const SLURM: Format = Format::rank_order(
    "slurm",
    "host file of Slurm: SLURM_HOSTFILE=FILE srun --distribution=arbitrary",
    slurm,
);
/// MPICH_RANK_ORDER files of Cray MPICH.
pub const CRAY: Format =
    Format::rank_order("cray", "MPICH_RANK_ORDER of Cray MPICH: MPICH_RANK_REORDER_METHOD=3", cray);

/// The tree of the recorded launch.
pub fn tree(record: &Record) -> Result<Tree> {
    known(record)?;
    let launch = &record.launch;
    let costs = match launch.placement.level_costs.is_empty() {
        true => vec![crate::topology::costs::NODE],
        false => launch.placement.level_costs.clone(),
    };
    from_launch(&launch.placement.node_of_process, &launch.placement.place_of_process, &costs)
}

/// Errors unless the record says where its processes were.
fn known(record: &Record) -> Result<()> {
    if record.launch.placement.node_of_process.is_empty() {
        return Err(Error::new(
            ErrorKind::Infeasible,
            "the record does not say where its processes were",
        )
        .at(&record.key)
        .advise("a matrix that was recorded in a launch, not imported"));
    }
    Ok(())
}

/// Node index of each rank.
fn nodes(export: &Export<'_>) -> Result<Vec<usize>> {
    known(export.record)?;
    let node_of = &export.record.launch.placement.node_of_process;
    export
        .process_of_task
        .iter()
        .map(|&process| {
            node_of.get(process as usize).map(|&node| node as usize).ok_or_else(|| {
                Error::new(ErrorKind::Infeasible, format!("the launch had no process {process}"))
                    .at(&export.record.key)
            })
        })
        .collect()
}

/// Host name of each rank; refuses names that would break the line structure of the files.
fn hosts<'a>(export: &'a Export<'_>) -> Result<Vec<&'a str>> {
    let names = &export.record.launch.placement.node_names;
    nodes(export)?
        .into_iter()
        .map(|node| {
            let name = names.get(node).map_or("", String::as_str);
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                return Err(Error::new(
                    ErrorKind::Infeasible,
                    format!(
                        "the host name '{name}' cannot \
                                                                      be written to such a file"
                    ),
                )
                .at(&export.record.key)
                .advise("recording on the machine itself"));
            }
            Ok(name)
        })
        .collect()
}

/// The core of each process, and whether it was recorded. If some process was not bound to one
/// core, the processes of each node are numbered from 0 instead.
fn cores(record: &Record) -> (Vec<u32>, bool) {
    let launch = &record.launch;
    // The node is the first level, and not part of the places.
    let level = launch
        .placement
        .level_names
        .iter()
        .position(|n| n == "core")
        .and_then(|l| l.checked_sub(1));
    let recorded: Option<Vec<u32>> = level.and_then(|level| {
        let core = |place: &Vec<u32>| place.get(level).copied().filter(|&c| c != UNPLACED);
        launch.placement.place_of_process.iter().map(core).collect()
    });
    match recorded.filter(|cores| cores.len() == launch.placement.node_of_process.len()) {
        Some(cores) => (cores, true),
        None => {
            let mut used = vec![0u32; launch.placement.node_names.len()];
            let mut next = |&node: &u32| {
                let count = used.get_mut(node as usize)?;
                *count += 1;
                Some(*count - 1)
            };
            (launch.placement.node_of_process.iter().map(|n| next(n).unwrap_or(0)).collect(), false)
        }
    }
}

fn rankfile(export: &Export<'_>, usage: &str, out: &mut dyn Write) -> Result<()> {
    let hosts = hosts(export)?;
    let (cores, recorded) = cores(export.record);
    let mut text = || {
        writeln!(out, "# {usage}")?;
        writeln!(
            out,
            "# cores: {}",
            match recorded {
                true => "logical numbers, as recorded",
                false => "numbered from 0 on each node, because the launch was not bound to cores",
            }
        )?;
        for (rank, (host, &process)) in hosts.iter().zip(&export.process_of_task).enumerate() {
            let core = cores.get(process as usize).copied().unwrap_or(0);
            writeln!(out, "rank {rank}={host} slot={core}")?;
        }
        Ok(())
    };
    text().map_err(write_error)
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
    writeln!(out, "-hosts {names} -rankmap {}", map.join(",")).map_err(write_error)
}

fn hydra(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let hosts = hosts(export)?;
    let mut text = || {
        writeln!(out, "# mpiexec -f THIS_FILE -n {}", hosts.len())?;
        for run in hosts.chunk_by(|a, b| a == b) {
            writeln!(out, "{}:{}", run[0], run.len())?;
        }
        Ok(())
    };
    text().map_err(write_error)
}

fn slurm(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    hosts(export)?.iter().try_for_each(|host| writeln!(out, "{host}")).map_err(write_error)
}

fn cray(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    /// Ranks in a line: lines of any length are concatenated.
    const IN_LINE: usize = 16;
    let nodes = nodes(export)?;
    // Slots are filled node by node; rank r takes one of the slots of its node.
    let mut ranks: Vec<usize> = (0..nodes.len()).collect();
    ranks.sort_by_key(|&rank| (nodes[rank], export.process_of_task[rank]));
    let mut text = || {
        writeln!(out, "# MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=THIS_FILE")?;
        writeln!(out, "# {} ranks, in the order in which nodes are filled", ranks.len())?;
        for line in ranks.chunks(IN_LINE) {
            let words: Vec<String> = line.iter().map(usize::to_string).collect();
            writeln!(out, "{}", words.join(","))?;
        }
        Ok(())
    };
    text().map_err(write_error)
}
