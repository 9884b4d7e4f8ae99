"""Tests that memory stays flat and totals stay exact while threads make and free objects for a long time.

Program churn repeats its rounds in a shuffled launch, with new threads each time, and prints its resident memory.
The first half is warm-up: tables, caches and the allocator's pools of each thread get their size. The second half is
divided into four parts. A leak makes the memory grow from each part to the next, and the median of these three growths
shows it. A single step does not change the median; it has a wider bound of its own. MPICH 5.0.2 makes room for 4096
requests at a time, which adds 2080 KiB at once (seen while one program made 12000 persistent requests). The same program
without the library shows how much of the growth comes from the MPI library, since no MPI library frees all memory that
it allocates.
"""

import itertools
import os
import shlex
import shutil
import statistics

from driver import stacks
from recording import churn, expected

# Rank 0 stays in a shuffled launch, so the ranks of two other tasks are needed. MPICH waits without sleeping: more
# threads than two make fewer objects, not more.
NP, THREADS, ROUNDS, KINDS = 3, 2, 10, "ccctronfge"
# MPICH 4.0.2 and 5.0.2 crash without the library, in free() below MPI_Comm_free, where threads open files while others
# make communicators, if there are more processes than processors: ten of ten launches with `f` and such kinds within
# 100 s, and none of thirteen with `f` alone or without it.
KINDS_MPICH = KINDS.replace("f", "")
SECONDS, SECONDS_FULL = 6, 1800
# What the allocator may add by chance in the second half, in KiB: all the time, and with steps. The short test finds
# only leaks of many KiB for each object.
CHANCE, CHANCE_STEPS = 1024, 4096
# The parts of the second half that are compared.
PARTS = 4
# More than the time itself, for the start and the end beside other MPIs.
PATIENCE = 400


def grown(text):
    """task -> (growth in KiB over the second half of the samples, if it grew everywhere by the median of the growths
    from each quarter of this half to the next; the same with all steps; rounds in that time; KiB at the end; rounds in
    all)."""
    samples, found = {}, {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["memory"]:
            samples.setdefault(int(words[1]), []).append((int(words[2]), int(words[3])))
    for task, of_task in samples.items():
        half = of_task[len(of_task) // 2:]
        length = len(half) // PARTS
        if length == 0:
            continue
        parts = [half[i * length:(i + 1) * length] for i in range(PARTS)]
        kib = [statistics.median(kib for _, kib in part) for part in parts]
        steps = [after - before for before, after in itertools.pairwise(kib)]
        rounds = parts[-1][length // 2][0] - parts[0][length // 2][0]
        found[task] = (statistics.median(steps) * len(steps), sum(steps), rounds, *reversed(of_task[-1]))
    return found


def run(tool, results, stack, work, full):
    problem = stack.build("churn.c")
    if problem:
        results.add(f"{stack.name} compiles churn.c", [problem])
        return
    seconds = SECONDS_FULL if full else SECONDS
    kinds = KINDS_MPICH if stack.name.startswith("mpich") else KINDS
    label = f"{stack.name} soak of {seconds} s"
    directory = os.path.join(work, label.replace(" ", "-"))
    store = os.path.join(directory, "store")
    os.makedirs(directory)

    def launch(variables, length):
        words = [str(word) for word in (THREADS, ROUNDS, 1, kinds, length)]
        command = stack.launch(NP, variables, [stack.program("churn.c"), *words])
        outcome = stacks.execute(command, stack.environment(), length + PATIENCE, cwd=directory)
        outcome.command = shlex.join(command)
        return outcome

    # The growth of the MPI library is known after a quarter of the time.
    plain = launch({}, max(seconds // 4, SECONDS))
    if plain.code != 0 or "FAIL" in plain.out:
        results.skip(label, f"fails without the library: {plain.out[-200:]} {plain.err[:100]}")
        return
    outcome = launch({"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "shuffle", "RANKWEAVE_SEED": "2",
                      "RANKWEAVE_STORE": store}, seconds)
    path = tool.stored(store)
    if outcome.code != 0 or path is None or "FAIL" in outcome.out:
        results.add(label, [f"exit code {outcome.code}: {outcome.out[-200:]} {outcome.err[:300]}"], outcome)
        return
    problems = []
    for word, kind in (("sent", "p2p"), ("put", "onesided")):
        text = expected.difference(tool.matrix(path, kind), churn.told(outcome.out, word))
        problems += [f"{kind}: {text}"] if text else []
    problems += flat(stack, grown(outcome.out), grown(plain.out))
    shutil.rmtree(directory, ignore_errors=True)
    results.add(label, problems, outcome)


def flat(stack, observed, plain):
    """Problems of the memory; prints the figures."""
    problems = []
    own = max((steps / rounds for _, steps, rounds, _, _ in plain.values() if rounds > 0), default=0)
    if len(observed) != NP or len(plain) != NP:
        problems.append(f"too few samples of memory: of tasks {sorted(observed)}, without the library {sorted(plain)}")
    for task, (steadily, steps, rounds, end, made) in sorted(observed.items()):
        print(f"{stack.name}: soak, task {task}: {made} objects, {end} KiB at the end; in the last {rounds} objects "
              f"{steadily:+.0f} KiB by the median growth, {steps:+.0f} KiB with all steps; without the library "
              f"{own * 1000:+.2f} KiB for every 1000")
        for grown_by, chance, how in ((steadily, CHANCE, "all the time"), (steps, CHANCE_STEPS, "with steps")):
            bound = chance + max(own, 0) * rounds
            if grown_by > bound:
                problems.append(f"task {task} grew by {grown_by:.0f} KiB in {rounds} objects, {how}; "
                                f"the bound is {bound:.0f}")
    return problems
