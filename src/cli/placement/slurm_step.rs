//! Whether a step of Slurm runs on exactly the hosts of a list, with the number of ranks that each of them has there.
//!
//! `SLURM_JOB_NODELIST` and `SLURM_TASKS_PER_NODE` describe the job. A step can ask for fewer nodes (`-N`), for more
//! processors for each rank (`-c`), or for other numbers of ranks (`--ntasks-per-core`). Slurm then chooses the nodes
//! and the numbers itself when the step begins, so nothing is placed. Source: the manual page of srun (Slurm 22.05).

use super::Refusal;
use crate::cli::inspect::OptionWords;

/// Variables with the number of nodes of a step, for steps without the option `-N`.
const NODES: [&str; 2] = ["SLURM_JOB_NUM_NODES", "SLURM_NNODES"];

/// Errors: Slurm may give the ranks of this step to other hosts than the `hosts` hosts of the list, or in other
/// numbers. `variable` looks a variable up.
pub(super) fn check(
    options: &[OptionWords],
    hosts: usize,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), Refusal> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let last = |names: [&str; 2]| {
        let option = options.iter().rev().find(|option| names.contains(&option.name.as_str()));
        option.and_then(|option| Some((option.value.clone()?, option.name.clone())))
    };
    let asked: Vec<(String, String)> = match last(["N", "nodes"]) {
        Some((value, name)) if name.len() == 1 => vec![(value.clone(), format!("-{name} {value}"))],
        Some((value, name)) => vec![(value.clone(), format!("--{name}={value}"))],
        None => {
            let of = |name: &str| set(name).map(|value| (value.clone(), format!("{name}={value}")));
            NODES.into_iter().filter_map(of).collect()
        }
    };
    if let Some((_, what)) = asked.iter().find(|(value, _)| nodes(value) != Some(hosts)) {
        return Err(Refusal::new(
            format!(
                "Slurm chooses the nodes of this step itself ({what}): it is not known that they are the \
                 {hosts} hosts of the list"
            ),
            "name exactly the nodes of the step with -w and their number with -N, or use --place library",
        ));
    }
    if let Some((value, _)) = last(["c", "cpus-per-task"])
        && set("SLURM_JOB_NODELIST").is_some()
        && set("SLURM_CPUS_PER_TASK").unwrap_or_else(|| "1".into()) != value
    {
        return Err(Refusal::new(
            format!(
                "the ranks of this step have other numbers of processors than those of the job (-c {value}), \
                 so it is not known how many of them each host takes"
            ),
            "ask for as many processors in the job (sbatch -c, salloc -c), or use --place library",
        ));
    }
    Ok(())
}

/// The number of nodes in `4` or `4-4`; `None` if Slurm may choose it.
fn nodes(text: &str) -> Option<usize> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<usize>().ok();
    number(most).filter(|_| number(least) == number(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_on_all_hosts_of_the_list_are_known() {
        let of = |given: &[(&str, &str)], variables: &[(&str, &str)]| {
            let option = |(k, &(name, value)): (usize, &(&str, &str))| OptionWords {
                name: name.into(),
                value: Some(value.into()),
                words: k..k + 1,
            };
            let options: Vec<OptionWords> = given.iter().enumerate().map(option).collect();
            let value =
                |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
            check(&options, 4, value)
        };
        let job = ("SLURM_JOB_NODELIST", "n[0-3]");
        for (given, variables) in [
            (&[][..], &[][..]),
            (&[("N", "4")], &[("SLURM_NNODES", "8")]),
            (&[("nodes", "4-4")], &[]),
            (&[("N", "2"), ("N", "4")], &[]),
            (&[], &[("SLURM_NNODES", "4"), ("SLURM_JOB_NUM_NODES", "4")]),
            (&[("c", "2")], &[job, ("SLURM_CPUS_PER_TASK", "2")]),
            (&[("c", "1")], &[job]),
            (&[("c", "3")], &[]),
        ] {
            assert!(of(given, variables).is_ok(), "{given:?} {variables:?}");
        }
        for (given, variables, why) in [
            (&[("N", "2")][..], &[][..], "(-N 2)"),
            (&[("nodes", "2-4")], &[], "(--nodes=2-4)"),
            (&[("N", "4k")], &[], "(-N 4k)"),
            (&[], &[("SLURM_NNODES", "8")], "(SLURM_NNODES=8)"),
            (
                &[],
                &[("SLURM_NNODES", "4"), ("SLURM_JOB_NUM_NODES", "2")],
                "(SLURM_JOB_NUM_NODES=2)",
            ),
            (&[("c", "2")], &[job], "(-c 2)"),
            (&[("cpus-per-task", "2")], &[job, ("SLURM_CPUS_PER_TASK", "4")], "(-c 2)"),
        ] {
            let refusal = of(given, variables).unwrap_err();
            assert!(refusal.what.contains(why), "{}", refusal.what);
        }
    }
}
