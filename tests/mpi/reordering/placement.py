"""Tests placement before the launch (`--place launcher`) on an emulated cluster of four hosts.

A program that gains much from another rank order is recorded, reordered by the library, and placed by the launcher.
Both orders must send the same bytes between nodes. The launcher must start every rank where it was meant to; a
launcher that ignores its file must be found, with the library and without it. Where this machine permits no
namespaces, nothing is tested, and the test says so.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from driver import stacks

CLUSTER = os.path.join(stacks.ROOT, "scripts", "cluster")
# Not MPICH 4.0.2 of Debian: on several hosts its MPI_Finalize often does not end, without any tool, too, and
# also with the launcher of MPICH 4.3.2.
STACKS = ("openmpi4", "openmpi5", "mpich43", "mpich5")
# The shape of the cluster, ranks on each host, and the arguments of the program.
SHAPE, PER_HOST, ARGUMENTS = "2x2", 4, ["4", "2", "2", "5", "4"]
# A launch of 50 ms can look slower after a launch in another order, by chance alone. Without this option the
# next launch would then keep the launcher's order, and so would the helper launch of `--check-placement`.
MOVED = ["--mode", "reorder"]
# The exit code of scripts/cluster where namespaces are not permitted.
NO_NAMESPACES = 3


class Site:
    """A cluster, the program, and the command line of the launcher."""

    def __init__(self, tool, results, stack, work):
        self.tool, self.results, self.stack = tool, results, stack
        # Several parts of the tests have a cluster for the same MPI, one after the other.
        self.work = tempfile.mkdtemp(prefix=f"site-{stack.name}-", dir=work)
        self.name = os.path.basename(self.work)
        self.program = os.path.join(self.work, "stencil3d")
        self.shape, self.per_host, self.arguments = SHAPE, PER_HOST, ARGUMENTS
        self.hosts_count = int(self.shape[0]) * int(self.shape[2])
        self.np = self.hosts_count * self.per_host
        self.state = None

    def __enter__(self):
        done = subprocess.run([CLUSTER, "up", "--name", self.name, "--shape", self.shape], capture_output=True,
                              text=True, check=False)
        if done.returncode == NO_NAMESPACES:
            self.results.skip(f"{self.stack.name} placement", "this machine permits no namespaces")
            return None
        if done.returncode:
            raise OSError(done.stderr)
        base = os.environ.get("XDG_RUNTIME_DIR")
        base = base if base and os.access(base, os.W_OK) else "/tmp"
        self.state = os.path.join(base, f"rankweave-cluster-{os.getuid()}-{self.name}")
        os.makedirs(os.path.join(self.state, "tmp"), exist_ok=True)
        return self

    def __exit__(self, *_):
        subprocess.run([CLUSTER, "down", "--name", self.name], capture_output=True, check=False)

    def compile(self):
        source = os.path.join(stacks.ROOT, "examples", "stencil3d.c")
        command = [*self.stack.compiler_command(), "-O2", "-o", self.program, source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else None

    def hosts(self):
        """A host file in the form of the launcher."""
        path = os.path.join(self.work, "hosts")
        form = "n{} slots={}\n" if self.stack.openmpi else "n{}:{}\n"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(form.format(k, self.per_host) for k in range(self.hosts_count))
        return path

    def launch(self, launcher=None):
        """The command line of the launch, without rankweave."""
        agent, tmp = os.path.join(self.state, "agent"), os.path.join(self.state, "tmp")
        options = {
            "openmpi4": ["--mca", "plm_rsh_agent", agent, "--mca", "pml", "ob1", "--mca", "btl", "tcp,vader,self",
                         "--mca", "btl_tcp_if_include", "10.77.0.0/16", "--mca", "oob_tcp_if_include",
                         "10.77.0.0/16", "--mca", "orte_tmpdir_base", tmp, "--mca", "mpi_yield_when_idle", "1",
                         "--oversubscribe"],
            "openmpi5": ["--prtemca", "plm_ssh_agent", agent, "--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp",
                         "--mca", "btl_tcp_if_include", "10.77.0.0/16", "--prtemca", "prte_if_include",
                         "10.77.0.0/16", "--prtemca", "prte_tmpdir_base", tmp, "--bind-to", "none",
                         "--oversubscribe"],
        }.get(self.stack.name, ["-launcher", "ssh", "-launcher-exec", agent, "-iface", "eth0"])
        hosts = ["--hostfile" if self.stack.openmpi else "-f", self.hosts()]
        return [launcher or self.stack.launcher, *options, *hosts, "-np" if self.stack.openmpi else "-n", str(self.np),
                self.program, *self.arguments]

    def run(self, options, launcher=None):
        command = [CLUSTER, "exec", "--name", self.name, "n0", "--", self.tool.command, "run", *options, "--",
                   *self.launch(launcher)]
        environment = dict(self.stack.environment(), RANKWEAVE_LIBRARY=self.tool.library,
                           UCX_TLS="tcp,self,sysv,posix,cma", UCX_NET_DEVICES="eth0",
                           RANKWEAVE_STORE=os.path.join(self.work, "store"))
        outcome = stacks.execute(command, environment, 180, cwd=self.work)
        outcome.command = shlex.join(command)
        return outcome

    def facts(self):
        path = self.tool.stored(os.path.join(self.work, "store"))
        return self.tool.facts(path) if path else {}

    def deaf_launcher(self):
        """A launcher that ignores what it is told about the places of ranks, under the name of the real one."""
        folder = os.path.join(self.work, "deaf")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, os.path.basename(self.stack.launcher))
        real = shutil.which(self.stack.launcher)
        with open(path, "w", encoding="utf-8") as file:
            file.write(DEAF.format(real=real, hosts=self.hosts(), flag="--hostfile" if self.stack.openmpi else "-f"))
        os.chmod(path, 0o755)
        return path


DEAF = """#!/usr/bin/env python3
import os, sys
words, kept = sys.argv[1:], []
while words:
    word = words.pop(0)
    if word == "--mca" and words[0] == "rmaps":
        del words[:2]
    elif word in ("--map-by", "-rankmap", "{flag}"):
        words.pop(0)
    else:
        kept.append(word)
os.execv("{real}", ["{real}"] + (kept if "--version" in kept else ["{flag}", "{hosts}"] + kept))
"""


def checksum(outcome):
    """What the program computed, without its times."""
    return re.findall(r"checksum\s+\S+", outcome.out)


@contextlib.contextmanager
def site_of(tool, results, stack, work):
    """A cluster with the compiled program; None if there is none for this MPI or on this machine."""
    if stack.name not in STACKS:
        yield None
        return
    with Site(tool, results, stack, work) as site:
        problem = site.compile() if site else None
        if problem:
            results.add(f"{stack.name} compiles stencil3d.c", [problem])
        yield None if problem else site


def run(tool, results, stack, work):
    with site_of(tool, results, stack, work) as site:
        if site:
            compared(site, results)
            ignored(site, results)


def compared(site, results):
    """The same bytes between nodes as by the library; with and without the library in the job."""
    label = f"{site.stack.name} placement"
    first = site.run(["--mode", "record"])
    given = site.facts()
    second = site.run(MOVED)
    reordered = site.facts()
    third = site.run([*MOVED, "--place", "launcher", "-v"])
    placed = site.facts()
    problems = [f"code {o.code}: {o.err.strip()[-300:]}" for o in (first, second, third) if o.code]
    wanted = [("the launcher's order", given, "record", False), ("the library", reordered, "reorder", True),
              ("the launcher", placed, "place", True)]
    for name, facts, mode, moved in wanted:
        if (facts.get("mode"), facts.get("reordered")) != (mode, moved):
            problems.append(f"{name}: mode {facts.get('mode')}, reordered {facts.get('reordered')}, "
                            f"{facts.get('decision')!r}")
    between = [facts.get("internode_bytes") for _, facts, *_ in wanted]
    if not between[0] or between[1] != between[2] or between[2] >= between[0]:
        problems.append(f"bytes between nodes: {between}")
    if placed.get("internode_bytes_given_order") != between[0]:
        problems.append(f"in the launcher's order {placed.get('internode_bytes_given_order')} instead of {between[0]}")
    if placed.get("total") != given.get("total"):
        problems.append(f"traffic {placed.get('total')} instead of {given.get('total')}")
    if len({tuple(checksum(o)) for o in (first, second, third)}) != 1:
        problems.append("the program computed something else")
    results.add(f"{label}: the same bytes between nodes {between}", problems, third)

    plain = site.run([*MOVED, "--place", "launcher-only"])
    problems = [] if plain.code == 0 and checksum(plain) == checksum(first) else [f"code {plain.code}: {plain.err[-300:]}"]
    if site.facts() != placed:
        problems.append("the store has changed")
    results.add(f"{label}: without the library", problems, plain)

    asked = site.run([*MOVED, "--place", "launcher", "--check-placement"])
    lines = asked.out.split("\n")[:site.np]
    problems = [] if asked.code == 0 else [f"code {asked.code}: {asked.err[-300:]}"]
    if f"all {site.np} ranks are on the hosts that were meant" not in asked.err:
        problems.append(f"nothing was compared: {asked.err[-300:]}")
    if [line.split()[0] for line in lines if line] != [str(k) for k in range(site.np)] or "meant" in asked.out:
        problems.append(f"answers {lines}")
    results.add(f"{label}: each rank is asked for its host", problems, asked)


def ignored(site, results):
    """A launcher that places nothing is found, by the library and by the helper launch."""
    label = f"{site.stack.name} placement by a launcher that ignores its file"
    deaf = site.deaf_launcher()
    outcome = site.run([*MOVED, "--place", "launcher"], launcher=deaf)
    facts = site.facts()
    problems = [] if outcome.code == 0 else [f"code {outcome.code}: {outcome.err[-300:]}"]
    said = [line for line in outcome.err.splitlines() if line.startswith("rankweave: ") and "meant for" in line]
    if len(said) != 1 or "try: use --place library" not in said[0]:
        problems.append(f"messages {said}: {outcome.err[-300:]}")
    if facts.get("mode") != "misplaced" or facts.get("reordered") or "meant for" not in facts.get("decision", ""):
        problems.append(json.dumps({k: facts.get(k) for k in ("mode", "reordered", "decision")}))
    results.add(f"{label}: the library", problems, outcome)
    outcome = site.run([*MOVED, "--place", "launcher", "--check-placement"], launcher=deaf)
    problems = []
    if outcome.code != 1 or "(meant: " not in outcome.out:
        problems.append(f"code {outcome.code}: {outcome.out[:300]}{outcome.err[-300:]}")
    results.add(f"{label}: the helper launch", problems, outcome)
