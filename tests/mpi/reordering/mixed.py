"""Tests programs that confuse the ranks of a reordered communicator with those of the communicator it was made
from. A launch must detect this, and must report no correct program.

The argument of `mixed_halo.c` selects a mistake, or a correct program that looks similar.
"""

import json
import os
import re
import shlex

from driver import stacks

NP = 12
# Dealt out node by node: the torus is worth reordering.
PLACES = {"RANKWEAVE_TOPOLOGY": "tree:6:2@1:10", "RANKWEAVE_MIN_GAIN": "0", "RANKWEAVE_FIX": "0",
          "RANKWEAVE_SLOTS": ",".join(str(k // 2 + 6 * (k % 2)) for k in range(NP))}
MIXES = "mix the ranks of the old and the new communicator"
KEEPS = "constructors of topologies give no new ranks"
# Correct programs, which a launch must not report.
RIGHT = (("cart", "right"), ("cart", "before"), ("cart", "unused"), ("cart", "neighbourhood"),
         ("cart", "one-sided"), ("cart+", "right"), ("graph", "right"), ("dist", "right"),
         ("adjacent", "right"), ("adjacent", "before"))
WRONG = (("cart", "numbers"), ("cart", "rank"), ("cart+", "numbers"),
         ("graph", "rank"), ("dist", "numbers"), ("adjacent", "numbers"), ("adjacent", "rank"))
FORTRAN = (("right", False), ("numbers", True))


def noticed(tool, results, stack, work, full=False):
    problem = stack.build("mixed_halo.c")
    if problem:
        results.add(f"{stack.name} compiles mixed_halo.c", [problem])
        return
    tests = Noticed(tool, results, stack, work)
    # The rule is the same for every MPI library; only the handles differ.
    few = not full and stack.name != stacks.USUAL[0]
    for cases, mixes in ((RIGHT, False), (WRONG, True)):
        for case in cases[:2] + cases[-1:] if few else cases:
            tests.judged("mixed_halo.c", case, mixes)
    if len(stack.bindings()) > 1:
        problem = stack.build("mixed_halo_module.f90")
        if problem:
            results.add(f"{stack.name} compiles mixed_halo_module.f90", [problem])
            return
        for how, mixes in FORTRAN:
            tests.judged("mixed_halo_module.f90", (how,), mixes)
    if not few:
        tests.remembered()


class Noticed:
    """The launches on one MPI."""

    def __init__(self, tool, results, stack, work):
        self.tool, self.results, self.stack, self.work = tool, results, stack, work

    def store(self, name):
        return os.path.join(self.work, f"mixed-{self.stack.name}-{name}")

    def launch(self, source, arguments, store, mode="auto", **settings):
        variables = {"LD_PRELOAD": self.tool.library, "RANKWEAVE_MODE": mode,
                     "RANKWEAVE_STORE": store, **PLACES, **settings}
        command = self.stack.launch(NP, variables, [self.stack.program(source), *arguments])
        outcome = stacks.execute(command, self.stack.environment(), cwd=self.work)
        outcome.command = shlex.join(command)
        found = re.search(r"new ranks (\d+), wrong (\d+)", outcome.out)
        outcome.news, outcome.wrong = map(int, found.groups()) if found else (-1, -1)
        return outcome

    def step(self, name, outcome, moved, wrong, lines=()):
        """Adds a result: whether processes got new ranks, whether numbers are wrong, and what was
        said."""
        problems = []
        if outcome.code != 0:
            problems.append(f"code {outcome.code}: {outcome.err[-300:]!r}")
        if (outcome.news > 0) is not moved:
            problems.append(f"{outcome.news} new ranks")
        if (outcome.wrong > 0) is not wrong:
            problems.append(f"{outcome.wrong} processes with wrong numbers")
        said = [text for text in outcome.err.splitlines() if text.startswith("rankweave")]
        if len(said) != len(lines) or not all(a in b for a, b in zip(lines, said)):
            problems.append(f"standard error: {said[:3]}, not {lines}")
        self.results.add(f"{self.stack.name} mixed ranks: {name}", problems, outcome)

    def verdicts(self, store):
        try:
            listed = json.loads(self.tool.ask("list", "--store", store, "--json"))
            return [record["verdict"] for record in listed["records"]]
        except (ValueError, KeyError, OSError) as error:
            return [str(error)]

    def judged(self, source, arguments, mixes):
        name = " ".join([source.split(".")[0], *arguments])
        store = self.store(name.replace(" ", "-"))
        outcome = self.launch(source, arguments, store)
        self.step(name, outcome, True, mixes, [MIXES] if mixes else [])
        verdicts = self.verdicts(store)
        wanted = ["mixes ranks" if mixes else None]
        self.results.add(f"{self.stack.name} mixed ranks: {name}: verdict",
                         [] if verdicts == wanted else [f"{verdicts}, not {wanted}"], outcome)

    def remembered(self):
        """Later launches do not reorder in constructors, unless --allow or a check permits it."""
        store, wrong = self.store("remembered"), ["cart", "rank"]
        source = "mixed_halo.c"
        name = os.path.basename(self.stack.program(source))
        right = ["cart", "right"]
        self.step("first launch", self.launch(source, wrong, store), True, True, [MIXES])
        # With the matrix the world itself is reordered, and topologies have nothing to gain.
        self.forget(store)
        self.step("constructors keep the order", self.launch(source, wrong, store), False, False,
                  [KEEPS])
        self.step("reordered world", self.launch(source, wrong, store), False, False, [KEEPS])
        try:
            facts = json.loads(self.tool.ask("show", "--store", store, "--json"))
        except ValueError as error:
            facts = {"decision": str(error)}
        checks = [(c["verdict"], c["tasks"], c["seeds"]) for c in facts.get("checks", [])]
        problems = [] if checks == [("mixes ranks", NP, [])] else [f"checks {checks}"]
        if not facts.get("reordered"):
            problems.append(f"the world kept its order too: {facts.get('decision')!r}")
        self.results.add(f"{self.stack.name} mixed ranks: shown", problems)
        self.diagnosed(source, wrong, store)
        self.forget(store)
        self.step("allowed", self.launch(source, wrong, store, RANKWEAVE_ALLOW=name), True, True)
        self.forget(store)
        self.step("asked for", self.launch(source, wrong, store, "reorder"), True, True,
                  ["no usable matrix is stored", MIXES])
        self.check(source, right, store, "safe")
        self.forget(store)
        self.step("checked", self.launch(source, right, store), True, False)
        self.forget(store)
        self.step("known better", self.launch(source, wrong, store), True, True)

    def diagnosed(self, source, arguments, store):
        """'rankweave doctor' says so: no reordering in constructors, unless --allow permits it."""
        for name, options, wanted in (("doctor", [], True), ("doctor, allowed", ["--allow"], False)):
            options = options and [*options, os.path.basename(self.stack.program(source))]
            launch = self.stack.launch(NP, {}, [self.stack.program(source), *arguments])
            environment = dict(self.stack.environment(), RANKWEAVE_LIBRARY=self.tool.library)
            full = [self.tool.command, "doctor", "--json", "--store", store, *options, "--", *launch]
            outcome = stacks.execute(full, environment, 60, cwd=self.work)
            outcome.command = shlex.join(full)
            try:
                codes = [finding["code"] for finding in json.loads(outcome.out)["findings"]]
            except (ValueError, KeyError) as error:
                codes = [repr(error)]
            self.results.add(f"{self.stack.name} mixed ranks: {name}",
                             [] if ("mixes-ranks" in codes) == wanted else [f"findings {codes}"],
                             outcome)

    def forget(self, store):
        """Removes the matrix; the verdict stays."""
        path = self.tool.stored(store)
        if path:
            os.remove(path)

    def check(self, source, arguments, store, wanted):
        environment = dict(self.stack.environment(), RANKWEAVE_LIBRARY=self.tool.library,
                           RANKWEAVE_STORE=store)
        # How many ranks are new depends on the seed.
        full = [self.tool.command, "check", "--json", "--seeds", "1", "--ignore", "new ranks", "--",
                *self.stack.launch(NP, {}, [self.stack.program(source), *arguments])]
        outcome = stacks.execute(full, environment, 240, cwd=self.work)
        outcome.command = shlex.join(full)
        try:
            verdict = json.loads(outcome.out).get("verdict")
        except ValueError:
            verdict = None
        problems = [] if verdict == wanted else [f"{verdict!r}: {outcome.err[-300:]!r}"]
        self.results.add(f"{self.stack.name} mixed ranks: check", problems, outcome)
