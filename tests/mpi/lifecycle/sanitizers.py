"""Tests programs that were built with sanitizers: they end and print as without the library, and are recorded.

Each is started by `rankweave run` and with LD_PRELOAD alone, directly and through a script. MPI libraries leak
by themselves: where leaks are looked for, none of those that are reported is one of the library.
"""

import os
import shlex
import subprocess

from driver import stacks
from recording import expected

NP = 4
PROGRAM = "ring.c"
ARGUMENTS = ("isend", "1000", "10")
# A program that defines the function by which a sanitizer asks for its options.
OWN_OPTIONS = 'const char *__asan_default_options(void) { return "malloc_context_size=8"; }\n'
KINDS = {
    "address": ("-fsanitize=address",),
    "address with options": ("-fsanitize=address",),
    "address linked in": ("-fsanitize=address", "-static-libasan"),
    "undefined": ("-fsanitize=undefined",),
    "leak": ("-fsanitize=leak",),
    "thread": ("-fsanitize=thread",),
}


def compile_program(stack, kind, directory):
    """The path of the program built with these options, or None if the compiler does not know them."""
    target = os.path.join(directory, kind.replace(" ", "-"))
    more = []
    if kind == "address with options":
        more.append(os.path.join(directory, "options.c"))
        with open(more[0], "w", encoding="utf-8") as file:
            file.write(OWN_OPTIONS)
    command = [*stack.compiler_command(), "-g", "-O1", *KINDS[kind], "-o", target, stacks.source(PROGRAM), *more,
               "-I", stacks.INCLUDE, "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return target if done.returncode == 0 else None


class Ways:
    """The launches of one program."""

    def __init__(self, tool, results, stack, directory, kind, program):
        self.tool, self.results, self.stack = tool, results, stack
        self.directory, self.kind, self.program = directory, kind, program
        # MPI libraries pass messages through memory that the sanitizer of threads does not see.
        self.options = {"LSAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0"}

    def launch(self, command, prefix=(), **variables):
        if prefix:
            # `rankweave run` has its settings from its own environment.
            environment = {**self.stack.environment(), **variables}
            line = [*prefix, *self.stack.launch(NP, self.options, command)]
        else:
            environment = self.stack.environment()
            line = self.stack.launch(NP, {**self.options, **variables}, command)
        environment["TMPDIR"] = self.directory
        outcome = stacks.execute(line, environment, 120, cwd=self.directory)
        outcome.command = shlex.join(line)
        return outcome

    def run(self):
        script = os.path.join(self.directory, "start.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n"$@"\n')
        os.chmod(script, 0o755)
        plain = [self.program, *ARGUMENTS]
        baseline = self.launch(plain)
        if baseline.timed_out or baseline.code != 0:
            self.results.skip(f"{self.stack.name} sanitizers {self.kind}",
                              f"code {baseline.code} without the library: {baseline.err[:200]!r}")
            return
        for mode in ("record", "shuffle"):
            for by_run in (False, True):
                for command in (plain, [script, *plain]):
                    if mode == "shuffle" and command is not plain:
                        continue
                    # The command cannot know what a script starts: see the README.
                    if self.kind == "address with options" and (not by_run or command is not plain):
                        continue
                    self.compare(baseline, mode, by_run, command)
        if self.kind in ("address", "address linked in", "leak"):
            for mode in ("record", "shuffle"):
                self.leaks(mode, plain)

    def leaks(self, mode, command):
        self.options["LSAN_OPTIONS"] = "detect_leaks=1"
        baseline = self.launch(command)
        outcome = self.launch(command, LD_PRELOAD=self.tool.library, RANKWEAVE_MODE=mode, RANKWEAVE_FLUSH="1000",
                              RANKWEAVE_FLUSH_SIGNAL="USR1", RANKWEAVE_SPILL=self.directory,
                              RANKWEAVE_STORE=os.path.join(self.directory, "store-leaks"))
        problems = []
        if (outcome.code, outcome.out) != (baseline.code, baseline.out):
            problems.append(f"exit code {outcome.code}, without the library {baseline.code}: {outcome.err[:300]!r}")
        # Frames without a name are those of components that were unloaded: another file lies there now.
        ours = [line for line in outcome.err.splitlines() if " in " in line and "librankweave.so" in line]
        if ours:
            problems.append(f"{len(ours)} lines about leaks of the library: {ours[0]!r}")
        self.results.add(f"{self.stack.name} sanitizers {self.kind} {mode} leaks", problems, outcome)

    def compare(self, baseline, mode, by_run, command):
        store = os.path.join(self.directory, f"store-{self.kind}-{mode}-{by_run}-{len(command)}".replace(" ", "-"))
        variables = {"RANKWEAVE_MODE": mode, "RANKWEAVE_STORE": store, "RANKWEAVE_SPILL": self.directory,
                     "RANKWEAVE_SEED": "2", "RANKWEAVE_FIX": "none"}
        if by_run:
            prefix = [self.tool.command, "run", "--"]
            outcome = self.launch(command, prefix, RANKWEAVE_LIBRARY=self.tool.library, **variables)
        else:
            outcome = self.launch(command, LD_PRELOAD=self.tool.library, **variables)
        problems = []
        if outcome.timed_out or outcome.code != baseline.code:
            problems.append(f"exit code {outcome.code}, without the library {baseline.code}: {outcome.err[:600]!r}")
        if outcome.out != baseline.out:
            problems.append(f"standard output {outcome.out[:200]!r}, without the library {baseline.out[:100]!r}")
        if outcome.err != baseline.err and not problems:
            problems.append(f"standard error: {outcome.err[:600]!r}")
        path = self.tool.stored(store)
        if path is None:
            problems.append("nothing was stored")
        else:
            text = expected.difference(self.tool.matrix(path, "p2p"), expected.ring(NP))
            problems += [f"matrix: {text}"] if text else []
        way = ("run" if by_run else "LD_PRELOAD") + ("" if command[0] == self.program else " through a script")
        self.results.add(f"{self.stack.name} sanitizers {self.kind} {mode} by {way}", problems, outcome)


def run(tool, results, stack, work):
    for kind in KINDS:
        directory = os.path.join(work, f"sanitizers-{stack.name}-{kind}".replace(" ", "-"))
        os.makedirs(directory)
        program = compile_program(stack, kind, directory)
        if program is None:
            results.skip(f"{stack.name} sanitizers {kind}", "does not compile here")
            continue
        Ways(tool, results, stack, directory, kind, program).run()
