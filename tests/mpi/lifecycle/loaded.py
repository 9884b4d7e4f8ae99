"""Tests programs that load their MPI library while they run (mpi4py) with `rankweave run`, programs that load a part
of it late, and programs that look all functions up by name.

The command finds out which MPI library the program will load and tells it to the preloaded library. The
preloaded library then wraps exactly the functions of that MPI library: newer functions are counted, and ranks
can be reordered. Without the command only the functions of MPI 3.1 are seen. The ranks are then not
reordered, and one line says so.
"""

import os
import shlex
import sys

from driver import stacks
from driver.checks import own_lines
from recording import expected

NP = 4
PYTHON = os.path.join(stacks.CACHE, "mpi4py", "bin", "python")


def late(tool, results, stack, work):
    """A program in C that loads the MPI library's Fortran functions, which it was not linked with: the
    library does not see calls through them, so it must not reorder. Any other library changes nothing."""
    fortran = [file for file in stack.libraries()[1:] if os.path.exists(file)]
    problem = stack.build("late_library.c")
    if problem:
        results.add(f"{stack.name} compiles late_library.c", [problem])
        return
    for file in [*fortran, "libz.so.1", None]:
        store = os.path.join(work, f"late-{stack.name}-{file and os.path.basename(file)}")
        settings = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store, "RANKWEAVE_SPILL": work,
                    "RANKWEAVE_MODE": "shuffle", "RANKWEAVE_FIX": "none", "RANKWEAVE_SEED": "2"}
        command = stack.launch(NP, settings, [stack.program("late_library.c"), *([file] if file else [])])
        outcome = stacks.execute(command, stack.environment())
        outcome.command = shlex.join(command)
        problems = []
        if (outcome.code, outcome.out) != (0, "ok late_library\n"):
            problems.append(f"code {outcome.code}, output {outcome.out!r}")
        said = outcome.err.strip()
        if ("not all of its MPI calls reach this library" in said) != (file in fortran) or (said and file not in fortran):
            problems.append(f"standard error: {said[:300]!r}")
        path = tool.stored(store)
        facts = tool.facts(path) if path else {}
        if facts.get("reordered") is not (file not in fortran):
            problems.append(f"reordered: {facts.get('reordered')!r}: {facts.get('decision')!r}")
        elif path:
            text = expected.difference(tool.matrix(path, "p2p"), expected.ring(NP, 100, 10))
            problems += [f"matrix: {text}"] if text else []
        results.add(f"{stack.name} loads {file and os.path.basename(file)} late", problems, outcome)


def by_name(tool, results, stack, work):
    """A program without any link to MPI, which looks all functions up by the handle of the library. Nothing leads to
    the library under test: such a launch is neither recorded nor changed."""
    if stack.emulated or stack.name.endswith("abi"):
        results.skip(f"{stack.name} functions by name", "the program knows the handles of other libraries, and runs "
                     "on this processor only")
        return
    for way in ("local", "global"):
        program = [sys.executable, "-B", stacks.source("looked_up.py"), stack.libmpi(), way]
        store = os.path.join(work, f"by-name-{stack.name}-{way}")
        settings = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store, "RANKWEAVE_MODE": "shuffle",
                    "RANKWEAVE_FIX": "none", "RANKWEAVE_SEED": "2"}
        outcome = stacks.execute(stack.launch(NP, settings, program), stack.environment())
        outcome.command = shlex.join(stack.launch(NP, settings, program))
        problems = []
        if (outcome.code, outcome.out, outcome.err) != (0, "ok looked_up\n", ""):
            problems.append(f"code {outcome.code}, output {outcome.out!r}, {outcome.err[:200]!r}")
        results.add(f"{stack.name} functions by name, {way}", problems, outcome)


def late_tool(tool, results, stack, work):
    """A tool that comes after MPI_Init and looks the functions of the MPI library up: it and the library under test must
    not call each other for ever."""
    if stack.emulated:
        results.skip(f"{stack.name} late tool", "the program runs on this processor only")
        return
    for source in ("libmpi_helper.c", "libforward.c"):
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    program = [sys.executable, "-B", stacks.source("late_tool.py"), stack.program("libmpi_helper.c"),
               stack.program("libforward.c")]
    for mode in ("record", "shuffle"):
        store = os.path.join(work, f"late-tool-{stack.name}-{mode}")
        settings = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store, "RANKWEAVE_MODE": mode,
                    "RANKWEAVE_FIX": "none", "RANKWEAVE_SEED": "2"}
        command = stack.launch(NP, settings, program)
        outcome = stacks.execute(command, stack.environment())
        outcome.command = shlex.join(command)
        problems = []
        if (outcome.code, outcome.out) != (0, "ok late_tool\n"):
            problems.append(f"code {outcome.code}, output {outcome.out!r}, {outcome.err[:200]!r}")
        path = tool.stored(store)
        text = expected.difference(tool.matrix(path, "p2p"), expected.ring(NP, 100, 5)) if path else (
            "nothing was stored")
        problems += [f"matrix: {text}"] if text else []
        results.add(f"{stack.name} late tool, {mode}", problems, outcome)


def programs(tool, results, stack, work):
    late(tool, results, stack, work)
    late_tool(tool, results, stack, work)
    by_name(tool, results, stack, work)
    if stack.name not in ("openmpi4", "openmpi5", "mpich5"):
        return
    if not os.path.exists(PYTHON):
        results.skip(f"{stack.name} mpi4py", "not installed (scripts/setup)")
        return
    program = [PYTHON, "-B", stacks.source("ring_loaded.py")]
    environment = dict(stack.environment(), RANKWEAVE_LIBRARY=tool.library,
                       MPI4PY_LIBMPI=stack.libmpi())
    variables = {"MPI4PY_LIBMPI": stack.libmpi()}
    store = os.path.join(work, f"loaded-{stack.name}")

    def launch(*options, direct=None):
        command = stack.launch(NP, {**variables, **(direct or {})}, program)
        if direct is None and options:
            command = [tool.command, "run", "--store", store, *options, "--", *command]
        outcome = stacks.execute(command, environment)
        outcome.command = shlex.join(command)
        return outcome

    plain = launch()
    if plain.code != 0 or not plain.out.startswith("ok ring"):
        results.skip(f"{stack.name} mpi4py", f"fails without the library: {plain.err.strip()[:200]}")
        return
    # With partitions each neighbour also gets the 100 bytes of a partitioned send, which has two.
    partitions = int(plain.out.split()[3])
    wanted = expected.ring(NP, 100, 10)
    if partitions:
        wanted = {pair: (bytes_ + 100, messages + partitions)
                  for pair, (bytes_, messages) in wanted.items()}

    def check(name, outcome, err=None, matrix=wanted):
        problems = []
        if (outcome.code, outcome.out) != (plain.code, plain.out):
            problems.append(f"code {outcome.code}, output {outcome.out!r}; without the library "
                            f"{plain.code}, {plain.out!r}")
        own = own_lines(outcome.err)
        if err is None and own or err is not None and not (len(own) == 1 and err in own[0]):
            problems.append(f"standard error: {own[:3]}")
        path = tool.stored(store)
        if path is None:
            problems.append("nothing was stored")
        elif matrix is not None:
            text = expected.difference(tool.matrix(path, "p2p"), matrix)
            problems += [f"matrix: {text}"] if text else []
        results.add(f"{stack.name} mpi4py {name}", problems, outcome)

    check("record", launch("--mode", "record"))
    check("shuffle", launch("--mode", "shuffle", "--seed", "2", "--fix", "none"))
    outcome = launch("--mode", "reorder", "--topology", "tree:2:2@1:10", "--slots", "0,2,1,3",
                     "--min-gain", "0")
    check("reorder", outcome)
    path = tool.stored(store)
    facts = tool.facts(path) if path else {}
    results.add(f"{stack.name} mpi4py is reordered", [] if facts.get("reordered") else
                [f"not reordered: {facts.get('decision')!r}"], outcome)
    # If the command names another MPI library, the preloaded library says so, and the job runs normally.
    if stack.name == "openmpi4":
        return
    outcome = launch(direct={"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store,
                             "RANKWEAVE_MODE": "shuffle"})
    check("without the command", outcome, err="not all of its MPI calls reach this library", matrix=None)
