"""The functions of include/rankweave.h and rankweave.f90, from C, C++ and Fortran.

The topology is given, and the pairs of ranks that communicate are in different halves of it, so the traffic
requires a new order. The ranks must change. They must not change in mode `off` and without the library. The
stored matrix must be exact in every launch.
"""

import os
import re
import shlex
import shutil
import subprocess

from driver import stacks
from recording import expected

NP = 4
INCLUDE = os.path.join(stacks.ROOT, "include")
EXAMPLE = os.path.join(stacks.ROOT, "examples", "adaptive-stencil", "adaptive_stencil.c")
# Processes k and k + 1 in different halves.
SLOTS = ",".join(str(k // 2 + NP // 2 * (k % 2)) for k in range(NP))


def compiled(stack, name, sources, compiler, *options):
    """Path of the program, or what the compiler says."""
    folder = stack.folder()
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, name)
    command = [*compiler, *options, "-o", target, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (target, None) if done.returncode == 0 else (None, f"{shlex.join(command)}: {done.stderr}")


def programs(stack):
    """(name, command or None, what went wrong); languages that the MPI has."""
    c_flags = [*stacks.C_FLAGS, "-Werror", "-I", INCLUDE, "-I", stacks.INCLUDE]
    # In this executable the weak reference to the library is null, so only MPI_Pcontrol can reach it.
    yield "fixed", *compiled(stack, "api_fixed", [stacks.source("api.c")], stack.compiler_command(), *c_flags,
                             "-fno-pie", "-no-pie")
    yield "example", *compiled(stack, "adaptive_stencil", [EXAMPLE], stack.compiler_command(), "-O2",
                               *c_flags)
    plus = stack.compiler.replace("mpicc", "mpicxx")
    if plus != stack.compiler and shutil.which(plus) and shutil.which("g++"):
        yield "plus", *compiled(stack, "api_plus", [stacks.source("api_plus.cpp")], [plus], "-O1", "-Wall",
                                "-Wextra", "-I", INCLUDE)
    if stack.fortran and shutil.which(stack.fortran) and "f08" in stack.bindings():
        folder = stack.folder()
        for name in ("api_mpi", "api_f08"):
            yield name, *compiled(stack, name, [os.path.join(INCLUDE, "rankweave.f90"),
                                                stacks.source(name + ".f90")],
                                  stack.fortran_command(), "-O1", "-Wall", "-J", folder)


def run(tool, results, stack, work):
    problem = stack.build("api.c")
    if problem:
        results.add(f"{stack.name} compiles api.c", [problem])
        return
    directory = os.path.join(work, f"api-{stack.name}")
    os.makedirs(directory)
    environment = dict(stack.environment(), TMPDIR=directory)

    def launch(label, mode, command, *wanted, matrix=None, slots=SLOTS):
        """One launch: `wanted` are patterns of the output; `mode` None: without the library."""
        store = os.path.join(directory, re.sub(r"\W", "-", label))
        variables = {} if mode is None else {
            "LD_PRELOAD": tool.library, "RANKWEAVE_MODE": mode, "RANKWEAVE_STORE": store,
            "RANKWEAVE_SPILL": directory, "RANKWEAVE_TOPOLOGY": "tree:2:2@1:10",
            "RANKWEAVE_SLOTS": slots, "RANKWEAVE_FIX": "none"}
        command = stack.launch(NP, variables, command)
        outcome = stacks.execute(command, environment, 120)
        outcome.command = shlex.join(command)
        problems = []
        if outcome.timed_out or outcome.code != 0 or outcome.err:
            problems.append(f"exit code {outcome.code}, standard error {outcome.err[:300]!r}")
        for pattern in wanted:
            if not re.search(pattern, outcome.out):
                problems.append(f"no {pattern!r} in the output {outcome.out[:600]!r}")
        if matrix is not None and not problems:
            path = tool.stored(store)
            try:
                text = expected.difference(tool.matrix(path, "p2p"), matrix) if path else "not stored"
            except ValueError as error:
                text = str(error)
            if text:
                problems.append(f"matrix: {text}")
        results.add(f"{stack.name} -n {NP} {label}", problems, outcome)

    api = stack.program("api.c")
    launch("api, new order while recording", "record", [api, "moved"], "ok api",
           matrix=expected.api(NP))
    launch("api, library off", "off", [api, "old"], "ok api")
    for name, program, problem in programs(stack):
        if problem:
            results.add(f"{stack.name} compiles {name}", [problem])
        elif name == "fixed":
            launch("api in a position-dependent program", "record", [program, "moved", "example"],
                   "ok api")
            launch("the same without the library", None, [program, "old", "example"], "ok api")
        elif name == "example":
            # Two hosts of two ranks; all neighbours along x are on the other one, and their faces are
            # eight times those that cross when the hosts divide y.
            program = [program, "2", "2", "1", "8", "8"]
            for trigger in ("call", "pcontrol"):
                launch(f"the example by {trigger}", "record", [*program, trigger, "2"],
                       r"results are the same.*\(0\.125\)", slots=",".join(map(str, range(NP))))
            launch("the example without the library", None, program, "results are the same")
        else:
            moved = ["moved"] if name.startswith("api_") else []
            launch(f"{name}", "record", [program, *moved], r"ok api_\w+")
            launch(f"{name} without the library", None, [program], r"ok api_\w+")
