"""Tests the counts under MPI_THREAD_MULTIPLE: 4 threads of every task, a million calls each, several runs.

In the runs with a million calls each task sends to itself. With a neighbour in another process, eight threads
would wait for each other in turn, which takes hours on two processors. A ring is tested with fewer calls.
"""

import os
import shlex
import shutil

from driver import stacks
from recording import expected

NP = 2
THREADS = 4
CALLS = 1_000_000
RING_CALLS = 20_000
RUNS = 10
TIMEOUT = 1200


def many_calls(tool, results, stack, work):
    problem = stack.build("sendrecv_threads.c")
    if problem:
        results.add(f"{stack.name} compiles sendrecv_threads.c", [problem])
        return
    for where, calls, runs in (("self", CALLS, RUNS), ("ring", RING_CALLS, 1)):
        several_runs(tool, results, stack, work, where, calls, runs)


def several_runs(tool, results, stack, work, where, calls, runs):
    count = THREADS * calls
    wanted = expected.ring(NP, 8, count) if where == "ring" else {
        (i, i): (8 * count, count) for i in range(NP)}
    seconds = 0.0
    for run in range(runs):
        store = os.path.join(work, f"threads-{stack.name}-{where}-{run}")
        command = stack.launch(NP, {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record",
                                    "RANKWEAVE_STORE": store,
                                    # Nobody waits for another process (waiting_ucx.c).
                                    **({"WAIT_BUSY": "1"} if where == "self" else {})},
                               [stack.program("sendrecv_threads.c"), str(calls), where])
        outcome = stacks.execute(command, stack.environment(), TIMEOUT)
        outcome.command = shlex.join(command)
        seconds += outcome.seconds
        problems = []
        path = tool.stored(store)
        if outcome.code != 0 or path is None:
            problems.append(f"exit code {outcome.code}: {outcome.out[:200]} {outcome.err[:200]}")
        else:
            text = expected.difference(tool.matrix(path, "p2p"), wanted)
            problems += [text] if text else []
        shutil.rmtree(store, ignore_errors=True)
        results.add(f"{stack.name} -n {NP} {THREADS} threads, {calls} calls each, {where}, "
                    f"run {run + 1}", problems, outcome)
    print(f"{stack.name}: {runs} runs of {NP} tasks with {THREADS} threads and {calls} calls of "
          f"MPI_Sendrecv each ({where}), {seconds:.0f} s")
