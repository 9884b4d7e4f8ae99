"""Alternates between collective calls that differ only in datatype or reduction operation. The matrix must be
the sum of the matrices of each kind of call alone."""

import os
import shlex

from driver import stacks
from recording import expected

NP = 7
CALLS = 5


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
        """The sum of matrices without the `less` verdicts that are in it too often."""
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
