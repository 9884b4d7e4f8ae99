"""Interrupts a launch at every change that it makes to the store, and checks that no good record is lost.

A preloaded library numbers the changes to the files of the store: files that are opened for writing, bytes that are
written, links, renames, removals, folders. For each change there is a launch that is killed before the change, one
that is killed in the middle of a write, one in which only this change fails, and one in which the disk is full from
this change on. Afterwards the record in use can be read, and the richest whole record is in use or kept. After a
kill, `rankweave recover` finds the counts of the interrupted launch. A later launch stores its record as usual, and
the richest record is still there after it.

The files of the store do not depend on the MPI, so this is tested with one MPI.
"""

import collections
import os
import shlex
import shutil

from driver import stacks
from recording import runs

HELPER = "libinterrupt.c"
WAYS = ("kill", "torn", "fail", "full")
# (the launch that the store has, the launch that is interrupted); see runs.py. Two tasks are enough.
CASES = (("", "a50"), ("a50", "a60"), ("a50", "a5"), ("a50", "b1"))
LATER = "a10"
# No launch makes so many changes. Without this limit a fault of the test would go on forever.
MOST_CHANGES = 200
# A run without --full tries every change with this distance.
STEP = 4


class Case:
    """A store in a known state, and a launch that is interrupted while it changes it."""

    def __init__(self, tool, stack, work, before, launch):
        self.stack, self.before, self.launch = stack, before, launch
        self.sequence = runs.Sequence(tool, stack, work, f"writes-{before}-{launch}")
        self.kept = self.sequence.store + ".kept"
        self.log = os.path.join(self.sequence.directory, "changes")
        self.plain = self.run(launch, {"LD_PRELOAD": ""})
        if before:
            self.run(before, {})
        else:
            os.makedirs(self.sequence.store)
        shutil.copytree(self.sequence.store, self.kept)

    def run(self, launch, variables):
        command = self.sequence.command(runs.Launch(f"{launch} ranks"), variables=variables)
        outcome = stacks.execute(command, self.stack.environment(), cwd=self.sequence.directory)
        outcome.command = shlex.join(command)
        return outcome

    def interrupted(self, way, number):
        """Interrupts the launch at a change. What is wrong, the outcome, and the changes that were begun."""
        shutil.rmtree(self.sequence.store)
        shutil.copytree(self.kept, self.sequence.store)
        open(self.log, "w", encoding="utf-8").close()
        preload = f"{self.sequence.tool.library}:{self.stack.program(HELPER)}"
        outcome = self.run(self.launch, {
            "LD_PRELOAD": preload, "INTERRUPT_BELOW": self.sequence.store + "/", "INTERRUPT_AT": str(number),
            "INTERRUPT_HOW": way, "INTERRUPT_LOG": self.log})
        with open(self.log, encoding="utf-8") as file:
            changes = [line.split()[1] for line in file]
        problems = []
        if way in ("fail", "full") and (outcome.code, outcome.out) != (self.plain.code, self.plain.out):
            problems.append(f"exit code {outcome.code} and output {outcome.out[:100]!r}, without the library "
                            f"{self.plain.code} and {self.plain.out[:100]!r}")
        problems += self.lost("after the interruption", [self.before])
        if way in ("kill", "torn") and number <= len(changes):
            self.sequence.recover()
            problems += self.lost("after the recovery", [self.before, self.launch], whole=False)
        later = self.run(LATER, {})
        if later.code != 0 or later.err.strip():
            problems.append(f"a later launch: exit code {later.code}: {later.err.strip()[:300]!r}")
        problems += self.lost("after a later launch", [self.before, LATER])
        return problems, outcome, changes

    def lost(self, when, launches, whole=True):
        """Whether the richest record of these launches is gone; only whole ones count, or any."""
        wanted = max((runs.Launch(f"{launch} ranks").bytes for launch in launches if launch), default=0)
        if not wanted:
            return []
        try:
            shown = self.sequence.in_use()
            kept = self.sequence.whole() if whole else [run["total_bytes"] for run in self.sequence.runs()]
        except (ValueError, KeyError) as error:
            return [f"{when}: what is stored cannot be read: {error!r}"]
        # The collective calls of the verdict are a part of the sum of a kept record.
        if max([shown, *kept]) < wanted:
            return [f"{when}: the richest record is lost: {wanted} bytes; there are {shown} and {kept}"]
        return []


def run(tool, results, stack, work, full=False):
    for source in (runs.SOURCE, runs.TOOL, HELPER):
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    sites = collections.Counter()
    for before, launch in CASES:
        case = Case(tool, stack, work, before, launch)
        for turn, way in enumerate(WAYS):
            every(case, way, range(1 if full else 1 + turn, MOST_CHANGES, 1 if full else STEP), results, sites)
        shutil.rmtree(case.sequence.directory, ignore_errors=True)
    calls = ", ".join(f"{count} {call}" for call, count in sorted(sites.items()))
    print(f"{stack.name} store: {sum(sites.values())} changes interrupted: {calls}")
    results.add(f"{stack.name} store: changes are interrupted", [] if sites else ["no change was interrupted"])


def every(case, way, numbers, results, sites):
    """Interrupts the launch at these changes, until there is no such change."""
    name = f"{case.stack.name} store: {case.before or 'empty'}, then {case.launch}, {way}"
    found = []
    for number in numbers:
        problems, outcome, changes = case.interrupted(way, number)
        if len(changes) < number:
            break
        call = changes[number - 1]
        sites[call] += 1
        found += [f"change {number} ({call}): {problem}" for problem in problems]
    else:
        found.append(f"a launch makes more than {MOST_CHANGES} changes")
    results.add(name, found, outcome)
