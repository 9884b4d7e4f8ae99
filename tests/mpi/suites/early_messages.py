#!/usr/bin/env python3
"""How often Open MPI crashes in MPI_Init under srun: without the library and with it, in turn.

Slurm's plugin for PMIx lets processes of Open MPI leave MPI_Init while others still wait in it. A message that arrives
there ends the receiver (docs/decisions/0102-pause-before-the-first-message.md). The program late_message.c sends nothing
for a while, so only messages of the library could do that. The launches take place on an emulated cluster, with the
fence of PMIx that Slurm chooses by itself. A busy machine makes crashes more likely.

The last line says how many launches failed. The exit code is 1 if more failed with the library than without it, by more
than chance explains (p < 1 %, as in hangs.py), or if nothing was recorded. It is 2 if nothing was measured, also because
every launch without the library failed.
"""

import argparse
import glob
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from driver import stacks  # noqa: E402
from driver.checks import Tool  # noqa: E402
from reordering import slurm  # noqa: E402
from suites.hangs import chance  # noqa: E402

SOURCE = "late_message.c"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stack", default="openmpi4", choices=["openmpi4", "openmpi5"])
    parser.add_argument("--rounds", type=int, default=60, help="launches of each kind")
    parser.add_argument("--library", help="librankweave.so [default: that of the build]")
    parser.add_argument("--command", help="rankweave [default: that of the build]")
    args = parser.parse_args()
    tool = Tool(args.library, args.command)
    stack = next(s for s in stacks.all_stacks() if s.name == args.stack)
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in slurm.MISSING if not shutil.which(name, path=path)]
    missing = tool.missing() or (None if stack.available() else args.stack) or (absent and "Slurm") or stack.build(SOURCE)
    if missing:
        print(f"tests/mpi/suites/early_messages.py: {missing} is missing; scripts/setup --slurm installs Slurm, "
              "scripts/test builds the rest", file=sys.stderr)
        return 2
    work = tempfile.mkdtemp(prefix="rankweave-early-")
    try:
        with slurm.Cluster(work) as cluster:
            if cluster.why_not or cluster.problems:
                print(cluster.why_not or cluster.problems[0], file=sys.stderr)
                return 2
            return compare(slurm.Launches(tool, None, stack, cluster), args.rounds)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def compare(launches, rounds):
    """Runs the launches by turns; returns the exit code."""
    program = launches.srun("-N", str(slurm.HOSTS), "-n", str(slurm.NP), launches.stack.program(SOURCE))
    store = launches.store("early")
    ways = {"without the library": program, "with it": [*launches.prefix(store, "--mode", "record"), *program]}
    failed = dict.fromkeys(ways, 0)
    for at in range(rounds):
        for name, command in ways.items():
            outcome = launches.execute(["env", "-u", "SLURM_PMIX_FENCE", *command])
            if outcome.code or "ok" not in outcome.out.split():
                failed[name] += 1
                last = outcome.err.strip().splitlines()[-1:]
                print(f"round {at + 1}, {name}: exit code {outcome.code} {' '.join(last)}", flush=True)
    p = chance(failed["without the library"], rounds, failed["with it"], rounds)
    print("; ".join(f"{name}: {count} of {rounds} launches failed" for name, count in failed.items()) + f"; p = {p:.3f}")
    if failed["without the library"] == rounds:
        print("no launch without the library ended well: nothing was measured", file=sys.stderr)
        return 2
    if not glob.glob(os.path.join(store, "*.rkw")):
        print("with the library, nothing was recorded", file=sys.stderr)
        return 1
    return 1 if p < 0.01 else 0


if __name__ == "__main__":
    sys.exit(main())
