"""Calls every function that moves data on every kind of communicator from every language, and compares the
matrix with the expected one.

One launch of program truth makes all calls of one binding on one kind of communicator. Every call has a size of its
own, so the sums are right only if every call is counted right. If the sums are wrong, the list of rows is halved
until only the wrong rows remain. `UNABLE` lists what an MPI library cannot do even without
the library under test; this list is printed.
"""

import copy
import os
import shlex
import subprocess

from driver import stacks
from recording import call_table as table
from recording import callers, expected, truth_expected

ALL_KINDS = ("world", "split", "cart", "dist_graph", "inter", "graph", "dist_graph_adjacent",
             "cart_sub", "halves", "split_type", "dup", "dup_with_info", "idup", "idup_with_info",
             "create", "create_group", "merge", "inter_dup", "from_group", "inter_from_groups")
# What a launch of the shorter test looks at: each way that ranks become tasks, each topology.
FEW_KINDS = ("world", "split", "cart", "dist_graph", "inter")
LABELS = {"c": "C", "mpif": "mpif.h", "mpi": "use mpi", "f08": "use mpi_f08"}
TIMEOUT = 150
# If all calls together do not end in time, this is the limit for a part of them.
TIMEOUT_OF_PART = 40
# The largest number of launches that search for the wrong rows.
MOST_LAUNCHES = 24


def exported(path):
    """The names that a library defines."""
    done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                          check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


class Binding:
    """One binding of one MPI library: the program that calls it, and the rows of the table that it can call."""

    def __init__(self, stack, name):
        self.stack, self.name = stack, name
        self.label = LABELS[name]
        self.names = names = set().union(*(exported(path) for path in stack.libraries()))
        self.rows = [row for row in table.table() if row.family
                     and row.name not in table.NOT_CALLED and self.has(row, names)]
        self.directory = os.path.join(stack.folder(), f"truth-{name}")
        self.program = os.path.join(self.directory, "truth")

    def has(self, row, names):
        if self.name == "c":
            return row.name in names
        # Large counts are for mpi_f08 only, under the name of the base function.
        if self.name == "f08":
            return any(name in names for name in f08_names(row))
        return not row.large and row.name.lower() + "_" in names

    def build(self):
        """Compiles the program. Returns an error, or None."""
        os.makedirs(self.directory, exist_ok=True)
        prototypes = table.prototypes()
        fortran = self.name != "c"
        texts = {"callers.c": callers.fortran_glue(self.name, self.rows, prototypes) if fortran
                 else callers.c_callers(self.rows, prototypes)}
        if fortran:
            texts["callers.f90"] = callers.fortran_callers(self.name, self.rows, prototypes)
        sources = [stacks.source(name)
                   for name in ("truth.c", "truth_comms.c", "truth.h", "truth_comms.h")]
        for name, text in texts.items():
            path = os.path.join(self.directory, name)
            sources.append(path)
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
        if os.path.exists(self.program) and os.path.getmtime(self.program) > max(
                map(os.path.getmtime, sources)):
            return None
        objects = []
        for path in sources:
            if path.endswith(".h"):
                continue
            target = os.path.join(self.directory, os.path.basename(path) + ".o")
            objects.append(target)
            if path.endswith(".f90"):
                command = [*self.stack.fortran_command(), "-O0", "-fallow-argument-mismatch", "-w",
                           "-J", self.directory]
            else:
                command = [*self.stack.compiler_command(), "-O1", "-Wall", "-Wno-deprecated-declarations",
                           "-I", stacks.INCLUDE]
            done = subprocess.run([*command, "-c", "-o", target, path], capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                return done.stderr[:2000]
        link = self.stack.fortran_command() if fortran else self.stack.compiler_command()
        done = subprocess.run([*link, "-o", self.program + ".new", *objects], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            return done.stderr[:2000]
        os.replace(self.program + ".new", self.program)
        return None


def f08_names(row):
    """Names of a call in mpi_f08, with choice buffers as descriptors or as addresses."""
    if row.large:
        base = row.name[:-2].lower()
        return [f"{base}_f08ts_large_", f"{base}_f08_large_", f"{base}_c_f08ts_", f"{base}_c_f08_"]
    base = row.name.lower()
    return [f"{base}_f08ts_", f"{base}_f08_"]


class Launch:
    """All rows of one binding on one kind of communicator."""

    NOTED = ("exact", "absent")

    def __init__(self, tool, results, binding, kind, np, directory, mode="record"):
        self.tool, self.results, self.binding, self.kind = tool, results, binding, kind
        self.np, self.directory, self.mode = np, directory, mode
        self.label = f"{binding.stack.name} -n {np} truth {binding.label} {kind}" + (
            "" if mode == "record" else f" {mode}")
        self.count = 0
        self.limit = TIMEOUT
        self.exact = []
        self.absent = False  # this MPI has no such communicator

    def wanted(self):
        unable = self.binding.stack.unable_rows(self.kind, self.binding.name, self.np)
        found = []
        for row in self.binding.rows:
            forms = unable.get(row.name, [])
            if None not in forms and truth_expected.applies(row, self.kind):
                row = copy.copy(row)
                row.without = "".join(f":{form}" for form in forms)
                found.append(row)
        return found

    def run(self):
        wanted = self.wanted()
        problems, outcome = self.attempt(wanted)
        if outcome.timed_out:
            self.limit = TIMEOUT_OF_PART
        if outcome.code == 2 and "has no communicator" in outcome.err:
            self.absent = True
            return
        if problems:
            problems = self.narrow(wanted, problems)
        else:
            self.exact = [row.name for row in wanted]
        self.results.add(f"{self.label} ({len(wanted)} rows)", problems, outcome)

    def narrow(self, wanted, problems):
        """Finds the rows that are counted wrong: halves that are right are left out."""
        faults, cannot, pending = [], {}, [wanted]
        # If this MPI fails with so many calls in one process, it may fail with any part of them, too.
        tries = 3 if self.binding.stack.unsteady else 1
        too_many = any(self.attempt(wanted, with_tool=False)[0] for _ in range(tries))
        most = 8 * MOST_LAUNCHES if too_many else MOST_LAUNCHES
        while pending and self.count < most:
            part = pending.pop()
            found = problems if part is wanted else self.attempt(part)[0]
            if found and len(part) > 1:
                half = len(part) // 2
                pending += [part[half:], part[:half]]
            elif found:
                without = self.attempt(part, with_tool=False)[0]
                if without:
                    cannot[part[0].name] = without[0]
                else:
                    faults.append(f"{part[0].name}: {found[0]}")
        if faults:
            return faults
        if cannot and not pending:
            # The other rows were right when they were called in smaller parts.
            for name, problem in cannot.items():
                self.results.skip(f"{self.label} {name}", f"fails without the library: {problem}")
            self.exact = [row.name for row in wanted if row.name not in cannot]
            return []
        if not pending and too_many:
            # All rows were right when they were called in smaller parts.
            self.exact = [row.name for row in wanted]
            return []
        if self.binding.stack.unsteady and not pending:
            for _ in range(3):
                if not self.attempt(wanted)[0]:
                    print(f"{self.label}: {problems[0][:60]}…; right when repeated "
                          f"({self.binding.stack.unsteady})", file=sys.stderr)
                    self.exact = [row.name for row in wanted]
                    return []
        return [f"only together: {p}" for p in problems]

    def attempt(self, wanted, with_tool=True):
        """One launch; what is wrong with it."""
        self.count += 1
        store = os.path.join(self.directory, f"store-{self.count}")
        variables = {}
        if with_tool:
            variables = {"LD_PRELOAD": self.tool.library, "RANKWEAVE_MODE": self.mode,
                         "RANKWEAVE_STORE": store, "RANKWEAVE_COLLECTIVES": "logical"}
            if self.mode == "shuffle":
                variables.update(RANKWEAVE_SEED="3", RANKWEAVE_FIX="none")
        environment = self.binding.stack.environment()
        environment["TMPDIR"] = self.directory
        names = [row.name for row in wanted]
        command = self.binding.stack.launch(
            self.np, variables, [self.binding.program, self.kind, *(
                row.name + row.without for row in wanted)])
        outcome = stacks.execute(command, environment, self.limit, cwd=self.directory)
        outcome.command = shlex.join(command) if len(names) < 4 else None
        lines = outcome.out.splitlines()
        if outcome.timed_out:
            return [f"did not end within {self.limit * stacks.PATIENCE} s"], outcome
        if outcome.code != 0 or not lines or not lines[-1].startswith("ok "):
            said = [x for x in lines + outcome.err.splitlines() if x.strip()]
            return [f"exit code {outcome.code}: {' | '.join(said[:3])[:300]}"], outcome
        done = lines[0].split()[1:]
        if sorted(done) != sorted(names):
            return [f"not called: {sorted(set(names) - set(done))[:5]}"], outcome
        if not with_tool:
            return [], outcome
        path = self.tool.stored(store)
        if path is None:
            return [f"nothing was stored: {outcome.err.strip()[:200]}"], outcome
        problems = [line for line in outcome.err.splitlines() if line.startswith("rankweave")]
        if self.mode == "shuffle" and not self.tool.facts(path).get("reordered"):
            problems.append("the ranks were not exchanged")
        wanted_matrices = truth_expected.expected(wanted, self.kind, self.np)
        for kind in truth_expected.KINDS:
            try:
                text = expected.difference(self.tool.matrix(path, kind), wanted_matrices[kind])
            except ValueError as error:
                text = str(error)
            if text:
                problems.append(f"{kind}: {text}")
        return problems, outcome
