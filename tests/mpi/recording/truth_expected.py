"""The expected matrices of program truth, computed from what the calls mean.

The sizes, peers and repetitions follow the rules of tests/programs/traffic/truth.c, which this file implements
independently. Senders, receivers and data of each call are those of the MPI standard. Collectives count as the data
movement that they describe (RANKWEAVE_COLLECTIVES=logical): data goes from the tasks that have it to the tasks that
need it. A reduction cuts the vector into pieces, and each piece is combined at one task. Nothing here uses the
library under test.

Matrices are dictionaries (source, destination) -> [bytes, messages], one for each kind of traffic.
"""

from recording.expected import add, dims_create, pieces

SIZES = (4, 8, 1, 12)
KINDS = ("p2p", "collective", "onesided")
INTER = ("inter", "inter_dup", "inter_from_groups")
TOPOLOGIES = ("cart", "cart_sub", "graph", "dist_graph", "dist_graph_adjacent")


class Communicator:
    """`groups` holds the task of each rank: one group, or the two of an intercommunicator.
    `neighbours(rank)` are the ranks that a neighbourhood collective sends to."""

    def __init__(self, groups, neighbours=None):
        self.groups, self.neighbours = groups, neighbours
        self.inter = len(groups) == 2

    def callers(self):
        """(group, rank, task, remote group) of each participant."""
        for g, group in enumerate(self.groups):
            remote = self.groups[1 - g] if self.inter else group
            for rank, task in enumerate(group):
                yield g, rank, task, remote


def communicators(kind, np):
    """The communicators of a kind: all that exist at the same time."""
    tasks = list(range(np))
    evens, odds = tasks[0::2], tasks[1::2]
    if kind in ("world", "dup", "dup_with_info", "idup_with_info", "from_group"):
        return [Communicator([tasks])]
    if kind in ("split", "split_type", "idup"):
        return [Communicator([tasks[::-1]])]
    if kind == "halves":
        return [Communicator([evens]), Communicator([odds])]
    if kind in ("create", "create_group"):
        by = 1 if kind == "create" else 2
        return [Communicator([[(t + by) % np for t in tasks]])]
    if kind in ("inter", "inter_dup"):
        return [Communicator([evens, odds[::-1]])]
    if kind == "inter_from_groups":
        return [Communicator([evens, odds])]
    if kind == "merge":
        return [Communicator([odds[::-1] + evens])]
    rows, columns = dims_create(np)
    if kind == "cart":
        def around(rank):
            x, y = divmod(rank, columns)
            found = [((x + d) % rows) * columns + y for d in (-1, 1)]
            return found + [x * columns + y + d if 0 <= y + d < columns else None for d in (-1, 1)]
        return [Communicator([tasks], around)]
    if kind == "cart_sub":
        return [Communicator([[x * columns + y for x in range(rows)]],
                             lambda r: [(r - 1) % rows, (r + 1) % rows]) for y in range(columns)]
    if kind == "graph":
        def linked(rank):
            found = [(rank + 1) % np, (rank - 1) % np]
            if rank == 0:
                found.append(np // 2)
            if rank == np // 2:
                found.append(0)
            return found
        return [Communicator([tasks], linked)]
    if kind in ("dist_graph", "dist_graph_adjacent"):
        def onward(rank):
            right, second = (rank + 1) % np, (rank + 2) % np
            return [right, second] + ([right] if rank % 2 == 0 else [])
        return [Communicator([tasks], onward)]
    raise ValueError(kind)


# ---- the rules of truth.c -----------------------------------------------------------------------


def rounds(k):
    return 1 + k % 3


def base(k):
    return 10 + k * 37 % 1009


def shift(k):
    return k % 5


def uniform(k, i):
    return base(k) + i


def mine(k, i, rank):
    return base(k) + rank + i


def varying(k, i, rank):
    return 0 if (rank + k + i) % 5 == 4 else base(k) + rank + i


def pairwise(k, i, source, destination):
    if (source + 2 * destination + k + i) % 4 == 3:
        return 0
    return base(k) + source + 2 * destination + i


def symmetric(k, i, x, y):
    return base(k) + x + y + i


def size(k, i):
    return SIZES[(k + i) % 4]


def pair_size(source, destination):
    return SIZES[(source + destination) % 4]


def reduction_size(k, i):
    return (4, 8, 12)[(k + i) % 3]


# ---- families -----------------------------------------------------------------------------------


def point_to_point(row, comm, out):
    k = row.index
    for _, rank, task, remote in comm.callers():
        for i in range(rounds(k)):
            count = uniform(k, i) if "replace" in row.name else mine(k, i, rank)
            peer = remote[(rank + shift(k) + i) % len(remote)]
            add(out["p2p"], task, peer, 2 * count * size(k, i), 2)
        # There is one more message without data. The one to MPI_PROC_NULL does not count.
        add(out["p2p"], task, remote[(rank + shift(k)) % len(remote)], 0, 1)


def started(row, comm, out):
    k = row.index
    for _, rank, task, remote in comm.callers():
        for j in range(2):
            starts = rounds(k) + 1
            add(out["p2p"], task, remote[(rank + 1) % len(remote)],
                starts * mine(k, j, rank) * size(k, 0), starts)


def partitioned(row, comm, out):
    """Each partition that becomes ready is a message."""
    k = row.index
    for _, rank, task, remote in comm.callers():
        ready = 3 * rounds(k)
        add(out["p2p"], task, remote[(rank + 1) % len(remote)],
            ready * uniform(k, 0) * size(k, 0), ready)


def collective(row, comm, out):
    """Two calls in the usual form, and one in place if the function has that form."""
    k = row.index
    for i in range(rounds(k)):
        for in_place in (False,) if comm.inter or ":in_place" in row.without else (False, True):
            if in_place and row.family in ("BARRIER", "BCAST"):
                continue
            calls = 1 if in_place or ":again" in row.without else 2
            one = {}
            expand(row.family, k, i, comm, in_place, one)
            for (source, destination), (count, messages) in one.items():
                add(out["collective"], source, destination, calls * count, calls * messages)


def expand(family, k, i, comm, in_place, one):
    """The messages of one collective call."""
    for g, rank, task, remote in comm.callers():
        peers = [(p, t) for p, t in enumerate(remote) if comm.inter or p != rank]
        sender = comm.groups[0]
        root = (k + i) % len(sender)
        at_root = g == 0 and rank == root
        # On an intercommunicator the root is a rank of the first group.
        from_root = at_root
        to_root = (g == 1 if comm.inter else not at_root)
        width, reduced = size(k, i), reduction_size(k, i)

        def send(peer, count, messages=1):
            add(one, task, peer, count, messages)

        if family == "BCAST" and from_root:
            for _, t in peers:
                send(t, uniform(k, i) * width)
        elif family == "SCATTER" and from_root:
            for _, t in peers:
                send(t, uniform(k, i) * width)
        elif family == "SCATTERV" and from_root:
            for p, t in peers:
                if varying(k, i, p):  # there is nothing to send otherwise
                    send(t, varying(k, i, p) * width)
        elif family == "GATHER" and to_root:
            send(sender[root], uniform(k, i) * width)
        elif family == "GATHERV" and to_root:
            send(sender[root], varying(k, i, rank) * width)
        elif family == "REDUCE" and to_root:
            send(sender[root], uniform(k, i) * reduced)
        elif family == "ALLGATHER":
            for _, t in peers:
                send(t, (uniform(k, i) + g) * width)
        elif family == "ALLGATHERV":
            for _, t in peers:
                send(t, varying(k, i + g, rank) * width)
        elif family == "ALLTOALL":
            for _, t in peers:
                send(t, uniform(k, i) * width)
        elif family in ("ALLTOALLV", "ALLTOALLW"):
            for p, t in peers:
                count = symmetric(k, i, rank, p) if in_place else pairwise(k, i, rank, p)
                each = pair_size(rank, p) if family == "ALLTOALLW" else width
                if count:
                    send(t, count * each)
        elif family == "ALLREDUCE":
            # Piece j of every task goes to task j, which sends the result to all tasks.
            cut = pieces(uniform(k, i) * reduced, len(remote))
            for p, t in peers:
                if comm.inter:
                    send(t, cut[p])
                else:
                    send(t, cut[p])
                    send(t, cut[rank])
        elif family == "REDUCE_SCATTER_BLOCK":
            if comm.inter:
                vector = uniform(k, i) * len(remote) * len(comm.groups[g]) * reduced
                for p, t in peers:
                    send(t, pieces(vector, len(remote))[p])
            else:
                for _, t in peers:
                    send(t, uniform(k, i) * reduced)
        elif family == "REDUCE_SCATTER":
            if comm.inter:
                # Both groups scatter vectors of the same length; the caller does not know how the
                # other cuts it.
                vector = uniform(k, i) * len(remote) * len(comm.groups[g]) * reduced
                for p, t in peers:
                    send(t, pieces(vector, len(remote))[p])
            else:
                for p, t in peers:
                    send(t, varying(k, i, p) * reduced)
        elif family in ("SCAN", "EXSCAN") and rank + 1 < len(remote):
            send(remote[rank + 1], uniform(k, i) * reduced)


def neighbourhood(row, comm, out):
    k = row.index
    for _, rank, task, remote in comm.callers():
        for i in range(rounds(k)):
            for peer in comm.neighbours(rank):
                if peer is None:
                    continue
                count, width = uniform(k, i), size(k, i)
                if row.family == "NEIGHBOR_ALLGATHERV":
                    count = varying(k, i, rank)
                elif row.family in ("NEIGHBOR_ALLTOALLV", "NEIGHBOR_ALLTOALLW"):
                    count = pairwise(k, i, rank, peer)
                if row.family == "NEIGHBOR_ALLTOALLW":
                    width = pair_size(rank, peer)
                calls = 1 if ":again" in row.without else 2
                add(out["collective"], task, remote[peer], calls * count * width, calls)


def one_sided(row, comm, out):
    """The data that a get fetches goes from the target to the caller. With MPI_NO_OP nothing goes to the target."""
    k = row.index
    matrix = out["onesided"]
    for _, rank, task, remote in comm.callers():
        for i in range(rounds(k)):
            target = remote[(rank + shift(k) + i) % len(remote)]
            count, single = mine(k, i, rank), (4, 8)[(k + i) % 2]
            no_op = (k + i) % 3 == 1
            if row.family == "PUT":
                add(matrix, task, target, 2 * count * size(k, i), 2)
            elif row.family == "GET":
                add(matrix, target, task, 2 * count * size(k, i), 2)
            elif row.family == "ACCUMULATE":
                add(matrix, task, target, 2 * count * single, 2)
            elif row.family in ("GET_ACCUMULATE", "FETCH_AND_OP"):
                count = 1 if row.family == "FETCH_AND_OP" else count
                add(matrix, target, task, 2 * count * single, 2)
                if not no_op:
                    add(matrix, task, target, 2 * count * single, 2)
            elif row.family == "COMPARE_AND_SWAP":
                # The new value and the value to compare with go to the target. The old value comes back.
                add(matrix, task, target, 2 * 2 * single, 2)
                add(matrix, target, task, 2 * single, 2)


def applies(row, kind):
    """Whether a kind of communicator has this call."""
    if row.family.startswith("NEIGHBOR"):
        return kind in TOPOLOGIES
    if row.family in ("SCAN", "EXSCAN", *ONE_SIDED, *PARTITIONED):
        return kind not in INTER
    return True


ONE_SIDED = ("PUT", "GET", "ACCUMULATE", "GET_ACCUMULATE", "FETCH_AND_OP", "COMPARE_AND_SWAP")
PARTITIONED = ("PSEND", "PREADY", "PREADY_RANGE", "PREADY_LIST")


def expected(rows, kind, np):
    """The three matrices of these rows on one kind of communicator."""
    out = {name: {} for name in KINDS}
    for row in rows:
        if not applies(row, kind):
            continue
        for comm in communicators(kind, np):
            if row.family in ("SEND", "SENDRECV"):
                point_to_point(row, comm, out)
            elif row.family in ("START", "STARTALL"):
                started(row, comm, out)
            elif row.family in PARTITIONED:
                partitioned(row, comm, out)
            elif row.family.startswith("NEIGHBOR"):
                neighbourhood(row, comm, out)
            elif row.family in ONE_SIDED:
                one_sided(row, comm, out)
            else:
                collective(row, comm, out)
    return out
