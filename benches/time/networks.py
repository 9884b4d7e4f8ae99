"""Networks for `scripts/bench-time`: which links the parts of flows take. Built here, without code of rankweave.

A network has `spec`, `routing`, `slots`, `scotch` (the same machine in the words of benches/mapping/run), and
`parts(flows, slots, seed)`: the parts of all flows as (links, bytes), and `width(link)`: the bandwidth of a link.

A network that adapts divides each flow into parts, which choose their ways one after another, in random order. A part
sees the bytes that those before it put on the links. Parts of a flow that take the same way are one.
"""

import functools
import random

# Parts of a flow on networks that adapt.
PARTS = 8


class Network:
    slots = 64
    adaptive = False

    @property
    def draws(self):
        """Simulations with other random ways; one where ways follow from the ends."""
        return {"adaptive": 3, "ecmp": 8}.get(self.routing, 1)

    def width(self, link):
        """The bandwidth of a link."""
        return 1

    def parts(self, flows, slots, seed):
        r, load, parts = random.Random(seed), {}, {}
        count = PARTS if self.adaptive else 1
        chunks = [(slots[a], slots[b], bytes / count) for a, b, bytes in flows for _ in range(count)]
        r.shuffle(chunks)
        for a, b, bytes in chunks:
            links = tuple(self.way(a, b, load, r))
            for link in links:
                load[link] = load.get(link, 0) + bytes
            parts[a, b, links] = parts.get((a, b, links), 0) + bytes
        return [(links, bytes) for (_, _, links), bytes in parts.items()]


class Torus(Network):
    dims = (4, 4, 4)
    spec, scotch = "torus:4x4x4", "torus:4x4x4"

    def __init__(self, routing):
        self.routing, self.adaptive = routing, routing == "adaptive"

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
        x, y = ([s // 16, s // 4 % 4, s % 4] for s in (a, b))
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

    @functools.cache
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


# The second dragonfly has narrow channels as large machines have them: 16 hosts of a group share 9 times the bandwidth of
# a host to other groups.
NETWORKS = [
    Torus("dimension-order"), Torus("adaptive"), FatTree(),
    Dragonfly((8, 4, 2), 1, "static"), Dragonfly((8, 4, 2), 1, "adaptive"),
    Dragonfly((4, 4, 4), 3, "static"), Dragonfly((4, 4, 4), 3, "adaptive"),
]
