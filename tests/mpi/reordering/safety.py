"""Tests whether rankweave finds out if reordering is safe for a program and if it helps: `rankweave check`,
`rankweave compare`, the effect of their verdicts on later launches, and what launches detect themselves
(`mixed`).

The argument of `mixed_ranks.c` decides whether the program depends on the process of its ranks. check must find
this if it does, and only then. With the argument `slow` the program is slower if its ranks are not the
launcher's. compare must find this, and launches in mode auto must go back to the launcher's order.
"""

import json
import os
import shlex

from driver import stacks

NP = 4
# Neighbouring ranks on different nodes, so that a ring is worth reordering.
PLACES = {"RANKWEAVE_TOPOLOGY": "tree:4:2@1:10", "RANKWEAVE_SLOTS": "0,4,1,5",
          "RANKWEAVE_MIN_GAIN": "0", "RANKWEAVE_FIX": "0"}


def judged(tool, results, stack, work):
    if stack.name not in stacks.USUAL:
        return
    problem = stack.build("mixed_ranks.c")
    if problem:
        results.add(f"{stack.name} compiles mixed_ranks.c", [problem])
        return
    Judged(tool, results, stack, work).run()


def timed(tool, results, stack, work):
    """The tests whose verdict depends on the time that launches take. They run with one MPI only."""
    if stack.name == stacks.USUAL[0] and not stack.build("mixed_ranks.c"):
        tests = Judged(tool, results, stack, work)
        tests.turned_back()
        tests.compare()


class Judged:
    """The launches on one MPI."""

    def __init__(self, tool, results, stack, work):
        self.tool, self.results, self.stack, self.work = tool, results, stack, work
        self.program = stack.program("mixed_ranks.c")
        self.attempt = None

    def run(self):
        for arguments, verdict, code in (
                (["right"], "safe", 0), (["launcher"], "differs", 1), (["cart"], "differs", 1)):
            self.check(arguments, verdict, code)
        # The rest does not depend on the MPI.
        if self.stack.name != stacks.USUAL[0]:
            return
        self.check(["unordered"], "safe", 0)
        self.check(["chance"], "not comparable", 1)
        self.file()
        self.remembered()

    def store(self, name):
        return os.path.join(self.work, f"safety-{self.stack.name}-{name}")

    def command(self, arguments, store, *line):
        environment = dict(self.stack.environment(), RANKWEAVE_LIBRARY=self.tool.library,
                           RANKWEAVE_STORE=store)
        full = [self.tool.command, *line, "--",
                *self.stack.launch(NP, {}, [self.program, *arguments])]
        outcome = stacks.execute(full, environment, 240, cwd=self.work)
        outcome.command = shlex.join(full)
        return outcome

    def check(self, arguments, verdict, code):
        options = ["--fix", "none", "--seeds", "1-2", "--json"]
        outcome = self.command(arguments, self.store("check-" + arguments[0]), "check", *options)
        problems = []
        try:
            said = json.loads(outcome.out)
        except ValueError:
            said = {}
        if (said.get("verdict"), outcome.code) != (verdict, code):
            problems.append(f"{said.get('verdict')!r}, code {outcome.code}: {said.get('reason')!r} "
                            f"{said.get('difference')} {outcome.err[-300:]!r}")
        elif verdict == "differs" and "--mode shuffle --seed" not in (said.get("again") or ""):
            problems.append(f"nothing shows it again: {said.get('again')!r}")
        elif arguments[0] == "unordered" and said.get("difference"):
            problems.append(f"{said}")
        self.results.add(f"{self.stack.name} check {arguments[0]}", problems, outcome)

    def file(self):
        """The difference is in a file, and not in what is printed."""
        path = os.path.join(self.work, f"blocks-{self.stack.name}")
        for how, options, code in (("launcher", [], 0), ("launcher", ["--file", path], 1),
                                   ("right", ["--file", path], 0)):
            if os.path.exists(path):
                os.remove(path)
            outcome = self.command([how, path], self.store("file"), "check", "--fix", "none",
                                   "--seeds", "1-2", *options)
            problems = [] if outcome.code == code else [f"code {outcome.code}: {outcome.out!r}"]
            if options and os.path.exists(path):
                problems.append("the file is still there")
            self.results.add(f"{self.stack.name} check {how} {' '.join(options[:1])}", problems,
                             outcome)

    def launch(self, arguments, store, mode="auto", **settings):
        variables = {"LD_PRELOAD": self.tool.library, "RANKWEAVE_MODE": mode,
                     "RANKWEAVE_STORE": store, **PLACES, **settings}
        command = self.stack.launch(NP, variables, [self.program, *arguments])
        outcome = stacks.execute(command, self.stack.environment(), cwd=self.work)
        outcome.command = shlex.join(command)
        path = self.tool.stored(store)
        outcome.facts = self.tool.facts(path) if path else {}
        return outcome

    def step(self, name, outcome, reordered, line=None):
        """Adds the result of a launch, or puts it by while `self.attempt` is a list."""
        problems = []
        if outcome.code != 0:
            problems.append(f"code {outcome.code}: {outcome.err[-300:]!r}")
        if outcome.facts.get("reordered") is not reordered:
            problems.append(f"reordered {outcome.facts.get('reordered')}: "
                            f"{outcome.facts.get('decision')!r}")
        said = [text for text in outcome.err.splitlines() if text.startswith("rankweave")]
        if (line is None and said) or (line and not (len(said) == 1 and line in said[0])):
            problems.append(f"standard error: {said[:3]}")
        self.add(name, problems, outcome)

    def add(self, name, problems, outcome):
        if self.attempt is None:
            self.results.add(f"{self.stack.name} {name}", problems, outcome)
        else:
            self.attempt.append((name, problems, outcome))

    def remembered(self):
        """A program that differs is not reordered in mode auto, unless it is asked for."""
        store = self.store("remembered")
        self.step("first launch", self.launch(["right"], store), False)
        self.step("reordered before the check", self.launch(["right"], store), True)
        name = os.path.basename(self.program)
        self.step("denied", self.launch(["right"], store, RANKWEAVE_DENY="mixed*"), False)
        self.step("denied and allowed",
                  self.launch(["right"], store, RANKWEAVE_DENY="*", RANKWEAVE_ALLOW=name), True)
        for option, pattern, recorded in (("SKIP", "mixed*", None), ("ONLY", "other", None),
                                          ("ONLY", "mixed*", False)):
            outcome = self.launch(["right"], self.store(f"{option}-{recorded}"),
                                  **{f"RANKWEAVE_{option}": pattern})
            self.step(f"left alone: {option} {pattern}", outcome, recorded)
        group = {"RANKWEAVE_ALSO_READ": f"{self.store('nothing')}:{store}"}
        self.step("matrix of another store", self.launch(["right"], self.store("own"), **group), True)
        outcome = self.command(["launcher"], store, "check", "--fix", "none")
        problems = [] if outcome.code == 1 else [f"code {outcome.code}"]
        self.results.add(f"{self.stack.name} check for later launches", problems, outcome)
        self.step("launcher's order after the check", self.launch(["right"], store), False,
                  "found that the results of this program depend on the order of its ranks")
        self.step("verdict of another store",
                  self.launch(["right"], self.store("own-2"), **group), False,
                  "found that the results of this program depend on the order of its ranks")
        self.step("allowed after the check",
                  self.launch(["right"], store, RANKWEAVE_ALLOW=name), True)
        self.step("mode reorder after the check", self.launch(["right"], store, "reorder"), True)

    def turned_back(self):
        """Reordered launches were slower: later ones must not be reordered. On a busy machine the times may
        be useless; the test is then repeated."""
        for number in range(3):
            self.attempt = []
            self.turn_back(self.store(f"slow-{number}"))
            attempt, self.attempt = self.attempt, None
            if not any(problems for _, problems, _ in attempt):
                break
        for name, problems, outcome in attempt:
            self.add(name, problems, outcome)

    def turn_back(self, store):
        slow = ["slow", "300"]
        self.step("slow: recorded", self.launch(slow, store), False)
        self.step("slow: reordered once", self.launch(slow, store), True)
        self.step("slow: reordered twice", self.launch(slow, store), True)
        self.step("slow: measured again", self.launch(slow, store), False, "timed only once")
        outcome = self.launch(slow, store)
        self.step("slow: turned back", outcome, False, "reordered launches were slower")
        measured = outcome.facts.get("measured", "")
        self.add("slow: shown", [] if "slower" in measured else [f"measured {measured!r}"], outcome)
        # Another input is other work.
        self.step("slow: another input", self.launch(["slow", "2"], store), True)
        self.step("slow: asked for", self.launch(slow, store, "reorder"), True)

    def compare(self):
        full = [self.tool.command, "compare", "--json", "--figure", "done in ([0-9.]+) s", "--",
                *self.stack.launch(NP, {}, [self.program, "slow", "60"])]
        store = self.store("compare")
        outcome = stacks.execute(
            full, dict(self.stack.environment(), RANKWEAVE_LIBRARY=self.tool.library,
                       RANKWEAVE_STORE=store, **PLACES), 240, cwd=self.work)
        outcome.command = shlex.join(full)
        problems = []
        try:
            said = json.loads(outcome.out)
        except ValueError:
            said = {}
        if (said.get("verdict"), outcome.code) != ("slower", 1) or not 2 < said["ratio"] < 8:
            problems.append(f"{said.get('verdict')!r}, ratio {said.get('ratio')}, code "
                            f"{outcome.code}: {outcome.err[-300:]!r}")
        path = self.tool.stored(store)
        facts = self.tool.facts(path) if path else {}
        if len(facts.get("past_seconds_reordered", [])) < 6:
            problems.append(f"the launches are not remembered: {facts}")
        self.results.add(f"{self.stack.name} compare slow", problems, outcome)
