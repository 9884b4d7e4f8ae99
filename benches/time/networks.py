"""Networks for `scripts/bench-time`: which links the parts of flows take. Built here, without code of rankweave.

A network has `spec`, `routing`, `slots`, `scotch` (the same machine in the words of benches/mapping/run), and
`parts(flows, slots, seed)`: the parts of all flows as (links, bytes). Every link has the bandwidth 1.

A network that adapts divides each flow into parts, which choose their ways one after another, in random order. A part
sees the bytes that those before it put on the links. Parts of a flow that take the same way are one.
"""

import random

# Parts of a flow on networks that adapt.
PARTS = 8


class Network:
    slots = 64
    adaptive = False

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

    def way(self, a, b, load, r):
        """Along one dimension after another, halfway round upwards; or hop by hop over the free link of the next hops."""
        x, y = ([s // 16, s // 4 % 4, s % 4] for s in (a, b))
        links = []
        while x != y:
            hops = []
            for k, d in enumerate(self.dims):
                up = (y[k] - x[k]) % d
                if up and up <= d - up:
                    hops.append((tuple(x), k, 1))
                if up and up >= d - up and (self.adaptive or up > d - up):
                    hops.append((tuple(x), k, -1))
                if hops and not self.adaptive:
                    break
            link = min(hops, key=lambda l: (load.get(l, 0), r.random())) if self.adaptive else hops[0]
            links.append(link)
            x[link[1]] = (x[link[1]] + link[2]) % self.dims[link[1]]
        return links


class FatTree(Network):
    """4 uplinks of a leaf switch, each to another switch of the pod, which has 2 uplinks. A hash chooses for each pair."""

    spec, routing, scotch = "fattree:8:4:2@2:2", "ecmp", "tree:8:4:2@2:4:6"

    def way(self, a, b, load, r):
        la, lb = a // 8, b // 8
        if la == lb:
            return [("up", a), ("down", b)]
        s, c = r.randrange(4), r.randrange(2)
        top = [("pod", la // 4, s, c), ("to pod", lb // 4, s, c)] if la // 4 != lb // 4 else []
        return [("up", a), ("leaf", la, s), *top, ("to leaf", lb, s), ("down", b)]


class Dragonfly(Network):
    """The global channel c of group g leads to group g + c + 1, from router c / 2."""

    spec, scotch = "dragonfly:8x4x2", "tree:2:4:8@2:3:5"

    def __init__(self, routing):
        self.routing, self.adaptive = routing, routing == "adaptive"

    def between(self, stops):
        links = []
        for (g, r), (h, s) in zip(stops, stops[1:]):
            if g == h:
                links += [("local", g, r, s)] if r != s else []
                continue
            out, into = ((h - g) % 8 - 1) // 2, ((g - h) % 8 - 1) // 2
            links += [("local", g, r, out)] if r != out else []
            links += [("global", g, h)] + ([("local", h, into, s)] if into != s else [])
        return links

    def way(self, a, b, load, r):
        ra, rb = ((s // 8, s // 2 % 4) for s in (a, b))
        whole = lambda stops: [("up", a), *self.between(stops), ("down", b)]
        best = whole([ra, rb])
        if not self.adaptive or ra == rb:
            return best
        if ra[0] == rb[0]:
            longer = [whole([ra, (ra[0], s), rb]) for s in range(4) if s not in (ra[1], rb[1])]
        else:
            longer = [whole([ra, (g, ((ra[0] - g) % 8 - 1) // 2), rb])
                      for g in r.sample([g for g in range(8) if g not in (ra[0], rb[0])], 4)]
        # UGAL: a longer way where its queue times its length is smaller. The links of the hosts are on all ways.
        queue = lambda links: max((load.get(l, 0) for l in links[1:-1]), default=0)
        other = min(longer, key=queue)
        return other if queue(best) * (len(best) - 2) > queue(other) * (len(other) - 2) else best


NETWORKS = [Torus("dimension-order"), Torus("adaptive"), FatTree(), Dragonfly("static"), Dragonfly("adaptive")]
