"""Makes the launches of scripts/demo, which installs packages and builds before.

The bytes between hosts come from the stored record of each launch (`rankweave show --json`). The
seconds come from the output of the programs.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SCRIPTS = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(SCRIPTS)
COMMAND = os.environ.get("RANKWEAVE_COMMAND", os.path.join(ROOT, "target/release/rankweave"))
LIBRARY = os.environ.get("RANKWEAVE_LIBRARY", os.path.join(ROOT, "target/preload/librankweave.so"))
RANKS = 16
START = time.monotonic()
# Used if the machine permits no namespaces: the same cluster as a topology. It has two switches with two
# hosts of four ranks each. The distances are those of two ranks on one host, below one switch, and below
# different switches.
TOPOLOGY = "tree:4:2:2@1:10:20"
HOSTS = 4
PER_HOST = RANKS // HOSTS


class Failed(Exception):
    """A launch failed, or its result is wrong."""


def heading(text):
    print(f"\n[{time.monotonic() - START:4.0f}s] {text}", flush=True)


def say(text=""):
    print(text, flush=True)


class EmulatedCluster:
    """Hosts that are emulated by namespaces; see scripts/cluster."""

    emulated = True

    def __init__(self):
        self.name = f"demo-{os.getpid()}"
        self.tool = os.path.join(SCRIPTS, "cluster")

    def up(self):
        """Returns None, or the reason why there is no cluster."""
        done = subprocess.run(
            [sys.executable, "-B", self.tool, "up", "--name", self.name, "--shape", "2x2",
             "--rate", "100mbit", "--leaf-rate", "100mbit"],
            capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stderr.strip()

    def down(self):
        subprocess.run([sys.executable, "-B", self.tool, "down", "--name", self.name], check=False)

    def launch(self, placement, prefix, program):
        return [sys.executable, "-B", self.tool, "run", "--name", self.name, "--by", placement,
                "-n", str(RANKS), "--prefix", shlex.join(prefix), "--", *program]


class GivenTopology:
    """No emulated hosts: all ranks run on this machine, and the topology says on which host each would be."""

    emulated = False

    def down(self):
        pass

    def launch(self, placement, prefix, program):
        slots = [rank if placement == "slot" else rank % HOSTS * PER_HOST + rank // HOSTS
                 for rank in range(RANKS)]
        where = ["--topology", TOPOLOGY, "--slots", ",".join(map(str, slots)), "--"]
        assert prefix[-1] == "--"
        root = ["--allow-run-as-root"] if os.getuid() == 0 else []
        return [*prefix[:-1], *where, "mpirun.openmpi", *root, "--oversubscribe", "--bind-to",
                "none", "--mca", "mpi_yield_when_idle", "1", "-np", str(RANKS), *program]


class Launch:
    """One launch and its results."""

    def __init__(self, cluster, store, placement, program, mode="auto"):
        prefix = [COMMAND, "run", "--store", store, "--mode", mode, "--verbose", "--"]
        command = cluster.launch(placement, prefix, program)
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("RANKWEAVE_", "OMPI_", "LD_PRELOAD"))}
        environment["RANKWEAVE_LIBRARY"] = LIBRARY
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.placement = placement
        process = subprocess.Popen(command, env=environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            self.out, self.err = process.communicate(timeout=300)
        except BaseException:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(timeout=5)
                    break
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    pass
            raise
        if process.returncode != 0:
            raise Failed(f"exit code {process.returncode} of {shlex.join(command)}\n{self.out[-800:]}"
                         f"\n{self.err[-800:]}")
        for line in self.err.splitlines():
            if line.startswith("rankweave"):
                say(f"        {line}")
        self.facts = json.loads(ask("show", "--store", store, "--json"))
        self.bytes = self.internode(cluster, store)

    def internode(self, cluster, store):
        """Bytes between tasks on different hosts in this launch."""
        if cluster.emulated:
            return self.facts["internode_bytes"]
        # All ranks run on one host here. Their hosts follow from the rank order in the record and the given slots.
        order = self.facts["process_of_task"] or list(range(RANKS))
        rank_host = [rank // PER_HOST if self.placement == "slot" else rank % HOSTS
                     for rank in range(RANKS)]
        host = [rank_host[process] for process in order]
        total = 0
        for line in ask("export", "--store", store, "--to", "csv").splitlines():
            if line[:1].isdigit():
                source, destination, size, _ = map(int, line.split(","))
                total += size if host[source] != host[destination] else 0
        return total


def ask(*arguments):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"rankweave {shlex.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise Failed(f"no {pattern!r} in the output:\n{text[-800:]}")
    return float(found.group(1))


def table(name, first, second):
    """Prints the figures of both launches as rows of a table."""
    say()
    say(f"        {name:24}{'launch 1':>14}{'launch 2':>14}{'ratio':>8}")
    for label, key, form in (("bytes between hosts", 0, ",.0f"), ("seconds of its loop", 1, ".3f")):
        a, b = first[key], second[key]
        ratio = f"{b / a:.2f}" if a else "-"
        say(f"        {label:24}{format(a, form):>14}{format(b, form):>14}{ratio:>8}")


def stencil(cluster, work, steps):
    heading(f"(a) 3-D stencil, {RANKS} ranks as 4 x 2 x 2, x faces 8 times the others, by slot")
    store = os.path.join(work, "store-stencil")
    program = [os.path.join(os.path.dirname(work), "stencil3d"), "4", "2", "2", str(steps)]
    results = []
    sums = []
    for count in (1, 2):
        say(f"    launch {count}: {'recorded' if count == 1 else 'reordered'}")
        launch = Launch(cluster, store, "slot", program)
        say("        " + launch.out.strip())
        sums.append(re.search(r"checksum (\w+)", launch.out).group(1))
        results.append((launch.bytes, number(r"loop time ([\d.]+) s", launch.out)))
        if count == 1:
            say()
            say(ask("show", "--store", store, "--width", "76"))
    if sums[0] != sums[1]:
        raise Failed(f"the checksums differ: {sums[0]} and {sums[1]}")
    table("stencil", *results)
    return results


def thermodynamics(text):
    """The table of energies, temperature and pressure that LAMMPS prints."""
    found = re.search(r"^Step .*?(?=^Loop time)", text, re.S | re.M)
    if not found:
        raise Failed(f"no thermodynamic output:\n{text[-800:]}")
    return found.group(0)


def lammps(cluster, work, steps):
    heading(f"(b) LAMMPS, Lennard-Jones melt, {RANKS} ranks, dealt out host by host")
    program = ["lmp", "-in", os.path.join(ROOT, "examples", "lammps-melt.in"), "-log", "none",
               "-var", "steps", str(steps)]
    store = os.path.join(work, "store-lammps")
    loop = r"Loop time of ([\d.]+) on"
    results, outputs = [], []
    for count in (1, 2):
        say(f"    launch {count}: {'recorded' if count == 1 else 'reordered'}")
        launch = Launch(cluster, store, "node", program)
        outputs.append(thermodynamics(launch.out))
        results.append((launch.bytes, number(loop, launch.out)))
    same = outputs[0] == outputs[1]
    table("LAMMPS", *results)
    say()
    say("        thermodynamic output of the two launches: " + ("the same" if same else "DIFFERENT"))
    for line in outputs[1].splitlines()[:1] + outputs[1].splitlines()[-1:]:
        say(f"          {line}")
    say("\n    the same program placed by slot, which is already a good order")
    store = os.path.join(work, "store-lammps-slot")
    for count in (1, 2):
        launch = Launch(cluster, store, "slot", program)
        same = same and thermodynamics(launch.out) == outputs[0]
    alone = launch.facts["reordered"] is False
    say(f"        launch 2: {launch.facts['decision']}")
    say(f"        {'not reordered' if alone else 'REORDERED'}, {launch.bytes:,} bytes between hosts, "
        f"{number(loop, launch.out):.3f} s")
    return results, same, alone


def figures(results):
    (bytes_1, seconds_1), (bytes_2, seconds_2) = results
    return {"internode_bytes_first": bytes_1, "internode_bytes_second": bytes_2,
            "seconds_first": seconds_1, "seconds_second": seconds_2}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="run-", dir=args.work)

    def interrupted(number_, _frame):
        sys.exit(128 + number_)

    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for signal_number in signals:
        signal.signal(signal_number, interrupted)
    cluster = EmulatedCluster()
    try:
        heading("Bringing up 2 x 2 hosts with links of 100 Mbit/s")
        problem = cluster.up()
        if problem:
            say(f"        {problem}")
            say("        Without emulated hosts all ranks run directly on this machine, with the")
            say(f"        topology {TOPOLOGY}. The bytes then show the effect of the order;")
            say("        the seconds do not.")
            cluster = GivenTopology()
        stencil_results = stencil(cluster, work, 20 if args.quick else 60)
        lammps_results, same, alone = lammps(cluster, work, 100 if args.quick else 300)
    except (Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    finally:
        # A second Ctrl-C must not interrupt the cleanup.
        for signal_number in signals:
            signal.signal(signal_number, signal.SIG_IGN)
        cluster.down()
        shutil.rmtree(work, ignore_errors=True)
    result = {"stencil": figures(stencil_results),
              "lammps": {**figures(lammps_results), "same_output": same,
                         "left_alone_by_slot": alone}}
    good = stencil_results[1][0] < stencil_results[0][0] and same
    heading("Done" if good else "The reordered launches did not do what they should")
    say(json.dumps(result, separators=(",", ":")))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
