"""Tests that no launch replaces a good record by a worse one: other arguments, less traffic, an exit code of
failure, killed, recovered, flushed, or many at the same time.

Each sequence of launches ends with a check of the record in use, and of the richest whole record of each kind
of run, which has to be there whatever came after it.
"""

import json
import os
import random
import shlex
import shutil
import subprocess
import time

from driver import own_failures, stacks

NP = 4
KEY = "sequence"
SOURCE = "run_ends.c"
# Preloaded for the end 'aborted': its MPI_Abort returns.
TOOL = "libreturning_abort.c"
# One message of one task.
SIZE = 1000


class Launch:
    """One launch: its argument, messages of each task, the end (see run_ends.c), and the number of tasks."""

    def __init__(self, text):
        words = text.split()
        self.argument, self.messages = words[0][0], int(words[0][1:])
        self.end = words[1] if len(words) > 1 and words[1] not in ("lost", "ranks") else ""
        self.recovers = "lost" not in words
        self.tasks = 2 if "ranks" in words else NP
        self.text = text

    @property
    def bytes(self):
        return self.tasks * self.messages * SIZE

    def is_whole(self):
        return self.end == "" and self.tasks == NP


# (launches, messages that the record in use has). A launch is ARGUMENT MESSAGES [END]; 'lost' is not recovered,
# 'ranks' has two tasks.
SEQUENCES = (
    ("a50, a1", 50),
    ("a50, b0, b1", 50),
    ("a1, a50", 50),
    ("a50, b60", 60),
    ("a60, a50", 50),
    ("a50, a60 kill", 50),
    ("a60 kill, a50", 50),
    ("a50, b1, c0, a60, b2", 60),
    ("a50, a60 fail", 50),
    ("a50 fail", 50),
    ("a50 fail, a60 fail", 60),
    ("a50 fail, a30", 30),
    ("a50 fail, a5", 50),
    ("a50, b50 fail", 50),
    ("a50, a60 fail, a1", 50),
    ("a50, a60, a70 fail, a80 fail", 60),
    ("a50, a60 flush", 50),
    ("a60 flush, a50", 50),
    ("a50, a60 ranks", 50),
    ("a50, a60 term", 50),
    ("a50, a60 part", 50),
    ("a60 part, a50", 50),
    ("a60 part, a5", 5),
    ("a50, b200, a50, b1", 200),
    ("a50, a60 kill lost, a55", 55),
    ("a50, a60 abort", 50),
    ("a50, a60 aborted", 50),
    ("a50, a60 kill, a60 kill, a40", 40),
)
# For the quick run: one of each way to end.
QUICK = ("a50, b0, b1", "a50, a60 kill", "a50, b1, c0, a60, b2", "a50, a60 fail", "a50 fail, a60 fail", "a50, a60 flush",
         "a50, a60 ranks", "a60 part, a50", "a50, a60 abort", "a50, a60 aborted")


def run(tool, results, stack, work, full=False):
    for source in (SOURCE, TOOL):
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    for text, wanted in SEQUENCES:
        if full or text in QUICK:
            Sequence(tool, stack, work, text).check(results, text, wanted)
    together(tool, results, stack, work, 32 if full else 8)
    killed_at_the_end(tool, results, stack, work, 200 if full else 10)


class Sequence:
    """A store, and launches with it."""

    def __init__(self, tool, stack, work, name):
        name = name.replace(",", "").replace(" ", "-")
        self.tool, self.stack = tool, stack
        self.directory = os.path.join(work, f"runs-{stack.name}-{name}")
        self.store, self.spill = (os.path.join(self.directory, part) for part in ("store", "spill"))
        os.makedirs(self.spill)

    def command(self, launch, argument=None, variables=None):
        preload = [self.tool.library] + [self.stack.program(TOOL)] * (launch.end == "aborted")
        variables = {"LD_PRELOAD": ":".join(preload), "RANKWEAVE_MODE": "record", "RANKWEAVE_STORE": self.store,
                     "RANKWEAVE_SPILL": self.spill, "RANKWEAVE_KEY": KEY, "RANKWEAVE_FLUSH_SIGNAL": "USR1",
                     "RUN_END": launch.end, "RUN_MESSAGES": str(launch.messages), **(variables or {})}
        program = [self.stack.program(SOURCE), argument or launch.argument]
        return self.stack.launch(launch.tasks, variables, program)

    def recover(self):
        subprocess.run([self.tool.command, "recover", "--store", self.store, self.spill], capture_output=True,
                       check=False)

    def in_use(self):
        """Bytes of the record in use."""
        matrix = self.tool.matrix(os.path.join(self.store, f"{KEY}.rkw"), "p2p")
        return sum(traffic[0] for traffic in matrix.values())

    def whole(self):
        """Bytes that the tasks sent in the whole runs beside the one in use; collective calls are a part."""
        return [run["total_bytes"] for run in self.runs() if run["state"] == "whole"]

    def runs(self):
        """The runs beside the one in use, as the command lists them."""
        records = json.loads(self.tool.ask("list", "--all", "--json", "--store", self.store))["records"]
        return [run for record in records if record["key"] == KEY for run in record["runs"]]

    def check(self, results, text, wanted):
        launches, problems, outcome = [Launch(part.strip()) for part in text.split(",")], [], None
        for launch in launches:
            command = self.command(launch)
            outcome = stacks.execute(command, self.stack.environment(), cwd=self.directory)
            outcome.command = shlex.join(command)
            if launch.end == "" and outcome.code != 0:
                problems.append(f"{launch.text}: exit code {outcome.code}: {outcome.err[:200]}")
            if launch.end not in ("", "fail", "aborted") and launch.recovers:
                self.recover()
        try:
            # The launcher may have killed a failed launch before it had changed its record. The list completes the change, and
            # the matrix is read from the file.
            kept, shown = self.whole(), self.in_use()
        except (ValueError, KeyError) as error:
            problems.append(f"what is stored cannot be read: {error!r}")
        else:
            if shown != NP * wanted * SIZE:
                problems.append(f"the record in use has {shown} bytes, expected {NP * wanted * SIZE}")
            for argument in {launch.argument for launch in launches}:
                whole = [launch.bytes for launch in launches if launch.argument == argument and launch.is_whole()]
                richest = max(whole, default=0)
                if whole and shown != richest and not any(richest <= sent <= richest + 1000 for sent in kept):
                    problems.append(f"the richest record of {argument} is lost: {richest} not in {shown}, {kept}")
        shutil.rmtree(self.directory, ignore_errors=True)
        results.add(f"{self.stack.name} runs: {text}", problems, outcome)


def together(tool, results, stack, work, jobs):
    """Jobs that end at the same time, each of its own kind: the richest is in use or kept."""
    sequence, problems = Sequence(tool, stack, work, "together"), []
    launches = [Launch(f"a{10 + k} ranks") for k in range(jobs)]
    processes = [subprocess.Popen(sequence.command(launch, f"job{k}"), env=stack.environment(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for k, launch in enumerate(launches)]
    for process in processes:
        if process.wait(timeout=300) not in (0, own_failures.NOT_STARTED[0]):
            problems.append(f"exit code {process.returncode}")
    launches = [launch for launch, process in zip(launches, processes) if process.returncode == 0]
    try:
        shown, kept = sequence.in_use(), sequence.whole()
        most = max(launch.bytes for launch in launches)
        if shown != most and not any(most <= sent <= most + 1000 for sent in kept):
            problems.append(f"the richest of {jobs} jobs is lost: {most} not in {shown}, {kept}")
    except (ValueError, KeyError) as error:
        problems.append(f"what is stored cannot be read: {error!r}")
    shutil.rmtree(sequence.directory, ignore_errors=True)
    results.add(f"{stack.name} runs: {jobs} jobs end together", problems)


def killed_at_the_end(tool, results, stack, work, times):
    """Jobs that are killed while they store their record. Afterwards the earlier record or the new one can be read."""
    sequence, problems, chance = Sequence(tool, stack, work, "killed"), [], random.Random(1)
    stacks.execute(sequence.command(Launch("a50")), stack.environment(), cwd=sequence.directory)
    mark = os.path.join(sequence.directory, "mark")
    launch = Launch("a60 linger")
    for attempt in range(times):
        job = f"{os.getpid()}-killed-{stack.name}-{attempt}"
        process = subprocess.Popen(sequence.command(launch, mark), env={**stack.environment(), stacks.MARK: job},
                                   start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        made = [f"{mark}.{task}" for task in range(NP)]
        until = time.monotonic() + 30
        while not all(map(os.path.exists, made)) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.03)
        # The tasks and the launcher.
        subprocess.run(["pkill", "-KILL", "-f", f"{stack.program(SOURCE)} {mark}"], check=False)
        stacks.end_marked(job)
        process.wait()
        for name in made:
            if os.path.exists(name):
                os.remove(name)
        try:
            shown = sequence.in_use()
        except (ValueError, KeyError) as error:
            problems.append(f"what is stored cannot be read: {error!r}")
            break
        if shown < NP * 50 * SIZE:
            problems.append(f"the record in use has {shown} bytes")
            break
    shutil.rmtree(sequence.directory, ignore_errors=True)
    results.add(f"{stack.name} runs: {times} times killed while the record is stored", problems)
