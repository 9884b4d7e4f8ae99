"""The jobs of a test run: a part of the tests on one MPI, or all launches of one program. What has passed is noted in a
journal, so that a run that was interrupted can be continued.

A job is noted when all its checks have passed. What failed, and what was running when the run ended, is run again. A
journal is of one library, one command, one state of the tests and one choice of options: its file is named after them.

Limit: a change of the MPI libraries of the machine is not noticed.
"""

import concurrent.futures
import hashlib
import json
import os
import sys
import threading
import time
import traceback

from driver.stacks import ROOT


class Share:
    """The results of one job, which are also results of the whole run."""

    def __init__(self, whole):
        self.whole = whole
        self.passed, self.failed, self.skipped, self.left_out = [], [], [], {}

    def add(self, name, problems, outcome=None):
        (self.failed if problems else self.passed).append(name)
        self.whole.add(name, problems, outcome)

    def skip(self, name, reason):
        self.skipped.append(name)
        self.whole.skip(name, reason)


class Part:
    """A part of the tests on one MPI, as a job of the pool or by itself."""

    def __init__(self, name, stack, call):
        self.name, self.stack, self.call = name, stack, call
        self.label = f"{name} on {stack.name}"
        self.results = None

    def run(self):
        start = time.monotonic()
        try:
            self.call(self.results, self.stack)
        except Exception:  # pylint: disable=broad-exception-caught
            # A defect of one part must not hide the verdicts of the parts after it.
            self.results.add(f"{self.stack.name} {self.name}", [traceback.format_exc()])
        print(f"        {self.label}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


class SideBySide:
    """A part of the tests on several MPIs at the same time."""

    def __init__(self, name, chosen, call):
        self.label = f"{name} side by side"
        self.parts = [Part(name, stack, call) for stack in chosen]
        self.results = None

    def run(self):
        for part in self.parts:
            part.results = self.results
        with concurrent.futures.ThreadPoolExecutor(max(len(self.parts), 1)) as pool:
            for done in [pool.submit(part.run) for part in self.parts]:
                done.result()


class Journal:
    """The jobs that have passed, in a file of a folder: a line of JSON for each. Without a folder, nothing is noted.

    >>> import tempfile
    >>> from driver.checks import Results
    >>> class Job:
    ...     NOTED, exact, runs = ("exact",), [], 0
    ...     def __init__(self, problems): self.problems = problems
    ...     def run(self):
    ...         self.runs, self.exact = self.runs + 1, ["row"]
    ...         self.results.add("check", self.problems)
    >>> def once(right, wrong, of="this"):
    ...     journal, results = Journal(folder, of), Results(0)
    ...     journal.run(right, "right", results)
    ...     journal.run(wrong, "wrong", results)
    ...     return right.runs, right.exact, wrong.runs, results.passed, len(results.failed)
    >>> folder = tempfile.mkdtemp()
    >>> sys.stderr = open(os.devnull, "w")
    >>> once(Job([]), Job(["problem"]))
    (1, ['row'], 1, ['check'], 1)
    >>> _ = open(os.path.join(folder, "this.jsonl"), "a").write('{"job": "cut o')
    >>> once(Job([]), Job([]))
    (0, ['row'], 1, ['check', 'check'], 0)
    >>> once(Job([]), Job([]))
    (0, ['row'], 0, ['check', 'check'], 0)
    >>> once(Job([]), Job([]), of="other tests")
    (1, ['row'], 1, ['check', 'check'], 0)
    """

    def __init__(self, folder=None, identity=""):
        self.path, self.jobs, self.lock = None, {}, threading.Lock()
        if not folder:
            return
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, f"{identity}.jsonl")
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                # The last line may be cut off.
                self.jobs = {line["job"]: line for line in map(json.loads, (x for x in file if x.endswith("\n")))}
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in self.jobs.values())
        os.replace(self.path + ".new", self.path)

    def run(self, job, key, results):
        """Runs a job, unless it is noted. The attributes that the job's class names in `NOTED` are noted with it."""
        share, noted = Share(results), getattr(job, "NOTED", ())
        job.results = share
        if known := self.jobs.get(key):
            results.passed += known["passed"]
            results.skipped += known["skipped"]
            results.left_out.update(known["left_out"])
            for name in noted:
                setattr(job, name, known[name])
            return
        job.run()
        results.left_out.update(share.left_out)
        if self.path and not share.failed:
            line = {"job": key, "passed": share.passed, "skipped": share.skipped, "left_out": share.left_out,
                    **{name: getattr(job, name) for name in noted}}
            with self.lock, open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def keys(jobs):
    """A name for each job, which the same job has in the next run of the same tests.

    >>> class Named:
    ...     def __init__(self, label): self.label = label
    >>> keys([Named("a"), Named("b"), Named("a")])
    ['a', 'b', 'a (2)']
    """
    found, seen = [], {}
    for job in jobs:
        count = seen[job.label] = seen.get(job.label, 0) + 1
        found.append(job.label if count == 1 else f"{job.label} ({count})")
    return found


def identity(files, options):
    """The state of some files, of the tests and of the options, as digits that change with each of them."""
    state = hashlib.sha256(repr(options).encode())
    for folder in ("tests/mpi", "tests/programs", "scripts/emulation"):
        for directory, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            files = [*files, *(os.path.join(directory, name) for name in sorted(names))]
    for path in files:
        with open(path, "rb") as file:
            state.update(hashlib.sha256(file.read()).digest())
    return state.hexdigest()[:16]
