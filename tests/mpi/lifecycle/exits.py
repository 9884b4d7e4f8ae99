"""Tests programs that do not reach MPI_Finalize. They must end as they do without the library, and their
traffic must be recovered to the last byte.

The expected point-to-point and one-sided matrices are computed by hand. The expected matrix of the collectives
is the stored one of a launch of the same program that reaches MPI_Finalize.
"""

import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import time

from driver import emulated, stacks
from driver.checks import ENDED_EARLY
from recording import expected

NP = 4
SOURCE = "exits.c"
# The ways to end after which spill files remain.
LEAVING = ("return", "exit", "first_exit", "_exit", "abort", "mpi_abort", "sigterm", "sigkill", "segv",
           "last_sigkill", "exec", "fork_sigkill")
# The exit code and output of these are decided by which rank a launcher sees first: MPICH's ends the
# others as soon as one has left without MPI_Finalize.
ANY_CODE = ("last_sigkill",)
ANY_CODE_MPICH = ("return", "exit", "first_exit", "_exit", "exec", "fill")
# Of several processes that die by a signal MPICH's launcher reports the one it sees first, or one that
# it ended itself.
ANY_SIGNAL_MPICH = ("abort", "mpi_abort", "sigterm", "sigkill", "segv", "fork_sigkill")
# In these ways of ending rank 0 says what its exit means, unless a launcher ends it before.
SAYING = ("return", "exit", "first_exit", "fill")


def by_hand(np):
    """Point-to-point: the ring of the world, and those of the halves, whose ranks are reversed."""
    matrix = expected.ring(np, 100, 10)
    for parity in (0, 1):
        members = [t for t in range(np - 1, -1, -1) if t % 2 == parity]
        for at, task in enumerate(members):
            expected.add(matrix, task, members[(at + 1) % len(members)], 4 * 50, 4)
    return matrix


def one_sided(np):
    matrix = {}
    for task in range(np):
        expected.add(matrix, task, (task + 1) % np, 3 * 40, 3)
        expected.add(matrix, (task + 1) % np, task, 2 * 8, 2)
    return matrix


class Exits:
    """The launches on one MPI."""

    def __init__(self, tool, results, stack, work):
        self.tool, self.results, self.stack = tool, results, stack
        self.work = os.path.join(work, f"exits-{stack.name}")
        self.program = stack.program(SOURCE)
        self.reference = {}

    def place(self, name):
        """A directory for the store and one for the spill files."""
        directory = os.path.join(self.work, name)
        spill = os.path.join(directory, "spill")
        os.makedirs(spill, exist_ok=True)
        return directory, os.path.join(directory, "store"), spill

    def command(self, arguments, variables):
        return self.stack.launch(NP, variables, [self.program, *arguments])

    def variables(self, store, spill, **more):
        settings = {"LD_PRELOAD": self.tool.library, "RANKWEAVE_MODE": "record",
                    "RANKWEAVE_STORE": store, "RANKWEAVE_SPILL": spill}
        settings.update({f"RANKWEAVE_{k.upper()}": str(v) for k, v in more.items()})
        return settings

    def launch(self, arguments, variables, timeout=60):
        command = self.command(arguments, variables)
        outcome = stacks.execute(command, self.stack.environment(), timeout, cwd=self.work)
        outcome.command = shlex.join(command)
        return outcome

    def settle(self, spill):
        """Waits until no process has a spill file there any more: launchers return earlier."""
        for _ in range(100):
            done = subprocess.run([self.tool.command, "recover", "--list", "--json", spill],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 1 or done.returncode == 0 and not any(
                    job["running"] for job in json.loads(done.stdout)["jobs"]):
                return
            time.sleep(0.1)

    def recover(self, store, spill, *options):
        """Runs the command. Returns what went wrong, and the results."""
        done = subprocess.run(
            [self.tool.command, "recover", "--json", "--store", store, *options, spill],
            capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            return [f"recover ends with {done.returncode}: {done.stderr.strip()}"], []
        return [], json.loads(done.stdout)["jobs"]

    def unstored(self, spill, store):
        """The records that wait for a store, as `recover --list` gives them."""
        done = subprocess.run([self.tool.command, "recover", "--list", "--json", spill],
                              capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            return []
        return [record for record in json.loads(done.stdout)["unstored"] if record["store"] == store]

    def matrices(self, store):
        path = self.tool.stored(store)
        if path is None:
            return None
        return {kind: self.tool.matrix(path, kind) for kind in ("p2p", "onesided", "collective")}

    def differences(self, store):
        """The difference between the stored matrix and the traffic of the program."""
        try:
            got = self.matrices(store)
        except ValueError as error:
            return [f"the record cannot be read: {error}"]
        if got is None:
            return ["nothing was stored"]
        wanted = {"p2p": by_hand(NP), "onesided": one_sided(NP), **self.reference}
        texts = {kind: expected.difference(got[kind], wanted[kind]) for kind in wanted}
        return [f"{kind} matrix: {text}" for kind, text in texts.items() if text]

    def left(self, spill):
        return sorted(os.listdir(spill))

    def compare(self, plain, outcome, how):
        problems = []
        by_signal = not self.stack.openmpi and how in ANY_SIGNAL_MPICH
        by_chance = by_signal or how in ANY_CODE or (
            not self.stack.openmpi and how in ANY_CODE_MPICH)
        if outcome.timed_out and not plain.timed_out:
            problems.append("did not end")
        elif (outcome.code == 0 if by_signal and plain.code else
              outcome.code != plain.code and not by_chance):
            problems.append(f"exit code {outcome.code}, without the library {plain.code}")
        ours, theirs = (sorted(line for line in text.splitlines() if not line.startswith("="))
                        for text in (outcome.out, plain.out))
        if ours != theirs and not by_chance:
            problems.append(f"standard output {outcome.out[:200]!r}")
        own = [line for line in outcome.err.splitlines() if line.startswith("rankweave")]
        about_end = [line for line in own if line.startswith(ENDED_EARLY) and "; try: " in line]
        if how == "first_exit" and len(about_end) != 1:
            problems.append(f"rank 0 does not say once what its exit means: {own}")
        if len(own) > (how in SAYING) or own != about_end:
            problems.append(f"standard error: {own[0]!r}")
        return problems

    def run(self):
        problem = self.stack.build(SOURCE)
        if problem:
            self.results.add(f"{self.stack.name} compiles {SOURCE}", [problem])
            return
        os.makedirs(self.work, exist_ok=True)
        for test in (self.finalize, self.every_end, self.killed_from_outside, self.lost_task,
                     self.stale_files, self.flushes, self.handlers, self.signal_without_handler, self.switched_off,
                     self.full_disk, self.refused):
            test()
        # MPI libraries leave their own shared memory behind when a program is killed.
        shutil.rmtree(self.work, ignore_errors=True)

    def add(self, name, problems, outcome=None):
        self.results.add(f"{self.stack.name} exits: {name}", problems, outcome)

    def finalize(self):
        """A clean end leaves a record and no files; so does one of a program that forked."""
        for how in ("finalize", "fork"):
            _, store, spill = self.place(how)
            plain = self.launch([how], {})
            outcome = self.launch([how], self.variables(store, spill))
            problems = self.compare(plain, outcome, how) + self.differences(store)
            if self.left(spill):
                problems.append(f"left after a clean end: {self.left(spill)}")
            self.add(how, problems, outcome)
            matrices = self.matrices(store)
            if matrices:
                self.reference = {"collective": matrices["collective"]}

    def every_end(self):
        for how in LEAVING:
            _, store, spill = self.place(how)
            plain = self.launch([how], {})
            outcome = self.launch([how], self.variables(store, spill))
            problems = self.compare(plain, outcome, how)
            self.settle(spill)
            if len(self.left(spill)) != NP:
                problems.append(f"spill files: {self.left(spill)}")
            errors, jobs = self.recover(store, spill)
            problems += errors
            if not errors and (len(jobs) != 1 or jobs[0]["missing"] or jobs[0]["lacks"]):
                problems.append(f"recovered: {jobs}")
            problems += self.differences(store)
            if self.left(spill):
                problems.append(f"left after recovering: {self.left(spill)}")
            self.add(how, problems, outcome)

    def start(self, directory, how, variables):
        """Starts a launch and waits until the program has sent everything."""
        ready = os.path.join(directory, "ready")
        process = subprocess.Popen(
            self.command([how, ready], variables), env=self.stack.environment(), cwd=self.work,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        for _ in range(600):
            if os.path.exists(ready) or process.poll() is not None:
                break
            time.sleep(0.05)
        return process

    def end(self, process, number):
        """Ends a launch as a batch system does; its output."""
        if number:
            try:
                process.send_signal(number)
            except ProcessLookupError:
                pass
        try:
            return process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()

    def killed_from_outside(self):
        """A time limit ends the launcher; then one process of every rank by SIGKILL."""
        for name, number in (("SIGTERM to the launcher", signal.SIGTERM),
                             ("SIGKILL to the ranks", None)):
            directory, store, spill = self.place(name.replace(" ", "-"))
            process = self.start(directory, "hang", self.variables(store, spill))
            problems, jobs = self.recover(store, spill, "--running", "--keep")
            if not problems and [job["how"] for job in jobs] != ["was still running"]:
                problems.append(f"while it runs: {jobs}")
            problems += self.differences(store)
            if number is None:
                for path in glob.glob(os.path.join(spill, "*.spill")):
                    try:
                        os.kill(int(path.rsplit("-", 1)[1].split(".")[0]), signal.SIGKILL)
                    except ProcessLookupError:
                        pass  # The launcher was faster: it ends the others when one is gone.
            self.end(process, number)
            shutil.rmtree(store, ignore_errors=True)
            self.settle(spill)
            errors, _ = self.recover(store, spill)
            problems += errors + self.differences(store)
            if self.left(spill):
                problems.append(f"left after recovering: {self.left(spill)}")
            self.add(name, problems)

    def lost_task(self):
        """If the file of one task is missing, the record says so and is not used; it is completed later."""
        directory, store, spill = self.place("lost")
        self.launch(["exit"], self.variables(store, spill))
        self.settle(spill)
        files = self.left(spill)
        path = next((f for f in files if f.split("-")[3] == "2"), None)
        if path is None:
            self.add("a task is missing", [f"no file of process 2: {files}"])
            return
        os.rename(os.path.join(spill, path), os.path.join(directory, path))
        problems, jobs = self.recover(store, spill)
        if not problems and [job["missing"] for job in jobs] != [[2]]:
            problems.append(f"recovered: {jobs}")
        facts = self.tool.facts(self.tool.stored(store))
        if facts.get("missing_tasks") != [2]:
            problems.append(f"the record does not say what is missing: {facts.get('missing_tasks')}")
        os.rename(os.path.join(directory, path), os.path.join(spill, path))
        errors, jobs = self.recover(store, spill)
        problems += errors + self.differences(store)
        if os.listdir(os.path.join(store, "unfinished")):
            problems.append("parts still wait in the store")
        self.add("a task is missing, then found", problems)

    def stale_files(self):
        """What other jobs left, whole or damaged, neither disturbs a launch nor is touched by it."""
        directory, store, spill = self.place("stale")
        self.launch(["sigkill"], self.variables(store, spill))
        self.settle(spill)
        files = self.left(spill)
        damaged = f"rankweave-{os.geteuid()}-{7:016x}-0-1.spill"
        with open(os.path.join(spill, damaged), "wb") as f:
            f.write(b"RKSPILL\n" + bytes(range(200)))
        # Two files that an earlier launch has marked, six days and eight days ago: a week later a file is removed.
        marked = [f"rankweave-{os.geteuid()}-{7:016x}-1-{days}.spill" for days in (6, 8)]
        for name, days in zip(marked, (6, 8)):
            shutil.copy(os.path.join(spill, damaged), os.path.join(spill, name))
            os.utime(os.path.join(spill, name), (1, time.time() - days * 86400))
        plain = self.launch(["finalize"], {})
        outcome = self.launch(["finalize"], self.variables(store, spill))
        problems = self.compare(plain, outcome, "finalize") + self.differences(store)
        if self.left(spill) != sorted([*files, damaged, marked[0]]):
            problems.append(f"files of other jobs changed: {self.left(spill)}")
        unmarked = [name for name in self.left(spill) if os.stat(os.path.join(spill, name)).st_atime != 1]
        if unmarked:
            problems.append(f"not marked: {unmarked}")
        os.remove(os.path.join(spill, marked[0]))
        # A damaged file that is new might belong to a process that has just begun.
        os.utime(os.path.join(spill, damaged), (2, 1))
        # The job that was killed had other arguments: its record is kept beside the one in use, which stays.
        done = subprocess.run([self.tool.command, "recover", "--store", store, spill],
                              capture_output=True, text=True, check=False)
        if done.returncode != 2 or "recovered" not in done.stderr or damaged not in done.stderr:
            problems.append(f"recover ends with {done.returncode}: {done.stderr}")
        problems += self.differences(store)
        subprocess.run([self.tool.command, "recover", "--discard", "--store", store, spill],
                       capture_output=True, check=False)
        if self.left(spill):
            problems.append(f"left after discarding: {self.left(spill)}")
        self.add("files of other jobs", problems, outcome)

    def flushes(self):
        """SIGUSR1 to a rank, and regular flushes, store the matrix while the program runs."""
        for name, more in (("flush on a signal", {"flush_signal": "USR1"}),
                           ("regular flush", {"flush": "500ms"})):
            if self.stack.emulated:
                self.results.left_out[f"{self.stack.name} exits: {name}"] = emulated.NO_FLUSH
                continue
            directory, store, spill = self.place(name.replace(" ", "-"))
            process = self.start(directory, "hang", self.variables(store, spill, **more))
            files = sorted(glob.glob(os.path.join(spill, "*.spill")))
            if files and "flush_signal" in more:
                os.kill(int(files[-1].rsplit("-", 1)[1].split(".")[0]), signal.SIGUSR1)
            for _ in range(100):
                # A regular flush may come before everything was sent; the next one corrects it.
                problems = self.differences(store)
                if not problems:
                    break
                time.sleep(0.1)
            if process.poll() is not None:
                problems.append(f"the program ended with {process.returncode}")
            self.end(process, signal.SIGTERM)
            self.settle(spill)
            self.add(name, problems)
        self.flush_without_command()
        directory, store, spill = self.place("flush-then-finalize")
        outcome = self.launch(["wait"], self.variables(store, spill, flush="300ms"))
        problems = self.compare(self.launch(["wait"], {}), outcome, "wait") + self.differences(store)
        if self.left(spill) or os.path.exists(os.path.join(store, "unfinished")):
            problems.append(f"left after a clean end: {self.left(spill)} {os.listdir(store)}")
        if not problems and self.tool.facts(self.tool.stored(store))["decision"]:
            problems.append("the record is that of a flush")
        self.add("flushes before a clean end", problems, outcome)

    def flush_without_command(self):
        """A flush was asked for, but the command that writes the matrix is missing: one line says so."""
        alone = shutil.copy(self.tool.library, os.path.join(self.work, "alone.so"))
        _, store, spill = self.place("no-command")
        outcome = self.launch(["finalize"], {**self.variables(store, spill, flush="300ms"), "LD_PRELOAD": alone,
                                             "PATH": "/nowhere"})
        problems = self.differences(store)
        if outcome.code or outcome.err.count("neither beside the library nor in PATH") != 1:
            problems.append(f"exit code {outcome.code}, said: {outcome.err}")
        self.add("flush without the command", problems, outcome)

    def handlers(self):
        """A program's own handler of the signal is called, whenever it was set."""
        for when in ("before", "after"):
            _, store, spill = self.place(f"handler-{when}")
            arguments = ["usr1", os.path.join(self.work, f"ready-{when}"), when]
            plain = self.launch(arguments, {})
            outcome = self.launch(arguments, self.variables(store, spill, flush_signal="USR1"))
            self.add(f"own handler set {when} MPI_Init",
                     self.compare(plain, outcome, "usr1") + self.differences(store), outcome)

    def signal_without_handler(self):
        """SIGUSR1 ends a program without a handler, unless flushes by that signal were asked for."""
        _, store, spill = self.place("no-handler")
        plain = self.launch(["usr1_default"], {})
        outcome = self.launch(["usr1_default"], self.variables(store, spill))
        problems = [] if outcome.code == plain.code else [
            f"exit code {outcome.code}, without the library {plain.code}"]
        self.settle(spill)
        self.add("SIGUSR1 without a handler", problems, outcome)

    def switched_off(self):
        _, store, spill = self.place("off")
        plain = self.launch(["exit"], {})
        outcome = self.launch(["exit"], self.variables(store, "off", verbose=1))
        problems = self.compare(plain, outcome, "exit")
        if os.path.exists(store):
            problems.append("something was stored")
        self.add("switched off", problems, outcome)
        # If the directory does not exist, one line says so, and the launch is recorded.
        outcome = self.launch(["finalize"], self.variables(store, os.path.join(spill, "absent")))
        said = [line for line in outcome.err.splitlines() if line.startswith("rankweave")]
        problems = self.differences(store)
        if outcome.code != 0 or len(said) != 1 or "RANKWEAVE_SPILL" not in said[0]:
            problems.append(f"exit code {outcome.code}, said {said}")
        self.add("directory that is not there", problems, outcome)

    def full_disk(self):
        """The disk fills up while the program runs. The program runs as usual. Traffic that has no space in
        the spill file is still counted, or the record says that it is missing."""
        directory, store, spill = self.place("full")
        if os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", spill],
                capture_output=True, check=False).returncode != 0:
            self.results.skip(f"{self.stack.name} exits: full disk", "cannot mount a file system")
            return
        try:
            arguments = ["fill", os.path.join(directory, "ready"), os.path.join(spill, "filler")]
            plain = self.launch(arguments, {})
            os.remove(os.path.join(spill, "filler"))
            outcome = self.launch(arguments, self.variables(store, spill))
            problems = self.compare(plain, outcome, "fill")
            self.settle(spill)
            os.remove(os.path.join(spill, "filler"))
            errors, jobs = self.recover(store, spill)
            problems += errors
            if not errors and not (len(jobs) == 1 and jobs[0]["lacks"]):
                problems.append(f"does not say what is missing: {jobs}")
            self.add("full disk", problems, outcome)
        finally:
            subprocess.run(["umount", spill], capture_output=True, check=False)

    def refused(self):
        """A store that cannot be written to at the end: the record waits beside the spill files, one for
        each key of each store, and `recover` stores it, in the store it names or another that is asked
        for."""
        directory, store, spill = self.place("refused")
        blocked = "/proc/rankweave-store"
        plain = self.launch(["finalize"], {})
        problems = []

        def launch(refuses, store, start=0):
            """A launch that says where its record waits, after `start` lines about its start."""
            outcome = self.launch(["finalize"], self.variables(store, spill))
            said = [line for line in outcome.err.splitlines() if line.startswith("rankweave")]
            outcome.err = "\n".join(set(outcome.err.splitlines()) - set(said))
            problems.extend(self.compare(plain, outcome, "finalize"))
            if len(said) != start + 1 or f": rankweave recover {spill}" not in said[-1]:
                problems.append(f"{refuses}: said {said}")
            elif start and "will wait on this node" not in said[0]:
                problems.append(f"{refuses}: said {said} at the start")
            return outcome

        for _ in range(2):
            outcome = launch("no directory", blocked)
        waiting = f"rankweave-{os.geteuid()}-unstored"
        if self.left(spill) != [waiting] or len(self.unstored(spill, blocked)) != 1:
            problems.append(f"left: {self.left(spill)}")
        done = subprocess.run([self.tool.command, "recover", "--list", spill], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0 or f"its store refused the record: {blocked}" not in done.stdout:
            problems.append(f"recover --list ends with {done.returncode}: {done.stdout}{done.stderr}")
        # The store that the record names still refuses it. Another store is set now, but the record does not
        # go there, and it is not lost.
        other = os.path.join(directory, "other")
        for variables in ({"XDG_DATA_HOME": other}, {"RANKWEAVE_STORE": other}):
            environment = {k: v for k, v in os.environ.items() if k != "RANKWEAVE_STORE"} | variables
            done = subprocess.run([self.tool.command, "recover", spill], capture_output=True, text=True,
                                  check=False, timeout=60, env=environment)
            if done.returncode != 2 or blocked not in done.stderr or os.path.exists(other):
                problems.append(f"recover with {variables} ends with {done.returncode}: {done.stderr}")
            if len(self.unstored(spill, blocked)) != 1:
                problems.append(f"recover with {variables} leaves {self.left(spill)}")
        # In a second store a directory has the name of the record. It cannot be read as a record, so the
        # record of that store waits as well.
        key = self.unstored(spill, blocked)[0]["key"] if self.unstored(spill, blocked) else "none"
        strange = os.path.join(directory, "strange")
        os.makedirs(os.path.join(strange, f"{key}.rkw"), exist_ok=True)
        launch("a directory in place of the record", strange, start=1)
        if len(self.unstored(spill, blocked)) != 1 or len(self.unstored(spill, strange)) != 1:
            problems.append("the records of two stores do not wait side by side")
        os.rmdir(os.path.join(strange, f"{key}.rkw"))
        # Both records have the same key. The newer one stays, in whichever order the files are found.
        errors, jobs = self.recover(store, spill)
        problems += errors + self.differences(store)
        if self.left(spill) or len(jobs) != 2:
            problems.append(f"after recover: {jobs}, left {self.left(spill)}")
        # A user who switches the files off gets none.
        outcome = self.launch(["finalize"], self.variables(blocked, "off"))
        if "is not stored" not in outcome.err or self.left(spill):
            problems.append(f"spill off: {outcome.err}, left {self.left(spill)}")
        self.add("a store that refuses", problems, outcome)


def run(tool, results, stack, work):
    Exits(tool, results, stack, work).run()
