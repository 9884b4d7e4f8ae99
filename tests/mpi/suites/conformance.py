#!/usr/bin/env python3
"""Runs the test suite of mpi4py without and with the library, and compares every single test.

The suite (about two thousand tests of most of what MPI has) loads its MPI library by dlopen and
probes for what it has. With the library recording, each rank has to pass, fail and skip exactly the
tests that it does without, and nothing may be said on standard error. `--shuffle` gives the ranks a
random order as well. The last line is `N passed, N failed`, where one is a launch of a group of
tests, or a single test that ended differently.

Some tests end differently from launch to launch even without the library. They are found by further launches
without the library.

Tests that start other programs hang now and then without any tool (Open MPI 4 with PMIx 4, four ranks
that start children at the same time: one child gets no answer from the launcher in PMIx_Init, see
hangs.py): each class of them is a launch of its own, and what does not end gets more attempts, without the
library as with it. How many launches did not end is printed for both; whether the library makes it more
frequent is what hangs.py measures.
"""

import argparse
import glob
import os
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from driver import stacks  # noqa: E402
from driver.checks import Results, Tool, own_lines  # noqa: E402

SUITE = os.path.join(stacks.CACHE, "mpi4py")
STACKS = ("openmpi4", "openmpi5", "mpich5")

# Tests that start other programs. They have launches of their own, so that a hang does not end other tests.
DYNAMIC = ("test_spawn", "test_dynproc")
DYNAMIC_TIMEOUT = 60
DYNAMIC_ATTEMPTS = 6

# What makes such hangs rarer (hangs.py --steadier): stack → variables of the environment.
STEADIER = {"openmpi4": {"PMIX_MCA_gds": "hash"}}

# Two modules that take most of the time. Continuous integration leaves them out as well.
SLOW = "test_io|test_datatype"

# Tests that do not end, or end the program, without any tool: stack → pattern of their names.
UNABLE = {
}


class Outcome:
    """How one launch of the suite ended: for each rank a table of test → outcome."""

    def __init__(self, directory, np, ended):
        self.ended = ended
        self.ranks, self.unfinished, self.seconds = [], [], {}
        for rank in range(np):
            table, started, finished = {}, None, False
            path = os.path.join(directory, str(rank))
            lines = open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []
            for line in lines:
                if line == "end":
                    finished = True
                    continue
                word, name, text = (line.split("\t") + ["", ""])[:3]
                if word == "start":
                    started = name
                elif word == "time":
                    module = name.split(".")[0]
                    self.seconds[module] = self.seconds.get(module, 0.0) + float(text)
                    started = None
                elif word == "skip":
                    table[name] = f"skip ({text})"
                else:
                    table[name] = word
            self.ranks.append(table)
            if not finished:
                self.unfinished.append((rank, started))
        # All tests have ended, but the program has not: MPI_Finalize comes after the tests.
        if ended.timed_out and not self.unfinished:
            self.unfinished.append(("any", "MPI_Finalize"))

    def counts(self):
        total = {}
        for table in self.ranks:
            for outcome in table.values():
                word = outcome.split()[0]
                total[word] = total.get(word, 0) + 1
        return ", ".join(f"{n} {word}" for word, n in sorted(total.items())) or "nothing ran"


def difference(plain, other):
    """Tests that ended differently: name → (rank, without, with). Where the suite hangs without the
    library, too, those that both got to."""
    found = {}
    both_hang = plain.unfinished and other.unfinished
    for rank, (a, b) in enumerate(zip(plain.ranks, other.ranks)):
        for name in sorted(a.keys() & b.keys() if both_hang else a.keys() | b.keys()):
            if a.get(name) != b.get(name):
                found.setdefault(name, (rank, a.get(name, "not run"), b.get(name, "not run")))
    return found


class Group:
    """A group of tests on one stack with one number of ranks."""

    def __init__(self, tool, results, stack, np, selection, directory, args):
        self.tool, self.results, self.stack, self.np = tool, results, stack, np
        self.selection, self.directory, self.args = selection, directory, args
        dynamic = selection[1] in DYNAMIC
        self.timeout = min(args.timeout, DYNAMIC_TIMEOUT) if dynamic else args.timeout
        self.attempts = DYNAMIC_ATTEMPTS if dynamic else 1
        self.variables = STEADIER.get(stack.name, {}) if dynamic else {}
        self.launches = 0
        # Launches and those of them that did not end, without and with the library.
        self.ended = {False: [0, 0], True: [0, 0]}
        os.makedirs(directory, exist_ok=True)

    def launch(self, options=None):
        """One launch; with `options` of `rankweave run` through it. The first that ends, if any."""
        for _ in range(self.attempts):
            outcome = self.attempt(options)
            tally = self.ended[options is not None]
            tally[0] += 1
            tally[1] += bool(outcome.unfinished)
            if not outcome.unfinished:
                break
        return outcome

    def attempt(self, options):
        self.launches += 1
        work = os.path.join(self.directory, f"launch-{self.launches}")
        os.makedirs(work)
        python = os.path.join(SUITE, "bin", "python")
        driver = stacks.source("mpi4py_suite.py")
        variables = {"MPI4PY_LIBMPI": self.stack.libmpi(), "TMPDIR": self.directory}
        command = self.stack.launch(self.np, variables, [python, "-B", driver, tests_directory(),
                                                         work, *self.selection])
        environment = {**self.stack.environment(), **self.variables}
        if options is not None:
            environment["RANKWEAVE_LIBRARY"] = self.tool.library
            command = [self.tool.command, "run", *options, "--", *command]
        begin = time.monotonic()
        ended = stacks.execute(command, environment, self.timeout, cwd=self.directory)
        ended.command = " ".join(command)
        outcome = Outcome(work, self.np, ended)
        print(f"  {'without' if options is None else ' '.join(options[:6])}: {outcome.counts()} "
              f"in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        return outcome

    def compare(self, label, plain, other):
        """Adds what a launch changed to the results. One more launch without the library tells
        what changes by itself."""
        problems = []
        for rank, test in other.unfinished:
            text = f"rank {rank} did not finish: {test or 'between tests'}"
            if plain.unfinished:
                print(f"  without the library, too: {text}", file=sys.stderr)
            else:
                problems.append(text)
        if not (plain.unfinished or other.unfinished) and plain.ended.code != other.ended.code:
            problems.append(f"exit code {other.ended.code} instead of {plain.ended.code}")
        changed = difference(plain, other)
        if changed:
            again = self.launch()
            alone = difference(plain, again)
            for name, (rank, without, with_it) in changed.items():
                if name not in alone:
                    problems.append(f"{name} on rank {rank}: {without} without, {with_it} with")
                else:
                    print(f"  changes by itself: {name}: {without} or {alone[name][2]}",
                          file=sys.stderr)
        own = own_lines(other.ended.err)
        problems += [f"standard error: {line}" for line in own[:3]]
        if plain.unfinished and not problems:
            self.results.skip(label, "does not end without the library; what did is the same")
            return
        self.results.add(label, problems[:40], other.ended)

    def run(self, label):
        print(f"{label}", file=sys.stderr, flush=True)
        plain = self.launch()
        if not any(plain.ranks):
            self.results.add(f"{label} without the library",
                             [f"nothing ran: {plain.ended.err.strip()[-300:]}"], plain.ended)
            return
        if self.attempts > 1 and not plain.unfinished:
            self.timeout = min(self.timeout, max(20, 5 * plain.ended.seconds))
        if self.args.times:
            for module, seconds in sorted(plain.seconds.items(), key=lambda m: -m[1]):
                print(f"    {seconds / self.np:7.1f} s {module}", file=sys.stderr)
        store = os.path.join(self.directory, "store")
        if not self.args.only_shuffle:
            outcome = self.launch(["--mode", "record", "--store", store])
            self.compare(f"{label} record", plain, outcome)
            if not outcome.unfinished and not glob.glob(os.path.join(store, "*.rkw")):
                self.results.add(f"{label} stored", ["nothing was stored"], outcome.ended)
        for seed in self.args.shuffle:
            for fixed in self.args.fix:
                outcome = self.launch(["--mode", "shuffle", "--seed", seed, "--fix", fixed,
                                       "--store", f"{store}-{seed}-{fixed}"])
                self.compare(f"{label} shuffle {seed}, fixed: {fixed}", plain, outcome)
        if any(hung for _, hung in self.ended.values()):
            (plain, hung), (other, also) = self.ended[False], self.ended[True]
            print(f"  did not end: {hung} of {plain} launches without the library, {also} of {other} with",
                  file=sys.stderr)


def dynamic_groups():
    """One group for each class of tests that start programs: (name, selection)."""
    found = []
    for module in DYNAMIC:
        with open(os.path.join(tests_directory(), f"{module}.py"), encoding="utf-8") as source:
            for name in re.findall(r"^class (Test\w+)", source.read(), re.MULTILINE):
                found.append((f"spawn {name}", ["-i", module, "-k", f"{module}.{name}."]))
    return found


def tests_directory():
    found = sorted(glob.glob(os.path.join(SUITE, "mpi4py-*", "test")))
    return found[-1] if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 ranks, without the modules that take longest")
    parser.add_argument("--stack", action="append", help="only this MPI (may be repeated)")
    parser.add_argument("--np", type=int, action="append", help="only this number of ranks")
    parser.add_argument("--group", choices=("suite", "spawn"),
                        help="only tests that start no programs, or only those that do")
    parser.add_argument("--include", action="append", help="only modules that match this")
    parser.add_argument("--shuffle", default="", metavar="SEEDS",
                        help="also with ranks in random order, for each of these seeds (1,2,3)")
    parser.add_argument("--fix", default="none", metavar="RANKS",
                        help="with which ranks fixed; none,0: once with none, once with rank 0")
    parser.add_argument("--only-shuffle", action="store_true", help="leave recording out")
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for one launch")
    parser.add_argument("--times", action="store_true", help="print the seconds of each module")
    parser.add_argument("--keep", action="store_true", help="keep the working directory")
    parser.add_argument("--library", help="librankweave.so [default: that of the build]")
    parser.add_argument("--command", help="rankweave [default: that of the build]")
    args = parser.parse_args()
    args.shuffle = [seed for seed in args.shuffle.split(",") if seed]
    args.fix = args.fix.split(",")

    tool = Tool(args.library, args.command)
    missing = tool.missing() or (None if tests_directory() else "the test suite of mpi4py")
    if missing:
        print(f"tests/mpi/suites/conformance.py: {missing} is missing; scripts/setup installs the suite, "
              "scripts/test builds the rest", file=sys.stderr)
        return 2
    start = time.monotonic()
    results = Results(start)
    work = tempfile.mkdtemp(prefix="rankweave-conformance-")
    try:
        for stack in stacks.all_stacks():
            if stack.name not in (args.stack or STACKS):
                continue
            if not stack.available():
                print(f"{stack.name}: not installed (scripts/setup)", file=sys.stderr)
                continue
            left_out = ["-x", UNABLE[stack.name]] if stack.name in UNABLE else []
            if args.include:
                groups = [("chosen", ["-i", "|".join(args.include), *left_out])]
            elif args.quick:
                groups = [("quick", ["-e", "|".join((*DYNAMIC, SLOW)), *left_out])]
            else:
                groups = []
                if args.group != "spawn":
                    groups.append(("suite", ["-e", "|".join(DYNAMIC), *left_out]))
                if args.group != "suite":
                    groups += [(name, [*chosen, *left_out]) for name, chosen in dynamic_groups()]
            for np in args.np or ((2,) if args.quick else (2, 4)):
                for name, selection in groups:
                    directory = os.path.join(work, f"{stack.name}-{np}-{name}".replace(" ", "-"))
                    Group(tool, results, stack, np, selection, directory, args).run(
                        f"mpi4py {name} {stack.name} -n {np}")
    finally:
        if args.keep:
            print(f"kept {work}", file=sys.stderr)
        else:
            shutil.rmtree(work, ignore_errors=True)
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
