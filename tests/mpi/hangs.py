#!/usr/bin/env python3
"""How often mpi4py's tests that start programs do not end: without the library and with it, in turn.

With PMIx 4 MPI_Comm_spawn of Open MPI 4 hangs now and then without any tool: of processes that start, one
gets no answer from the launcher in PMIx_Init (openpmix#2735, #2967). tests/mpi/conformance.py gives
such launches more attempts, which says nothing about whether the library makes it happen more often.
Here each launch with the library (recording, ranks in random order with none and with rank 0 fixed) has
one without it right before or after it, in random order, so that a spell in which the machine is slow
falls on both.

Printed are, for each class and way, the launches and those that did not end in time, and at the end
how likely a difference as large as the one seen is if there is none (Fisher's exact test, one side).
Exit code 1 if that is below 1 %.

Limits: says nothing of rates below one in the number of launches; a launch that would have ended after
the limit counts as one that did not.
"""

import argparse
import math
import os
import random
import shutil
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import conformance  # noqa: E402
import stacks  # noqa: E402
from checks import Tool  # noqa: E402

PLAIN = "without"


def ways(seed, store):
    """What is compared: name → options of `rankweave run`, None without it."""
    shuffle = ["--mode", "shuffle", "--seed", str(seed)]
    return {
        PLAIN: None,
        "record": ["--mode", "record", "--store", f"{store}-record"],
        "shuffle": [*shuffle, "--fix", "none", "--store", f"{store}-none"],
        "shuffle, rank 0 fixed": [*shuffle, "--fix", "0", "--store", f"{store}-0"],
    }


def chance(hung, launches, other_hung, other_launches):
    """How likely it is that at least `other_hung` of the hangs fall on the other launches by chance."""
    total, hangs = launches + other_launches, hung + other_hung
    of_all = math.comb(total, hangs)
    return sum(math.comb(other_launches, n) * math.comb(launches, hangs - n)
               for n in range(other_hung, min(hangs, other_launches) + 1)) / of_all


def rows(tally):
    """Sums of the tally for the ways: way → [launches, hung]."""
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
    parser.add_argument("--library", help="librankweave.so [default: that of the build]")
    parser.add_argument("--command", help="rankweave [default: that of the build]")
    args = parser.parse_args()
    tool = Tool(args.library, args.command)
    stack = next(s for s in stacks.all_stacks() if s.name == args.stack)
    missing = tool.missing() or (None if conformance.tests_directory() else "the test suite of mpi4py")
    missing = missing or (None if stack.available() else args.stack)
    if missing:
        print(f"tests/mpi/hangs.py: {missing} is missing; scripts/setup installs the suite and the MPIs, "
              "scripts/test builds the rest", file=sys.stderr)
        return 2
    groups = [(name, chosen) for name, chosen in conformance.dynamic_groups()
              if not args.classes or any(c in name for c in args.classes)]
    if not groups:
        print(f"tests/mpi/hangs.py: no class of tests contains {' or '.join(args.classes)}; there are "
              f"{', '.join(name for name, _ in conformance.dynamic_groups())}", file=sys.stderr)
        return 2
    work = tempfile.mkdtemp(prefix="rankweave-hangs-")
    tally, begin, order = {}, time.monotonic(), random.Random(args.seed)
    options = types.SimpleNamespace(timeout=args.limit)
    try:
        for round_ in range(args.rounds):
            pairs = [(name, chosen, way) for name, chosen in groups
                     for way in ways(0, "") if way != PLAIN]
            order.shuffle(pairs)
            jobs = [(name, chosen, one) for name, chosen, way in pairs
                    for one in order.sample((PLAIN, way), 2)]
            for name, chosen, way in jobs:
                if args.minutes and time.monotonic() - begin > 60 * args.minutes:
                    break
                # A folder for each launch: nothing of one that was ended is seen by the next.
                folder = tempfile.mkdtemp(dir=work)
                group = conformance.Group(tool, None, stack, args.np, chosen, folder, options)
                group.variables = {}
                chosen_way = ways(args.seed + round_, os.path.join(folder, "store"))[way]
                print(f"[{time.monotonic() - begin:5.0f}s] round {round_ + 1} {name} {way}",
                      file=sys.stderr, flush=True)
                outcome = group.attempt(chosen_way)
                row = tally.setdefault((name, way), [0, 0])
                row[0] += 1
                row[1] += bool(outcome.unfinished)
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if PLAIN not in rows(tally) or len(rows(tally)) < 2:
        print("tests/mpi/hangs.py: not one launch of each kind in this time", file=sys.stderr)
        return 2
    return report(tally)


if __name__ == "__main__":
    sys.exit(main())
