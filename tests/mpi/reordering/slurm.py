"""Launches by a real Slurm: on emulated hosts, with the switches of the emulated network in its topology.conf.

The first launch of a ring by srun records, and the second one reorders. The bytes between nodes and over the links
between the switches must go down. Then the ways in which users launch with Slurm: salloc, sbatch, job arrays,
several steps, several programs, `--export=NONE`, cancelled jobs, and a node without the library. No launch may
change what a program prints and returns, and each record must have the matrix that follows from the program.

The tests are left out, with a message, where Slurm is not installed or where namespaces are not permitted.
MPICH 4 is not among the launches: between hosts that UCX connects by TCP, it often does not return from
MPI_Finalize, also without the library.
"""

import json
import os
import shlex
import shutil
import subprocess
import time

from driver import stacks
from driver.checks import own_lines
from lifecycle import exits
from recording import expected
from reordering import slurm_site

CLUSTER = os.path.join(stacks.ROOT, "scripts", "cluster")
EPILOG = os.path.join(stacks.ROOT, "scripts", "packaging", "epilog")
# Two switches with two hosts each. By this seed, n0 and n2 are below one switch, and n1 and n3 below the other.
SHAPE, SEED, HOSTS, NP = "2x2", 3, 4, 16
RATE = "200mbit"
# The program exits.c, whose matrix is computed by hand for any number of tasks, needs fewer.
FEW = exits.NP
# What srun uses for an MPI library.
PMI = {"openmpi4": "pmix", "openmpi5": "pmix", "mpich5": "pmi2", "mpich4": "pmi2"}
# The line of --verbose 2 that says that a launch read the network from Slurm. None: launches do not read it.
NETWORK_LINE = "network: Slurm"
# How many times the bytes with the network given by hand a launch may send over the uplinks that knows it by itself.
NETWORK_EXCESS = 1.05
# The bytes and messages of each task of the ring whose traffic is measured. With less, the daemons' own traffic
# would matter.
BYTES, MESSAGES = 20000, 100
# How long one launch may take.
PATIENCE = 60
EXIT_NO_NAMESPACES = 3
MISSING = ("slurmctld", "slurmd", "munged", "srun")


def run(tool, results, chosen, work, full=False):
    """All tests of this file, on one cluster."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [name for name in MISSING if not shutil.which(name, path=path)]
    if missing:
        print(f"        slurm: {', '.join(missing)} not found, not tested (scripts/setup --slurm)")
        return
    stack_names = ("openmpi4", "openmpi5", "mpich5") if full else ("openmpi4", "mpich5")
    usable = [stack for name in stack_names for stack in chosen if stack.name == name]
    if not usable:
        print("        slurm: no MPI library that srun can start here, not tested")
        return
    problems = [stack.build(source) for stack in usable for source in ("ring.c", exits.SOURCE, "endings.c")]
    if any(problems):
        results.add("slurm: test programs compile", list(filter(None, problems)))
        return
    with Cluster(work) as cluster:
        if cluster.why_not:
            print(f"        slurm: {cluster.why_not}, not tested")
            return
        results.add("slurm: starts", cluster.problems)
        if cluster.problems:
            return
        for stack in usable:
            Reordering(tool, results, stack, cluster).run()
        # The ways to launch do not depend on the MPI library.
        Variants(tool, results, usable[-1], cluster).run(full)
    results.add("slurm: nothing is left behind", cluster.left_behind())


class Cluster:
    """Emulated hosts with Slurm."""

    def __init__(self, work):
        self.name = f"slurm-{os.getpid()}"
        self.work = os.path.join(work, "slurm")
        self.why_not, self.problems, self.state, self.hosts = None, [], None, []

    def __enter__(self):
        os.makedirs(self.work)
        for action in (["up", "--shape", SHAPE, "--rate", RATE, "--leaf-rate", RATE, "--scramble", str(SEED)],
                       ["slurm", "--mpi", "none"]):
            done = self.do(*action)
            if done.returncode == EXIT_NO_NAMESPACES:
                self.why_not = "this machine does not permit the namespaces that Slurm needs"
            elif done.returncode:
                self.problems.append(done.stderr.strip())
            if done.returncode:
                return self
        self.state = json.loads(self.do("status", "--json").stdout)
        self.hosts = self.state["hosts"]
        return self

    def __exit__(self, *_):
        self.do("down")

    def do(self, action, *arguments):
        """An action of scripts/cluster."""
        return subprocess.run([CLUSTER, action, "--name", self.name, *arguments], capture_output=True, text=True,
                              check=False, timeout=120, stdin=subprocess.DEVNULL)

    def on(self, host, command):
        """The command line that runs a command on a host."""
        return [CLUSTER, "exec", "--name", self.name, host, "--", *command]

    def uplinks(self):
        """The bytes over the links between the switches since the last reset."""
        return json.loads(self.do("traffic", "--json").stdout)["uplinks"]["up"]

    def left_behind(self):
        """What of the cluster is still there: its directory, and processes of its daemons."""
        directory = self.state["directory"]
        found = [f"{directory} exists"] if os.path.exists(directory) else []
        # The daemons were started in the directory's namespaces, and the files that they use are in it.
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                target = os.readlink(f"/proc/{pid}/exe")
                with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="replace") as file:
                    ours = directory in file.read()
            except OSError:
                continue
            if ours:
                found.append(f"process {pid} ({target})")
        return found


class Launches:
    """What the tests of one MPI have in common."""

    def __init__(self, tool, results, stack, cluster):
        self.tool, self.results, self.stack, self.cluster = tool, results, stack, cluster
        self.ring, self.exits, self.endings = (
            stack.program(source) for source in ("ring.c", exits.SOURCE, "endings.c"))
        self.mpi = f"--mpi={PMI[stack.name]}"

    def store(self, name):
        return os.path.join(self.cluster.work, f"{self.stack.name}-{name}")

    def environment(self, **more):
        clean = {name: value for name, value in self.stack.environment().items()
                 if not name.startswith(("SLURM_", "SBATCH_", "SALLOC_", "PMI"))}
        if self.stack.openmpi:
            # With another fence of Slurm's PMIx, a process of Open MPI 4 may get a message while it is still in
            # MPI_Init, and crashes: 16 of 50 launches with "tree", 6 of 145 with the default, all without the library.
            clean.update(SLURM_PMIX_FENCE="ring", OMPI_MCA_pml="ob1", OMPI_MCA_osc="^ucx",
                         OMPI_MCA_btl="self,tcp," + ("vader" if self.stack.name == "openmpi4" else "sm"),
                         OMPI_MCA_btl_tcp_if_include="10.77.0.0/16")
        return {**clean, "RANKWEAVE_LIBRARY": self.tool.library, **more}

    def prefix(self, store, *options):
        return [self.tool.command, "run", "--store", store, *options, "--"]

    def srun(self, *words):
        return ["srun", self.mpi, *words]

    def execute(self, command, host="n0", timeout=PATIENCE, **variables):
        """Runs a command on a host."""
        full = self.cluster.on(host, command)
        outcome = stacks.execute(full, self.environment(**variables), timeout, cwd=self.cluster.work)
        outcome.command = shlex.join(full)
        return outcome

    def add(self, name, problems, outcome=None):
        self.results.add(f"slurm: {self.stack.name} {name}", problems, outcome)

    def ended(self, outcome, out, code=0):
        """What differs from the expected end of a launch without messages of the library."""
        problems = []
        if outcome.timed_out:
            return [f"did not end within {PATIENCE} s"]
        if outcome.code != code:
            problems.append(f"exit code {outcome.code}, not {code}: {outcome.err[-400:]!r}")
        if sorted(outcome.out.splitlines()) != sorted(out.splitlines()):
            problems.append(f"standard output {outcome.out[:300]!r}, not {out[:100]!r}")
        said = own_lines(outcome.err)
        if said:
            problems.append(f"standard error: {said[0]!r}")
        return problems

    def recorded(self, store, tasks, size=None, messages=None, nodes=None):
        """What is wrong with the one record of a store, which should be that of a ring."""
        path = self.tool.stored(store)
        if path is None:
            there = sorted(os.listdir(store)) if os.path.isdir(store) else "no store"
            return [f"not exactly one record: {there}"]
        try:
            facts, got = self.tool.facts(path), self.tool.matrix(path, "p2p")
        except ValueError as error:
            return [f"the record cannot be read: {error}"]
        wanted = expected.ring(tasks, size or 1000, messages or 10)
        difference = expected.difference(got, wanted)
        problems = [f"matrix: {difference}"] if difference else []
        if facts["tasks"] != tasks or nodes and facts["nodes"] != nodes:
            problems.append(f"{facts['tasks']} tasks on {facts['nodes']} nodes, not {tasks} on {nodes}")
        return problems


class Reordering(Launches):
    """The effect of a new rank order. Ranks are dealt out node by node, so that every message leaves its node."""

    def run(self):
        self.program = [self.ring, "send", str(BYTES), str(MESSAGES)]
        self.place = self.srun("-N", str(HOSTS), "-n", str(NP), "--ntasks-per-node=4", "-m", "cyclic")
        # The first connections of an MPI library are no part of the measurement.
        _, without = self.measured("without the library", self.place)
        store = self.store("ring")
        problems, recording = self.measured("record", [*self.prefix(store), *self.place], store)
        if problems:
            return
        self.add("record: the same bytes over the uplinks", self.at_most(recording, 1.05 * without))
        problems, reordered = self.measured("reorder", [*self.prefix(store), *self.place], store, moved=True)
        if problems:
            return
        # Four messages of sixteen leave a node now, and at most these cross the uplinks.
        self.add("reorder: fewer bytes over the uplinks", self.at_most(reordered, 0.3 * without))
        given = self.store("given")
        self.measured("record for the given network", [*self.prefix(given), *self.place], given)
        options = ["--topology", "tree:4:2:2@1:10:20", "--slots", self.slots()]
        problems, by_hand = self.measured("network given by hand", [*self.prefix(given, *options), *self.place], given,
                                          moved=True)
        # Two messages cross, one in each direction.
        self.add("network given by hand: the fewest bytes over the uplinks", self.at_most(by_hand, 0.16 * without))
        if NETWORK_LINE:
            self.known(reordered, by_hand)

    def known(self, reordered, by_hand):
        """A launch knows the switches from Slurm, and says so."""
        store = self.store("ring")
        outcome = self.execute([*self.prefix(store, "--verbose=2"), *self.place, *self.program])
        said = [line for line in outcome.err.splitlines() if NETWORK_LINE in line]
        problems = [] if said else [f"standard error: {outcome.err[-600:]!r}"]
        self.add("the network is known from Slurm", problems, outcome)
        self.add("the network is known from Slurm: as good as given by hand",
                 self.at_most(reordered, NETWORK_EXCESS * by_hand))

    def slots(self):
        """The place of each process in the tree of hosts, in the launcher's order."""
        switches = sorted({host["switch"] for host in self.cluster.hosts})
        below = {switch: [h["name"] for h in self.cluster.hosts if h["switch"] == switch] for switch in switches}
        ordered = [name for switch in switches for name in below[switch]]
        return ",".join(str(4 * ordered.index(f"n{rank % HOSTS}") + rank // HOSTS) for rank in range(NP))

    def measured(self, name, command, store=None, moved=False):
        """A launch of the ring: what went wrong, and the bytes over the uplinks."""
        self.cluster.do("traffic", "--reset")
        outcome = self.execute([*command, *self.program])
        over = self.cluster.uplinks()
        problems = self.ended(outcome, "ok send\n")
        if store:
            problems += self.recorded(store, NP, BYTES, MESSAGES, HOSTS)
        if store and not problems:
            facts = self.tool.facts(self.tool.stored(store))
            leaving = 4 if moved else NP
            if facts["reordered"] is not moved:
                problems.append(f"reordered: {facts['reordered']}: {facts['decision']!r}")
            # The sum of the failures at the end of the program adds some bytes.
            if not 0 <= facts["internode_bytes"] - leaving * BYTES * MESSAGES < BYTES:
                problems.append(f"{facts['internode_bytes']} bytes between nodes")
        self.add(name, problems, outcome)
        print(f"        slurm: {self.stack.name} {name}: {over / 1e6:.1f} MB over the uplinks")
        return problems, over

    def at_most(self, got, limit):
        return [] if 0 < got <= limit else [f"{got} bytes over the uplinks, at most {limit:.0f} expected"]


class Variants(Launches):
    """The ways to launch, each with a small ring."""

    def run(self, full):
        for test in (self.codes, self.without_environment, self.allocation, self.script, self.batch_of_sbatch,
                     self.array, self.several_programs, self.components, self.cancelled, self.without_pmi):
            test()
        if full:
            self.time_limit()
            self.invisible()
        slurm_site.task_prolog(self)
        self.epilog()

    def one(self, name, command, store, tasks=8, out="ok send\n", **variables):
        outcome = self.execute(command, **variables)
        self.add(name, self.ended(outcome, out) + self.recorded(store, tasks), outcome)

    def codes(self):
        """The exit code and the output are those of srun."""
        for how, code in (("finalize", 3), ("finalize", 0)):
            program = self.srun("-n", str(FEW), "-N", "2", self.endings, how, str(code))
            plain = self.execute(program)
            outcome = self.execute([*self.prefix(self.store("codes")), *program])
            self.add(f"exit code {code}", self.ended(outcome, plain.out, plain.code), outcome)

    def without_environment(self):
        """--export=NONE, as an option, a variable, and a list."""
        for name, options, variables in (
                ("option", ["--export=NONE"], {}), ("variable", [], {"SLURM_EXPORT_ENV": "NONE"}),
                ("list", ["--export", "HOME"], {})):
            store = self.store(f"export-{name}")
            launch = self.srun("-n", "8", "-N", "4", *options, self.ring, "send")
            self.one(f"--export=NONE as {name}", [*self.prefix(store), *launch], store, **variables)

    def allocation(self):
        """salloc with the launch behind it, and with rankweave in it; two steps at the same time."""
        options = ["-N", "2", "-n", "8", "-Q"]
        step = self.srun(self.ring, "send")
        store = self.store("salloc-outside")
        self.one("in front of salloc", [*self.prefix(store), "salloc", *options, *step], store)
        store = self.store("salloc-inside")
        self.one("behind salloc", ["salloc", *options, *self.prefix(store), *step], store)
        store = self.store("steps")
        half = shlex.join([*self.prefix(store), *self.srun("--exact", "-n", "4", self.ring, "send")])
        outcome = self.execute(["salloc", *options, "sh", "-c", f"{half} & {half} & wait"])
        self.add("two steps at a time", self.ended(outcome, "ok send\n" * 2) + self.recorded(store, 4), outcome)

    def write(self, name, *lines):
        path = os.path.join(self.cluster.work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(("#!/bin/sh", *lines)) + "\n")
        os.chmod(path, 0o755)
        return path

    def submit(self, command, wanted, name="out"):
        """Runs sbatch and waits for the job. The outcome has the output of the job."""
        for old in os.listdir(self.cluster.work):
            if old.startswith(f"{name}."):
                os.remove(os.path.join(self.cluster.work, old))
        outcome = self.execute(command)
        # `sbatch --wait` looks every ten seconds only.
        deadline = time.monotonic() + PATIENCE
        while self.cluster.do("squeue", "-h", "-j", outcome.out.strip()).stdout and time.monotonic() < deadline:
            time.sleep(0.2)
        outcome.out = ""
        for new in sorted(os.listdir(self.cluster.work)):
            if new.startswith(f"{name}."):
                with open(os.path.join(self.cluster.work, new), encoding="utf-8", errors="replace") as file:
                    outcome.out += file.read()
        return self.ended(outcome, wanted), outcome

    def script(self):
        """A script with srun and the launcher of the MPI library, both behind rankweave; two steps of srun."""
        store, other = self.store("script"), self.store("launcher")
        step = shlex.join([*self.prefix(store), *self.srun(self.ring, "send")])
        # The launchers start their daemons on the nodes by srun.
        launcher = [self.stack.launcher, "-n", "8", *(["-iface", "eth0"] if not self.stack.openmpi else [])]
        inside = shlex.join([*self.prefix(other), *launcher, self.ring, "send"])
        path = self.write("job.sh", "#SBATCH -N 2 -n 8 -o out.%j", step, step, inside)
        problems, outcome = self.submit(["sbatch", "--parsable", path], "ok send\n" * 3)
        self.add("sbatch", problems + self.recorded(store, 8), outcome)
        self.add("launcher of the MPI in sbatch", self.recorded(other, 8), outcome)

    def batch_of_sbatch(self):
        """rankweave in front of sbatch: the launches of the script are recorded, whatever the script exports."""
        for name, line, step in (("ALL", "", []), ("NONE", "#SBATCH --export=NONE", []),
                                 ("NONE and ALL", "#SBATCH --export=NONE", ["--export=ALL"])):
            store = self.store(f"sbatch-{name.replace(' ', '-')}")
            path = self.write("plain.sh", "#SBATCH -N 2 -n 8 -o out.%j", line,
                              shlex.join(["/usr/bin/srun", self.mpi, *step, self.ring, "send"]))
            problems, outcome = self.submit([*self.prefix(store), "sbatch", "--parsable", path], "ok send\n")
            self.add(f"in front of sbatch, --export={name}", problems + self.recorded(store, 8), outcome)

    def array(self):
        """Jobs that end at the same time, with one store."""
        jobs, store = 6, self.store("array")
        step = shlex.join([*self.prefix(store), *self.srun(self.ring, "send")])
        path = self.write("array.sh", "#SBATCH -N 1 -n 4 -o out.%A.%a", step)
        problems, outcome = self.submit(["sbatch", "--parsable", f"--array=1-{jobs}", path], "ok send\n" * jobs)
        self.add("job array", problems + self.recorded(store, 4), outcome)

    def several_programs(self):
        """--multi-prog: one world of two programs, or of one program with different arguments."""
        for name, second in (("one program", self.ring), ("two programs", os.path.join(self.cluster.work, "copy"))):
            if second != self.ring:
                shutil.copy(self.ring, second)
            path = os.path.join(self.cluster.work, "programs")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"0-3 {self.ring} send\n4-7 {second} send\n")
            store = self.store(f"multi-{name.split()[0]}")
            launch = self.srun("-n", "8", "-N", "2", "--multi-prog", path)
            self.one(f"--multi-prog, {name}", [*self.prefix(store), *launch], store)

    def components(self):
        """A heterogeneous step: one world on two allocations.

        On a busy machine, srun waited for a minute once without starting a process. Such a launch says nothing about the
        library, so one more is tried.
        """
        name, part = "components", ["-n", "4", "-N", "1", self.ring, "send"]
        store = self.store(name)
        command = [*self.prefix(store), *self.srun("-J", name, *part, ":", self.mpi, *part)]
        outcome = self.execute(command)
        if outcome.timed_out and not self.has_started(store):
            print("        slurm: a heterogeneous step started no process; one more is tried")
            self.cluster.do("scancel", f"--jobname={name}")
            outcome = self.execute(command)
        self.add("heterogeneous step", self.ended(outcome, "ok send\n") + self.recorded(store, 8), outcome)

    def has_started(self, store):
        """True if a launch left a record, or spill files on a host."""
        listed = [self.execute([self.tool.command, "recover", "--list"], host["name"]) for host in self.cluster.hosts]
        return self.tool.stored(store) is not None or any(listing.code != 1 for listing in listed)

    def interrupted(self, name, options, interrupt, by_epilog=False):
        """A job that is ended from outside: its spill files are recovered on every node, if no epilog does it."""
        store, ready = self.store(name), os.path.join(self.cluster.work, f"{name}-ready")
        full = self.cluster.on("n0", [*self.prefix(store), *self.srun(
            "-N", "2", "-n", str(FEW), "-J", name, *options, self.exits, "hang", ready)])
        process = subprocess.Popen(full, env=self.environment(), cwd=self.cluster.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(ready) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        interrupt()
        problems = []
        try:
            _, err = process.communicate(timeout=3 * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            problems.append("did not end")
        if process.returncode == 0:
            problems.append("exit code 0 though the job was ended")
        problems += [f"standard error: {line!r}" for line in own_lines(err)]
        if by_epilog:
            problems += self.stored_by_epilog(store)
        for host in [] if by_epilog else self.cluster.hosts:
            problems += self.recovered(host["name"], store)
        path = self.tool.stored(store)
        if path is None:
            problems.append("nothing was recovered")
        else:
            difference = expected.difference(self.tool.matrix(path, "p2p"), exits.by_hand(FEW))
            problems += [f"matrix: {difference}"] if difference else []
        self.add(name, problems)

    def recovered(self, host, store):
        """Runs `rankweave recover` on a node. Nodes without files of the job answer with 1."""
        # srun returns before the last process of a node has ended.
        for _ in range(50):
            listed = self.execute([self.tool.command, "recover", "--list", "--json"], host)
            if listed.code != 0 or not any(job["running"] for job in json.loads(listed.out)["jobs"]):
                break
            time.sleep(0.2)
        done = self.execute([self.tool.command, "recover", "--store", store], host)
        return [] if done.code in (0, 1) else [f"recover on {host}: exit code {done.code}: {done.err[-300:]!r}"]

    def cancelled(self):
        self.interrupted("scancel", [], lambda: self.cluster.do("scancel", "--jobname=scancel"))

    def time_limit(self):
        """Slurm counts time limits in minutes, and looks at them twice a minute."""
        self.interrupted("time limit", ["-t", "1"], lambda: None)

    def epilog(self):
        """A job is cancelled, and the script that Slurm runs at the end of each job makes its record. It must be the last
        test of a cluster."""
        prefix = os.path.join(self.cluster.work, "prefix")
        for source, path in ((self.tool.command, "bin/rankweave"), (EPILOG, "share/rankweave/epilog")):
            os.makedirs(os.path.dirname(os.path.join(prefix, path)), exist_ok=True)
            shutil.copy(source, os.path.join(prefix, path))
        with open(os.path.join(self.cluster.state["directory"], "slurm", "slurm.conf"), "a", encoding="utf-8") as file:
            file.write(f"Epilog={prefix}/share/rankweave/epilog\n")
        self.cluster.do("scontrol", "reconfigure")
        self.interrupted("epilog", [], lambda: self.cluster.do("scancel", "--jobname=epilog"), by_epilog=True)

    def stored_by_epilog(self, store):
        """Waits for the record that the epilog makes. The nodes must be free for other jobs afterwards."""
        deadline = time.monotonic() + PATIENCE
        while self.tool.stored(store) is None and time.monotonic() < deadline:
            time.sleep(0.2)
        states = ""
        while time.monotonic() < deadline:
            states = self.cluster.do("sinfo", "-h", "-o", "%T").stdout.strip()
            if states == "idle":
                return []
            time.sleep(0.2)
        return [f"the nodes are {states!r} after the epilog"]

    def invisible(self):
        """A node does not see the library: the others wait two minutes for it, and say so. Then the job runs as
        without the library."""
        folder = os.path.join(self.cluster.work, "somewhere")
        os.makedirs(folder, exist_ok=True)
        library = shutil.copy(self.tool.library, folder)
        hidden = ["mount", "-t", "tmpfs", "tmpfs", folder]
        self.execute(hidden, "n1")
        store = self.store("invisible")
        launch = self.srun("-N", "2", "-n", "4", "-w", "n0,n1", self.ring, "send")
        outcome = self.execute([*self.prefix(store), *launch], timeout=4 * PATIENCE, RANKWEAVE_LIBRARY=library)
        # UCX itself reports the step of the agreement that the other processes never take.
        outcome.out = "".join(line for line in outcome.out.splitlines(True) if "UCX" not in line)
        said = own_lines(outcome.err)
        outcome.err = "".join(line for line in outcome.err.splitlines(True) if not line.startswith("rankweave"))
        problems = self.ended(outcome, "ok send\n")
        # Each of the processes with the library says it: none knows which of them have it.
        if not said or not all("run without the library" in line for line in said):
            problems.append(f"standard error: {said[:3]}")
        if self.tool.stored(store):
            problems.append("a record was stored though tasks are missing")
        self.execute(["umount", folder], "n1")
        self.add("a node does not see the library", problems, outcome)

    def without_pmi(self):
        """srun --mpi=none: each task is a program of its own, and all of them end at the same time."""
        if self.stack.openmpi:
            return
        store = self.store("alone")
        outcome = self.execute([*self.prefix(store), "srun", "--mpi=none", "-n", "4", "-N", "4", self.ring, "send"])
        self.add("--mpi=none", self.ended(outcome, "ok send\n" * 4), outcome)
