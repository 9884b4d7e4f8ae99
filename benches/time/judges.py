"""What judges the mappings of `scripts/bench-time`: the simulations of max_min.c and packets.c, and SimGrid where it is
installed."""

import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# No traffic of acknowledgements on the way back, and no limit by the window of TCP: neither exists on such networks.
OPTIONS = ["--log=root.thres:critical", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0"]

# With more parts than this, max_min.c takes together what differs by no more than this part: the ends of flows, and the
# shares of links. It has fewer parts in networks of 64 slots, so their figures are exact.
MANY, ROUGH = 10_000, "0.005"


def case(parts, width, takes):
    """The flows as the programs read them, with what a byte takes of a link if `takes`. Links are numbered as they
    appear."""
    number = {}
    for links, _, _ in parts:
        for link in links:
            number.setdefault(link, len(number))
    lines = [" ".join(map(str, [len(number), *map(width, number)])), str(len(parts))]
    for links, bytes, taken in parts:
        words = [f"{number[link]} {t!r}" if takes else str(number[link]) for link, t in zip(links, taken)]
        lines.append(f"{bytes} {len(links)} " + " ".join(words))
    return "\n".join(lines) + "\n"


class Judge:
    """A program that reads flows and prints the time at which the last one ends."""

    def __init__(self, name, source, command, options, folder):
        self.name, self.program, self.options = name, Path(folder) / Path(source).stem, options
        compiled = subprocess.run([*command, "-o", self.program, FOLDER / source, *(["-lsimgrid"] if options else [])],
                                  capture_output=True, text=True)
        self.problem = compiled.stderr if compiled.returncode else None

    def time(self, parts, width):
        text = case(parts, width, not self.options)
        arguments = self.options or ([ROUGH] if len(parts) > MANY else [])
        run = subprocess.run([self.program, *arguments], input=text, capture_output=True, text=True, check=True)
        return float(run.stdout)


class Packets(Judge):
    """Flows of a torus with adaptive routing, packet by packet."""

    SIZE = 25

    def time_of_flows(self, flows):
        lines = [str(len(flows))] + [f"{a} {b} {max(1, round(bytes / self.SIZE))}" for a, b, bytes in flows]
        run = subprocess.run([self.program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
        return float(run.stdout) * self.SIZE


def judges(folder):
    """Our own simulations of flows and of packets, and SimGrid or None."""
    compiler = [shutil.which("gcc") or "cc", "-O2"]
    own = Judge("max-min", "max_min.c", compiler, [], folder), Packets("packets", "packets.c", compiler, [], folder)
    for judge in own:
        if judge.problem:
            raise SystemExit(f"bench-time: the simulation '{judge.name}' was not compiled: {judge.problem}")
    simgrid = Judge("SimGrid", "simgrid_flows.cpp", [shutil.which("g++") or "c++", "-O1"], OPTIONS, folder)
    return *own, None if simgrid.problem else simgrid
