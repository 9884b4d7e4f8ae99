"""`scripts/bench-time --reach`: how good can any mapping be where chance has a part in the ways of the flows?

The networks are those of `networks.NETWORKS` where chance has a part, and the patterns are the basic ones.
It searches for mappings with the judge itself as the objective (reach.c), from the engine's mappings and a random
one. The draws of the search are others than those that judge the answer. First it checks that reach.c chooses the same
ways as networks.py: with the same random numbers, both must give the same time for every draw of a random mapping.

Limits: a search proves no bound. The lower limit is that of the links of the hosts.
"""

import collections
import math
import random
import shutil
import statistics
import subprocess
import sys

import networks
from judges import FOLDER
from patterns import patterns

# Proposals of an annealing and draws of a round: a hash changes few loads, so a proposal costs less there.
SEARCH = {"ecmp": (40_000, 64), "adaptive": (1_500, 8)}
# Draws that neither the search nor the judge of the bench has seen: the first, how many count with the largest load,
# and how many are simulated with max-min fair rates: few in a torus, where the simulation takes long.
FRESH, LOADS, TIMES, FEW = 1_000_000, 1000, 32, 4
# The search starts from the mappings of the bench, and from those that the engine finds with other seeds.
STARTS, SEEDS = ["hop-bytes", "mc", "time", "random"], (2, 3)
MASK = (1 << 64) - 1


class Stream:
    """The random numbers of reach.c (SplitMix64), with the methods of random.Random that networks.py uses."""

    def __init__(self, seed):
        self.state = seed * 0xD1342543DE82EF95 + 1 & MASK

    def random(self):
        z = self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return ((z ^ z >> 31) >> 11) * 2.0**-53

    def randrange(self, n):
        return int(self.random() * n)

    def shuffle(self, items):
        for k in range(len(items) - 1, 0, -1):
            j = self.randrange(k + 1)
            items[k], items[j] = items[j], items[k]

    def sample(self, items, count):
        pool = list(items)
        for k in range(count):
            j = k + self.randrange(len(pool) - k)
            pool[k], pool[j] = pool[j], pool[k]
        return pool[:count]


class Program:
    """reach.c for a network and the flows of a pattern."""

    KINDS = {networks.FatTree: 0, networks.Dragonfly: 1, networks.Torus: 2}

    def __init__(self, folder):
        self.file = folder / "reach"
        command = [shutil.which("gcc") or "cc", "-O3", "-Wall", "-Wextra", "-o", self.file, FOLDER / "reach.c", "-lm"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"bench-time: reach.c was not compiled: {run.stderr}")

    def network(self, network):
        """Sets the network: all ways of each pair of slots, with their links as numbers, those of hosts last."""
        slots = range(network.slots)
        table = [self.ways(network, a, b) if a != b else [] for a in slots for b in slots]
        of_host = lambda link: link[0] in ("up", "down")
        used = {link for ways in table for way, hop in ways for link in (way[:1] if hop else way)}
        number = {link: k for k, link in enumerate(sorted(used, key=lambda link: (of_host(link), str(link))))}
        inner = sum(not of_host(link) for link in number)
        switch = {"fattree": 8, "dragonfly": getattr(network, "hosts", 1)}.get(network.spec.split(":")[0], 1)
        lines = [f"{self.KINDS[type(network)]} {network.slots} {len(number)} {inner}",
                 str(networks.PARTS if network.adaptive else 1),
                 " ".join(str(network.width(link)) for link in number), " ".join(str(s // switch) for s in slots)]
        for ways in table:
            lines.append(str(len(ways)))
            for way, hop in ways:
                entries = [number[way[0]], way[1]] if hop else [number[link] for link in way]
                lines.append(f"{len(entries)} " + " ".join(map(str, entries)))
        self.text = "\n".join(lines) + "\n"

    @staticmethod
    def ways(network, a, b):
        """Pairs of a way and whether it is one hop: a link, and the slot to which it leads."""
        if isinstance(network, networks.FatTree):
            if a // 8 == b // 8:
                return [(network.way(a, b, {}, None), False)]
            return [(network.through(a, b, s, c), False) for s in range(4) for c in range(2)]
        if isinstance(network, networks.Dragonfly):
            best, others = network.ways(a, b)
            return [(way, False) for way in [best, *others]]
        found = []
        for link in network.hops(network.point(a), network.point(b)):
            x = network.point(a)
            x[link[1]] = (x[link[1]] + link[2]) % network.dims[link[1]]
            found.append(((link, 16 * x[0] + 4 * x[1] + x[2]), True))
        return found

    def run(self, flows, mappings, *arguments):
        lines = [str(len(flows)), *(f"{a} {b} {bytes}" for a, b, bytes, _ in flows), str(len(mappings))]
        lines += [" ".join(map(str, slots)) for slots in mappings]
        run = subprocess.run([self.file, *map(str, arguments)], input=self.text + "\n".join(lines) + "\n",
                             capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"bench-time: reach.c: {run.stderr}")
        return [list(map(float, line.split())) for line in run.stdout.splitlines()]


def same_ways(bench, program, network, flows):
    """Stops unless reach.c and networks.py give the same times from the same random numbers."""
    slots, draws = random.Random(5).sample(range(network.slots), network.slots), 2
    found = program.run(flows, [slots], "judge", 1, draws)[0]
    kept, networks.random.Random = networks.random.Random, Stream
    try:
        parts = [network.parts(flows, slots, seed) for seed in range(1, draws + 1)]
    finally:
        networks.random.Random = kept
    wanted = [bench.own.time(p, network.width) for p in parts]
    if any(abs(a - b) > 1e-6 * b for a, b in zip(found, wanted)):
        raise SystemExit(f"bench-time: {network.spec}: reach.c gives {found}, networks.py {wanted}")


def host_limit(network, flows):
    """What no mapping can lower: the bytes of the busiest task over its link, in a torus over its six links."""
    sums = {}
    for a, b, bytes, _ in flows:
        for end in (("out", a), ("in", b)):
            sums[end] = sums.get(end, 0) + bytes
    return max(sums.values()) / (6 if network.spec.startswith("torus") else 1)


def even_limit(network, flows, mappings, limit):
    """What the hash leaves to a mapping that divides the least known cut evenly among the leaf switches.

    It is the mean of the largest load of their uplinks and downlinks. No proof, because a smaller cut may exist. All
    these links count as independent, which makes the figure up to 1 % too high.
    """
    leaf = lambda slots, task: slots[task] // 8
    size = statistics.mean(bytes for _, _, bytes, _ in flows)
    cut = min(sum(bytes for a, b, bytes, _ in flows if leaf(slots, a) != leaf(slots, b)) for slots in mappings)
    leaves, count = network.slots // 8, int(cut / size)
    sides = [count // leaves + (k < count % leaves) for k in range(leaves)] * 2
    r = random.Random(1)
    most = lambda side: max(collections.Counter(r.choices(range(4), k=side)).values(), default=0)
    return statistics.mean(max(limit, size * max(map(most, sides))) for _ in range(LOADS))


def study(bench, program, network, flows, effort):
    """The times of the mappings of one pattern: with the draws of the bench, and with fresh ones."""
    base = bench.base(network, flows)
    slots = {name: mapping for name, mapping in bench.mappings(network, flows, base, 1) if name in STARTS}
    starts = list(slots.values())
    for objective in ("hop-bytes", "time"):
        for seed in SEEDS:
            bench.run("map", *base, "--objective", objective, "--seed", str(seed), "--out", bench.order)
            starts.append(list(map(int, bench.order.read_text().split())))
    proposals, draws = SEARCH[network.routing]
    slots["found"] = list(map(int, program.run(flows, starts, "search", int(effort * proposals), draws)[0]))
    result = {"limit": host_limit(network, flows), "slots": slots, "bench": {}, "fresh": {}, "error": {}}
    del slots["random"]
    result["even"] = even_limit(network, flows, slots.values(), result["limit"]) if network.routing == "ecmp" else None
    loads = program.run(flows, list(slots.values()), "loads", FRESH, LOADS)
    exact = FEW if isinstance(network, networks.Torus) else TIMES
    times = program.run(flows, list(slots.values()), "judge", FRESH, exact)
    for (name, mapping), load, time in zip(slots.items(), loads, times):
        parts = [network.parts(flows, mapping, seed) for seed in range(1, network.draws + 1)]
        result["bench"][name] = statistics.mean(bench.own.time(p, network.width) for p in parts)
        # The simulated time varies from draw to draw, but hardly its ratio to the largest load.
        result["fresh"][name] = statistics.mean(load) * sum(time) / sum(load[:exact])
        result["error"][name] = statistics.stdev(load) / math.sqrt(len(load))
    return result


def table(results):
    """Two tables: means for each network, and the patterns."""
    mean = lambda values: math.exp(statistics.mean(map(math.log, values)))
    print("| network | routing | limit of the hosts | even cut | mc | time | best found "
          "| time, bench | best found, bench |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for (spec, routing), cases in results.items():
        ratio = lambda draws, name: mean([c[draws][name] / c[draws]["hop-bytes"] for c in cases.values()])
        over = lambda key: mean([(c[key] or math.nan) / c["fresh"]["hop-bytes"] for c in cases.values()])
        figures = [over("limit"), over("even")]
        figures += [ratio("fresh", name) for name in ("mc", "time", "found")]
        figures += [ratio("bench", name) for name in ("time", "found")]
        print(f"| {spec} | {routing} | " + " | ".join(f"{figure:.3f}".replace("nan", "–") for figure in figures) + " |")
    print("\nThe patterns: the limit of the hosts / the engine's `time` / the best found.\n")
    names = list(next(iter(results.values())))
    print(f"| network | routing | {' | '.join(names)} |\n|---|---|" + "---:|" * len(names))
    for (spec, routing), cases in results.items():
        cells = []
        for case in cases.values():
            times = case["limit"], case["fresh"]["time"], case["fresh"]["found"]
            cells.append(" / ".join(f"{time / case['fresh']['hop-bytes']:.3f}" for time in times))
        print(f"| {spec} | {routing} | {' | '.join(cells)} |")


def run(bench, only, quick, effort):
    """Searches on all networks where chance has a part, and prints the tables. Returns all figures."""
    program, results = Program(bench.folder), {}
    for network in networks.NETWORKS:
        if network.draws == 1 or only not in f"{network.spec} {network.routing}":
            continue
        program.network(network)
        cases = results[network.spec, network.routing] = {}
        for name, flows in list(patterns(1).items())[: 3 if quick else None]:
            same_ways(bench, program, network, flows)
            case = cases[name] = study(bench, program, network, flows, effort)
            figures = (f"{key} {case['fresh'][key]:.0f}±{case['error'][key]:.0f}" for key in case["fresh"])
            print(f"{network.spec} {network.routing} {name}: {', '.join(figures)}", file=sys.stderr, flush=True)
    table(results)
    return [{"network": spec, "routing": routing, "pattern": name, **case}
            for (spec, routing), cases in results.items() for name, case in cases.items()]
