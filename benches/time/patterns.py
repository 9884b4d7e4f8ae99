"""The patterns of `scripts/bench-time`: flows between tasks, as (sender, receiver, bytes, messages).

The basic patterns send one message in each flow. Those of applications follow the communication of whole programs, most
of them of the NAS Parallel Benchmarks, in a class that has 64^3 points for 64 tasks. With 512 tasks, each task has as
much to do as with 64.

Limits: 64 or 512 tasks. All messages of a pattern count as sent at once, so the order of phases has no part.
"""

import itertools
import math
import random

GROUPS = ["basic", "applications"]
SIZES = [64, 512]


def grid(dims, reach):
    """A halo exchange; `reach` is the number of coordinates in which neighbours may differ."""
    points = list(itertools.product(*map(range, dims)))
    index = {p: k for k, p in enumerate(points)}
    steps = [s for s in itertools.product((-1, 0, 1), repeat=len(dims)) if 0 < sum(map(abs, s)) <= reach]
    return [(index[p], index[q], 1000, 1) for p in points for s in steps if (q := tuple(map(sum, zip(p, s)))) in index]


def merged(flows):
    """One flow for each pair of tasks, and none of a task with itself."""
    sums = {}
    for a, b, bytes, messages in flows:
        if a != b:
            old = sums.get((a, b), (0, 0))
            sums[a, b] = old[0] + bytes, old[1] + messages
    return [(a, b, *both) for (a, b), both in sums.items()]


def plane(tasks):
    """The two-dimensional arrangement: 8x8, or 16x32, twice as wide as high."""
    rows = 1 << (tasks.bit_length() - 1) // 2
    return rows, tasks // rows


def cg(tasks):
    """NAS CG: the parts of a matrix in a plane.

    The partners of a row add their vectors in steps: those half of the row away, then a quarter, and so on. A vector
    goes to the transposed task, where a plane twice as wide as high counts pairs of columns. Two sums of single numbers
    go along each row as well.
    """
    rows, columns = plane(tasks)
    wide = columns // rows
    flows = []
    for row, column in itertools.product(range(rows), range(columns)):
        me, step = row * columns + column, columns // 2
        while step:
            flows.append((me, row * columns + (column ^ step), 14_000 + 2 * 8, 1 + 2))
            step //= 2
        pair, odd = divmod(column, wide)
        flows.append((me, (pair * columns + row * wide) + odd, 14_000, 1))
    return merged(flows)


def multigrid(side):
    """NAS MG: halos of 7 points on a periodic grid of side^3 tasks.

    The levels double the stride, and a face has a quarter of the bytes of the level before. The tasks at multiples of
    the stride take part. Limits: the finest levels, all with stride 1, count as one. What tasks give to those that go
    on is left out.
    """
    flows, index = [], lambda p: (p[0] % side * side + p[1] % side) * side + p[2] % side
    for level, stride in enumerate((1, 2, 4)):
        for p in itertools.product(range(0, side, stride), repeat=3):
            for k, step in itertools.product(range(3), (-stride, stride)):
                q = (*p[:k], p[k] + step, *p[k + 1 :])
                flows.append((index(p), index(q), 4096 >> 2 * level, 1))
    return merged(flows)


def lu(tasks):
    """NAS LU: wavefronts over a plane of tasks, one message for each of 62 planes of points and each neighbour.

    The lower sweep sends them to the south and east, the upper one to the north and west. A message has 5 numbers for
    each of 8 points. Once in each step, neighbours exchange two layers of all their points.
    """
    rows, columns = plane(tasks)
    wave, layers = 62 * 5 * 8 * 8, 2 * 5 * 8 * 64 * 8
    return [(a, b, wave + layers, 62 + 1) for a, b, _, _ in grid((rows, columns), 1)]


def bt(tasks):
    """NAS BT: tasks with cells along the diagonals of the grid, so that each sweep has work for all of them.

    Each task has a successor in three directions. Seven messages of a sweep carry 30 numbers for each of 64 points to
    it, and seven carry 5 back. Both exchange two layers of all cells. Limit: NAS BT needs a square of tasks; 512 are
    wrapped in the same way.
    """
    rows, columns = plane(tasks)
    forth, back, layers = 7 * 30 * 64 * 8, 7 * 5 * 64 * 8, 7 * 2 * 5 * 64 * 8
    flows = []
    for row, column in itertools.product(range(rows), range(columns)):
        for down, right in ((0, 1), (1, 0), (1, -1)):
            a, b = row * columns + column, (row + down) % rows * columns + (column + right) % columns
            flows += [(a, b, forth + layers, 7 + 1), (b, a, back + layers, 7 + 1)]
    return merged(flows)


def shared_edge(a, b):
    """The length of the edge that two squares (x, y, size) share."""
    along = [min(a[k] + a[2], b[k] + b[2]) - max(a[k], b[k]) for k in range(2)]
    return max(along) if min(along) == 0 else 0


def amr(tasks, r):
    """Adaptive refinement: the blocks of a quadtree, numbered along the Morton curve.

    Chance chooses blocks that become four, until there are as many as tasks. A block waits as long as a neighbour is
    larger, so sizes across an edge differ by no more than a factor of two. Neighbours exchange bytes by the length of
    the edge that they share.
    """
    size = 4096
    # A refined block is three blocks more, so the number of squares at the start decides the rest.
    blocks = [(k * size, 0, size) for k in range(tasks % 3 or 3)]
    while len(blocks) < tasks:
        x, y, own = block = r.choice(blocks)
        if own == 1 or any(other[2] > own and shared_edge(block, other) for other in blocks):
            continue
        blocks.remove(block)
        blocks += [(x + i * own // 2, y + j * own // 2, own // 2) for i in range(2) for j in range(2)]
    bits = range(size.bit_length())
    morton = lambda block: sum((block[0] >> k & 1) << 2 * k + 1 | (block[1] >> k & 1) << 2 * k for k in bits)
    blocks.sort(key=lambda block: (block[0] // size, morton(block)))
    pairs = itertools.permutations(range(tasks), 2)
    return [(a, b, edge, 1) for a, b in pairs if (edge := shared_edge(blocks[a], blocks[b]))]


def basic(seed, tasks):
    r, (rows, columns), side = random.Random(seed), plane(tasks), round(tasks ** (1 / 3))
    pairs = {(r.randrange(tasks), int(tasks * r.random() ** 3)) for _ in range(300 * tasks // 64)}
    xy = [(r.random(), r.random()) for _ in range(tasks)]
    near = 0.2 * math.sqrt(64 / tasks)
    flat, cube = f"{rows}x{columns}", f"{side}x{side}x{side}"
    return {
        f"halo5 {flat}": grid((rows, columns), 1), f"halo9 {flat}": grid((rows, columns), 2),
        f"halo7 {cube}": grid((side, side, side), 1), f"halo27 {cube}": grid((side, side, side), 3),
        f"fft {tasks}": [(i, i ^ 1 << k, 1000, 1) for i in range(tasks) for k in range(tasks.bit_length() - 1)],
        f"transpose {flat}": [(i, i // columns * columns + k, 500, 1) for i in range(tasks) for k in range(columns)
                              if i % columns != k],
        f"powerlaw {tasks}": [(a, b, r.randint(100, 1600), 1) for a, b in sorted(pairs) if a != b],
        f"rgg {tasks}": [(a, b, 1000, 1) for a in range(tasks) for b in range(tasks)
                         if a != b and math.dist(xy[a], xy[b]) < near],
    }


def applications(seed, tasks):
    (rows, columns), side = plane(tasks), round(tasks ** (1 / 3))
    flat, cube = f"{rows}x{columns}", f"{side}x{side}x{side}"
    return {f"cg {flat}": cg(tasks), f"multigrid {cube}": multigrid(side), f"lu {flat}": lu(tasks),
            f"bt {flat}": bt(tasks), f"amr {tasks}": amr(tasks, random.Random(seed))}


def patterns(seed, tasks=64, group="basic"):
    """The patterns of a group by name, with their tasks numbered at random."""
    natural = basic(seed, tasks) if group == "basic" else applications(seed, tasks)
    shuffled = {}
    for name, flows in natural.items():
        label = random.Random(seed).sample(range(tasks), tasks)
        shuffled[name] = [(label[a], label[b], *rest) for a, b, *rest in flows]
    return shuffled
