"""Tests programs that are listed in a file for the launcher (`mpirun --app FILE`, `mpiexec -configfile FILE`).

Each launcher has its own way to pass variables to these programs, and `rankweave run` uses it. If a file
for Open MPI 4 sets variables itself, the launcher accepts no others, and the programs run without the
library.
"""

import os
import shlex

from driver import stacks
from driver.checks import own_lines
from recording import expected

NP = 4


def of_launcher(tool, results, stack, work):
    if stack.name not in ("openmpi4", "openmpi5", "mpich4", "mpich43", "mpich5"):
        return
    problem = stack.build("ring.c")
    if problem:
        results.add(f"{stack.name} compiles ring.c", [problem])
        return
    own = ["-x", "OWN=1"] if stack.openmpi else ["-env", "OWN", "1"]
    launch(tool, results, stack, work, "programs in a file", [])
    launch(tool, results, stack, work, "programs in a file with variables", own,
           recorded=stack.name != "openmpi4")


def launch(tool, results, stack, work, name, own, recorded=True):
    path = os.path.join(work, f"file-{stack.name}-{len(own)}")
    store = path + ".store"
    program = shlex.join([stack.program("ring.c"), "send"])
    with open(path, "w", encoding="utf-8") as file:
        for np in (1, NP - 1):
            file.write(f"{' '.join(['-n', str(np), *own])} {program}\n")
    option = "--app" if stack.openmpi else "-configfile"
    full = [tool.command, "run", "--store", store, "--mode", "record", "--",
            *stack.launch(NP, {}, [option, path])]
    # A number of ranks before the file would count for its first program.
    full = [word for word in full if word not in ("-n", "-np", str(NP))]
    outcome = stacks.execute(full, dict(stack.environment(), RANKWEAVE_LIBRARY=tool.library))
    outcome.command = shlex.join(full)
    problems = []
    if (outcome.code, outcome.out) != (0, "ok send\n"):
        problems.append(f"code {outcome.code}, output {outcome.out!r}")
    said = own_lines(outcome.err)
    if said:
        problems.append(f"standard error: {said[:3]}")
    stored = tool.stored(store)
    if recorded:
        text = expected.difference(tool.matrix(stored, "p2p"), expected.ring(NP)) if stored else (
            "nothing was stored")
        problems += [f"matrix: {text}"] if text else []
    results.add(f"{stack.name} {name}", problems, outcome)
