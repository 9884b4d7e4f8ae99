"""The rail and the GPU of each process: those of its package.

hwloc gets the machine from a file (`HWLOC_XMLFILE`): two packages with one core, one adapter and one GPU each. The
processes are bound to the cores, so that their places are looked up. Processes that are not bound have no rails.
"""

import json
import os

from driver import stacks

NP = 2
MACHINE = os.path.join(stacks.ROOT, "tests", "machines", "2core-2gpu-2nic.xml")
# Binds a process by its number. The launchers that the tests use set one of these variables.
BOUND = ["sh", "-c", 'exec taskset -c "${OMPI_COMM_WORLD_LOCAL_RANK:-${PMI_RANK:-0}}" "$@"', "sh"]


def run(tool, results, stack, work):
    if stack.name not in stacks.USUAL or len(os.sched_getaffinity(0)) < NP:
        return
    problem = stack.build("ring.c")
    if problem:
        results.add(f"{stack.name} compiles ring.c", [problem])
        return
    for label, prefix, devices in (("bound", BOUND, True), ("not bound", [], False)):
        store = os.path.join(work, f"rails-{stack.name}-{label.replace(' ', '-')}")
        variables = {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record", "RANKWEAVE_STORE": store,
                     "HWLOC_XMLFILE": MACHINE}
        command = stack.launch(NP, variables, [*prefix, stack.program("ring.c"), "send"])
        outcome = stacks.execute(command, stack.environment(), 120)
        problems = [] if outcome.code == 0 else [f"exit code {outcome.code}: {outcome.err[:300]!r}"]
        if not problems:
            problems = shown(tool, store, devices)
        results.add(f"{stack.name} rails of processes that are {label}", problems, outcome)


def shown(tool, store, devices):
    """What is wrong with the rails and GPUs that `rankweave show` prints."""
    path = tool.stored(store)
    if not path:
        return ["not stored"]
    outcome = stacks.execute([tool.command, "show", path, "--json"], None, 60)
    try:
        said = json.loads(outcome.out)
    except ValueError:
        return [f"no JSON: {outcome.out[:200]!r} {outcome.err[:200]!r}"]
    rails = [(rail["rail"], rail["tasks"]) for rail in said["rails"]]
    found = rails, said["gpu_of_task"]
    wanted = ([("mlx5_0", 1), ("mlx5_1", 1)], ["cuda0", "cuda1"]) if devices else ([], [])
    return [] if found == wanted else [f"{found} instead of {wanted}"]
