//! `rankweave run --place` with a launcher that is a script: it starts the ranks one after the other, each with the
//! name of its host in a variable, which a program `uname` of the test prints.

use crate::support::{Place, Run, of};
use std::os::unix::fs::PermissionsExt;

/// Reads the host of each rank from the host file, or ignores it.
const LAUNCHER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit 0; }
while :; do case $1 in
  --mca) shift 3 ;;
  --hostfile) file=$2; shift 2 ;;
  --bind-to) shift 2 ;;
  -np) np=$2; shift 2 ;;
  -x) export "$2"; shift 2 ;;
  *) break ;;
esac; done
rank=0
while [ $rank -lt $np ]; do
  host=$(sed -n "$((rank + 1))p" "$file" | cut -d' ' -f1)
  [ -z "$DEAF" ] || host=n$((rank / 2))
  FAKE_HOST=$host OMPI_COMM_WORLD_RANK=$rank "$@" || exit 1
  rank=$((rank + 1))
done
"#;

struct Bench {
    place: Place,
}

impl Bench {
    /// Four ranks on two hosts, of which 0 and 2, and 1 and 3 exchange much.
    fn new() -> Bench {
        let place = Place::new();
        let bench = Bench { place };
        bench.script("mpirun.openmpi", LAUNCHER);
        bench.script("uname", "#!/bin/sh\necho \"$FAKE_HOST\"\n");
        bench.script("librankweave.so", "");
        bench.place.file("slots", "n0 slots=2\nn1 slots=2\n");
        bench.place.file("k.csv", "src,dst,bytes,messages\n0,2,9000,1\n1,3,9000,1\n");
        bench.place.ok(&["import", "--key", "k", "k.csv"]);
        bench
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.place.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, options: &str, launch: &str, variables: &[(&str, &str)]) -> Run {
        let launcher = self.place.path("mpirun.openmpi").display().to_string();
        let mut words = vec!["run", "--key", "k"];
        words.extend(options.split_whitespace());
        words.extend(["--", launcher.as_str()]);
        words.extend(launch.split_whitespace());
        let mut command = self.place.command(&words);
        let path = format!("{}:/usr/bin:/bin", self.place.path("").display());
        command.env("PATH", path).env("RANKWEAVE_LIBRARY", self.place.path("librankweave.so"));
        for name in ["SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_MCPU_HOSTS", "DEAF"] {
            command.env_remove(name);
        }
        of(command.envs(variables.iter().copied()).output().unwrap())
    }
}

const LAUNCH: &str = "-np 4 --hostfile slots /bin/echo started";

#[test]
fn the_launcher_gets_the_host_of_each_rank() {
    let bench = Bench::new();
    let run = bench.run("--place launcher --dry-run", LAUNCH, &[]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    for part in
        ["--mca rmaps seq --hostfile ", ".hosts", "RANKWEAVE_PLACED=1:", ":0,1,0,1:0,2,1,3:"]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert!(!run.out.contains("--hostfile slots"), "{}", run.out);
    assert!(!bench.place.path("store/placements").exists(), "nothing is written");
    let run = bench.run("--place launcher-only --dry-run", LAUNCH, &[]);
    assert!(!run.out.contains("RANKWEAVE") && run.out.contains("seq"), "{}", run.out);

    let run = bench.run("--place launcher-only -v", LAUNCH, &[]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "started\n".repeat(4).as_str()), "{run:?}");
    assert!(
        run.err.contains("hop-bytes") && run.err.contains("the launcher places"),
        "{}",
        run.err
    );
    let files = std::fs::read_dir(bench.place.path("store/placements")).unwrap();
    let files: Vec<_> = files.flatten().map(|file| file.path()).collect();
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "n0\nn1\nn0\nn1\n");
    // What this process got belongs to another launch.
    let stale = [("RANKWEAVE_PLACED", "1:1:0:0:1:1")];
    let run = bench.run("--place library --dry-run", LAUNCH, &stale);
    assert!(!run.out.contains("PLACED"), "{}", run.out);
}

#[test]
fn only_the_file_for_a_batch_script() {
    let bench = Bench::new();
    let run = bench.run("--place file:order", LAUNCH, &[]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(std::fs::read_to_string(bench.place.path("order")).unwrap(), "n0\nn1\nn0\nn1\n");
    assert!(
        run.out.contains("--hostfile ")
            && run.out.ends_with("/order --bind-to none -np 4 /bin/echo started\n"),
        "{}",
        run.out
    );
    let other = bench.run("--site-order order2", LAUNCH, &[]);
    assert_eq!(other.out, run.out.replace("/order ", "/order2 "));
    assert_eq!(bench.run("--site-order a --place library", LAUNCH, &[]).code, Some(2));
    let run = bench.run("--place file:none", "-np 6 --hostfile slots /bin/echo", &[]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains("no usable matrix is stored for k; no file is written"),
        "{}",
        run.err
    );
    assert!(!bench.place.path("none").exists());
    assert_eq!(bench.run("--place somewhere", LAUNCH, &[]).code, Some(2));
}

#[test]
fn ranks_are_asked_for_their_hosts() {
    let bench = Bench::new();
    let run = bench.run("--place launcher --check-placement", LAUNCH, &[]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "0 n0\n1 n1\n2 n0\n3 n1\n"), "{run:?}");
    assert!(run.err.contains("all 4 ranks are on the hosts that were meant"), "{}", run.err);
    let run = bench.run("--place launcher --check-placement", LAUNCH, &[("DEAF", "1")]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.out.contains("1 n0 (meant: n1)\n2 n1 (meant: n0)\n"), "{}", run.out);
    assert!(run.err.contains("2 ranks run on another host"), "{}", run.err);
    let run = bench.run("--check-placement", LAUNCH, &[("DEAF", "1")]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "0 n0\n1 n0\n2 n1\n3 n1\n"), "{run:?}");
    // The launcher's order is kept: without a message, this would look like ranks that are as meant.
    let run =
        bench.run("--place launcher --check-placement --mode record", LAUNCH, &[("DEAF", "1")]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "0 n0\n1 n0\n2 n1\n3 n1\n"), "{run:?}");
    for part in ["the mode is record", "their hosts are only printed"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
}

#[test]
fn a_launch_that_cannot_be_placed_goes_on_and_says_why() {
    let bench = Bench::new();
    for (options, launch, why) in [
        (
            "--place launcher",
            "-np 4 --hostfile slots --map-by node /bin/true",
            "places its ranks itself (--map-by node)",
        ),
        ("--place launcher -v", "-np 4 /bin/true", "all ranks are on one host"),
        ("--place launcher -v --mode record", LAUNCH, "the mode is record"),
        ("--place launcher", "-np 4 --hostfile missing /bin/true", "cannot read the host file"),
        (
            "--place launcher-only",
            "-np 6 --hostfile slots /bin/true",
            "no usable matrix is stored for k",
        ),
    ] {
        let run = bench.run(&format!("{options} --dry-run"), launch, &[]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.err.contains(why), "{launch}: {}", run.err);
        assert!(!run.out.contains("rmaps") && !run.out.contains("PLACED"), "{}", run.out);
    }
    // Without -v, only what the user can change is told.
    let run = bench.run("--place launcher --dry-run", "-np 4 /bin/true", &[]);
    assert_eq!(run.err, "");
}
