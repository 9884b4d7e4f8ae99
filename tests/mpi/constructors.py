"""Constructors of topologies with `reorder`, from C and Fortran: whatever order the library gives the
processes, rank i has the edges of vertex i, arguments that MPI refuses give MPI's own errors, and the
matrix says who really sent.

Open MPI's own reordering (topo/treematch) cannot run some of these programs; where a launch without
the library is needed, it is turned off.
"""

import concurrent.futures
import os
import shlex

import expected
import stacks

# Eight places in two halves, and neighbouring ranks in different halves.
TOPOLOGY = "tree:4:2@1:10"
FORTRAN = ("constructors_mpif.F90", "constructors_module.F90", "constructors_f08.F90")


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
        """Graphs that libraries which reorder by themselves cannot make."""
        name = f"-n {np} known_graphs"
        outcome, _ = self.with_tool(f"{name} shuffle", "shuffle", np, "known_graphs.c", seed=3)
        self.says(f"{name} shuffle", "ok known_graphs", outcome)
        if np <= 8:
            outcome, _ = self.by_topology(f"{name} auto", np, "known_graphs.c")
            self.says(f"{name} auto", "ok known_graphs", outcome)

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
        path = self.tool.stored(store)
        if path is None:
            problems.append("nothing was stored")
        else:
            for kind in ("p2p", "collective"):
                wanted = {}
                for line in outcome.out.splitlines():
                    words = line.split()
                    if words[0] == kind:
                        expected.add(wanted, *map(int, words[1:]), 1)
                if len(wanted) < np:
                    problems.append(f"only {len(wanted)} pairs with {kind}")
                text = expected.difference(self.tool.matrix(path, kind), wanted)
                if text:
                    problems.append(f"matrix of {kind}: {text}")
        self.results.add(f"{self.stack.name} {name}", problems, outcome)


def run(tool, results, stack, work, full=False):
    tests = Launches(tool, results, stack, work)
    sources = ["constructors.c", "constructors_wrong.c", "constructors_sent.c", "known_graphs.c"]
    fortran = [source for source in FORTRAN if len(stack.bindings()) > 1]
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
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(job, *arguments) for job, arguments in jobs]:
            done.result()
