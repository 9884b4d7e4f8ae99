"""The patterns of `scripts/bench-time`: flows between 64 tasks, as (sender, receiver, bytes)."""

import itertools
import math
import random


def grid(dims, reach):
    """A halo exchange; `reach` is the number of coordinates in which neighbours may differ."""
    points = list(itertools.product(*map(range, dims)))
    index = {p: k for k, p in enumerate(points)}
    steps = [s for s in itertools.product((-1, 0, 1), repeat=len(dims)) if 0 < sum(map(abs, s)) <= reach]
    return [(index[p], index[q], 1000) for p in points for s in steps if (q := tuple(map(sum, zip(p, s)))) in index]


def patterns(seed):
    """The patterns by name, with their tasks numbered at random."""
    r = random.Random(seed)
    pairs = {(r.randrange(64), int(64 * r.random() ** 3)) for _ in range(300)}
    xy = [(r.random(), r.random()) for _ in range(64)]
    natural = {
        "halo5 8x8": grid((8, 8), 1), "halo9 8x8": grid((8, 8), 2), "halo7 4x4x4": grid((4, 4, 4), 1),
        "halo27 4x4x4": grid((4, 4, 4), 3),
        "fft 64": [(i, i ^ 1 << k, 1000) for i in range(64) for k in range(6)],
        "transpose 8x8": [(i, i // 8 * 8 + k, 500) for i in range(64) for k in range(8) if i % 8 != k],
        "powerlaw 64": [(a, b, r.randint(100, 1600)) for a, b in sorted(pairs) if a != b],
        "rgg 64": [(a, b, 1000) for a in range(64) for b in range(64) if a != b and math.dist(xy[a], xy[b]) < 0.2],
    }
    shuffled = {}
    for name, flows in natural.items():
        label = random.Random(seed).sample(range(64), 64)
        shuffled[name] = [(label[a], label[b], bytes) for a, b, bytes in flows]
    return shuffled
