#!/usr/bin/env python3
"""How often mpi4py's tests that start programs do not end: without the library and with it, in turn.

With PMIx 4 MPI_Comm_spawn of Open MPI 4 hangs now and then without any tool (openpmix#2735): of the
processes that start, one gets no answer from the launcher in PMIx_Init. tests/mpi/suites/conformance.py gives
such launches more attempts, which says nothing about whether the library makes it happen more often.
Here each launch with the library (recording, ranks in random order with none and with rank 0 fixed) has
one without it right before or after it, in random order. A time in which the machine is slow
therefore affects both. `--steadier` compares in the same way launches without the library with those that have the
variables of conformance.py that make hangs rarer.

For each class, with and without the library, the script prints the number of launches and how many of them
did not end in time. At the end it prints the probability of a difference at least as large as the one seen,
if the library has no effect (Fisher's exact test, one side). The exit code is 1 if this probability is below
1 %, or if a launch failed in another way than by not ending; it is 2 if nothing was measured.

Limits: r is the rate of launches that do not end. With n launches on each side, a rise of r by less than about
2.5 sqrt(2 r (1 - r) / n) is not detected. A launch that would have ended after the time limit counts as one
that does not end.
"""

import argparse
import glob
import math
import os
import random
import shutil
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from driver import stacks  # noqa: E402
from driver.checks import Tool  # noqa: E402
from suites import conformance  # noqa: E402

PLAIN = "without"
STEADIER = "without, steadier"


def ways(seed, store, steadier=False):
    """What is compared: name → options of `rankweave run`, None without it."""
    if steadier:
        return {PLAIN: None, STEADIER: None}
    shuffle = ["--mode", "shuffle", "--seed", str(seed)]
    return {
        PLAIN: None,
        "record": ["--mode", "record", "--store", f"{store}-record"],
        "shuffle": [*shuffle, "--fix", "none", "--store", f"{store}-none"],
        "shuffle, rank 0 fixed": [*shuffle, "--fix", "0", "--store", f"{store}-0"],
    }


def chance(hung, launches, other_hung, other_launches):
    """How likely it is that at least `other_hung` of the hangs fall on the other launches by chance.

    >>> chance(0, 3, 0, 3), chance(0, 3, 3, 3), round(chance(1, 10, 7, 10), 4)
    (1.0, 0.05, 0.0099)
    """
    total, hangs = launches + other_launches, hung + other_hung
    of_all = math.comb(total, hangs)
    return sum(math.comb(other_launches, n) * math.comb(launches, hangs - n)
               for n in range(other_hung, min(hangs, other_launches) + 1)) / of_all


def amiss(name, way, outcome, with_it, store):
    """What is wrong with a launch that ended: a list of sentences."""
    found = []
    if outcome.ended.code or outcome.unfinished:
        found.append(f"{name} {way}: exit code {outcome.ended.code}, not over: {outcome.unfinished}")
    if with_it and not glob.glob(os.path.join(f"{store}*", "*.rkw")):
        found.append(f"{name} {way}: nothing was stored")
    return found


def rows(tally):
    """Sums of the tally for the ways: way → [launches, hung].

    >>> rows({("A", "without"): (5, 1), ("A", "record"): (4, 0), ("B", "without"): (2, 1)})
    {'without': [7, 2], 'record': [4, 0]}
    """
    found = {}
    for (_, way), (launches, hung) in tally.items():
        row = found.setdefault(way, [0, 0])
        row[0] += launches
        row[1] += hung
    return found


def report(tally):
    """Prints the table and the verdict; returns the exit code."""
    for (name, way), (launches, hung) in sorted(tally.items()):
        print(f"{name:32} {way:22} {hung:3} of {launches:3} did not end")
    sums = rows(tally)
    for way, (launches, hung) in sums.items():
        print(f"{'all':32} {way:22} {hung:3} of {launches:3} did not end")
    launches, hung = sums.pop(PLAIN)
    other = [sum(row[i] for row in sums.values()) for i in (0, 1)]
    if STEADIER in sums:
        p = chance(other[1], other[0], hung, launches)
        print(f"as they are {hung} of {launches}, steadier {other[1]} of {other[0]}: p = {p:.3f}")
        return 0
    p = chance(hung, launches, other[1], other[0])
    print(f"without the library {hung} of {launches}, with it {other[1]} of {other[0]}: "
          f"p = {p:.3f}{', more with the library' if p < 0.01 else ''}")
    return 1 if p < 0.01 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stack", default="openmpi4", choices=conformance.STACKS)
    parser.add_argument("--np", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=0, help="stop after these, whatever the rounds")
    parser.add_argument("--limit", type=int, default=20, help="seconds after which a launch counts as hung")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--class", dest="classes", action="append",
                        help="only classes whose name contains this (may be repeated)")
    parser.add_argument("--steadier", action="store_true",
                        help="compare without the library: as it is, and with what makes hangs rarer")
    parser.add_argument("--library", help="librankweave.so [default: that of the build]")
    parser.add_argument("--command", help="rankweave [default: that of the build]")
    args = parser.parse_args()
    tool = Tool(args.library, args.command)
    stack = next(s for s in stacks.all_stacks() if s.name == args.stack)
    missing = tool.missing() or (None if conformance.tests_directory() else "the test suite of mpi4py")
    missing = missing or (None if stack.available() else args.stack)
    if missing:
        print(f"tests/mpi/suites/hangs.py: {missing} is missing; scripts/setup installs the suite and the MPIs, "
              "scripts/test builds the rest", file=sys.stderr)
        return 2
    groups = [(name, chosen) for name, chosen in conformance.dynamic_groups()
              if not args.classes or any(c in name for c in args.classes)]
    if not groups:
        print(f"tests/mpi/suites/hangs.py: no class of tests contains {' or '.join(args.classes or [])}; there are "
              f"{', '.join(name for name, _ in conformance.dynamic_groups())}", file=sys.stderr)
        return 2
    work = tempfile.mkdtemp(prefix="rankweave-hangs-")
    tally, begin, order = {}, time.monotonic(), random.Random(args.seed)
    options = types.SimpleNamespace(timeout=args.limit)
    problems = []
    try:
        for round_ in range(args.rounds):
            pairs = [(name, chosen, way) for name, chosen in groups
                     for way in ways(0, "", args.steadier) if way != PLAIN]
            order.shuffle(pairs)
            for name, chosen, other in pairs:
                if args.minutes and time.monotonic() - begin > 60 * args.minutes:
                    break
                for way in order.sample((PLAIN, other), 2):
                    print(f"[{time.monotonic() - begin:5.0f}s] round {round_ + 1} {name} {way}",
                          file=sys.stderr, flush=True)
                    # Each launch has a folder of its own, so that it does not see what a killed launch left behind.
                    folder = tempfile.mkdtemp(dir=work)
                    store = os.path.join(folder, "store")
                    group = conformance.Group(tool, None, stack, args.np, chosen, folder, options)
                    if way != STEADIER:
                        group.variables = {}
                    run = ways(args.seed + round_, store, args.steadier)[way]
                    outcome = group.attempt(run)
                    row = tally.setdefault((name, way), [0, 0])
                    row[0] += 1
                    row[1] += outcome.ended.timed_out
                    if not outcome.ended.timed_out:
                        problems += amiss(name, way, outcome, run is not None, store)
                    shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for problem in problems:
        print(problem)
    launches, hung = rows(tally).get(PLAIN, (0, 0))
    if launches == hung:
        print("tests/mpi/suites/hangs.py: no launch without the library ended: nothing is measured",
              file=sys.stderr)
        return 2
    return report(tally) or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
