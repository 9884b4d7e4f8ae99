"""The launches of program truth that a test run makes, and their results."""

import os

from recording import call_table as table
from recording import truth

# Ranks, and kinds of communicator, of the shorter and the full run.
FEW = ((4,), truth.FEW_KINDS)
ALL = ((4, 7), truth.ALL_KINDS)
# From Fortran the ranks are translated by the same code: the shorter run looks at two kinds.
FEW_FROM_FORTRAN = ("split", "cart")


class Plan:
    """The launches of one run on some MPIs."""

    def __init__(self, tool, results, full, sizes=None, bindings=None, kinds=None):
        self.tool, self.results, self.full = tool, results, full
        self.sizes, self.bindings, self.kinds = sizes, bindings, kinds
        self.launches, self.built = [], []

    def prepare(self, bindings, work, pool):
        """Builds the programs of an MPI, several at a time; its launches."""
        found = []
        for binding, problem in zip(bindings, pool.map(truth.Binding.build, bindings)):
            stack, name = binding.stack, binding.name
            if problem:
                self.results.add(f"{stack.name} compiles truth for {binding.label}", [problem])
                continue
            self.built.append(binding)
            for kind, np, mode in self.choice(name):
                directory = os.path.join(work, f"truth-{len(self.launches)}")
                os.makedirs(directory)
                launch = truth.Launch(self.tool, self.results, binding, kind, np, directory, mode)
                found.append(launch)
                self.launches.append(launch)
        return found

    def choice(self, binding):
        sizes, kinds = ALL if self.full else FEW
        if not self.full and binding != "c":
            kinds = FEW_FROM_FORTRAN
        for np in self.sizes or sizes:
            for kind in self.kinds or kinds:
                yield kind, np, "record"
                # The matrix is that of the tasks, whatever their processes are.
                if self.full and kind in ("world", "split", "inter", "from_group"):
                    yield kind, np, "shuffle"

    def finish(self, stacks):
        """Whether every row was called; prints what was exact and what could not be done."""
        called = {name for launch in self.launches for name in launch.exact}
        if not (self.bindings or self.kinds):
            exported = set().union(*(binding.names for binding in self.built)) if self.built else set()
            # What no MPI of this run can do is printed below.
            unable = exported - set().union(*(binding.names - self.never(binding.stack) for binding in self.built))
            problems = []
            for row in table.table():
                if row.family is None:
                    problems.append(f"{row.name} of calls.tbl moves data and is called by no test")
                elif row.name in exported and row.name not in called | unable | set(table.NOT_CALLED):
                    problems.append(f"{row.name} was called nowhere with success")
            self.results.add("every row of calls.tbl that moves data is called", problems)
        for stack in stacks:
            for name in stack.bindings():
                launches = [x for x in self.launches
                            if x.binding.stack is stack and x.binding.name == name]
                exact = [x for x in launches if x.exact]
                if launches:
                    calls = sum(len(x.exact) for x in exact)
                    kinds = len({x.kind for x in exact})
                    rows = len(set().union(*(x.exact for x in exact))) if exact else 0
                    print(f"truth: {stack.name}, {launches[0].binding.label}: {rows} rows exact on "
                          f"{kinds} kinds of communicator, {calls} in all {len(exact)} launches")
            for line in self.undone(stack):
                print(f"truth: {stack.name}: {line}")
        for row, reason in table.NOT_CALLED.items():
            print(f"truth: not called: {row}: {reason}")

    @staticmethod
    def never(stack):
        """The rows that an MPI cannot run in any form, on no communicator and from no language."""
        everywhere = (rows[2] for rows in stack.unable_truth if rows[0] is rows[1] is rows[3] is None)
        return {name for names in everywhere for name in names.split()}

    def undone(self, stack):
        """What this MPI cannot do without the library."""
        absent = sorted({x.kind for x in self.launches if x.binding.stack is stack and x.absent})
        if absent:
            yield f"has no communicators {', '.join(absent)}"
        missing = [label for name, label in truth.LABELS.items() if name not in stack.bindings()]
        if missing:
            yield f"no programs can be built for {', '.join(missing)}"
        forms = {None: "", "in_place": " in place", "null": " to MPI_PROC_NULL",
                 "again": " started again"}
        for bindings, kinds, names, form, reason in stack.unable_truth:
            where = f" on {', '.join(kinds)}" if kinds else ""
            where += f" from {', '.join(truth.LABELS[b] for b in bindings)}" if bindings else ""
            yield f"not {names}{forms[form]}{where}: {reason}"
