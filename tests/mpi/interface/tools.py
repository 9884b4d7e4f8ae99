"""Runs another PMPI tool together with the library. Both must count the traffic of the program.

A PMPI tool defines `MPI_X` and calls `PMPI_X`, so libraries behind it do not see the call. If the library
is in front, it passes each call on to the tool (by itself, or with RANKWEAVE_CHAIN=1), and both count
everything, also with permuted ranks. If the tool is in front, the library does not see its calls. It
then does not reorder, whatever the settings are, and says so if it sees the start of the job.
`rankweave run` puts the library in front.

A library that calls `PMPI_X` without being such a tool would see the launcher's ranks in a launch with another rank order.
Such a program keeps the launcher's order, and one line says why.
"""

import os
import shlex
import subprocess

from driver import stacks
from driver.checks import own_lines
from recording import expected

NP = 4
MESSAGES = 10


def build(stack, work, *flags):
    target = os.path.join(work, f"pmpi_tool-{stack.name}{''.join(flags)}.so")
    done = subprocess.run([stack.compiler, *stacks.C_FLAGS, *flags, "-shared", "-fPIC", "-o", target,
                           stacks.source("pmpi_tool.c")],
                          capture_output=True, text=True, check=False)
    return target, done.stderr if done.returncode else None


def direct(tool, results, stack, work):
    """A library of the program that calls functions under their profiling names."""
    for source in ("direct.c", "libdirect.c"):
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    for mode in ("record", "shuffle"):
        store = os.path.join(work, f"direct-{stack.name}-{mode}")
        settings = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store, "RANKWEAVE_MODE": mode,
                    "RANKWEAVE_FIX": "none", "RANKWEAVE_SEED": "2"}
        command = stack.launch(NP, settings, [stack.program("direct.c")])
        outcome = stacks.execute(command, stack.environment())
        outcome.command = shlex.join(command)
        problems, said = [], own_lines(outcome.err)
        if (outcome.code, outcome.out) != (0, "ok direct\n"):
            problems.append(f"code {outcome.code}, output {outcome.out!r}")
        line = "libdirect.so calls MPI functions by their names PMPI_"
        if len(said) != (mode == "shuffle") or said and line not in said[0]:
            problems.append(f"standard error: {said[:3]}")
        path = tool.stored(store)
        text = expected.difference(tool.matrix(path, "p2p"), expected.ring(NP, 4, 1)) if path else "nothing was stored"
        problems += [f"matrix: {text}"] if text else []
        results.add(f"{stack.name} library with PMPI calls, {mode}", problems, outcome)


def beside(tool, results, stack, work):
    direct(tool, results, stack, work)
    if stack.name not in ("openmpi4", "openmpi5", "mpich4", "mpich43", "mpich5"):
        return
    other, problem = build(stack, work)
    part, problem_of_part = build(stack, work, "-DWITHOUT_INIT")
    problem = problem or problem_of_part or stack.build("ring.c")
    if problem:
        results.add(f"{stack.name} compiles pmpi_tool.c", [problem])
        return
    program = [stack.program("ring.c"), "send"]
    environment = stack.environment()

    def launch(name, preload, line=None, recorded=True, init=1, command=None, **settings):
        store = os.path.join(work, f"tools-{stack.name}-{name}".replace(" ", "-"))
        out = store + ".out"
        variables = {"PMPI_TOOL_OUT": out, "RANKWEAVE_STORE": store, "RANKWEAVE_MODE": "record",
                     **settings}
        if command:
            full = [tool.command, "run", "--", *stack.launch(NP, {**variables, "LD_PRELOAD": other},
                                                            program)]
        else:
            full = stack.launch(NP, {**variables, "LD_PRELOAD": preload}, program)
        outcome = stacks.execute(full, dict(environment, RANKWEAVE_LIBRARY=tool.library, **(
            {k: v for k, v in variables.items() if k.startswith("RANKWEAVE_")} if command else {})))
        outcome.command = shlex.join(full)
        problems = []
        if (outcome.code, outcome.out) != (0, "ok send\n"):
            problems.append(f"code {outcome.code}, output {outcome.out!r}")
        said = own_lines(outcome.err)
        if line is None and said or line is not None and not (len(said) == 1 and line in said[0]):
            problems.append(f"standard error: {said[:3]}")
        # Each rank: MPI_Init once, a ring of ten sends, one reduction of what was wrong.
        counted = sorted(open(out, encoding="utf-8").read().splitlines()) if (
            os.path.exists(out)) else []
        if counted != [f"{rank} {init} {MESSAGES} 1" for rank in range(NP)]:
            problems.append(f"the other tool counted {counted}")
        path = tool.stored(store)
        if recorded:
            text = expected.difference(tool.matrix(path, "p2p"), expected.ring(NP)) if path else (
                "nothing was stored")
            problems += [f"matrix: {text}"] if text else []
        results.add(f"{stack.name} PMPI tool {name}", problems, outcome)
        return path

    first, last = f"{tool.library}:{other}", f"{other}:{tool.library}"
    launch("behind", first)
    launch("behind chain 1", first, RANKWEAVE_CHAIN="1")
    launch("behind shuffled", first, RANKWEAVE_MODE="shuffle", RANKWEAVE_FIX="none",
           RANKWEAVE_SEED="2")
    launch("in front", last, recorded=False)
    launch("in front shuffled", last, recorded=False, RANKWEAVE_MODE="shuffle",
           RANKWEAVE_FIX="none", RANKWEAVE_SEED="2")
    # With this tool the library sees MPI_Init and other calls, but not the sends. With permuted ranks the
    # messages would go to wrong ranks, and the program would report it.
    last = f"{part}:{tool.library}"
    launch("in part in front", last, line="receives MPI calls before this library", init=0, recorded=False)
    launch("in part in front shuffled", last, line="receives MPI calls before this library", init=0, recorded=False,
           RANKWEAVE_MODE="shuffle", RANKWEAVE_FIX="none", RANKWEAVE_SEED="2")
    launch("with the command", None, command=True)
