/* Distributed graphs with `reorder` that are known to hang, to crash or to send to wrong neighbours
 * in MPI libraries that reorder by themselves, by the number of the report at
 * github.com/open-mpi/ompi/issues. The library under test makes these communicators itself.
 *
 * Prints `ok #NUMBER` for every report whose graph works. The next report is then the one that hangs or crashes.
 */
#include "check.h"

/* Checks that the data along every edge is what its source sent. */
static void check_edges(const char *report, MPI_Comm comm)
{
    int rank, indegree, outdegree, weighted, sources[64], targets[64], in_weights[64], weights[64];
    int out[64], in[64], counts[64], at[64];
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted));
    OK(MPI_Dist_graph_neighbors(comm, indegree, sources, in_weights, outdegree, targets, weights));
    for (int k = 0; k < 64; k++) {
        out[k] = k < outdegree ? 100 * rank + targets[k] : -1;
        in[k] = -1;
        counts[k] = 1;
        at[k] = k;
    }
    OK(MPI_Ineighbor_alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int k = 0; k < indegree; k++)
        CHECK(in[k] == 100 * sources[k] + rank, "%s: edge %d of vertex %d", report, k, rank);
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int k = 0; k < indegree; k++)
        CHECK(in[k] == sources[k], "%s: edge %d of vertex %d has %d", report, k, rank, in[k]);
}

/* Prints that the graph of a report works, if it works on all processes. */
static void passed(const char *report)
{
    static int before;
    int mine = failures - before, all = 0;
    before = failures;
    fflush(stdout);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0 && all == 0)
        printf("ok %s\n", report);
    fflush(stdout);
}

static int turned_round(int rank)
{
    return 100 - rank;
}

static int first_two_exchanged(int rank)
{
    return rank < 2 ? 1 - rank : rank;
}

/* Checks that a communicator of the processes of this host, made with a key, has the order of the keys. */
static void check_split(const char *report, MPI_Comm comm, int (*key)(int))
{
    int rank, size, here[64], there[64];
    MPI_Comm part;
    MPI_Group group, old;
    MPI_Comm_rank(comm, &rank);
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, key(rank), MPI_INFO_NULL, &part));
    MPI_Comm_size(part, &size);
    MPI_Comm_group(part, &group);
    MPI_Comm_group(comm, &old);
    for (int k = 0; k < size; k++)
        here[k] = k;
    OK(MPI_Group_translate_ranks(group, size, here, old, there));
    for (int k = 1; k < size; k++)
        CHECK(key(there[k]) > key(there[k - 1]), "%s: rank %d of the part was %d", report, k, there[k]);
    MPI_Group_free(&group);
    MPI_Group_free(&old);
    OK(MPI_Comm_free(&part));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int n = world_size, me = world_rank;
    int targets[64], sources[64], weights[64], degrees[64], all[64 * 64];
    MPI_Comm comm;
    if (n > 20) {
        fprintf(stderr, "known_graphs: for up to 20 processes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    /* #11756: weighted edges; neighbours in the old numbering. */
    int degree = 0;
    for (int k = 1; k < 4; k++) {
        targets[degree] = (me * 3 + k * k) % n;
        weights[degree++] = 1 + (me + k) % 5 * 100;
    }
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, targets, weights, MPI_INFO_NULL, 1,
                             &comm));
    check_edges("#11756", comm);
    passed("#11756");

    /* #8854: the key of MPI_Comm_split_type is ignored; here with ranks that have moved. */
    check_split("#8854", comm, turned_round);
    passed("#8854");

    /* #8864, its correction: where only the first two ranks change places, the key was still ignored. */
    check_split("#8864", comm, first_two_exchanged);
    passed("#8864");
    OK(MPI_Comm_free(&comm));

    /* #8939: a chain in both directions with growing weights; the exchange hangs. */
    degree = 0;
    if (me > 0) {
        weights[degree] = me * 10;
        targets[degree++] = me - 1;
    }
    if (me + 1 < n) {
        weights[degree] = me * 10 + 10;
        targets[degree++] = me + 1;
    }
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, targets, weights, MPI_INFO_NULL, 1,
                             &comm));
    check_edges("#8939", comm);
    OK(MPI_Comm_free(&comm));
    passed("#8939");

    /* #13918: the same graph again and again; one of the calls hangs. */
    for (int round = 0; round < 8; round++) {
        degree = me + 1 < n ? 2 : 1;
        targets[0] = (n + n - 1 - me) % n;
        targets[1] = (n + n - 2 - me) % n;
        weights[0] = weights[1] = 1;
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, targets, weights, MPI_INFO_NULL, 1,
                                 &comm));
        if (round == 7)
            check_edges("#13918", comm);
        OK(MPI_Comm_free(&comm));
    }
    passed("#13918");

    /* #1183, #8991: one process gives all edges, the others none. */
    for (int root = 0; root < 2; root++) {
        int count = 0;
        for (int v = 0; v < n; v++) {
            sources[v] = v;
            degrees[v] = v % 3;
            for (int k = 0; k < degrees[v]; k++) {
                weights[count] = 1 + v;
                all[count++] = (v + 1 + k * 3) % n;
            }
        }
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, me == root ? n : 0, sources, degrees, all,
                                 me == root ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 1, &comm));
        check_edges("#1183", comm);
        OK(MPI_Comm_free(&comm));
    }
    passed("#1183");

    /* #4303: the complete graph, with all forms of weights. */
    for (int k = 0; k < n; k++) {
        targets[k] = sources[k] = k;
        weights[k] = 1 + (k + me) % 7;
    }
    for (int form = 0; form < 2; form++) {
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, sources, form ? weights : MPI_UNWEIGHTED,
                                          n, targets, form ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL,
                                          1, &comm));
        check_edges("#4303", comm);
        OK(MPI_Comm_free(&comm));
    }
    passed("#4303");

    /* #2402: no edges at all. */
    degree = 0;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL,
                             1, &comm));
    check_edges("#2402", comm);
    OK(MPI_Comm_free(&comm));
    passed("#2402");
    return verdict("known_graphs");
}
