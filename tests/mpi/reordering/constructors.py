"""Tests constructors of topologies with `reorder`, from C and Fortran. With any order of the processes, rank i
must have the edges of vertex i. Arguments that MPI refuses must give MPI's own errors. The matrix must
contain the tasks that really sent.

Open MPI's own reordering (topo/treematch) cannot run some of these programs; where a launch without
the library is needed, it is turned off.
"""

import concurrent.futures
import dataclasses
import itertools
import os
import shlex
import subprocess

from driver import stacks
from recording import expected

# Eight places in two halves, and neighbouring ranks in different halves.
TOPOLOGY = "tree:4:2@1:10"
FORTRAN = {"mpif": "constructors_mpif.F90", "mpi": "constructors_module.F90", "f08": "constructors_f08.F90"}
# By the number of the report or correction at github.com/open-mpi/ompi.
REPORTS = ("#11756", "#8854", "#8864", "#8939", "#13918", "#1183", "#4303", "#2402")
# Bytes that cart_first.c sends to every neighbour.
FACE = 1000


@dataclasses.dataclass
class First:
    """A grid on nodes, and the messages between nodes that cannot be avoided."""

    name: str
    grid: tuple
    topology: str
    per_node: int
    # Node of each process; None for one node after the other.
    nodes: tuple
    least: int
    gains: bool = True

    def dims(self):
        return [int(extent.rstrip("p")) for extent in self.grid]

    def np(self):
        """Processes: as many as points."""
        count = 1
        for extent in self.dims():
            count *= extent
        return count

    def slots(self):
        if self.nodes is None:
            return list(range(self.np()))
        used = {}
        return [node * self.per_node + used.setdefault(node, itertools.count()).__next__()
                for node in self.nodes]

    def given(self):
        """Messages between nodes in the order of the launch."""
        dims, count = self.dims(), 0
        points = list(itertools.product(*map(range, dims)))
        node = {point: slot // self.per_node for point, slot in zip(points, self.slots())}
        for point in points:
            for axis, (extent, text) in enumerate(zip(dims, self.grid)):
                for way in (-1, 1):
                    at = point[axis] + way
                    if not 0 <= at < extent and not text.endswith("p"):
                        continue
                    other = point[:axis] + (at % extent,) + point[axis + 1:]
                    count += node[point] != node[other]
        return count


# Every edge is two messages.
FIRSTS = (
    # Rows of four on nodes of six: two of 3 x 2 cut three edges; the launch cuts five.
    First("rows that do not fill nodes", ("3", "4"), "tree:6:2@1:10", 6, None, 6),
    # One row a node cuts twelve edges, squares of 2 x 2 cut eight.
    First("rows that do", ("4", "4"), "tree:4:4@1:10", 4, None, 16),
    # Ranks are placed round-robin over the nodes.
    First("cyclic", ("4", "3"), "tree:6:2@1:10", 6, (0, 1) * 6, 6),
    First("cyclic, three dimensions", ("2", "2", "3p"), "tree:6:2@1:10", 6, (0, 1) * 6, 12),
    # Nodes of eight and four: 4 x 2 and 2 x 2 cut two edges.
    First("uneven nodes", ("2", "6"), "tree:8:2@1:10", 8, (0, 1) * 4 + (0,) * 4, 4),
    # Planes of 2 x 2 are the best there is: nothing to gain, nothing moves.
    First("planes that fill nodes", ("3p", "2p", "2p"), "tree:4:3@1:10", 4, None, 24, False),
)


class Launches:
    """Launches on one MPI library."""

    def __init__(self, tool, results, stack, work):
        self.tool, self.results, self.stack = tool, results, stack
        self.directory = os.path.join(work, f"constructors-{stack.name}")
        os.makedirs(self.directory, exist_ok=True)

    def launch(self, np, variables, source, *arguments):
        program = [self.stack.program(source), *arguments]
        command = self.stack.launch(np, variables, program)
        outcome = stacks.execute(command, self.stack.environment(), 120)
        outcome.command = shlex.join(command)
        return outcome

    def with_tool(self, name, mode, np, source, *arguments, **settings):
        store = os.path.join(self.directory, name.replace(" ", "-"))
        variables = {"LD_PRELOAD": self.tool.library, "RANKWEAVE_MODE": mode,
                     "RANKWEAVE_STORE": store, "RANKWEAVE_SPILL": self.directory,
                     "RANKWEAVE_FIX": "none"}
        variables.update({f"RANKWEAVE_{k.upper()}": str(v) for k, v in settings.items()})
        return self.launch(np, variables, source, *arguments), store

    def by_topology(self, name, np, source, *arguments):
        slots = ",".join(str(k // 2 + 4 * (k % 2)) for k in range(np))
        return self.with_tool(name, "auto", np, source, *arguments, topology=TOPOLOGY, slots=slots,
                              min_gain=0)

    def without(self, np, source, *arguments):
        return self.launch(np, {"OMPI_MCA_topo": "^treematch"}, source, *arguments)

    def says(self, name, wanted, outcome):
        """The program printed this one line and nothing else, and returned 0."""
        problems = []
        if outcome.timed_out:
            problems.append("did not end")
        elif outcome.code != 0:
            problems.append(f"exit code {outcome.code}")
        if outcome.out.strip() != wanted:
            problems.append(f"standard output: {outcome.out.strip()[:300]!r}")
        if outcome.err.strip():
            problems.append(f"standard error: {outcome.err.strip()[:300]!r}")
        self.results.add(f"{self.stack.name} {name}", problems, outcome)

    def edges(self, source, np):
        """What was given for vertex i is what rank i has."""
        name = f"-n {np} {os.path.splitext(source)[0]}"
        plain = self.without(np, source)
        if plain.out.strip() != "ok constructors":
            self.results.skip(f"{self.stack.name} {name}", "fails without the library")
            return
        # The argument makes the program fail if no process has a new rank.
        outcome, _ = self.with_tool(f"{name} shuffle", "shuffle", np, source, "moved", seed=2)
        self.says(f"{name} shuffle", "ok constructors", outcome)
        if np == 7:
            outcome, _ = self.by_topology(f"{name} auto", np, source, "moved")
            self.says(f"{name} auto", "ok constructors", outcome)

    def known(self, np):
        """Graphs that libraries which reorder by themselves cannot make: one result for each report."""
        ways = [("shuffle", self.with_tool(f"-n {np} known_graphs shuffle", "shuffle", np,
                                           "known_graphs.c", seed=3)[0])]
        if np <= 8:
            ways.append(("auto", self.by_topology(f"-n {np} known_graphs auto", np,
                                                  "known_graphs.c")[0]))
        for how, outcome in ways:
            lines = outcome.out.splitlines()
            # A report whose line is missing failed, hung, or came after one that did.
            for report in REPORTS:
                problems = [] if f"ok {report}" in lines else [
                    f"no line 'ok {report}'"] + [line for line in lines if report in line]
                self.results.add(f"{self.stack.name} ompi{report} -n {np} {how}", problems, outcome)
            outcome.out = "\n".join(line for line in lines if not line.startswith("ok #"))
            self.says(f"-n {np} known_graphs {how}", "ok known_graphs", outcome)

    def first(self, instance):
        """A Cartesian communicator in a first launch, with nothing measured: bytes between nodes."""
        np = instance.np()
        name = f"first launch, {instance.name}"
        slots = instance.slots()
        outcome, store = self.with_tool(name, "auto", np, "cart_first.c", *instance.grid,
                                        topology=instance.topology,
                                        slots=",".join(map(str, slots)))
        problems = [] if outcome.out.strip() == "ok cart_first" and not outcome.err.strip() else [
            f"output {outcome.out.strip()[:300]!r}, {outcome.err.strip()[:300]!r}"]
        pairs = self.matrix(store, "p2p", problems)
        if pairs is not None:
            node = [slot // instance.per_node for slot in slots]
            measured = sum(size for (source, target), (size, _) in pairs.items()
                           if node[source] != node[target])
            wanted = instance.least * FACE
            given = instance.given() * FACE
            if measured != wanted:
                problems.append(f"{measured} bytes between nodes, {wanted} are possible, {given} in "
                                "the order of the launch")
            if (instance.least < instance.given()) != instance.gains:
                problems.append(f"the instance is wrong: {instance.given()} messages in the order of "
                                "the launch")
        self.results.add(f"{self.stack.name} {name}", problems, outcome)

    def again(self):
        """A Cartesian communicator whose faces along x are heavy. In the launcher's order these faces stay
        inside nodes. The first launch does not know the weights and cuts these faces. The next launches
        know the weights from the record, whatever order the grid of the first launch had. (Regression:
        they took the traffic of tasks for that of grid points, and placed the grid without weights again.)"""
        slots = "0,4,1,5,2,6,3,7"
        sent, problems = [], []
        for launch in range(3):
            outcome, store = self.with_tool("heavy faces again", "auto", 8, "cart_first.c", "4x8", "2",
                                            topology=TOPOLOGY, slots=slots, min_gain=0)
            if outcome.out.strip() != "ok cart_first" or outcome.err.strip():
                problems.append(f"launch {launch + 1}: {outcome.out.strip()[:300]!r}, "
                                f"{outcome.err.strip()[:300]!r}")
            path = self.tool.stored(store)
            sent.append(self.tool.facts(path)["internode_bytes"] if path else None)
        # Two heavy edges at first, then the four light ones; less than a face is of collective calls.
        if [size and size // FACE for size in sent] != [32, 8, 8]:
            problems.append(f"bytes between nodes in three launches: {sent}")
        self.results.add(f"{self.stack.name} heavy faces again", problems, outcome)

    def matrix(self, store, kind, problems):
        """The stored matrix of one kind; None with a text in `problems` if it cannot be had."""
        path = self.tool.stored(store)
        if path is None:
            problems.append("nothing was stored")
            return None
        try:
            return self.tool.matrix(path, kind)
        except (ValueError, KeyError, OSError, subprocess.SubprocessError) as error:
            problems.append(f"the stored matrix of {kind} cannot be read: {error}")
            return None

    def wrong(self, np):
        """Arguments that MPI refuses: the same errors as without the library."""
        odd = ["odd"] if self.stack.openmpi else []
        plain = self.without(np, "constructors_wrong.c", *odd)
        outcome, _ = self.with_tool("wrong", "shuffle", np, "constructors_wrong.c", *odd, seed=2)
        wanted, got = (sorted(o.out.splitlines()) for o in (plain, outcome))
        problems = []
        if len(wanted) < 10 * np:
            problems.append(f"only {len(wanted)} lines without the library")
        if outcome.code != plain.code:
            problems.append(f"exit code {outcome.code}, without the library {plain.code}")
        if got != wanted:
            other = sorted(set(got) ^ set(wanted))[:6]
            problems.append(f"other errors than without the library: {other}")
        if outcome.err != plain.err:
            problems.append(f"standard error: {outcome.err.strip()[:300]!r}")
        self.results.add(f"{self.stack.name} -n {np} constructors_wrong", problems, outcome)

    def sent(self, np, how):
        """The matrix is what the processes sent, by rank in the world."""
        name = f"-n {np} constructors_sent {how}"
        if how == "auto":
            outcome, store = self.by_topology(name, np, "constructors_sent.c")
        else:
            outcome, store = self.with_tool(name, how, np, "constructors_sent.c", seed=2)
        problems = [] if outcome.code == 0 and not outcome.err else [
            f"exit code {outcome.code}: {outcome.err.strip()[:300]!r}"]
        for kind in ("p2p", "collective"):
            got = self.matrix(store, kind, problems)
            if got is None:
                continue
            wanted = {}
            for line in outcome.out.splitlines():
                words = line.split()
                if words and words[0] == kind:
                    expected.add(wanted, *map(int, words[1:]), 1)
            if len(wanted) < np:
                problems.append(f"only {len(wanted)} pairs with {kind}")
            text = expected.difference(got, wanted)
            if text:
                problems.append(f"matrix of {kind}: {text}")
        self.results.add(f"{self.stack.name} {name}", problems, outcome)


def run(tool, results, stack, work, full=False):
    tests = Launches(tool, results, stack, work)
    sources = ["constructors.c", "constructors_wrong.c", "constructors_sent.c", "known_graphs.c",
               "cart_first.c"]
    fortran = [source for binding, source in FORTRAN.items() if binding in stack.bindings()]
    for source in sources + fortran:
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    jobs = [(tests.edges, ("constructors.c", np)) for np in ((2, 4, 7) if full else (4, 7))]
    jobs += [(tests.edges, (source, np)) for source in fortran for np in ((4, 7) if full else (4,))]
    jobs += [(tests.known, (np,)) for np in ((4, 7, 10, 16) if full else (10,))]
    jobs += [(tests.wrong, (4,))]
    jobs += [(tests.sent, (7, how)) for how in ("shuffle", "auto")]
    jobs += [(tests.first, (instance,)) for instance in FIRSTS] + [(tests.again, ())]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(job, *arguments) for job, arguments in jobs]:
            done.result()
