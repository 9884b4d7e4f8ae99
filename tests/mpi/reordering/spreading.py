"""Tests that a launch spreads traffic over the rails of its nodes, on an emulated cluster of two hosts.

hwloc gets the machine of each host from a file (`HWLOC_XMLFILE`) with two or four rails. The processes of a host are
bound to two processors. In the launcher's order, all tasks that send to the other host have the same rail. The
reordered launch must halve the bytes of the busiest rail, and must not change the bytes between the hosts. Where this
machine permits no namespaces, or has only one processor, nothing is tested, and the test says so.

Open MPI 4 only: MPICH 4.0.2 of Debian often does not end on several hosts, without any tool, too.
"""

import os

from driver import stacks
from reordering.placement import Site

STACKS = ("openmpi4",)
PROGRAM = "blocks.c"
MACHINES = os.path.join(stacks.ROOT, "tests", "machines")
# The machine, its rails, the processes of a host, and those of them that send to the other host. The first half of the
# processes is on the first processor. If there are two rails near a processor, its processes take turns.
CASES = (("2core-2gpu-2nic.xml", 2, 4, (0, 1)), ("2core-4nic.xml", 4, 8, (0, 2)))

# Starts a program on a processor that depends on the number of the process on its host.
BOUND = """#!/bin/sh
export HWLOC_XMLFILE={machine}
exec taskset -c $((OMPI_COMM_WORLD_LOCAL_RANK / {half})) {program} "$@"
"""


class TwoHosts(Site):
    """Two hosts below one switch, and the program behind a script that binds it."""

    def __init__(self, tool, results, stack, work, case):
        super().__init__(tool, results, stack, work)
        machine, self.rails, self.per_host, far = case
        self.shape, self.hosts_count = "1x2", 2
        self.np = self.hosts_count * self.per_host
        self.arguments = [str(self.per_host), *map(str, far)]
        self.program = os.path.join(self.work, "bound")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(BOUND.format(machine=os.path.join(MACHINES, machine), half=self.per_host // 2,
                                    program=stack.program(PROGRAM)))
        os.chmod(self.program, 0o755)


def run(tool, results, stack, work):
    if stack.name not in STACKS:
        return
    if not {0, 1} <= os.sched_getaffinity(0):
        results.skip(f"{stack.name} spreading over rails", "processors 0 and 1 are not both available")
        return
    problem = stack.build(PROGRAM)
    if problem:
        results.add(f"{stack.name} compiles {PROGRAM}", [problem])
        return
    for case in CASES:
        with TwoHosts(tool, results, stack, work, case) as site:
            if site:
                spread(site, results)


def spread(site, results):
    """The busiest rail of a launch in the launcher's order, and of the reordered one."""
    options = ["--measure", "off", "--network", "off"]
    first = site.run(["--mode", "record", *options])
    given = site.facts()
    second = site.run(options)
    reordered = site.facts()
    problems = [f"code {o.code}: {o.err.strip()[-300:]}" for o in (first, second) if o.code or "ok blocks" not in o.out]
    known = [len({rail["rail"] for rail in facts.get("rails", [])}) for facts in (given, reordered)]
    if known != [site.rails] * 2:
        problems.append(f"rails {known} instead of {site.rails}")
    if not reordered.get("reordered"):
        problems.append(f"not reordered: {reordered.get('decision')!r}")
    busiest = [(facts.get("rail_balance") or {}).get("busiest", 0) for facts in (given, reordered)]
    between = [facts.get("internode_bytes") for facts in (given, reordered)]
    # A few bytes are collective calls, which all tasks share.
    if not 0 < busiest[1] <= 0.51 * busiest[0] or between[0] != between[1]:
        problems.append(f"the busiest rail has {busiest} bytes, between the hosts are {between}")
    if (reordered.get("rail_balance") or {}).get("busiest_given_order") != busiest[0]:
        problems.append("the launcher's order is judged in another way than it was recorded")
    label = f"{site.stack.name} spreading over {site.rails} rails: the busiest has {busiest} bytes"
    results.add(label, problems, second)
