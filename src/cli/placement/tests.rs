//! The command line of each launcher, from launchers that only say who they are.

use super::*;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::store::{Placement, Record};
use std::os::unix::fs::PermissionsExt;

/// Launchers by name, with what they say about their version.
const LAUNCHERS: [(&str, &str); 6] = [
    ("mpirun4", "mpirun (Open MPI) 4.1.4"),
    ("mpirun5", "mpirun (Open MPI) 5.0.3"),
    ("mpiexec4", "HYDRA build details:\n    Version:                                 4.0.2"),
    ("mpiexec5", "HYDRA build details:\n    Version:                                 5.0.0"),
    ("mpiexec-intel", "Intel(R) MPI Library for Linux* OS, Version 2021.13"),
    ("srun", "slurm 22.05.8"),
];

/// A directory with launchers, a program, host files, and a store with a record of the program.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench { directory: tempfile::tempdir().unwrap() };
        for (name, text) in LAUNCHERS {
            let path = bench.path(name);
            std::fs::write(&path, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(bench.path("slots"), "n0 slots=4\nn1 slots=4\n").unwrap();
        std::fs::write(bench.path("hydra"), "n0:4\nn1:4\n").unwrap();
        bench.store(8);
        bench
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn settings(&self) -> Settings {
        Settings {
            store: Some(self.path("store").into()),
            key: Some("k".into()),
            place: Place::Launcher,
            ..Settings::default()
        }
    }

    /// Keeps a record in which tasks talk in pairs (t, t + half).
    fn store(&self, tasks: u32) {
        let cell = Traffic { bytes: 1000, messages: 1 };
        let half = tasks / 2;
        let entries: Vec<_> = (0..half).map(|t| (t, t + half, cell)).collect();
        let matrix = SparseMatrix::from_entries(tasks as usize, &entries);
        let mut record = Record::of_matrix("k", CommMatrix::from_point_to_point(matrix));
        record.launch.placement = Placement::of_nodes(
            (0..tasks).map(|p| p / half).collect(),
            vec!["n0".into(), "n1".into()],
        );
        Store::open(self.path("store")).save(&record).unwrap();
    }

    /// The placed launch of a line whose words `@NAME` are files of this directory.
    fn place(
        &self,
        line: &str,
        settings: &Settings,
        variables: &[(&str, &str)],
    ) -> std::result::Result<PlacedLaunch, Refusal> {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.path(name),
            None => word.to_string(),
        };
        let command: Vec<String> = line.split(' ').map(word).collect();
        let launcher = match command[0].as_str() {
            name if name.contains("mpirun") => Launcher::OpenMpi,
            name if name.contains("mpiexec") => Launcher::Hydra,
            name if name.ends_with("srun") => Launcher::Srun,
            _ => Launcher::Other,
        };
        let found = LocatedLauncher { launcher, position: 0 };
        let value = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
        PlacedLaunch::decided(&found, &command, settings, value)
    }

    /// The command line without the directories, and the content of the file.
    fn golden(&self, line: &str, variables: &[(&str, &str)]) -> (String, String) {
        let placed = self.place(line, &self.settings(), variables).unwrap();
        let directory = self.directory.path().display().to_string();
        let mut text = placed.usage().replace(&format!("{directory}/"), "");
        let mut content = String::new();
        if let Some(file) = placed.file() {
            let name = file.display().to_string().replace(&format!("{directory}/"), "");
            text = text.replace(&name, "FILE");
            content = String::from_utf8(placed.files[0].content.clone()).unwrap();
        }
        (text, content)
    }

    fn refused(&self, line: &str, variables: &[(&str, &str)]) -> String {
        let refusal = self.place(line, &self.settings(), variables).unwrap_err();
        refusal.message("nothing is placed").to_string()
    }
}

/// The host of each rank: tasks t and t + 4 on one host, rank 0 on n0.
const PAIRS: &str = "n0\nn0\nn1\nn1\nn0\nn0\nn1\nn1\n";

#[test]
fn every_launcher_gets_its_own_options() {
    let bench = Bench::new();
    let slurm = [("SLURM_JOB_NODELIST", "n[0-1]"), ("SLURM_TASKS_PER_NODE", "4(x2)")];
    let blocks = "# mpiexec -f THIS_FILE -n 8\nn0:2\nn1:2\nn0:2\nn1:2\n";
    for (line, variables, wanted, content) in [
        (
            "@mpirun4 -np 8 --hostfile @slots -x A=1 /bin/true in",
            &[][..],
            "mpirun4 --mca rmaps seq --hostfile FILE --bind-to none -np 8 -x A=1 /bin/true in",
            PAIRS,
        ),
        (
            "@mpirun4 --host n0:4,n1:4 --oversubscribe /bin/true",
            &[],
            "mpirun4 --mca rmaps seq --hostfile FILE --bind-to none -np 8 --oversubscribe /bin/true",
            PAIRS,
        ),
        (
            "@mpirun4 -np 8 --map-by ppr:4:node:OVERSUBSCRIBE -H n0,n1 /bin/true",
            &[],
            "mpirun4 --mca rmaps seq --hostfile FILE --oversubscribe --bind-to none -np 8 /bin/true",
            PAIRS,
        ),
        (
            "@mpirun5 -np 8 --hostfile @slots --map-by :OVERSUBSCRIBE /bin/true",
            &[],
            "mpirun5 --map-by seq:oversubscribe --hostfile FILE -np 8 /bin/true",
            PAIRS,
        ),
        (
            "@mpirun5 /bin/true",
            &slurm,
            "mpirun5 --map-by seq --hostfile FILE -np 8 /bin/true",
            PAIRS,
        ),
        ("@mpiexec4 -n 8 -f @hydra /bin/true", &[], "mpiexec4 -f FILE -n 8 /bin/true", blocks),
        (
            "@mpiexec5 -hosts n0,n1 -ppn 4 -n 8 /bin/true",
            &[],
            "mpiexec5 -rankmap 0,0,1,1,0,0,1,1 -hosts n0,n1 -n 8 /bin/true",
            "",
        ),
        (
            "@mpiexec-intel -n 8 -f @hydra -genv A 1 /bin/true",
            &[],
            "mpiexec-intel -machinefile FILE -n 8 -genv A 1 /bin/true",
            blocks,
        ),
        (
            "@srun -n8 --cpu-bind=cores /bin/true",
            &slurm,
            "SLURM_HOSTFILE=FILE srun --distribution=arbitrary -n8 --cpu-bind=cores /bin/true",
            PAIRS,
        ),
        (
            "@srun -w n[0-1] --ntasks-per-node=4 /bin/true",
            &[],
            "SLURM_HOSTFILE=FILE srun --distribution=arbitrary -n 8 /bin/true",
            PAIRS,
        ),
        (
            "@srun -n 8 /bin/true",
            &[slurm[0], slurm[1], ("CRAY_MPICH_VERSION", "8.1")],
            "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=FILE srun -n 8 /bin/true",
            "# MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=THIS_FILE\n\
             # 8 ranks, in the order in which nodes are filled\n0,1,4,5,2,3,6,7\n",
        ),
        (
            "@srun -N 2 -n 8 -w n[0-1] --ntasks-per-node=4 -- /bin/true --nodelist=x",
            &[("SLURM_NNODES", "4")],
            "SLURM_HOSTFILE=FILE srun --distribution=arbitrary -N 2 -n 8 -- /bin/true --nodelist=x",
            PAIRS,
        ),
    ] {
        let (command, file) = bench.golden(line, variables);
        assert_eq!((command.as_str(), file.as_str()), (wanted, content), "{line}");
    }
}

#[test]
fn what_the_user_decided_or_nobody_knows_is_left_alone() {
    let bench = Bench::new();
    let hosts = "--host n0:4,n1:4";
    for (line, variables, why) in [
        (format!("@mpirun4 -np 8 {hosts} --rankfile r /bin/true"), vec![], "(--rankfile r)"),
        (format!("@mpirun4 -np 8 {hosts} --map-by node /bin/true"), vec![], "(--map-by node)"),
        (format!("@mpirun4 -np 8 {hosts} --mca rmaps seq /bin/true"), vec![], "(--mca rmaps seq)"),
        (
            format!("@mpirun4 -np 8 {hosts} /bin/true"),
            vec![("OMPI_MCA_rmaps", "seq")],
            "(OMPI_MCA_rmaps)",
        ),
        ("@mpiexec5 -hosts n0:4,n1:4 -rankmap 0 -n 8 /bin/true".into(), vec![], "(--rankmap 0)"),
        ("@srun -n 8 -w n[0-1] -m cyclic /bin/true".into(), vec![], "(-m cyclic)"),
        ("@mpirun4 -np 8 /bin/true".into(), vec![], "the hosts of this launch cannot be known"),
        ("@mpirun4 -np 8 --host n0:8 /bin/true".into(), vec![], "all ranks are on one host"),
        ("@mpirun4 --host n0:*,n1:* /bin/true".into(), vec![], "the number of ranks"),
        ("@mpirun4 -np 8 --host n0:*,x:* /bin/true".into(), vec![], "how many ranks each host"),
        (
            "@mpirun4 -np 8 --hostfile /no/file /bin/true".into(),
            vec![],
            "cannot read the host file",
        ),
        (format!("@mpirun4 -np 4 {hosts} /bin/true : -np 4 /bin/true"), vec![], "several programs"),
        (format!("@mpirun4 -np 6 {hosts} /bin/true"), vec![], "no usable matrix is stored for k"),
        ("@other -np 8 /bin/true".into(), vec![], "it is not known how this launcher"),
    ] {
        let said = bench.refused(&line, &variables);
        assert!(said.contains(why), "{line}: {said}");
    }
    // How many ranks Intel MPI starts on a host without a number depends on its cores.
    assert!(
        bench.place("@mpiexec-intel -n 8 -hosts n0,x /bin/true", &bench.settings(), &[]).is_err()
    );
    // Without numbers of ranks, those of a launch on the same hosts count.
    assert_eq!(bench.golden("@mpirun4 -np 8 --host n0:*,n1:* /bin/true", &[]).1, PAIRS);
}

#[test]
fn steps_whose_nodes_slurm_chooses_are_left_alone() {
    let bench = Bench::new();
    let job = [("SLURM_JOB_NODELIST", "n[0-3]"), ("SLURM_TASKS_PER_NODE", "2(x4)")];
    for (options, why) in [
        ("-N 2", "(-N 2)"),
        ("-N2-4", "(-N 2-4)"),
        ("-c 2", "(-c 2)"),
        ("--ntasks-per-core=1", "(--ntasks-per-core 1)"),
        ("--ntasks-per-socket 1", "(--ntasks-per-socket 1)"),
        ("--ntasks-per-gpu=1", "(--ntasks-per-gpu 1)"),
        ("--gpus-per-task=1", "(--gpus-per-task 1)"),
        ("--dist=cyclic", "(--distribution cyclic)"),
        ("-lm cyclic", "(-m cyclic)"),
        ("-r 1", "(-r 1)"),
        ("-x n1", "(-x n1)"),
        ("--spread-job", "(--spread-job)"),
        ("-lw n[0-1]", "in one word with other options"),
    ] {
        let said = bench.refused(&format!("@srun {options} -n 8 /bin/true"), &job);
        assert!(said.contains(why), "{options}: {said}");
    }
    let said = bench
        .refused("@srun -n 8 -w n[0-1] --ntasks-per-node=4 /bin/true", &[("SLURM_NNODES", "4")]);
    assert!(said.contains("(SLURM_NNODES=4)"), "{said}");
    assert!(bench.place("@srun -N 4 -n 8 /bin/true", &bench.settings(), &job).is_ok());
}

#[test]
fn hosts_of_two_domains_with_one_short_name_are_refused() {
    let bench = Bench::new();
    for line in [
        "@mpirun4 --host n0.east:2,n0.west:2,b:4 -n 8 /bin/true",
        "@mpirun4 --host n0.east,n0.west,b -npernode 4 -n 8 /bin/true",
        "@mpiexec5 -hosts n0.east:2,n0.west:2,b:4 -n 8 /bin/true",
        "@mpirun4 --host n0.east:2,n0.west:2,b:4 /bin/true",
    ] {
        let said = bench.refused(line, &[]);
        assert!(said.contains("two hosts are called n0"), "{line}: {said}");
    }
}

#[test]
fn an_order_that_no_argument_can_hold_is_refused() {
    let command: Vec<String> = ["mpiexec", "-n", "60000", "a"].map(String::from).to_vec();
    let found = LocatedLauncher { launcher: Launcher::Hydra, position: 0 };
    let lengths = |method: Method, ranks: usize| {
        let hosts = LaunchHosts::default();
        let node_of_rank: Vec<u32> = (0..ranks as u32).map(|rank| rank % 2).collect();
        let told = Told {
            hosts: &hosts,
            file: "FILE",
            ranks,
            says_ranks: true,
            node_of_rank: &node_of_rank,
            bound_to_cores: false,
        };
        let (changed, environment) = method.applied(&found, &command, &told);
        check_lengths(&command, &changed, &environment)
    };
    let said = lengths(Method::HydraRankmap, 60_000).unwrap_err().message("m").to_string();
    assert!(said.contains("too long for the command line") && said.contains("117 KiB"), "{said}");
    assert!(said.contains("--place library"), "{said}");
    assert!(lengths(Method::HydraRankmap, 40_000).is_ok());
    // A host file has no such limit.
    assert!(lengths(Method::HydraBlocks, 60_000).is_ok());
    // What the user wrote is not in the way.
    let long = vec!["x".repeat(LONGEST + 1)];
    assert!(check_lengths(&long, &long, &[]).is_ok());
}

#[test]
fn blocks_of_one_host_are_never_bound_to_the_same_cores() {
    let bench = Bench::new();
    let said = bench.refused("@mpiexec4 -n 8 -f @hydra -bind-to core /bin/true", &[]);
    assert!(said.contains("to the same core with this order"), "{said}");
    let said = bench.refused("@mpiexec4 -n 8 -f @hydra /bin/true", &[("HYDRA_BINDING", "core")]);
    assert!(said.contains("to the same core with this order"), "{said}");
    assert!(check_blocks(&[0, 0, 1, 1, 2]).is_ok());
    // From version 5 on, a host has one process that binds all its ranks.
    let line = "@mpiexec5 -n 8 -hosts n0:4,n1:4 -bind-to core /bin/true";
    assert!(bench.place(line, &bench.settings(), &[]).is_ok());
}

#[test]
fn processes_of_cray_mpich_get_the_order_from_a_file_that_they_see() {
    let bench = Bench::new();
    let job = [
        ("SLURM_JOB_NODELIST", "n[0-1]"),
        ("SLURM_TASKS_PER_NODE", "4(x2)"),
        ("CRAY_MPICH_VERSION", "8.1"),
        ("SLURM_EXPORT_ENV", "NONE"),
    ];
    let names = "MPICH_RANK_REORDER_METHOD,MPICH_RANK_REORDER_FILE";
    let command =
        |line: &str, variables| bench.place(line, &bench.settings(), variables).unwrap().command;
    // Without the names in this list, srun keeps the variables to itself.
    let (given, inherited) = ("@srun --export=NONE -n 8 /bin/true", "@srun -n 8 /bin/true");
    for (line, variables) in [(given, &job[..3]), (inherited, &job[..])] {
        assert_eq!(
            command(line, variables)[1..],
            [&format!("--export={names}"), "-n", "8", "/bin/true"]
        );
    }
    let placed = bench.place("@srun -n 8 /bin/true", &bench.settings(), &job).unwrap();
    let refusal = placed.check_visible(|_| FileSystem::Local("xfs")).unwrap_err();
    assert!(refusal.what.contains("(xfs) belongs to this node only"), "{}", refusal.what);
    assert!(placed.check_visible(|_| FileSystem::Shared).is_ok());
    // Other launchers read their files themselves.
    let placed = bench.place("@mpirun4 -np 8 --hostfile @slots /bin/true", &bench.settings(), &[]);
    assert!(placed.unwrap().check_visible(|_| FileSystem::Local("xfs")).is_ok());
}

#[test]
fn variables_of_another_job_say_nothing_about_a_job_of_salloc() {
    let bench = Bench::new();
    let job = [("SLURM_JOB_NODELIST", "n[0-1]"), ("SLURM_TASKS_PER_NODE", "4(x2)")];
    let value = |name: &str| job.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
    let command: Vec<String> = ["salloc", "-N", "2", &bench.path("srun"), "-n", "8", "/bin/true"]
        .map(String::from)
        .to_vec();
    let found = LocatedLauncher { launcher: Launcher::Srun, position: 3 };
    let refusal = PlacedLaunch::decided(&found, &command, &bench.settings(), value).unwrap_err();
    assert!(refusal.what.contains("cannot be known before it"), "{}", refusal.what);
}

#[test]
fn oversubscribed_launches_stay_so_and_others_never_become_so() {
    let bench = Bench::new();
    let count = |line: &str, host: &str| {
        let (_, content) = bench.golden(line, &[]);
        content.lines().filter(|line| *line == host).count()
    };
    for (line, on) in [
        ("@mpirun4 -np 8 --host n0:2,n1:4 --oversubscribe /bin/true", [3, 5]),
        ("@mpirun4 -np 8 --host n0:6,n1:6 /bin/true", [6, 2]),
        ("@mpirun4 -np 8 --host n0:1,n1:6 --oversubscribe /bin/true", [2, 6]),
    ] {
        assert_eq!(["n0", "n1"].map(|host| count(line, host)), on, "{line}");
        let (command, _) = bench.golden(line, &[]);
        assert_eq!(command.contains("--oversubscribe"), line.contains("--oversubscribe"));
    }
    // The launcher refuses these launches, and placement does not make it start them.
    std::fs::write(bench.path("limited"), "n0 slots=2 max_slots=2\nn1 slots=4\n").unwrap();
    for (line, what) in [
        ("@mpirun4 -np 8 --host n0:2,n1:4 /bin/true", "6 slots for 8 ranks"),
        ("@mpirun5 -np 8 --host n0:2,n1:4 /bin/true", "6 slots for 8 ranks"),
        ("@mpirun4 -np 8 --oversubscribe --hostfile @limited /bin/true", "max_slots limits"),
    ] {
        let refused = bench.refused(line, &[]);
        assert!(refused.contains(what), "{line}: {refused}");
    }
    for allowed in
        [("OMPI_MCA_rmaps_base_oversubscribe", "1"), ("OMPI_MCA_rmaps_base_oversubscribe", "true")]
    {
        let (_, content) = bench.golden("@mpirun4 -np 8 --host n0:2,n1:4 /bin/true", &[allowed]);
        assert_eq!(content.lines().count(), 8);
    }
}

#[test]
fn launches_whose_processes_were_bound_to_cores_stay_bound() {
    let bench = Bench::new();
    let store = Store::open(bench.path("store"));
    let mut record = store.load("k").unwrap().unwrap();
    let placement = &mut record.launch.placement;
    placement.place_of_process = (0..8).map(|p| vec![p % 4]).collect();
    placement.level_names = vec!["node".into(), "core".into()];
    placement.level_costs = vec![100, 2, 1];
    record.recorded_at = 9;
    store.save(&record).unwrap();
    let line = "@mpirun4 -np 8 --host n0:4,n1:4";
    let (command, _) = bench.golden(&format!("{line} /bin/true"), &[]);
    assert!(command.contains("--hostfile FILE --bind-to core -np 8"), "{command}");
    let (command, _) = bench.golden(&format!("{line} --bind-to none /bin/true"), &[]);
    assert!(!command.contains("core"), "{command}");
}

#[test]
fn files_are_in_the_store_or_where_the_user_wants_them() {
    let bench = Bench::new();
    let placed = bench.place("@mpirun4 -np 8 --hostfile @slots /bin/true", &bench.settings(), &[]);
    let placed = placed.unwrap();
    assert!(PlacedRanks::parse(&placed.handed_over).is_ok());
    assert_eq!(placed.host_of_rank.join("\n") + "\n", PAIRS);
    placed.write().unwrap();
    assert_eq!(std::fs::read_to_string(placed.file().unwrap()).unwrap(), PAIRS);
    let own = Settings { place: Place::File(bench.path("own").into()), ..bench.settings() };
    let placed = bench.place("@mpirun4 -np 8 --hostfile @slots /bin/true", &own, &[]).unwrap();
    placed.write().unwrap();
    assert_eq!(std::fs::read_to_string(bench.path("own")).unwrap(), PAIRS);
}
