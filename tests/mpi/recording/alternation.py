"""Alternates between collective calls that differ only in datatype or reduction operation. The matrix must be
the sum of the matrices of each kind of call alone. Then uses many datatypes, communicators, windows and requests by
turns, whose handles are used again: the program tells what the matrix must be."""

import os
import shlex

from driver import stacks
from recording import churn, expected

NP = 7
CALLS = 5
# Ranks and rounds of the program with many objects.
MANY = ((2, 3), (3, 2), (5, 1))
# Many collective calls that make communicators: slow where processes share processors with others.
TIMEOUT = 240


def by_turns(tool, results, stack, work):
    problem = stack.build("alternate.c")
    if problem:
        results.add(f"{stack.name} compiles alternate.c", [problem])
        return

    def matrix(which):
        store = os.path.join(work, f"turns-{stack.name}-{which}")
        command = stack.launch(NP, {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record",
                                    "RANKWEAVE_STORE": store, "RANKWEAVE_COLLECTIVES": "model"},
                               [stack.program("alternate.c"), which, str(CALLS)])
        outcome = stacks.execute(command, stack.environment())
        path = tool.stored(store)
        if outcome.code != 0 or path is None:
            raise ValueError(f"{shlex.join(command)}: exit code {outcome.code}: {outcome.out[:200]}")
        return tool.matrix(path, "all")

    def total(*parts, less):
        """The sum of matrices, minus the `less` reductions of the verdict that it contains too often."""
        found = {}
        for part in parts:
            for pair, (size, messages) in part.items():
                expected.add(found, *pair, size, messages)
        for pair, (size, messages) in verdict.items():
            entry = found[pair]
            entry[0] -= less * size
            entry[1] -= less * messages
        return {pair: entry for pair, entry in found.items() if entry != [0, 0]}

    try:
        # The program makes one more collective call at its end.
        verdict = matrix("-")
        ints, doubles, ordered = matrix("i"), matrix("d"), matrix("n")
        problems = [] if ints != ordered else ["both operations have the same matrix: choose others"]
        for which, wanted in (("id", total(ints, doubles, less=1)),
                              ("in", total(ints, ordered, less=1)),
                              ("idn", total(ints, doubles, ordered, less=2)),
                              ("fF", total(ints, ordered, less=1))):
            text = expected.difference(matrix(which), wanted)
            if text:
                problems.append(f"{which}: {text}")
    except ValueError as error:
        problems = [str(error)]
    results.add(f"{stack.name} -n {NP} datatypes and operations by turns", problems)


def many_objects(tool, results, stack, work):
    problem = stack.build("many.c")
    if problem:
        results.add(f"{stack.name} compiles many.c", [problem])
        return
    for np, rounds in MANY:
        store = os.path.join(work, f"many-{stack.name}-{np}")
        command = stack.launch(np, {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record",
                                    "RANKWEAVE_STORE": store, "RANKWEAVE_COLLECTIVES": "logical"},
                               [stack.program("many.c"), str(rounds)])
        outcome = stacks.execute(command, stack.environment(), TIMEOUT)
        outcome.command = shlex.join(command)
        path, problems = tool.stored(store), []
        if outcome.code != 0 or path is None:
            problems.append(f"exit code {outcome.code}: {outcome.out[:200]} {outcome.err[:200]}")
        else:
            kinds = (("sent", "p2p"), ("scattered", "collective"), ("moved", "onesided"))
            for word, kind in kinds:
                text = expected.difference(tool.matrix(path, kind), churn.told(outcome.out, word))
                problems += [f"{kind}: {text}"] if text else []
        results.add(f"{stack.name} -n {np} many objects by turns", problems, outcome)
