//! `rankweave doctor` on programs and libraries that are made here: an MPI library of a few empty
//! functions, programs linked with it in every wrong way, and launchers that only say who they are.

use crate::support::{Place, Run, of};
use rankweave::store;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const PROGRAM: &str = "\
int MPI_Init(int *, char ***); int MPI_Send(void); int MPI_Get_version(void);
void mpi_bcast_(void); void mpi_send_f08_(void);
int main(int c, char **v) { MPI_Init(&c, &v); MPI_Send(); MPI_Get_version();
  if (c > 9) { mpi_bcast_(); mpi_send_f08_(); } return 0; }
";
const LIBRARY: &str = "\
int PMPI_Init(int *c, char ***v) { (void)c; (void)v; return 0; }
int MPI_Init(int *c, char ***v) { return PMPI_Init(c, v); }
int MPI_Send(void) { return 0; } int MPI_Get_version(void) { return 0; }
void mpi_bcast_(void) {} void mpi_send_f08_(void) {}
const char *text_of_version(void) { return VERSION_TEXT; }
const char *number(void) { return \"4.9.1\"; }
";

pub(super) struct Bench {
    pub(super) place: Place,
}

impl Bench {
    /// A fake Open MPI and MPICH with launchers, a program for each, and a library to preload.
    pub(super) fn new() -> Bench {
        let bench = Bench { place: Place::new() };
        for dir in ["open/lib", "open/bin", "mpich/lib", "mpich/bin", "rw"] {
            std::fs::create_dir_all(bench.place.path(dir)).unwrap();
        }
        bench.place.file("mpi.c", LIBRARY);
        bench.place.file("app.c", PROGRAM);
        let open = "int ompi_mpi_comm_world;\n".to_string() + LIBRARY;
        bench.place.file("open.c", open);
        let version = |text: &str| format!("-DVERSION_TEXT=\"{text}\"");
        bench.cc(&[
            "-shared",
            "-fPIC",
            "-Wl,-soname,libmpi.so.40",
            "-o",
            "open/lib/libmpi.so.40",
            "open.c",
            &version("Open MPI v%d.%d.%d"),
        ]);
        bench.cc(&[
            "-shared",
            "-fPIC",
            "-Wl,-soname,libmpi.so.12",
            "-o",
            "mpich/lib/libmpi.so.12",
            "mpi.c",
            &version("MPICH Version: %s"),
        ]);
        bench.cc(&[
            "-shared",
            "-fPIC",
            "-Wl,-soname,librankweave.so",
            "-o",
            "rw/librankweave.so",
            "mpi.c",
            &version("none"),
        ]);
        bench.link("app", "open", &[]);
        bench.link("app12", "mpich", &[]);
        bench.script("open/bin/mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.9.1'\n");
        bench.script("mpich/bin/mpiexec.hydra", "#!/bin/sh\nexit 9\n");
        bench
    }

    pub(super) fn cc(&self, args: &[&str]) {
        let done = Command::new("cc").current_dir(self.place.path("")).args(args).output();
        let done = done.expect("cc, which Rust links with");
        assert!(done.status.success(), "cc {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Links the program with the MPI of a prefix, which it finds relative to its own folder.
    fn link(&self, name: &str, prefix: &str, more: &[&str]) {
        let library = match prefix {
            "open" => "open/lib/libmpi.so.40",
            _ => "mpich/lib/libmpi.so.12",
        };
        let path = format!("-Wl,-rpath,$ORIGIN/{prefix}/lib");
        self.cc(&[&["-o", name, "app.c", library, &path][..], more].concat());
    }

    pub(super) fn script(&self, name: &str, text: &str) {
        let path = self.place.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = self.place.command(&[&["doctor"], &words[..]].concat());
        command.env("RANKWEAVE_LIBRARY", self.place.path("rw/librankweave.so"));
        command
    }

    fn run(&self, line: &str) -> Run {
        of(self.command(line).output().unwrap())
    }

    /// The JSON and whether it says that the launch will be recorded, which the exit code says, too.
    fn json_of(&self, mut command: Command, line: &str) -> (bool, Value) {
        let run = of(command.output().unwrap());
        let value: Value = serde_json::from_str(&run.out)
            .unwrap_or_else(|e| panic!("{line}: {e}: {} {}", run.out, run.err));
        let recorded = value["recorded"].as_bool().unwrap();
        assert_eq!(run.code, Some(i32::from(!recorded)), "{line}");
        assert_eq!(value["schema"], 1);
        (recorded, value)
    }

    fn json(&self, line: &str) -> (bool, Value) {
        self.json_of(self.command(&format!("--json -- {line}")), line)
    }

    /// Codes of all findings, those of the launch and of its programs.
    fn codes(value: &Value) -> Vec<String> {
        let programs = value["programs"].as_array().unwrap().iter().map(|p| &p["findings"]);
        programs
            .chain([&value["findings"]])
            .flat_map(|list| list.as_array().unwrap().clone())
            .map(|finding| finding["code"].as_str().unwrap().to_string())
            .filter(|code| code != "hwloc-missing")
            .collect()
    }

    /// A launch that will not be recorded, for this reason.
    fn fails(&self, line: &str, code: &str) {
        let (recorded, value) = self.json(line);
        assert!(!recorded && Self::codes(&value).contains(&code.to_string()), "{line}: {value:#}");
        let text = self.run(&format!("-- {line}"));
        assert_eq!((text.code, text.err.as_str()), (Some(1), ""), "{line}");
        assert!(text.out.contains("problem"), "{line}: {}", text.out);
    }

    /// A launch that will be recorded, with these findings.
    fn works(&self, line: &str, codes: &[&str]) -> Value {
        let (recorded, value) = self.json(line);
        assert!(recorded, "{line}: {value:#}");
        assert_eq!(Self::codes(&value), codes, "{line}");
        value
    }
}

#[test]
fn a_launch_that_works() {
    let bench = Bench::new();
    let value = bench.works("open/bin/mpirun -n 4 -x A=1 ./app input", &[]);
    assert_eq!(value["place_launcher"]["possible"], false);
    for field in ["text", "advice"] {
        assert!(value["place_launcher"][field].is_string(), "{field}: {value:#}");
    }
    let program = &value["programs"][0];
    assert_eq!(program["ranks"], 4);
    assert_eq!(program["mpi"]["abi"], "Open MPI");
    assert_eq!(program["mpi"]["version"], "Open MPI 4.9.1");
    assert_eq!(
        program["architecture"],
        if cfg!(target_arch = "x86_64") { "x86-64" } else { "aarch64" }
    );
    let names = |binding: &str| -> Vec<String> {
        let list = program["functions"][binding].as_array().unwrap().iter();
        list.map(|name| name.as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names("c"), ["MPI_Get_version", "MPI_Init", "MPI_Send"]);
    assert_eq!(names("fortran"), ["mpi_bcast_"]);
    assert_eq!(names("fortran_2008"), ["mpi_send_f08_"]);
    assert_eq!(program["functions_seen"], 5);
    let value = bench.works("mpich/bin/mpiexec.hydra -n 2 ./app12 : -n 3 ./app12", &[]);
    assert_eq!(value["programs"][1]["mpi"]["version"], "MPICH 4.9.1");
    assert!(value["key"].as_str().unwrap().ends_with("-n5"), "{}", value["key"]);

    let run = bench.run("-- open/bin/mpirun -n 4 ./app");
    assert_eq!(run.code, Some(0));
    for part in
        ["Open MPI 4.9.1", "C (3 functions)", "use mpi_f08 (1", "5 of these", "-x LD_PRELOAD"]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert_eq!(bench.run("-- no-such-launcher ./app").code, Some(2));
    assert_eq!(bench.run("--mode recrod -- open/bin/mpirun ./app").code, Some(2));
}

#[test]
fn programs_that_cannot_be_recorded() {
    let bench = Bench::new();
    let run = "open/bin/mpirun -n 2";
    let place = |name: &str| bench.place.path(name);
    bench.cc(&["-static", "-o", "static", "app.c", "mpi.c", "-DVERSION_TEXT=\"\""]);
    bench.fails(&format!("{run} ./static"), "static");
    bench.cc(&["-o", "inside", "app.c", "mpi.c", "-DVERSION_TEXT=\"\""]);
    bench.fails(&format!("{run} ./inside"), "mpi-linked-in");
    bench.link("musl", "open", &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"]);
    bench.fails(&format!("{run} ./musl"), "musl");
    bench.cc(&["-o", "serial", "-xc", "/dev/null", "-shared"]);
    bench.place.file("plain.c", "int main(void) { return 0; }\n");
    bench.cc(&["-o", "serial", "plain.c"]);
    // The launcher's MPI is known, so a program may load it; one that calls nothing is suspicious.
    bench.works(&format!("{run} ./serial"), &["loads-mpi", "no-mpi-calls"]);
    bench.script("job.sh", "#!/bin/sh\nexit 0\n");
    // Nobody can know what these start, and the outcome says so.
    for (program, why) in [("./serial", "calls no function of MPI"), ("./job.sh", "the script")] {
        let (_, value) = bench.json(&format!("{run} {program}"));
        let outcome = value["outcome"].as_str().unwrap_or_default();
        assert!(outcome.starts_with("it is not known") && outcome.contains(why), "{outcome}");
    }
    bench.fails("env ./serial", "no-mpi");
    // Another architecture: the machine's number is at offset 18 of an ELF file.
    let mut bytes = std::fs::read(place("app")).unwrap();
    bytes[18] ^= 183 ^ 62;
    bench.script("foreign", "");
    std::fs::write(place("foreign"), &bytes).unwrap();
    bench.fails(&format!("{run} ./foreign"), "architecture");
    bench.fails(&format!("{run} ./absent"), "program-missing");
    bench.fails(&format!("{run} /etc/passwd"), "not-a-program");
    bench.fails(run, "no-program");
    bench.fails("open/bin/mpirun --app file", "no-program");
    bench.fails("open/bin/mpirun -n 1 ./app", "one-rank");
    bench.fails(&format!("{run} ./app12"), "other-launcher");
    bench.fails("mpich/bin/mpiexec.hydra -n 2 ./app", "other-launcher");
    // A program with rights of its own that belongs to somebody else, or to oneself.
    std::fs::copy(place("app"), place("own")).unwrap();
    std::fs::set_permissions(place("own"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    bench.works(&format!("{run} ./own"), &["set-id"]);
    if std::os::unix::fs::chown(place("own"), Some(65534), None).is_ok() {
        std::fs::set_permissions(place("own"), std::fs::Permissions::from_mode(0o4755)).unwrap();
        bench.fails(&format!("{run} ./own"), "set-id");
    }
    bench.cc(&["-shared", "-fPIC", "-Wl,-soname,libowned.so.7", "-o", "libowned.so.7", "plain.c"]);
    bench.link("lacking", "open", &["-Wl,--no-as-needed", "libowned.so.7"]);
    let (_, value) = bench.json(&format!("{run} ./lacking"));
    assert!(Bench::codes(&value).contains(&"libraries-missing".into()), "{value:#}");
}

/// Without a launcher, one process runs, and there is nothing to record. The advice is the launch with a launcher, and
/// nothing is said about places.
#[test]
fn a_program_without_a_launcher_is_not_recorded() {
    let bench = Bench::new();
    bench.fails("./app input", "alone");
    let (_, value) = bench.json("./app input");
    assert_eq!(Bench::codes(&value), ["alone"]);
    let text = bench.run("-- ./app input").out;
    assert!(text.contains("'./app' is started without a launcher, as one process"), "{text}");
    assert!(text.contains("try: rankweave doctor -- mpirun -n RANKS ./app input"), "{text}");
    for absent in ["placement", "network", "no launcher is recognised"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    // A launcher that is only known by its name starts several processes.
    std::fs::copy(bench.place.path("app"), bench.place.path("jsrun")).unwrap();
    let (_, value) = bench.json("./jsrun ./app");
    assert!(!Bench::codes(&value).contains(&"alone".into()), "{value:#}");
    // A process that is a rank of a launch may start a program in it.
    let mut command = bench.command("--json -- ./app");
    command.env("PMIX_RANK", "0");
    let (_, value) = bench.json_of(command, "./app");
    assert!(!Bench::codes(&value).contains(&"alone".into()), "{value:#}");
}

/// What is linked into a program is not the library of the launcher.
#[test]
fn no_library_is_named_for_a_static_program() {
    let bench = Bench::new();
    bench.cc(&["-static", "-o", "static", "app.c", "mpi.c", "-DVERSION_TEXT=\"\""]);
    bench.cc(&["-o", "inside", "app.c", "mpi.c", "-DVERSION_TEXT=\"\""]);
    for name in ["static", "inside"] {
        let (_, value) = bench.json(&format!("open/bin/mpirun -n 2 ./{name}"));
        assert_eq!(value["programs"][0]["mpi"], Value::Null, "{name}: {value:#}");
        assert_eq!(value["launcher"]["mpi"]["abi"], "Open MPI", "{name}");
        let text = bench.run(&format!("-- open/bin/mpirun -n 2 ./{name}")).out;
        assert!(!text.contains("  MPI "), "{name}: {text}");
    }
}

#[test]
fn ways_on_which_the_library_is_lost() {
    let bench = Bench::new();
    let place = |name: &str| bench.place.path(name);
    let run = "open/bin/mpirun -n 2";
    bench.fails(&format!("{run} env -u LD_PRELOAD ./app"), "clears-preload");
    bench.fails(&format!("{run} env -i ./app"), "clears-preload");
    bench.fails(&format!("{run} env LD_PRELOAD=/x.so ./app"), "replaces-preload");
    bench.works(&format!("{run} env A=1 nice -n 3 ./app"), &[]);
    for runtime in ["apptainer exec -C", "singularity exec -C", "docker run", "podman run"] {
        bench.fails(&format!("{run} {runtime} image ./app"), "container");
    }
    let place = place("rw");
    let folder = place.display();
    let given = format!("podman run --env-host -v {folder}:{folder} image ./app");
    bench.works(&format!("{run} {given}"), &["container-given"]);
    for lost in [
        given.replace("--env-host ", ""),
        "podman run --env-host -w / image ./app".into(),
        "podman run --env-host image ./app /".into(),
        format!("podman run --env-host -v {folder} image ./app"),
        format!("ch-run --unset-env=LD_PRELOAD --bind {folder}:{folder} image -- ./app"),
        "docker run --env-file=/tmp image LD_PRELOAD".into(),
    ] {
        bench.fails(&format!("{run} {lost}"), "container");
        let (_, value) = bench.json(&format!("{run} {lost}"));
        assert_eq!(value["outcome"], "nothing will be recorded", "{lost}");
    }
    for unknown in [
        "docker exec container ./app".into(),
        "podman exec container ./app".into(),
        "enroot exec container ./app".into(),
        "apptainer exec -u image ./app".into(),
        format!("apptainer exec --bind {folder} image ./app -e 3"),
        format!("podman run --unheard-of --env-host -v {folder}:{folder} image ./app"),
    ] {
        let value = bench.works(&format!("{run} {unknown}"), &["container-unknown"]);
        let outcome = value["outcome"].as_str().unwrap();
        assert!(
            outcome.starts_with("it is not known") && outcome.contains("container"),
            "{outcome}"
        );
    }
    bench.script("wrap", "#!/bin/sh\n# unset LD_PRELOAD\nexec \"$@\"\n");
    bench.works(&format!("{run} ./wrap ./app"), &["script"]);
    bench.script("clear", "#!/bin/sh\nunset LD_PRELOAD\nexec \"$@\"\n");
    bench.fails(&format!("{run} ./clear ./app"), "script-clears");
    bench.script("set", "#!/bin/bash\nexport LD_PRELOAD=/opt/tool.so\n./app\n");
    bench.fails(&format!("{run} bash ./set"), "script-clears");
    bench.script("add", "#!/bin/bash\nexport LD_PRELOAD=/opt/tool.so:$LD_PRELOAD\n./app\n");
    bench.works(&format!("{run} ./add"), &["script"]);
    bench.fails(&format!("{run} ./app : -n 1 env -i ./app"), "clears-preload");
    let (_, value) = bench.json(&format!("{run} ./app : -n 1 env -i ./app"));
    assert!(value["programs"][0]["recorded"].as_bool().unwrap());
    assert!(value["outcome"].as_str().unwrap().starts_with("some of the programs"));
    bench.works(&format!("{run} ./app : -n 1 ./app x"), &["several-programs"]);
}

#[test]
fn files_of_programs_and_batch_scripts_are_not_examined() {
    let bench = Bench::new();
    for name in ["srun", "sbatch"] {
        let path = bench.place.file(name, "#!/bin/sh\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    bench.place.file("job.sh", "#!/bin/sh\nsrun ./app\n");
    for (line, code, outcome) in [
        ("./sbatch -n 2 job.sh", "batch-script", "is not known"),
        ("./sbatch --array=1-3 --wrap ./app", "batch-script", "is not known"),
        ("./srun -n 2 --multi-prog job.sh", "no-program", "nothing will be recorded"),
    ] {
        let (_, value) = bench.json(line);
        assert!(Bench::codes(&value).contains(&code.to_string()), "{line}: {value:#}");
        assert!(value["outcome"].as_str().unwrap().contains(outcome), "{line}: {value:#}");
    }
}

#[test]
fn surroundings() {
    let bench = Bench::new();
    let line = "open/bin/mpirun -n 2 ./app";
    let with = |name: &str, value: &str| {
        let mut command = bench.command(&format!("--json -- {line}"));
        command.env(name, value);
        let (recorded, value) = bench.json_of(command, line);
        (recorded, Bench::codes(&value))
    };
    let library = bench.place.path("rw/librankweave.so").display().to_string();
    assert_eq!(with("RANKWEAVE_LIBRARY", "/no/such.so"), (false, vec!["library-missing".into()]));
    let junk = bench.place.file("junk.so", "junk");
    assert_eq!(with("RANKWEAVE_LIBRARY", &junk), (false, vec!["library-unreadable".into()]));
    assert_eq!(with("RANKWEAVE_MODE", "off"), (false, vec!["mode-off".into()]));
    let blocked = format!("{junk}/store");
    assert_eq!(with("RANKWEAVE_STORE", &blocked), (false, vec!["store-blocked".into()]));
    assert_eq!(with("RANKWEAVE_SPILL", "off"), (true, vec!["spill-off".into()]));
    assert_eq!(with("RANKWEAVE_SPILL", &blocked), (true, vec!["spill-blocked".into()]));
    assert_eq!(with("RANKWEAVE_TOPOLOGY", "moebius:3"), (true, vec!["topology".into()]));
    assert_eq!(with("LD_PRELOAD", &library), (true, vec![]));
    let tool = bench.place.path("mpich/lib/libmpi.so.12").display().to_string();
    // The variable reaches the command itself, too, where these libraries do nothing.
    assert_eq!(with("LD_PRELOAD", &tool), (true, vec!["preload-tool".into()]));
    assert!(with("SLURM_JOB_NUM_NODES", "2").0);

    bench.place.file("m.csv", "src,dst,bytes,messages\n0,1,9,1\n1,0,9,1\n");
    bench.place.ok(&["import", "--key", "k", "m.csv"]);
    let (_, value) = bench.json(line);
    assert_eq!(value["stored_at"], Value::Null);
    let mut command = bench.command(&format!("--json --key k -- {line}"));
    command.env_remove("RANKWEAVE_KEY");
    let (_, value) = bench.json_of(command, line);
    assert!(value["stored_at"].as_u64().is_some(), "{value:#}");
    // All ranks are on one host, and the launch was recorded: nothing is left to do.
    assert_eq!(value["place_launcher"]["possible"], false, "{value:#}");
    assert_eq!(value["place_launcher"]["advice"], Value::Null, "{value:#}");
    assert!(value["outcome"].as_str().unwrap().contains("reordered by the matrix stored under k"));

    // What a check found, and lists of the user.
    let exe = bench.place.path("app").canonicalize().unwrap();
    let program = store::program_id(&store::identity(&exe, &["./app".into()]).unwrap());
    let verdict = store::Verdict {
        program: exe.display().to_string(),
        launch: vec![],
        tasks: 2,
        checked_at: 0,
        seeds: vec![1],
        finding: store::Finding::Differs,
        reason: "line 3".into(),
        compared: None,
    };
    let store = store::Store::open(bench.place.path("store"));
    store.keep_verdict(&program, &verdict).unwrap();
    let value = bench.works(line, &["check-differs"]);
    assert!(value["outcome"].as_str().unwrap().contains("order is kept: 'rankweave check'"));
    assert_eq!(with("RANKWEAVE_ALLOW", "app"), (true, vec![]));
    assert_eq!(with("RANKWEAVE_MODE", "reorder"), (true, vec![]));
    assert_eq!(with("RANKWEAVE_DENY", "a*"), (true, vec![]));
}
