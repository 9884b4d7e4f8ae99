"""Compares the time in MPI that the library reports with the time that the program measures itself. Also tests
programs that leave MPI calls in unusual ways."""

import math
import os
import shlex

from driver import stacks
from driver.checks import ENDED_EARLY

NP = 3
SOURCE = "times.c"
PATTERNS = "time_patterns.c"
# Launches of each pattern.
LAUNCHES = 5
# Without --full, so many launches are enough if all of them are near.
GOOD_IF_BUSY = 2
# How many percentage points their median may differ from the truth. Short launches beside other tests have late
# samples, and fewer of them: medians were up to 5 points away, and single launches 6. These launches only show large
# errors. The aim is judged in all patterns on a machine without other work (--full).
NEAR, NEAR_IF_BUSY = 3, 10


def run(tool, results, stack, work, full):
    for source in (SOURCE, PATTERNS, "times_mpif.f"):
        problem = stack.build(source)
        if problem and problem != "no Fortran":
            results.add(f"{stack.name} compiles {source}", [problem])
            return

    def launch(source, arguments, how, np=NP, tolerance=None, attempts=1):
        """`tolerance` is the largest deviation of the mean, as a part of the mean and in seconds. None means
        that the launch must measure nothing. On a busy machine another process may run between a reading
        of the program's clock and the call, so a measurement may need several attempts. Where every call
        is timed, this can only make the time of the library smaller than that of the program."""
        for attempt in range(attempts):
            name, problems, outcome = once(source, arguments, how, np, tolerance, attempt)
            if not problems or not problems[0].startswith(("mean", "no time")):
                break
        results.add(name, problems, outcome)

    def once(source, arguments, how, np, tolerance, attempt):
        name = f"{stack.name} -n {np} {os.path.splitext(source)[0]} {' '.join(arguments)}, times {how}"
        directory = os.path.join(work, f"times-{stack.name}-{source}-{'-'.join(arguments)}-{how}-{attempt}")
        os.makedirs(directory, exist_ok=True)
        variables = {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record",
                     "RANKWEAVE_STORE": os.path.join(directory, "store"),
                     "RANKWEAVE_SPILL": directory, "RANKWEAVE_TIMES": how}
        command = stack.launch(np, variables, [stack.program(source), *arguments])
        outcome = stacks.execute(command, stack.environment(), cwd=directory)
        outcome.command = shlex.join(command)
        problems = []
        if outcome.timed_out:
            problems.append("did not end")
        early = bool(arguments) and arguments[0] in ("exit", "leave")
        own = [line for line in outcome.err.splitlines() if line.startswith("rankweave")]
        if [line for line in own if not (early and line.startswith(ENDED_EARLY))]:
            problems.append(f"standard error: {outcome.err.strip()[:200]!r}")
        if arguments and arguments[0] in ("exit", "leave"):
            # Launchers comment on these; MPICH's ends the others by signals.
            if stack.openmpi and arguments[0] == "exit" and outcome.code != 3:
                problems.append(f"exit code {outcome.code}")
            return name, problems, outcome
        lines = [line.split() for line in outcome.out.splitlines()]
        if (outcome.code != 0 or len(lines) != np
                or any(words[:2] != ["ok", "times"] or len(words) != 3 for words in lines)):
            problems.append(f"exit code {outcome.code}, output {outcome.out.strip()[:200]!r}")
        path = tool.stored(variables["RANKWEAVE_STORE"])
        if path is None:
            problems.append("nothing was stored")
        if not problems:
            seconds = [float(words[2]) for words in lines]
            mean, most = sum(seconds) / np, max(seconds)
            facts = tool.facts(path)
            got, got_most = facts["mpi_seconds"], facts["mpi_seconds_max"]
            if tolerance is None:
                if got is not None:
                    problems.append(f"{got} s in MPI, though not to be measured")
            elif got is None:
                problems.append("no time in MPI was measured")
            else:
                relative, absolute = tolerance
                for what, ours, theirs in (("mean", got, mean), ("mean of the longest", got_most, most)):
                    if how == "all" and ours > theirs + 0.005:
                        problems.append(f"longer than the program saw: {ours:.4f} s, {what} {theirs:.4f} s")
                    elif abs(ours - theirs) > relative * theirs + absolute:
                        problems.append(f"{what} {ours:.4f} s in MPI, the program measured "
                                        f"{theirs:.4f} s ({facts['mpi_calls_timed']} calls timed)")
                if not 0 < facts["mpi_percent"] <= 130:
                    problems.append(f"{facts['mpi_percent']} % of the time")
        return name, problems, outcome

    def pattern(name, threads, seconds):
        """The time in MPI as a part of all must be within some percentage points of what the program measured, in the
        median of several launches. Every launch counts: the best of them would hide a figure that is too low
        or too high on average, and a single one also has the error of few samples. On a busy machine the program
        itself may be stopped between its clock and a call."""
        what = f"{stack.name} -n 2 time_patterns {name} {threads}"
        differences, seen, outcome = [], [], None
        near = NEAR if full else NEAR_IF_BUSY
        for attempt in range(LAUNCHES):
            got, truth, outcome, problem = measured(name, threads, seconds, attempt)
            if problem == "no threads":
                return
            if problem:
                results.add(what, [problem], outcome)
                return
            # A launch without a figure counts as a figure that is too far away, on the side that it makes worse.
            seen.append(f"{'no figure' if got is None else f'{got:.1f} %'} of {truth:.1f} %")
            differences.append(None if got is None else got - truth)
            good = sum(d is not None and abs(d) <= near for d in differences)
            if good > LAUNCHES // 2:
                break  # The median is one of these, whatever comes.
            if not full and good == len(differences) == GOOD_IF_BUSY:
                break
        low = sorted(-math.inf if d is None else d for d in differences)
        high = sorted(math.inf if d is None else d for d in differences)
        enough = good > LAUNCHES // 2 or good == len(differences)
        good = enough or all(abs(side[len(side) // 2]) <= near for side in (low, high))
        problems = [] if good else [f"the time in MPI, and what the program measured: {', '.join(seen)}"]
        results.add(what, problems, outcome)

    def measured(name, threads, seconds, attempt):
        """One launch of a pattern: the time in MPI that the library reports and that the program measured, in percent,
        and the outcome, with a problem if there is one."""
        directory = os.path.join(work, f"patterns-{stack.name}-{name}-{threads}-{attempt}")
        os.makedirs(directory, exist_ok=True)
        variables = {"LD_PRELOAD": tool.library, "RANKWEAVE_MODE": "record",
                     "RANKWEAVE_STORE": os.path.join(directory, "store"), "RANKWEAVE_SPILL": directory}
        command = stack.launch(2, variables, [stack.program(PATTERNS), name, str(seconds), str(threads)])
        outcome = stacks.execute(command, stack.environment(), cwd=directory)
        outcome.command = shlex.join(command)
        if outcome.out.startswith("no threads"):
            return None, None, outcome, "no threads"
        lines = [line.split() for line in outcome.out.splitlines()]
        path = tool.stored(variables["RANKWEAVE_STORE"])
        if (outcome.code != 0 or path is None or len(lines) != 2
                or any(words[:2] != ["ok", "times"] or len(words) != 4 for words in lines)):
            return None, None, outcome, f"exit code {outcome.code}, output {outcome.out.strip()[:200]!r}"
        truth = 100 * sum(float(words[2]) for words in lines) / sum(float(words[3]) for words in lines)
        got = tool.facts(path)["mpi_percent"]
        problem = f"{got} % of the time in MPI" if got is not None and got > 100 else None
        return got, truth, outcome, problem

    if full:
        for name in ("burst", "same", "setup", "alternate", "imbalance", "waiting", "compute"):
            for threads in (1, 4):
                pattern(name, threads, 4)
    else:
        for name, threads in (("burst", 4), ("same", 1), ("setup", 1), ("alternate", 1), ("imbalance", 4)):
            # In less time the standard error may be too large for a figure.
            pattern(name, threads, 2.5)

    # The time that the program measures includes two readings of its own clock; the time of the library does not.
    launch(SOURCE, ["wait"], "all", tolerance=(0.05, 0.05), attempts=3)
    launch(SOURCE, ["wait"], "sampled", tolerance=(0.3, 0.1), attempts=3)
    launch(SOURCE, ["wait"], "off")
    launch(SOURCE, ["short", "0.8"], "all", np=2, tolerance=(0.15, 0.1), attempts=3)
    # Calls of 40 ns are noted during a tenth of the time only. In 3 s these are too few samples for a figure.
    launch(SOURCE, ["fast", "6"], "sampled", np=2, tolerance=(0.3, 0.1), attempts=6)
    launch(SOURCE, ["threads"], "all", tolerance=(0.15, 0.05), attempts=3)
    launch(SOURCE, ["longjmp"], "all", tolerance=(0.1, 0.1), attempts=3)
    launch(SOURCE, ["fork", "6"], "sampled", np=2, tolerance=(1, 0.5), attempts=6)
    launch(SOURCE, ["exit"], "sampled")
    launch(SOURCE, ["leave"], "all")
    if "mpif" in stack.bindings():
        launch("times_mpif.f", [], "all", tolerance=(0.05, 0.05), attempts=3)
