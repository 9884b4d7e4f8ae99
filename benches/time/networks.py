"""Networks for `scripts/bench-time`: which links the parts of flows take. Built here, without code of rankweave.

A network has `spec`, `name` (for tables), `routing`, `slots`, `scotch` (the same machine in the words of
benches/mapping/run, or None), `parts(flows, slots, seed)`: the parts of all flows as (links, bytes, taken), and
`width(link)`: the bandwidth of a link. `taken` is what a byte takes of each link: 1, or more at an end that pays for
messages (`Charged`).

A network that adapts divides each flow into parts, which choose their ways one after another, in random order. A part
sees the bytes that those before it put on the links. Parts of a flow that take the same way are one.
"""

import functools
import math
import random
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# Parts of a flow on networks that adapt.
PARTS = 8


class Network:
    slots = 64
    adaptive = False
    # Whether packets.c simulates this network, and whether messages cost something.
    packets = by_message = False

    @property
    def name(self):
        return self.spec

    @property
    def draws(self):
        """Simulations with other random ways; one where ways follow from the ends."""
        return {"adaptive": 3, "ecmp": 8}.get(self.routing, 1)

    def width(self, link):
        """The bandwidth of a link."""
        return 1

    def slot_width(self, slot):
        """The bandwidth of all links of a slot together."""
        return 1

    def parts(self, flows, slots, seed):
        return [(links, bytes, (1,) * len(links)) for (_, _, links), bytes in self.routed(flows, slots, seed).items()]

    def routed(self, flows, slots, seed):
        """The bytes of each sending slot, receiving slot and way."""
        r, load, parts = random.Random(seed), {}, {}
        count = PARTS if self.adaptive else 1
        chunks = [(slots[a], slots[b], bytes / count) for a, b, bytes, _ in flows for _ in range(count)]
        r.shuffle(chunks)
        for a, b, bytes in chunks:
            links = tuple(self.way(a, b, load, r))
            for link in links:
                load[link] = load.get(link, 0) + bytes
            parts[a, b, links] = parts.get((a, b, links), 0) + bytes
        return parts


class Torus(Network):
    def __init__(self, routing, dims=(4, 4, 4)):
        self.routing, self.adaptive, self.dims = routing, routing == "adaptive", dims
        self.slots, self.spec = math.prod(dims), "torus:" + "x".join(map(str, dims))
        self.scotch, self.packets = self.spec, self.adaptive and dims == (4, 4, 4)

    def slot_width(self, slot):
        return 2 * len(self.dims)

    def point(self, slot):
        point = []
        for d in reversed(self.dims):
            point.insert(0, slot % d)
            slot //= d
        return point

    def hops(self, x, y):
        """The links that a part at x can take to y."""
        hops = []
        for k, d in enumerate(self.dims):
            up = (y[k] - x[k]) % d
            if up and up <= d - up:
                hops.append((tuple(x), k, 1))
            if up and up >= d - up and (self.adaptive or up > d - up):
                hops.append((tuple(x), k, -1))
            if hops and not self.adaptive:
                break
        return hops

    def way(self, a, b, load, r):
        """Along one dimension after another, halfway round upwards; or hop by hop over the free link of the next hops."""
        x, y = self.point(a), self.point(b)
        links = []
        while x != y:
            hops = self.hops(x, y)
            link = min(hops, key=lambda l: (load.get(l, 0), r.random())) if self.adaptive else hops[0]
            links.append(link)
            x[link[1]] = (x[link[1]] + link[2]) % self.dims[link[1]]
        return links


class FatTree(Network):
    """4 uplinks of a leaf switch, each to another switch of the pod, which has 2 uplinks. A hash chooses for each pair."""

    spec, routing, scotch = "fattree:8:4:2@2:2", "ecmp", "tree:8:4:2@2:4:6"

    def way(self, a, b, load, r):
        if a // 8 == b // 8:
            return [("up", a), ("down", b)]
        return self.through(a, b, r.randrange(4), r.randrange(2))

    def through(self, a, b, s, c):
        """The way over uplink s of the leaf switch, and c of the switch there."""
        la, lb = a // 8, b // 8
        top = [("pod", la // 4, s, c), ("to pod", lb // 4, s, c)] if la // 4 != lb // 4 else []
        return [("up", a), ("leaf", la, s), *top, ("to leaf", lb, s), ("down", b)]


class Dragonfly(Network):
    """Groups of routers; the global channel c of group g leads to group g + c + 1, from router c / h, where h is the number
    of channels of a router. A channel has a bandwidth, all other links have 1."""

    def __init__(self, shape, channel, routing):
        self.groups, self.routers, self.hosts = shape
        self.slots = math.prod(shape)
        self.channel, self.routing, self.adaptive = channel, routing, routing == "adaptive"
        self.spec = "dragonfly:" + "x".join(map(str, shape)) + (f"@1:1:{channel}" if channel != 1 else "")
        self.scotch = f"tree:{self.hosts}:{self.routers}:{self.groups}@2:3:5"

    def width(self, link):
        return self.channel if link[0] == "global" else 1

    def gate(self, g, h):
        """The router of group g with the channel to group h."""
        return ((h - g) % self.groups - 1) // -((1 - self.groups) // self.routers)

    def between(self, stops):
        links = []
        for (g, r), (h, s) in zip(stops, stops[1:]):
            if g == h:
                links += [("local", g, r, s)] if r != s else []
                continue
            out, into = self.gate(g, h), self.gate(h, g)
            links += [("local", g, r, out)] if r != out else []
            links += [("global", g, h)] + ([("local", h, into, s)] if into != s else [])
        return links

    # Enough for all pairs of the networks of 64 slots.
    @functools.lru_cache(1 << 14)
    def ways(self, a, b):
        """The shortest way, and those over another router of the group or over another group."""
        ra, rb = ((s // self.hosts // self.routers, s // self.hosts % self.routers) for s in (a, b))
        whole = lambda stops: [("up", a), *self.between(stops), ("down", b)]
        if not self.adaptive or ra == rb:
            return whole([ra, rb]), []
        if ra[0] == rb[0]:
            others = [(ra[0], s) for s in range(self.routers) if s not in (ra[1], rb[1])]
        else:
            others = [(g, self.gate(g, ra[0])) for g in range(self.groups) if g not in (ra[0], rb[0])]
        return whole([ra, rb]), [whole([ra, stop, rb]) for stop in others]

    def way(self, a, b, load, r):
        best, others = self.ways(a, b)
        if not others:
            return best
        longer = r.sample(others, min(4, len(others)))
        # UGAL: a longer way where its queue times its length is smaller. The links of the hosts are on all ways.
        queue = lambda links: max((load.get(l, 0) / self.width(l) for l in links[1:-1]), default=0)
        other = min(longer, key=queue)
        return other if queue(best) * (len(best) - 2) > queue(other) * (len(other) - 2) else best


class Cabling(Network):
    """A network by its cables: lines of two names and a bandwidth, such as `r0 n00 80G`. Names with one neighbour are
    hosts. Slots are the hosts in the order of the file. Several cables between two names add up.

    All ways are shortest. Of the next routers that are nearer to the destination, in the order of the file, `static`
    takes the one that the number of the destination gives, modulo their number. `ecmp` takes one by chance, and
    `adaptive` the one whose link has least to carry.
    """

    scotch = None

    def __init__(self, file, routing):
        self.spec, self.routing, self.adaptive = f"cabling:{file}", routing, routing == "adaptive"
        self.file, cables = file, []
        for line in file.read_text().splitlines():
            words = line.split("#")[0].split()
            if words:
                cables.append((words[0], words[1], float(words[2].removesuffix("G"))))
        around = {}
        for a, b, _ in cables:
            around.setdefault(a, set()).add(b)
            around.setdefault(b, set()).add(a)
        # Sorting keeps the order of the file among hosts and among routers.
        number = {name: k for k, name in enumerate(sorted(around, key=lambda name: len(around[name]) > 1))}
        self.slots, self.widths = sum(len(others) == 1 for others in around.values()), {}
        for a, b, width in cables:
            for link in ((number[a], number[b]), (number[b], number[a])):
                self.widths[link] = self.widths.get(link, 0) + width
        self.around = [sorted(number[other] for other in around[name]) for name in number]

    @property
    def name(self):
        return f"cabling:{self.file.name}"

    def width(self, link):
        return self.widths[link]

    def slot_width(self, slot):
        return sum(self.widths[slot, other] for other in self.around[slot])

    @functools.cache
    def hops(self, to):
        """The hops of all hosts and routers to a slot."""
        hops, front = {to: 0}, [to]
        for at in front:
            for other in self.around[at]:
                if other not in hops:
                    hops[other] = hops[at] + 1
                    front.append(other)
        return hops

    def way(self, a, b, load, r):
        hops, links = self.hops(b), []
        while a != b:
            nearer = [other for other in self.around[a] if hops[other] < hops[a]]
            if self.routing == "static":
                to = nearer[b % len(nearer)]
            elif self.routing == "ecmp":
                to = nearer[r.randrange(len(nearer))]
            else:
                to = min(nearer, key=lambda v: (load.get((a, v), 0) / self.widths[a, v], r.random()))
            links.append((a, to))
            a = to
        return links


class Charged(Network):
    """Another network with what messages cost. The costs are in bytes of a link of bandwidth 1.

    A slot sends, and receives, over a link with the bandwidth of all its links together. Each message keeps this link
    busy for its cost and that of its hops, at both ends. A flow pays for its messages in proportion to its bytes,
    because a message is paid for when its bytes go. With an injection limit, all that a slot sends passes one more
    link, and all that it receives passes another one. Each slot is a node here.
    """

    def __init__(self, inner, message=0, hop=0, injection=None):
        self.inner, self.message, self.hop, self.injection = inner, message, hop, injection
        self.routing, self.adaptive, self.slots, self.scotch = inner.routing, inner.adaptive, inner.slots, inner.scotch
        options = {"message": message, "hop": hop, "injection": injection}
        self.options = "".join(f",{name}={value}" for name, value in options.items() if value)
        self.spec, self.by_message = inner.spec + self.options, bool(message or hop)

    @property
    def name(self):
        return self.inner.name + self.options

    def width(self, link):
        if link[0] in ("sends", "receives"):
            return self.inner.slot_width(link[1])
        return self.injection if link[0] in ("node sends", "node receives") else self.inner.width(link)

    def parts(self, flows, slots, seed):
        sent = {(slots[a], slots[b]): (bytes, messages) for a, b, bytes, messages in flows}
        parts = []
        for (a, b, links), bytes in self.inner.routed(flows, slots, seed).items():
            hops = len(links)
            taken = [1] * len(links)
            if self.injection:
                links, taken = [("node sends", a), *links, ("node receives", b)], [1, *taken, 1]
            if self.by_message:
                all_bytes, messages = sent[a, b]
                cost = messages / all_bytes * (self.message + self.hop * hops)
                ends = [("sends", a), ("receives", b)]
                first, last = (1 + cost * self.width(end) for end in ends)
                links, taken = [ends[0], *links, ends[1]], [first, *taken, last]
            parts.append((tuple(links), bytes, tuple(taken)))
        return parts


CABLES = FOLDER / "cabling.txt"
# The second dragonfly has narrow channels as large machines have them: 16 hosts of a group share 9 times the bandwidth of
# a host to other groups.
NETWORKS = [
    Torus("dimension-order"), Torus("adaptive"), FatTree(),
    Dragonfly((8, 4, 2), 1, "static"), Dragonfly((8, 4, 2), 1, "adaptive"),
    Dragonfly((4, 4, 4), 3, "static"), Dragonfly((4, 4, 4), 3, "adaptive"),
]
CABLED = [Cabling(CABLES, routing) for routing in ("static", "ecmp", "adaptive")]
CHARGED = [
    Charged(Torus("dimension-order"), message=100, hop=50), Charged(Torus("adaptive"), message=100, injection=2),
    Charged(FatTree(), message=100, injection=0.8),
    Charged(Dragonfly((4, 4, 4), 3, "static"), message=100, hop=50, injection=0.8),
]
LARGE = [
    Torus("dimension-order", (8, 8, 8)), Torus("adaptive", (8, 8, 8)),
    Dragonfly((16, 8, 4), 1, "static"), Dragonfly((16, 8, 4), 1, "adaptive"),
]


def networks_of(tasks):
    """The networks with so many slots."""
    return [network for network in NETWORKS + CABLED + CHARGED + LARGE if network.slots == tasks]
