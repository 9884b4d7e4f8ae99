"""The mistakes of the first minute that only a launch shows: what `rankweave run` says, its exit code, and what the next
command says.

Each scene is one user's first launches, in a home of its own. All that rankweave printed is compared with
tests/snapshots/first-launches.txt, so that a reader can judge the messages side by side. The mistakes that are found
before a launch are in tests/rust/cli/first_minute.rs.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

SNAPSHOT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "snapshots",
                        "first-launches.txt")
NOBODY = 65534
SOURCES = ("ring.c", "exits.c")


class Scene:
    """One user with a home, and the text of what happened."""

    def __init__(self, tool, stack, title):
        self.tool, self.stack = tool, stack
        self.place = tempfile.mkdtemp(prefix="rankweave-first-")
        os.chmod(self.place, 0o755)
        self.lines = [f"# {title}"]
        self.user = None
        self.problems = []
        self.variables = {"HOME": self.folder("home"), "RANKWEAVE_SPILL": self.folder("spill", 0o1777),
                          "TMPDIR": self.folder("tmp", 0o1777)}
        for name, path in (("ring", stack.program("ring.c")), ("hang", stack.program("exits.c"))):
            shutil.copy(path, os.path.join(self.place, name))
        self.library = shutil.copy(tool.library, self.path("librankweave.so"))
        self.command = shutil.copy(tool.command, self.path("rankweave"))
        # A launcher with the options that this machine needs, so that the commands are those that a user types.
        with open(self.path("mpirun"), "w", encoding="utf-8") as file:
            words = " ".join(stack.launch(2, {}, [])).replace("-np 2", "").replace("-n 2", "")
            file.write(f"#!/bin/sh\nexec {words} \"$@\"\n")
        os.chmod(self.path("mpirun"), 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.place, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.place, *names)

    def folder(self, name, mode=0o755):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        return path

    def process(self, line, **variables):
        environment = {**self.stack.environment(), **self.variables, "RANKWEAVE_LIBRARY": self.library, **variables}
        environment["PATH"] = f"{self.place}:{environment['PATH']}"
        for name in [name for name, value in environment.items() if value is None]:
            del environment[name]
        rights = {"user": self.user, "group": self.user, "extra_groups": []} if self.user is not None else {}
        # Under nohup, and in the background of a script, Ctrl-C is ignored, and mpirun then ends in another way.
        return subprocess.Popen(["sh", "-c", line], env=environment, cwd=self.place, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                start_new_session=True, **rights,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def run(self, line, shown=None, **variables):
        """Runs a line of the shell, and notes what rankweave printed."""
        process = self.process(line, **variables)
        out, err = self.end(process, f"{line} did not end")
        self.note(shown or line, out, err, process.returncode)

    def end(self, process, problem):
        """Waits for the end of a process, for a minute at most. Returns its outputs."""
        try:
            return process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.problems.append(problem)
            return process.communicate()

    def note(self, line, out, err, code):
        """Adds what a command printed. The program's own lines and those of the launcher are not kept."""
        self.lines.append(f"$ {line}")
        if line.startswith("rankweave run") and any("rankweave" in text for text in out.splitlines()):
            self.problems.append(f"{line} prints on standard output: {out[:200]!r}")
        for text in (err if "rankweave run" in line else out + err).splitlines():
            if "rankweave" not in line or text.startswith(("rankweave", " ")) or "rankweave run" not in line:
                self.lines.append(self.plain(text))
        self.lines += [f"exit code {code}", ""]

    def plain(self, text):
        """The text without what differs from launch to launch and from machine to machine."""
        for path, name in ((self.variables["HOME"] or "none", "HOME"), (self.place, "DIR")):
            text = text.replace(path, name)
        text = re.sub(r"\b[0-9a-f]{16}\b", "NUMBER", text)
        # The identity of a program follows from the path where it was compiled.
        text = re.sub(r"\b(ring|hang)-[0-9a-f]{8}-n", r"\1-IDENTITY-n", text)
        text = re.sub(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?", "DATE", text)
        for pattern, name in ((r"\b\d+(\.\d+)? (ns|us|µs|ms|s)\b", "TIME"), (r"in MPI \(.*?%( ± \d+)?\)", "in MPI (PART)"),
                              (r" +\d+ B  DATE", "  SIZE  DATE"), (r"[\d.]+ [KMG]iB at most", "MEMORY at most")):
            text = re.sub(pattern, name, text)
        return text

    def interrupt(self, line):
        """Starts a launch, and sends what Ctrl-C sends when the program has sent its messages."""
        process = self.process(line)
        for _ in range(600):
            if os.path.exists(self.path("tmp", "ready")) or process.poll() is not None:
                break
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = self.end(process, f"{line} did not end after Ctrl-C")
        # Launchers return before their processes have ended.
        time.sleep(1)
        self.note(f"{line}   (Ctrl-C)", out, err, process.returncode)


def two_launches(scene):
    """two launches, and a third with another number of ranks"""
    scene.run("rankweave run --topology tree:2:2 -- mpirun -n 4 ./ring send")
    scene.run("rankweave run --topology tree:2:2 -- mpirun -n 4 ./ring send")
    scene.run("rankweave run --topology tree:2:2 -- mpirun -n 2 ./ring send")
    scene.run("rankweave list")


def more_words(scene):
    """the same, asked what happened"""
    for _ in range(2):
        scene.run("rankweave run -v --topology tree:2:2 -- mpirun -n 4 ./ring send")


def unknown_key(scene):
    """a record that is not there"""
    scene.run("rankweave list")
    for words in ("show", "rm", "export --to csv", "report --html out.html"):
        command, _, options = words.partition(" ")
        scene.run(f"rankweave {command} rign {options}".rstrip())
    scene.run("rankweave run -- mpirun -n 2 ./ring send")
    scene.run("rankweave show rign")
    scene.run("rankweave run --key rign --mode reorder -- mpirun -n 2 ./ring send")


def unwritable_store(scene):
    """a store where this user may not write, and one that this user may not read"""
    scene.user = NOBODY
    scene.folder("site")
    scene.folder("foreign", 0o700)
    for store in ("site", "foreign"):
        scene.run(f"rankweave run --store DIR/{store} -- mpirun -n 2 ./ring send".replace("DIR", scene.place),
                  f"rankweave run --store DIR/{store} -- mpirun -n 2 ./ring send")
        scene.run(f"rankweave list --store {scene.path(store)}", f"rankweave list --store DIR/{store}")


def odd_stores(scene):
    """a store that is a file, and one named from another folder"""
    with open(scene.path("notes"), "w", encoding="utf-8") as file:
        file.write("no store")
    scene.run("rankweave run --store notes -- mpirun -n 2 ./ring send")
    scene.run("rankweave list --store notes")
    scene.folder("sub")
    scene.run("rankweave run --store mine -- sh -c 'cd sub && mpirun -n 2 ../ring send'")
    scene.run("rankweave list --store mine")


def homes(scene):
    """a home where nothing can be written, and none"""
    scene.user = NOBODY
    scene.run("rankweave run -- mpirun -n 2 ./ring send", "rankweave run -- mpirun -n 2 ./ring send   (read-only home)")
    home = scene.variables["HOME"]
    scene.variables["HOME"] = None
    scene.run("rankweave run -- mpirun -n 2 ./ring send", "rankweave run -- mpirun -n 2 ./ring send   (no HOME)")
    scene.run("rankweave list", "rankweave list   (no HOME)")
    scene.variables["HOME"] = home


def ended_early(scene):
    """a launch that Ctrl-C ended, and the next one"""
    scene.interrupt("rankweave run -- mpirun -n 2 ./hang hang tmp/ready")
    scene.run("rankweave run -- mpirun -n 2 ./ring send")
    scene.run("rankweave recover spill")
    scene.run("rankweave run -- mpirun -n 2 ./ring send")


def left_without_finalize(scene):
    """a program whose rank 0 exits without MPI_Finalize, with files for the counts and without"""
    for options in ("", "--spill off "):
        line = f"rankweave run {options}-- mpirun -n 2 ./hang first_exit"
        # What the launcher says about it is not the same on all machines.
        scene.run(f"{line} 2>&1 | grep '^rankweave: ' >&2", f"{line}   (only the lines of rankweave)")


def no_site_file(scene):
    """a site file that does not exist, for the command and for the library alone"""
    scene.run("rankweave run --site none.toml -- mpirun -n 2 ./ring send")
    scene.run("mpirun -n 2 ./ring send", "LD_PRELOAD=librankweave.so RANKWEAVE_SITE=none.toml mpirun -n 2 ./ring send",
              LD_PRELOAD=scene.library, RANKWEAVE_SITE="none.toml")


def two_users(scene):
    """a store of two users, the second of whom may read it only"""
    scene.folder("group", 0o755)
    scene.run("rankweave run --store group --topology tree:2:2 -- mpirun -n 4 ./ring send")
    scene.user = NOBODY
    scene.variables["HOME"] = scene.folder("other", 0o777)
    scene.run("rankweave list --store group")
    scene.run("rankweave run --store group --topology tree:2:2 -- mpirun -n 4 ./ring send")


def no_environment(scene):
    """a job that Slurm starts without the user's environment (--export=NONE)"""
    # What srun does with this option: the program gets what the list names, with the value of srun's own environment.
    kept = " ".join(f'{name}="${name}"' for name in ("PATH", "HOME", "TMPDIR", *(
        name for name in scene.stack.environment() if name.startswith(("OMPI_", "PRTE_", "PMIX_", "HYDRA_", "LD_LIB")))))
    script(scene, "srun", f"""\
[ "$1" = --version ] && echo slurm 23.11.4 && exit 0
list=${{SLURM_EXPORT_ENV:-ALL}} number=
while :; do
    case $1 in
    --export=*) list=${{1#*=}}; shift ;;
    -n) number=$2; shift 2 ;;
    *) break ;;
    esac
done
case ,$list, in *,ALL,*) all=yes ;; *) all= ;; esac
set -- mpirun -n "$number" "$@"
IFS=,
for word in $list; do
    case $word in
    ALL|NONE) ;;
    *=*) set -- "$word" "$@" ;;
    *) eval "value=\\${{$word-}}"; set -- "$word=$value" "$@" ;;
    esac
done
[ -n "$all" ] && exec env "$@"
exec env -i {kept} "$@"
""")
    script(scene, "job.sh", "srun -n 2 ./ring send")
    job = {"SLURM_JOB_ID": "1", "SLURM_EXPORT_ENV": "NONE"}
    # The step, in a job with the environment and without.
    scene.run("rankweave run -- srun -n 2 --export=NONE ./ring send")
    scene.run("rankweave list")
    scene.run("rm -r $HOME/.local; rankweave run -- srun -n 2 ./ring send",
              "rankweave run -- srun -n 2 ./ring send   (in a job of sbatch --export=NONE)", **job)
    scene.run("rankweave list")
    # A script gets the library, and its srun does not pass it on.
    scene.run("rankweave run -- ./job.sh", "rankweave run -- ./job.sh   (in a job of sbatch --export=NONE)", **job)
    scene.run("rankweave list")


def two_writers(scene):
    """two launches that end at the same time in one store, and a second user in the store of a group"""
    line = "rankweave run --store both -- mpirun -n 2 ./ring send"
    both = [scene.process(line) for _ in range(2)]
    for process in both:
        out, err = scene.end(process, f"{line} did not end")
        scene.note(f"{line}   (two at the same time)", out, err, process.returncode)
    scene.run("rankweave list --store both")
    folder = scene.folder("group")
    os.chown(folder, -1, NOBODY)
    os.chmod(folder, 0o2775)
    scene.run("rankweave run --store group -- mpirun -n 2 ./ring send")
    scene.user = NOBODY
    scene.variables["HOME"] = scene.folder("other", 0o777)
    for _ in range(2):
        scene.run("rankweave run --store group -- mpirun -n 2 ./ring send")
    scene.run("rankweave list --store group")


def exports(scene):
    """orders for a launcher with more ranks than slots"""
    scene.run("rankweave run -- mpirun -n 4 ./ring send")
    scene.run("rankweave map --matrix ring --topology tree:2 --out order")
    scene.run("rankweave map --matrix ring --topology tree:2 --oversubscribe 2 --out order")
    scene.run("rankweave export ring --to rankfile --mapping order")


def script(scene, name, text):
    """A script that the user runs."""
    with open(scene.path(name), "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(scene.path(name), 0o755)


def silent_launches(scene):
    """scripts of which nothing is recorded, and the next commands"""
    script(scene, "records.sh", "mpirun -n 2 ./ring send && mpirun -n 2 ./ring send")
    script(scene, "plain.sh", "true")
    script(scene, "loses.sh", "env -u LD_PRELOAD mpirun -n 2 ./ring send")
    script(scene, "inner.sh", "rankweave run -- mpirun -n 2 ./ring send")
    scene.run("rankweave run -- ./records.sh")
    scene.run("rankweave run -- ./inner.sh")
    scene.run("rankweave run -- ./plain.sh")
    scene.run("rankweave run -- ./loses.sh")
    scene.run("rankweave run -- sh ./plain.sh 'a b'")
    scene.run("rankweave list")
    scene.run("rankweave run -- mpirun -n 2 ./ring send")
    scene.run("rankweave run --mode off -- ./plain.sh")
    scene.run("rankweave run --dry-run -- ./plain.sh > /dev/null", "rankweave run --dry-run -- ./plain.sh")
    scene.run("rankweave run -- ./no-such-program")
    scene.run("rankweave run -- mpirun -n 2 ./ring send")
    scene.run("ls -A $HOME/.local/share/rankweave/launches | wc -l")


def silent_store(scene):
    """a script of which nothing is recorded, and a store that cannot be written"""
    scene.user = NOBODY
    scene.folder("site")
    script(scene, "plain.sh", "true")
    for _ in range(2):
        scene.run(f"rankweave run --store {scene.path('site')} -- ./plain.sh", "rankweave run --store DIR/site -- ./plain.sh")
    scene.run(f"ls -A {scene.path('site')}", "ls -A DIR/site")


SCENES = (two_launches, more_words, unknown_key, unwritable_store, odd_stores, homes, ended_early,
          left_without_finalize, no_site_file, two_users, no_environment, two_writers, exports, silent_launches, silent_store)
# What an ordinary user meets, and root cannot.
OF_USERS = (unwritable_store, homes, two_users, two_writers, silent_store)


def run(tool, results, stack):
    """All scenes on one MPI library, compared with the snapshot."""
    for source in SOURCES:
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    kept = {}
    if os.path.exists(SNAPSHOT):
        with open(SNAPSHOT, encoding="utf-8") as file:
            for part in file.read().split("# ")[1:]:
                kept[part.split("\n")[0]] = "# " + part
    texts = []
    for act in SCENES:
        title = act.__doc__.splitlines()[0]
        if act in OF_USERS and os.geteuid() != 0:
            results.skip(f"{stack.name} first launches: {title}", "only root can be another user")
            texts.append(kept.get(title, ""))
            continue
        with Scene(tool, stack, title) as scene:
            act(scene)
            text = "\n".join(scene.lines) + "\n"
        texts.append(text)
        if not os.environ.get("RANKWEAVE_UPDATE_SNAPSHOTS"):
            results.add(f"{stack.name} first launches: {title}", scene.problems + differing(text, kept.get(title, "")))
    if os.environ.get("RANKWEAVE_UPDATE_SNAPSHOTS"):
        with open(SNAPSHOT, "w", encoding="utf-8") as file:
            file.write("".join(texts))


def differing(text, wanted):
    """The lines that differ from the snapshot."""
    ours, theirs = text.splitlines(), wanted.splitlines()
    if ours == theirs:
        return []
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    return [f"line {at + 1} of the scene is {ours[at:at + 1]}, and {theirs[at:at + 1]} in {os.path.basename(SNAPSHOT)}"]
