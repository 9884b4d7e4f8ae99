"""The library and command under test, and the results."""

import glob
import json
import os
import subprocess
import sys
import threading
import time

from driver import own_failures
from driver.stacks import TARGET
from recording import expected


# What rank 0 says if the program exits without MPI_Finalize.
ENDED_EARLY = "rankweave: the program ended without MPI_Finalize; "


def own_lines(text):
    """The lines that the library or the command wrote. What `rankweave run` says about other launches on this machine,
    which the tests end by force, is left out."""
    return [line for line in text.splitlines()
            if line.startswith("rankweave") and "ended before MPI_Finalize, and" not in line]


class Tool:
    """The paths of the library and the command, and the command's output about a stored matrix."""

    def __init__(self, library=None, command=None):
        self.library = os.path.abspath(
            library or os.path.join(TARGET, "preload", "librankweave.so"))
        self.command = os.path.abspath(command or os.path.join(TARGET, "release", "rankweave"))

    def missing(self):
        return next((p for p in (self.library, self.command) if not os.path.exists(p)), None)

    def stored(self, store):
        """The one record of a store; None if there is none."""
        found = sorted(glob.glob(os.path.join(store, "*.rkw")))
        return found[0] if len(found) == 1 else None

    def ask(self, *arguments):
        done = subprocess.run([self.command, *arguments], capture_output=True, text=True,
                              check=False, timeout=60)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip() or f"exit code {done.returncode}")
        return done.stdout

    def matrix(self, path, kind):
        return expected.parse_csv(self.ask("export", path, "--to", "csv", "--kind", kind))

    def facts(self, path):
        return json.loads(self.ask("show", path, "--json"))


def last_words(outcome):
    """The end of what a program that a signal ended wrote to standard error: Open MPI prints the stack there."""
    if outcome is None or 0 <= (outcome.code or 0) <= 128:
        return []
    return [f"standard error: {line[:300]}" for line in outcome.err.splitlines()[-40:]]


class Results:
    """Collects passes and failures; safe to use from several threads."""

    def __init__(self, start):
        self.start, self.lock = start, threading.Lock()
        self.passed, self.failed, self.skipped = [], [], []
        # What is not run at all, with the reason.
        self.left_out = {}
        self.last = 0.0

    def add(self, name, problems, outcome=None):
        with self.lock:
            if not problems:
                self.passed.append(name)
                return
            self.failed.append(name)
            print(f"FAIL {name}", file=sys.stderr)
            for problem in problems:
                print(f"     {problem}", file=sys.stderr)
            if outcome is not None and getattr(outcome, "command", None):
                print(f"     command: {outcome.command}", file=sys.stderr)
            for line in [*getattr(outcome, "waiting", []), *last_words(outcome)]:
                print(f"     {line}", file=sys.stderr)
            sys.stderr.flush()

    def skip(self, name, reason):
        with self.lock:
            self.skipped.append(name)
            print(f"skip {name}: {reason}", file=sys.stderr)

    def progress(self, done, total):
        now = time.monotonic()
        if now - self.last > 10 or done == total:
            self.last = now
            print(f"[{now - self.start:4.0f}s] {done} of {total} programs, {len(self.passed)} passed, "
                  f"{len(self.failed)} failed", file=sys.stderr, flush=True)

    def summary(self):
        if self.skipped:
            print(f"{len(self.skipped)} skipped, as they fail without the library",
                  file=sys.stderr)
        for name, reason in self.left_out.items():
            print(f"not run: {name}: {reason}")
        for name in self.failed:
            print(f"failed: {name}")
        for reason, count in sorted(own_failures.REPEATED.items()):
            print(f"launches that were repeated because {reason}: {count}")
        print(f"{len(self.passed)} passed, {len(self.failed)} failed")
        return 1 if self.failed or not self.passed else 0

    def write_passed(self, path):
        """Writes the names of the checks that passed and of those that were skipped, and what was left out."""
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in sorted(self.passed))
            file.writelines(f"skipped, fails without the library: {name}\n" for name in sorted(self.skipped))
            file.writelines(f"not run: {name}: {reason}\n" for name, reason in self.left_out.items())
