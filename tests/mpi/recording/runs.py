"""Tests that no launch replaces a good record by a worse one: other arguments, less traffic, killed, flushed.

Each sequence of launches ends with the bytes that the record in use has, and those that a launch with the first
arguments finds.
"""

import json
import os
import shlex
import shutil
import subprocess

from driver import stacks

NP = 4
KEY = "sequence"
# ring MODE SIZE MESSAGES: every task sends SIZE * MESSAGES bytes.
RICH, RICHER, POOR, NOTHING = ["send", "1000", "50"], ["send", "1000", "60"], ["send", "10", "1"], ["send", "8", "0"]


def is_of(launch, sent):
    """Whether so many bytes are those of a launch: what it passes round, and the verdict at its end."""
    wanted = NP * int(launch[1]) * int(launch[2])
    return wanted <= sent <= wanted + 100


# (name, launches, whose bytes the record in use has). "kill" is a launch that is killed and recovered.
SEQUENCES = (
    ("poor after rich", [RICH, POOR], RICH),
    ("nothing after rich", [RICH, NOTHING, POOR], RICH),
    ("rich after poor", [POOR, RICH], RICH),
    ("richer after rich", [RICH, RICHER], RICHER),
    ("a little less", [RICHER, RICH], RICH),
    ("killed after rich", [RICH, "kill"], RICH),
    ("killed first", ["kill", RICH], RICH),
    ("many kinds", [RICH, POOR, NOTHING, RICHER, POOR], RICHER),
)


def run(tool, results, stack, work):
    for source in ("ring.c", "exits.c"):
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    for name, launches, wanted in SEQUENCES:
        sequence(tool, results, stack, work, (name, launches, wanted))


def sequence(tool, results, stack, work, case):
    name, launches, wanted = case
    directory = os.path.join(work, f"runs-{stack.name}-{name.replace(' ', '-')}")
    store, spill = os.path.join(directory, "store"), os.path.join(directory, "spill")
    os.makedirs(spill)
    variables = {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record", "RANKWEAVE_STORE": store,
                 "RANKWEAVE_SPILL": spill, "RANKWEAVE_KEY": KEY}
    problems, outcome = [], None
    for launch in launches:
        if launch == "kill":
            program = [stack.program("exits.c"), "sigkill", os.path.join(directory, "ready")]
        else:
            program = [stack.program("ring.c"), *launch]
        command = stack.launch(NP, variables, program)
        outcome = stacks.execute(command, stack.environment(), cwd=directory)
        outcome.command = shlex.join(command)
        if launch == "kill":
            subprocess.run([tool.command, "recover", "--store", store, spill], capture_output=True, check=False)
        elif outcome.code != 0:
            problems.append(f"exit code {outcome.code}: {outcome.err[:200]}")
    try:
        matrix = tool.matrix(os.path.join(store, f"{KEY}.rkw"), "all")
        shown = sum(traffic[0] for traffic in matrix.values())
        listed = json.loads(tool.ask("list", "--all", "--json", "--store", store))["records"][0]["runs"]
        kept = [run["total_bytes"] for run in listed]
    except (ValueError, KeyError) as error:
        problems.append(f"what is stored cannot be read: {error!r}")
    else:
        if not is_of(wanted, shown):
            problems.append(f"the record in use has {shown} bytes, expected that of {wanted}")
        for launch in launches:
            if launch != "kill" and not any(is_of(launch, sent) for sent in [shown, *kept]):
                problems.append(f"the record of {launch} is lost: {shown}, {kept}")
    shutil.rmtree(directory, ignore_errors=True)
    results.add(f"{stack.name} runs: {name}", problems, outcome)
