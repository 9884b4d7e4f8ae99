"""Tests failures while a job searches for its rank order:

- the search takes too long, panics, ends without a result or gets no memory, in rank 0 or in the processes
  that help it;
- kept orders are damaged, of another version, not readable, or cannot be written;
- communicators are freed while they are being reordered.

In each case the job must run as without the library, and at most one line may say what happened. Also tests
that kept orders are used, and only for the same problem, and that several searching processes find the same
order every time.
"""

import os
import re
import shlex
import shutil

from driver import stacks
from recording import expected

NP = 6
# Two nodes of three; neighbouring processes sit on different ones.
TOPOLOGY = {"RANKWEAVE_TOPOLOGY": "tree:3:2@1:10", "RANKWEAVE_SLOTS": "0,3,1,4,2,5",
            "RANKWEAVE_FIX": "0", "RANKWEAVE_MIN_GAIN": "0"}
# Line on standard error that the library's own clock makes.
CLOCK = re.compile(r"rankweave: \S+: start took [0-9.]+ ms: .*kept order ([0-9.]+)")


def bound(tool, results, stack, directory, ring):
    """Neighbours in a ring that are bound to different processors come together."""
    store = os.path.join(directory, "bound")
    processors = sorted(os.sched_getaffinity(0))[:2]
    place = (f"p={processors[0]}; [ $((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} % 2)) = 0 ] || "
             f'p={processors[1]}; exec taskset -c $p "$@"')
    for name, variables in (("record", {}), ("reorder", {}), ("reorder", {"INJECT": "unasked"})):
        settings = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store, "RANKWEAVE_FIX": "0",
                    "RANKWEAVE_SPILL": directory, "RANKWEAVE_MODE": name,
                    **{f"RANKWEAVE_{key}": value for key, value in variables.items()}}
        command = stack.launch(NP, settings, ["sh", "-c", place, "sh", *ring])
        outcome = stacks.execute(command, stack.environment(), 120)
        outcome.command = shlex.join(command)
        problems = []
        # In an emulator, sh and taskset are programs of this machine's processor, which cannot load the library.
        said = [line for line in outcome.err.splitlines() if not (stack.emulated and line.startswith("ERROR: ld.so"))]
        if outcome.timed_out or outcome.code != 0 or outcome.out != "ok send\n" or said:
            problems.append(f"exit code {outcome.code}, {outcome.out[:200]!r}, {outcome.err[:300]!r}")
        path = tool.stored(store)
        facts = tool.facts(path) if path else {}
        if facts.get("reordered") is not (name == "reorder"):
            problems.append(f"reordered: {facts.get('reordered')!r}: {facts.get('decision')!r}")
        order = facts.get("process_of_task") or list(range(NP))
        apart = sum(order[t] % 2 != order[(t + 1) % NP] % 2 for t in range(NP))
        if apart != (NP if name == "record" else 2):
            problems.append(f"{apart} pairs of neighbours on different processors: {order}")
        # The places are the same, in whichever way they reach rank 0.
        if ("as found in an earlier launch" in str(facts.get("decision"))) != ("INJECT" in variables):
            problems.append(f"decision: {facts.get('decision')!r}")
        results.add(f"{stack.name} -n {NP} bound to two processors, {name} {variables}", problems,
                    outcome)


def same_but_for_the_time(first, second):
    """Whether two files of kept orders differ only in their headers and in the time when the order was found."""
    first, second = first[24:], second[24:]
    differ = [k for k, pair in enumerate(zip(first, second)) if pair[0] != pair[1]]
    return len(first) == len(second) > 0 and (not differ or differ[-1] - differ[0] < 6)


def run(tool, results, stack, work, full):
    # With the other MPI libraries, only what can differ between MPI libraries is tested.
    full = full or stack.name == "openmpi4"
    for source in ("ring.c", "freed.c"):
        problem = stack.build(source)
        if problem:
            results.add(f"{stack.name} compiles {source}", [problem])
            return
    directory = os.path.join(work, f"troubles-{stack.name}")
    os.makedirs(directory)
    store = os.path.join(directory, "store")
    orders = os.path.join(store, "orders")
    ring = [stack.program("ring.c"), "send"]

    def launch(program=ring, **variables):
        settings = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store,
                    "RANKWEAVE_SPILL": directory, "RANKWEAVE_MODE": "reorder", **TOPOLOGY,
                    **{f"RANKWEAVE_{name.upper()}": str(value) for name, value in variables.items()}}
        command = stack.launch(NP, settings, program)
        outcome = stacks.execute(command, stack.environment(), 120)
        outcome.command = shlex.join(command)
        return outcome

    def decision():
        path = tool.stored(store)
        facts = tool.facts(path) if path else {}
        return facts.get("reordered"), str(facts.get("decision"))

    def check(name, outcome, reordered=None, lines=0, word="", out="ok send\n"):
        """The job went as without the library; `lines` lines at most were said."""
        problems = []
        if outcome.timed_out or outcome.code != 0:
            problems.append(f"exit code {outcome.code}")
        if outcome.out != out:
            problems.append(f"standard output {outcome.out[:300]!r}")
        said = [line for line in outcome.err.splitlines() if line.strip()]
        if len(said) != lines or not all(word in line for line in said):
            problems.append(f"standard error, expected {lines} lines with {word!r}: {said[:4]}")
        if reordered is not None and not problems:
            try:
                got, why = decision()
                if got != reordered:
                    problems.append(f"reordered: {got!r}, expected {reordered}: {why}")
                text = expected.difference(tool.matrix(tool.stored(store), "p2p"), expected.ring(NP))
                if text:
                    problems.append(f"matrix: {text}")
            except ValueError as error:
                problems.append(str(error))
        results.add(f"{stack.name} -n {NP} {name}", problems, outcome)

    launch(mode="record")

    # Everything that can happen to a search, alone and shared; each with a seed of its own, so that no
    # order is kept for it.
    seed = 100
    for searchers, who in ((1, ""), (2, ""), (2, "leader-")):
        for trouble in ("stall", "panic", "death", "memory") if full else ("panic",):
            seed += 1
            # If another process still has an answer, that answer counts.
            alone = searchers == 1 or (trouble == "memory" and not who)
            outcome = launch(searchers=searchers, seed=seed, inject=who + trouble,
                             time_limit="200ms")
            check(f"{who}{trouble} with {searchers} searching", outcome, reordered=not alone,
                  lines=1, word="this launch keeps the launcher's order" if alone else "gave no answer")
    if os.path.isdir(orders) and os.listdir(orders):
        results.add(f"{stack.name} orders with a share left out", ["they were kept"])

    # As in a job of thousands of processes, rank 0 asks for the places only when it needs them.
    for searchers in (1, 2):
        outcome = launch(searchers=searchers, seed=90 + searchers, inject="unasked", verbose=2)
        clock = CLOCK.search(outcome.err)
        problems = []
        if outcome.code != 0 or outcome.out != "ok send\n" or decision()[0] is not True:
            problems.append(f"code {outcome.code}, {outcome.out!r}, {decision()}")
        # If the processes reported their places without being asked, rank 0 would know them earlier.
        if not clock or clock[0].find(" places ") < clock[0].find(" own communicator "):
            problems.append(f"places were not asked for: {outcome.err[:500]!r}")
        results.add(f"{stack.name} -n {NP} places asked for, {searchers} searching", problems, outcome)
    shutil.rmtree(orders, ignore_errors=True)

    if shutil.which("taskset") and len(os.sched_getaffinity(0)) > 1:
        bound(tool, results, stack, directory, ring)

    # The answer does not depend on which process ends its search first, and the next launch finds it.
    outcome = launch(searchers=2, verbose=2)
    found = sorted(os.listdir(orders)) if os.path.isdir(orders) else []
    content = {name: open(os.path.join(orders, name), "rb").read() for name in found}
    problems = [] if len(found) == 1 else [f"{len(found)} orders were kept"]
    shutil.rmtree(orders, ignore_errors=True)
    launch(searchers=2)
    for name in found:
        path = os.path.join(orders, name)
        again = open(path, "rb").read() if os.path.exists(path) else b""
        if not same_but_for_the_time(again, content[name]):
            problems.append("another launch found another order")
    results.add(f"{stack.name} -n {NP} several processes agree on an order", problems, outcome)
    again = launch(searchers=2, verbose=2)
    problems = []
    if "as found in an earlier launch" not in again.err:
        problems.append(f"the kept order was not used: {again.err[:400]!r}")
    clock = CLOCK.search(again.err)
    if not clock:
        problems.append(f"no times: {again.err[:400]!r}")
    if sorted(os.listdir(orders)) != found:
        problems.append(f"orders: {os.listdir(orders)}")
    if decision()[0] is not True:
        problems.append(f"decision: {decision()}")
    results.add(f"{stack.name} -n {NP} kept order", problems, again)
    for name, variables in (("seed", {"seed": 7}), ("slots", {"slots": "0,3,1,4,5,2"}),
                            ("fixed tasks", {"fix": "0,1"})) if full else ():
        other = launch(searchers=2, verbose=2, **variables)
        results.add(f"{stack.name} -n {NP} kept order is not used for other {name}",
                    [] if "earlier launch" not in other.err else [other.err[:300]], other)
    try:
        listed = tool.ask("list", "--store", store).splitlines()
        problems = [] if len([line for line in listed if "-n6" in line]) == 1 else [f"list: {listed}"]
    except ValueError as error:
        problems = [str(error)]
    results.add(f"{stack.name} orders are no records", problems)

    # Kept orders that are damaged, of another version, or not readable.
    if found:
        path, good = os.path.join(orders, found[0]), content[found[0]]
        bad_ones = (("truncated", good[:-5]), ("empty", b""), ("garbage", b"garbage " * 40),
                    ("changed", good[:40] + bytes([good[40] ^ 1]) + good[41:]),
                    ("of a newer version", good[:8] + b"\x63\0\0\0" + good[12:]),
                    ("a directory", None))
        for name, bad in bad_ones if full else bad_ones[:1]:
            if os.path.isdir(path):
                os.rmdir(path)
            elif os.path.exists(path):
                os.remove(path)
            if bad is None:
                os.makedirs(path)
            else:
                with open(path, "wb") as f:
                    f.write(bad)
            check(f"kept order that is {name}", launch(searchers=2), reordered=True)
            problems = []
            if name == "of a newer version" and open(path, "rb").read() != bad:
                problems.append("it was overwritten")
            results.add(f"{stack.name} kept order that is {name} afterwards", problems)
    # A plain file in the way: no directory can be made there, not even by root.
    shutil.rmtree(orders)
    with open(orders, "w", encoding="ascii") as f:
        f.write("in the way\n")
    check("orders that cannot be kept", launch(searchers=1), reordered=True)
    os.remove(orders)

    # Communicators that are freed at once.
    check("communicators that are freed at once", launch([stack.program("freed.c")], key="freed", mode="auto"),
          out="ok freed\n")
    check("communicators that are freed at once, in a new world",
          launch([stack.program("freed.c")], key="freed", searchers=2), out="ok freed\n")

    # The orders are removed together with their record.
    launch(searchers=1)
    before = os.listdir(orders) if os.path.isdir(orders) else []
    key = next((name[:-4] for name in os.listdir(store)
                if name.startswith("ring") and name.endswith(".rkw")), "")
    try:
        tool.ask("rm", "--store", store, key)
        left = [name for folder in (orders, store) for name in os.listdir(folder) if name.startswith("ring")]
        problems = [] if before and not left else [f"orders before {before}, after {left}"]
    except (ValueError, OSError) as error:
        problems = [str(error)]
    results.add(f"{stack.name} orders go with their record", problems)
    spawned(tool, results, stack, directory)


def spawned(tool, results, stack, work):
    """Worlds that another one starts: each has its own record, traffic between them is in neither, and
    the started one keeps the launcher's order."""
    if "spawn" in stack.unable:
        return
    problem = stack.build("spawn_traffic.c")
    if problem:
        results.add(f"{stack.name} compiles spawn_traffic.c", [problem])
        return
    parents, children = 4, 3
    store = os.path.join(work, "spawned")
    # The ring of the merged communicator, as far as it stays in one world.
    inside = lambda np: {(k, k + 1): [50, 1] for k in range(np - 1)}  # noqa: E731
    wanted = {}
    for np, size, messages in ((parents, 1000, 10), (children, 300, 4)):
        wanted[np] = {pair: list(entry) for pair, entry in expected.ring(np, size, messages).items()}
        for pair, (size, messages) in inside(np).items():
            expected.add(wanted[np], *pair, size, messages)
    for mode in ("record", "reorder"):
        variables = {"LD_PRELOAD": tool.library, "RANKWEAVE_STORE": store, "RANKWEAVE_MODE": mode,
                     "RANKWEAVE_SPILL": work, "RANKWEAVE_TOPOLOGY": "tree:2:2@1:10",
                     "RANKWEAVE_SLOTS": "0,2,1,3", "RANKWEAVE_FIX": "none", "RANKWEAVE_MIN_GAIN": "0"}
        command = stack.launch(parents, variables, [stack.program("spawn_traffic.c"), str(children)])
        outcome = stacks.execute(command, stack.environment(), 120)
        outcome.command = shlex.join(command)
        problems = []
        if outcome.timed_out or outcome.code != 0 or outcome.out != "ok spawn_traffic\n" or outcome.err:
            problems.append(f"exit code {outcome.code}, {outcome.out[:300]!r}, {outcome.err[:300]!r}")
        found = sorted(name for name in os.listdir(store) if name.endswith(".rkw")) if (
            os.path.isdir(store)) else []
        if len(found) != (2 if stack.spawned_worlds_inherit else 1):
            problems.append(f"records: {found}")
        for name in found:
            np = int(name.rsplit("-n", 1)[1].removesuffix(".rkw"))
            path = os.path.join(store, name)
            try:
                text = expected.difference(tool.matrix(path, "p2p"), wanted.get(np, {}))
                facts = tool.facts(path)
            except ValueError as error:
                problems.append(str(error))
                continue
            if text:
                problems.append(f"matrix of {np} tasks: {text}")
            if np == children and facts.get("reordered"):
                problems.append("the started world was reordered")
            if mode == "reorder" and np == parents and not facts.get("reordered"):
                problems.append(f"the first world was not reordered: {facts.get('decision')!r}")
        results.add(f"{stack.name} matrices of a world and the one it starts, {mode}", problems, outcome)
