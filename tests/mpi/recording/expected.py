"""The expected communication matrices, computed from what the test programs do and what the calls mean.

A matrix is a dictionary (source, destination) -> [bytes, messages]. Nothing here uses the library
under test. The models of collectives follow the definitions of the algorithms, not the code of the library.
"""


def add(matrix, source, destination, count, messages):
    if messages:
        entry = matrix.setdefault((source, destination), [0, 0])
        entry[0] += count
        entry[1] += messages


def ring(np, size=1000, messages=10):
    matrix = {}
    for task in range(np):
        add(matrix, task, (task + 1) % np, size * messages, messages)
    return matrix


def large(np):
    """Program large: one message of more than 2^31 bytes."""
    return {(0, 1): [2 ** 31 + 8, 1]}


def api(np):
    """Program api: pairs, and the next task."""
    matrix = {}
    for task in range(np):
        if task ^ 1 < np:
            add(matrix, task, task ^ 1, 3 * 20000, 3)
        add(matrix, task, (task + 1) % np, 2 * 64, 2)
    return matrix


def subcomm(np):
    """Program subcomm: reversed ring, halves in reversed order, broadcast by hand."""
    matrix = {}
    for task in range(np):
        add(matrix, task, (task - 1) % np, 3 * 800, 3)
    for parity in (0, 1):
        # Rank 0 of the reversed half is the highest task of that parity.
        members = [t for t in range(np - 1, -1, -1) if t % 2 == parity]
        for task in members[1:]:
            add(matrix, task, members[0], 4000, 1)
            add(matrix, members[0], task, 2 * 100, 2)
    return matrix


def dims_create(np):
    """The two factors of np that are closest together, the larger first."""
    best = max(d for d in range(1, np + 1) if np % d == 0 and d * d <= np)
    return np // best, best


def cart(np):
    """Program cart without reordering. A periodic dimension of 1 is a neighbour to itself: those
    messages are on the diagonal."""
    rows, columns = dims_create(np)
    matrix = {}
    for x in range(rows):
        for y in range(columns):
            task = x * columns + y
            below = (x + 1) % rows * columns + y
            right = x * columns + (y + 1) % columns
            add(matrix, task, below, 5 * 800, 5)
            add(matrix, task, right, 2 * 80, 2)
    return matrix


def rma_put(np):
    """The data of a put goes to the target; the data of a get comes from the target."""
    matrix = {}
    for task in range(np):
        add(matrix, task, (task + 1) % np, 3 * 400, 3)
        add(matrix, (task + 1) % np, task, 2 * 80, 2)
    return matrix


def io_inside(np):
    """Program io_inside: five rings and the reduction of its verdict. Traffic of the files is not counted."""
    matrix = ring(np, 500, 5)
    for pair, (size, messages) in recursive_doubling(np, 4, 1).items():
        add(matrix, *pair, size, messages)
    return matrix


def pair(np):
    """Tasks 0 and 1 exchange 10 messages of 100 bytes."""
    return {(0, 1): [1000, 10], (1, 0): [1000, 10]}


def sessions(np):
    """Program sessions: a ring of all in reversed order, and one of the even tasks."""
    matrix = {}
    for task in range(np):
        add(matrix, task, (task - 1) % np, 10 * 100, 10)
    evens = list(range(0, np, 2))
    for i, task in enumerate(evens):
        add(matrix, task, evens[(i + 1) % len(evens)], 3 * 100, 3)
    return matrix


def fortran_ring(np):
    return ring(np, 1000, 20)


# ---- collectives, model `logical` ----------------------------------------------------------------


def pieces(size, np):
    """A vector of `size` bytes cut into np nearly equal pieces at any byte."""
    cuts = [size * i // np for i in range(np + 1)]
    return [b - a for a, b in zip(cuts, cuts[1:])]


def logical(kind, np, size=800, calls=5):
    """Model `logical`: data goes directly from each source to each destination."""
    matrix = {}
    tasks = range(np)
    root = 1
    for i in tasks:
        for j in tasks:
            if i == j:
                continue
            if kind == "bcast" and i == root:
                add(matrix, i, j, size, 1)
            elif kind in ("reduce", "gather") and j == root:
                add(matrix, i, j, size, 1)
            elif kind == "scatter" and i == root:
                add(matrix, i, j, size, 1)
            elif kind in ("allgather", "alltoall", "reduce_scatter_block"):
                add(matrix, i, j, size, 1)
            elif kind == "gatherv" and j == root:
                add(matrix, i, j, size * (i + 1), 1)
            elif kind == "scatterv" and i == root:
                add(matrix, i, j, size * (j + 1), 1)
            elif kind == "allgatherv":
                add(matrix, i, j, size * (i + 1), 1)
            elif kind == "alltoallv" and j == (i + 1) % np:
                add(matrix, i, j, size * (i + 1), 1)
            elif kind == "alltoallv" and j == (i + 2) % np:
                add(matrix, i, j, size, 1)
            elif kind == "allreduce":
                # Reduce-scatter, then allgather: a task sends the receiver's piece, and gets its own piece back.
                cut = pieces(size, np)
                add(matrix, i, j, cut[j] + cut[i], 2)
            elif kind == "scan" and j == i + 1:
                add(matrix, i, j, size, 1)
    return {pair: [b * calls, m * calls] for pair, (b, m) in matrix.items()}


# ---- collectives, with the usual algorithms ------------------------------------------------------


def thread_ends(np):
    """Of each task: 8 bytes by a thread, and 4000 by its destructor."""
    matrix = {}
    for task in range(np):
        add(matrix, task, (task + 1) % np, 8 + 4000, 2)
    return matrix


def recursive_doubling(np, size=800, calls=5):
    """Allreduce of short vectors. With np = 2^k + r the first 2r tasks pair up: the even one gives
    its vector to the odd one and gets the result in the end; the 2^k others exchange k times."""
    matrix = {}
    power = 1
    while power * 2 <= np:
        power *= 2
    rest = np - power
    for pair in range(rest):
        add(matrix, 2 * pair, 2 * pair + 1, size, 1)
        add(matrix, 2 * pair + 1, 2 * pair, size, 1)
    task_of = [2 * i + 1 if i < rest else i + rest for i in range(power)]
    distance = 1
    while distance < power:
        for i in range(power):
            add(matrix, task_of[i], task_of[i ^ distance], size, 1)
        distance *= 2
    return {pair: [b * calls, m * calls] for pair, (b, m) in matrix.items()}


def parse_csv(text):
    """The export of the command as a matrix; raises ValueError if it is not one."""
    # A comment tells the number of tasks when the last ones neither send nor receive.
    lines = [line for line in text.strip().splitlines() if not line.startswith("#")]
    if not lines or lines[0] != "src,dst,bytes,messages":
        raise ValueError(f"unexpected header: {lines[:1]}")
    matrix = {}
    for line in lines[1:]:
        source, destination, size, messages = map(int, line.split(","))
        if (source, destination) in matrix:
            raise ValueError(f"pair {source},{destination} comes twice")
        matrix[source, destination] = [size, messages]
    return matrix


def difference(got, wanted):
    """Where two matrices differ, in words; an empty string if nowhere."""
    lines = []
    for pair in sorted(set(got) | set(wanted)):
        a, b = got.get(pair, [0, 0]), wanted.get(pair, [0, 0])
        if list(a) != list(b):
            lines.append(f"{pair[0]}->{pair[1]}: {a[0]} bytes in {a[1]} messages, expected "
                         f"{b[0]} in {b[1]}")
    return "; ".join(lines[:6]) + (f"; and {len(lines) - 6} more" if len(lines) > 6 else "")
