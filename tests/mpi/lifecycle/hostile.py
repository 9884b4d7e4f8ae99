"""Tests damaged and impossible input, `rankweave run`, and programs that do not use MPI.

With any wrong input the job must run normally, and one line on standard error must say what is wrong. If a
record cannot be stored, a second line at the end says where it waits. No stored data may be lost.
"""

import os
import re
import shlex
import subprocess

from driver import stacks
from recording import expected

NP = 4
# Page faults that the library may add to a program that does nothing. With 44 start-up takes 1.35
# times as long, with 72 it took 1.65 times (benches/lifecycle/run --only startup).
STARTUP_PAGES = 56


def damaged_input(tool, results, stack, work):
    problem = stack.build("ring.c")
    if problem:
        results.add(f"{stack.name} compiles ring.c", [problem])
        return
    program = [stack.program("ring.c"), "send"]
    environment = stack.environment()

    # A record that cannot be stored waits here, and not in the node's own directories.
    spill = os.path.join(work, f"hostile-{stack.name}-spill")
    os.makedirs(spill, exist_ok=True)

    def launch(variables, np=NP):
        command = stack.launch(np, {"LD_PRELOAD": tool.library, "RANKWEAVE_KEY": "k",
                                    "RANKWEAVE_SPILL": spill, **variables}, program)
        outcome = stacks.execute(command, environment)
        outcome.command = shlex.join(command)
        return outcome

    def fresh(name):
        return os.path.join(work, f"hostile-{stack.name}-{name}")

    def recorded(name):
        """A store with a good record in it."""
        store = fresh(name)
        launch({"RANKWEAVE_MODE": "record", "RANKWEAVE_STORE": store})
        path = tool.stored(store)
        return store, path

    def check(name, outcome, lines=1, words=(), more=()):
        """The job went well and `lines` lines on standard error tell what is wrong."""
        problems = list(more)
        if outcome.code != 0 or outcome.timed_out:
            problems.append(f"exit code {outcome.code}")
        if outcome.out != "ok send\n":
            problems.append(f"standard output: {outcome.out[:300]!r}")
        said = [line for line in outcome.err.splitlines() if line.strip()]
        if len(said) != lines:
            problems.append(f"{len(said)} lines on standard error, expected {lines}: {said[:6]}")
        for word in words:
            if not any(word.lower() in line.lower() for line in said):
                problems.append(f"standard error does not mention {word!r}: {said[:2]}")
        results.add(f"{stack.name} {name}", problems, outcome)

    def damage(name, change, words, left_alone=False):
        store, path = recorded(name)
        if path is None:
            results.add(f"{stack.name} {name}", ["nothing was stored to damage"])
            return
        with open(path, "rb") as f:
            content = change(f.read())
        with open(path, "wb") as f:
            f.write(content)
        outcome = launch({"RANKWEAVE_MODE": "auto", "RANKWEAVE_STORE": store})
        # The damaged bytes are still somewhere: in place, or moved aside.
        kept = False
        for entry in os.listdir(store):
            with open(os.path.join(store, entry), "rb") as f:
                kept = kept or f.read() == content
        more = [] if kept else ["the bytes that were stored are gone"]
        if left_alone:
            with open(path, "rb") as f:
                if f.read() != content:
                    more.append("the file of the newer version was overwritten")
        check(name, outcome, lines=2 if left_alone else 1, words=words, more=more)

    damage("store of garbage", lambda b: b"garbage " * 40, ())
    damage("empty store file", lambda b: b"", ())
    damage("truncated store file", lambda b: b[:len(b) - 7], ())
    damage("store file with a flipped bit", lambda b: b[:-9] + bytes([b[-9] ^ 4]) + b[-8:], ())
    damage("store file of a newer version", lambda b: b[:8] + b"\xff\x00\x00\x00" + b[12:],
           ("version",), left_alone=True)

    # A directory where the file should be cannot be read as one, not even by root.
    store, path = recorded("unreadable store file")
    if path:
        os.remove(path)
        os.makedirs(path)
        check("unreadable store file",
              launch({"RANKWEAVE_MODE": "auto", "RANKWEAVE_STORE": store}),
              lines=2, words=("will wait on this node", f"rankweave recover {spill}"))

    # A store below a plain file cannot be made, not even by root.
    blocked = fresh("file")
    with open(blocked, "w") as f:
        f.write("in the way\n")
    check("store directory that cannot be made",
          launch({"RANKWEAVE_MODE": "record", "RANKWEAVE_STORE": os.path.join(blocked, "store")}),
          lines=2, words=("will wait on this node", f"rankweave recover {spill}"))

    store, path = recorded("few-slots")
    settings = {"RANKWEAVE_MODE": "reorder", "RANKWEAVE_STORE": store}
    check("topology with too few slots",
          launch({**settings, "RANKWEAVE_TOPOLOGY": "tree:3"}), words=("3",))
    check("topology that does not exist",
          launch({**settings, "RANKWEAVE_TOPOLOGY": "moebius:4"}), words=("moebius",))
    check("topology file that is not there",
          launch({**settings, "RANKWEAVE_TOPOLOGY": "hwloc:/nonexistent.xml"}),
          words=("/nonexistent.xml",))
    check("slot given twice",
          launch({**settings, "RANKWEAVE_TOPOLOGY": "tree:4:2", "RANKWEAVE_SLOTS": "0,1,1,2"}))
    check("slots for other ranks",
          launch({**settings, "RANKWEAVE_TOPOLOGY": "tree:4:2", "RANKWEAVE_SLOTS": "0,1"}))
    check("fixed task that does not exist",
          launch({**settings, "RANKWEAVE_TOPOLOGY": "tree:4:2", "RANKWEAVE_FIX": "9"}))
    check("mode that does not exist", launch({**settings, "RANKWEAVE_MODE": "fast"}),
          words=("RANKWEAVE_MODE",))
    check("seed that is no number", launch({**settings, "RANKWEAVE_SEED": "x"}),
          words=("RANKWEAVE_SEED",))
    try:
        matrix = tool.matrix(path, "p2p") if path else {}
        more = [f"matrix: {expected.difference(matrix, expected.ring(NP))}"] if (
            matrix != expected.ring(NP)) else []
    except ValueError as error:
        more = [str(error)]
    results.add(f"{stack.name} record after launches with wrong settings", more)

    # A matrix of four ranks cannot place seven; it stays stored for launches of four.
    store, path = recorded("other-size")
    before = open(path, "rb").read() if path else b""
    outcome = launch({"RANKWEAVE_MODE": "reorder", "RANKWEAVE_STORE": store}, np=7)
    lost = not path or not any(
        open(os.path.join(store, entry), "rb").read() == before for entry in os.listdir(store))
    check("matrix of another number of ranks", outcome, words=("4",),
          more=["the matrix of 4 ranks is gone"] if lost else [])

    check("reorder with nothing stored",
          launch({"RANKWEAVE_MODE": "reorder", "RANKWEAVE_STORE": fresh("nothing")}))
    check("mode off", launch({"RANKWEAVE_MODE": "off", "RANKWEAVE_STORE": fresh("off")}), lines=0,
          more=["something was stored"] if os.path.exists(fresh("off")) else [])


def partly_seen(tool, results, stack, work):
    """The library does not see MPI_Init, and sees calls of only two of four processes. These must find out
    in bounded time that the others do not take part in the gather."""
    problem = stack.build("unseen.c")
    if problem:
        results.add(f"{stack.name} compiles unseen.c", [problem])
        return
    store = os.path.join(work, "partly-seen")
    command_line = stack.launch(NP, {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store},
                                [stack.program("unseen.c"), "alone"])
    outcome = stacks.execute(command_line, stack.environment(), 120)
    outcome.command = shlex.join(command_line)
    problems = []
    if outcome.code != 0 or outcome.timed_out or outcome.out != "ok unseen\n":
        problems.append(f"exit code {outcome.code}, standard output {outcome.out[:200]!r}")
    # MPICH 5 itself reports the step of the agreement that the other processes never take: it cannot be cancelled.
    said = [line for line in outcome.err.splitlines()
            if line.strip() and not line.startswith("MPICH: Builtin communicator")]
    if len(said) != 1 or "MPI_Init was not seen" not in said[0]:
        problems.append(f"standard error: {said[:4]}")
    if tool.stored(store):
        problems.append("a matrix was stored though processes are missing")
    results.add(f"{stack.name} partly seen", problems, outcome)


def command(tool, results, stack, work):
    """`rankweave run` does not change the launch and preloads the library into the MPI processes only."""
    store = os.path.join(work, "command-store")
    environment = dict(stack.environment(), RANKWEAVE_LIBRARY=tool.library)
    prefix = [tool.command, "run", "--store", store, "--mode", "record", "--"]

    def launch(np, *program, tool_prefix=prefix):
        full = [*tool_prefix, *stack.launch(np, {}, list(program))]
        outcome = stacks.execute(full, environment)
        outcome.command = shlex.join(full)
        return outcome

    stack.build("endings.c")
    stack.build("ring.c")
    for code in (0, 3):
        outcome = launch(NP, stack.program("endings.c"), "finalize", str(code))
        problems = [] if outcome.code == code else [f"exit code {outcome.code}"]
        if outcome.out != "ok finalize\n":
            problems.append(f"standard output {outcome.out!r}")
        results.add(f"rankweave run passes exit code {code} through", problems, outcome)
    path = tool.stored(store)
    problems = ["nothing was stored"]
    if path:
        try:
            text = expected.difference(tool.matrix(path, "p2p"), expected.ring(NP, 100, 10))
            problems = [text] if text else []
        except ValueError as error:
            problems = [str(error)]
    results.add("rankweave run records", problems, outcome)
    outcome = launch(2, "sh", "-c", "echo $LD_PRELOAD")
    problems = [] if all("librankweave" in line for line in outcome.out.splitlines()) and (
        len(outcome.out.splitlines()) == 2) else [f"standard output {outcome.out!r}"]
    results.add("rankweave run preloads the processes", problems, outcome)


def programs_without_mpi():
    """Programs of this machine."""
    python = os.path.realpath("/usr/bin/python3")
    found = [
        ["/bin/true"], ["/bin/false"], ["/bin/echo", "words"], ["/bin/cat", "/etc/hostname"],
        ["/bin/bash", "-c", "exit 3"], ["/bin/bash", "-c", "(sleep 0 &) ; wait; echo done; kill -TERM $$"],
        ["/bin/sh", "-c", "ulimit -v 200000; exec /bin/true"],
    ]
    if os.path.exists(python):
        found.append([python, "-c", "import threading, ctypes; print(1); raise SystemExit(4)"])
    return found + [[path, "--version"] for path in ("/usr/bin/mpirun.openmpi", "/usr/bin/mpiexec.mpich")
                    if os.path.exists(path)]


def strangers(tool, results, stack):
    """Programs that do not use MPI must run normally, without messages, and start hardly slower."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("LD_PRELOAD")}
    loaded = dict(plain, LD_PRELOAD=tool.library)
    for program in stack.without_mpi() if stack.emulated else programs_without_mpi():
        without = stacks.execute(program, plain)
        with_it = stacks.execute(program, loaded)
        problems = []
        if without.code != with_it.code:
            problems.append(f"exit code {with_it.code} instead of {without.code}")
        if without.out != with_it.out:
            problems.append(f"standard output {with_it.out[:200]!r}")
        if without.err != with_it.err:
            problems.append(f"standard error {with_it.err[:200]!r}")
        # Without the folder, which is another one in each clone (tests/measured/aarch64.txt).
        name = shlex.join([os.path.basename(program[0]), *program[1:]])
        results.add(f"preloaded into {name}", problems)

    if not stack.emulated:
        cost = faults("/bin/true", loaded) - faults("/bin/true", plain)
        print(f"start-up of /bin/true touches {cost} more pages with the library")
        results.add("start-up of /bin/true", [] if cost <= STARTUP_PAGES else
                    [f"{cost} more page faults, at most {STARTUP_PAGES} are wanted"])
    needed = subprocess.run(["readelf", "-d", tool.library], capture_output=True, text=True,
                            check=False).stdout
    names = re.findall(r"NEEDED.*\[(.*)\]", needed)
    more = [name for name in names if not name.startswith(("libc.so", "ld-linux"))]
    results.add("libraries loaded at start-up", [] if names and not more else
                [f"the C library and its loader are enough, needed: {names}"])


def faults(program, environment):
    """Page faults of a program that ends at once. They are most of what a library costs at
    start-up and, unlike time, the same on a busy machine."""
    counts = []
    for _ in range(20):
        pid = os.posix_spawn(program, [program], environment)
        counts.append(os.wait4(pid, 0)[2].ru_minflt)
    return min(counts)
