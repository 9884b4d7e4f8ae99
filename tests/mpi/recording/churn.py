"""Tests exact totals while threads make, use and free MPI objects at random, with races made wide.

The program computes its totals by itself. A second preloaded library sleeps inside the calls that make and
free objects, so that another thread gets a handle while the call that frees it has not returned. Each run
has a seed of its own, which a failure names.
"""

import os
import shlex
import shutil

from driver import stacks
from recording import expected

NP = 2
# (threads, rounds, kinds of objects, runs, runs in the complete test). Messages on communicators that threads
# duplicate, use and free have 100 runs in the complete test; windows that threads meet at the same time as well.
MIXES = ((4, 200, "ccctro", 2, 10), (4, 30, "w", 2, 100), (8, 60, "cctr", 2, 20), (4, 40, "c", 2, 70),
         (3, 60, "tofnge", 2, 34))
TIMEOUT = 120
# A failed run is repeated so often without the library: some MPI libraries fail by chance where threads meet.
TRIES = 20
# The C library overwrites freed memory, so that a use after the free gives wrong results.
FREED = {"MALLOC_PERTURB_": "165"}
SEGMENTATION_FAULT = 139
# The thread that delivers the last message of a communicator reads what Open MPI 4.1.4 knows about the sender once more
# after the receive is complete (mca_pml_ob1_recv_frag_callback_match). Another thread may have freed it by then, in
# MPI_Comm_free: `valgrind --tool=drd --free-is-write=yes --check-stack-var=no` shows this conflict without the library.
# Freed memory is overwritten here, so a launch that reads it crashes: one of 345 launches with the library did, none of
# 245 without it. One such launch of all runs is repeated.
CRASHES_THERE = "mca_pml_ob1"


def told(text, word):
    """The totals that the program printed: (from, to) -> [bytes, messages]."""
    matrix = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [word]:
            expected.add(matrix, int(words[1]), int(words[2]), int(words[3]), int(words[4]))
    return matrix


def run(tool, results, stack, work, full):
    for name in ("churn.c", "libdelay.c"):
        problem = stack.build(name)
        if problem:
            results.add(f"{stack.name} compiles {name}", [problem])
            return
    count = Count()
    for threads, rounds, kinds, short, long in MIXES:
        for seed in range(1, (long if full else short) + 1):
            one(tool, results, stack, work, (threads, rounds, seed, kinds), count)
    print(f"{stack.name}: {count.runs['c']} runs with communicators, {count.runs['w']} with windows: "
          f"{count.lost} of {count.sent} messages lost", flush=True)


class Count:
    """The number of compared runs for each kind of object, and the number of messages in all of them."""

    def __init__(self):
        self.runs, self.sent, self.lost = {"c": 0, "w": 0}, 0, 0
        self.repeated = 0

    def ran(self, kinds):
        for kind in self.runs:
            self.runs[kind] += kind in kinds

    def compare(self, sent, counted):
        for pair, (_, messages) in sent.items():
            self.sent += messages
            self.lost += max(messages - counted.get(pair, (0, 0))[1], 0)


def crashed_there(outcome):
    """Whether the function that crashed is in that component. Open MPI prints the stack; frame 0 is its own handler."""
    crashed = [line for line in (outcome.err + outcome.out).splitlines() if "[ 1]" in line]
    return outcome.code == SEGMENTATION_FAULT and any(CRASHES_THERE in line for line in crashed)


def one(tool, results, stack, work, arguments, count):
    words = [str(argument) for argument in arguments]
    label = f"{stack.name} churn {' '.join(words)}"
    directory = os.path.join(work, label.replace(" ", "-"))
    store = os.path.join(directory, "store")
    os.makedirs(directory)
    preload = f"{tool.library}:{stack.program('libdelay.c')}"
    command = stack.launch(NP, {"LD_PRELOAD": preload, "RANKWEAVE_MODE": "record",
                                "RANKWEAVE_STORE": store, **FREED},
                           [stack.program("churn.c"), *words])
    outcome = stacks.execute(command, stack.environment(), TIMEOUT, cwd=directory)
    if stack.openmpi and crashed_there(outcome) and not count.repeated:
        count.repeated += 1
        print(f"{label}: crashed in {CRASHES_THERE}, and is repeated", flush=True)
        shutil.rmtree(store, ignore_errors=True)
        outcome = stacks.execute(command, stack.environment(), TIMEOUT, cwd=directory)
    outcome.command = shlex.join(command)
    problems = []
    path = tool.stored(store)
    if outcome.code != 0 or path is None or "FAIL" in outcome.out:
        without = stack.launch(NP, {"LD_PRELOAD": stack.program("libdelay.c"), **FREED},
                               [stack.program("churn.c"), *words])
        for _ in range(TRIES):
            plain = stacks.execute(without, stack.environment(), TIMEOUT, cwd=directory)
            if plain.code != 0 or "FAIL" in plain.out:
                results.skip(label, f"fails without the library: {plain.out[:100]} {plain.err[:100]}")
                return
        problems.append(f"exit code {outcome.code}: {outcome.out[:200]} {outcome.err[:300]}")
    else:
        for word, kind in (("sent", "p2p"), ("put", "onesided")):
            counted, sent = tool.matrix(path, kind), told(outcome.out, word)
            text = expected.difference(counted, sent)
            problems += [f"{kind}: {text}"] if text else []
            count.compare(sent, counted)
        count.ran(arguments[3])
    shutil.rmtree(directory, ignore_errors=True)
    results.add(label, problems, outcome)
