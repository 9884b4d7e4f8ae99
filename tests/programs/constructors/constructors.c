/* Tests the constructors of topologies with `reorder`. With any order of the new ranks, rank i must have the
 * edges that were given for vertex i, and neighbourhood collectives must follow these edges.
 *
 * argv[1] is one of cart, graph, adjacent, dist, or all. The graph: vertex v has edges to v+1, v+2
 * and, from even ones, to v/2 (also to itself from 0); the weight of an edge is 10 * from + to + 1.
 * With `moved` as second argument, at least one rank must change.
 */
#include "check.h"

static int expect_moved, moved;

static int targets_of(int v, int n, int *to)
{
    int count = 0;
    to[count++] = (v + 1) % n;
    to[count++] = (v + 2) % n;
    if (v % 2 == 0)
        to[count++] = v / 2;
    return count;
}

static int sources_of(int v, int n, int *from)
{
    int count = 0, to[3];
    for (int s = 0; s < n; s++)
        for (int k = 0, m = targets_of(s, n, to); k < m; k++)
            if (to[k] == v)
                from[count++] = s;
    return count;
}

static int weight_of(int from, int to) { return 10 * from + to + 1; }

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void same_set(const char *what, int vertex, int count, const int *got, int wanted_count,
                     const int *wanted)
{
    int a[64], b[64];
    SAME(count, wanted_count);
    if (count != wanted_count)
        return;
    memcpy(a, got, sizeof(int) * (size_t)count);
    memcpy(b, wanted, sizeof(int) * (size_t)count);
    qsort(a, (size_t)count, sizeof(int), ascending);
    qsort(b, (size_t)count, sizeof(int), ascending);
    for (int k = 0; k < count; k++)
        CHECK(a[k] == b[k], "%s %d of vertex %d is %d, not %d", what, k, vertex, a[k], b[k]);
}

/* Remembers whether this process has another rank in `comm` than in `parent`. */
static void note(MPI_Comm parent, MPI_Comm comm)
{
    int before, after;
    MPI_Comm_rank(parent, &before);
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &after);
    if (before != after)
        moved = 1;
}

/* Tests every form of neighbourhood collectives. The data on an edge is computed from the two ends of the edge
 * and from the number of earlier edges between them. */
static void exchange(MPI_Comm comm, int indegree, const int *sources, int outdegree,
                     const int *targets)
{
    int rank, out[64], in[64], counts_out[64], counts_in[64], at_out[64], at_in[64];
    MPI_Aint bytes_out[64], bytes_in[64];
    MPI_Datatype types[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Request request;
#define ANSWER(form)                                                                            \
    for (int k = 0; k < indegree; k++)                                                          \
        if (sources[k] != MPI_PROC_NULL)                                                        \
            CHECK(in[k] == 1000 * sources[k] + rank, form ": edge %d of %d has %d", k, rank, in[k])
    for (int k = 0; k < outdegree; k++) {
        out[k] = 1000 * rank + targets[k];
        counts_out[k] = 1;
        at_out[k] = k;
        bytes_out[k] = (MPI_Aint)(sizeof(int) * (size_t)k);
    }
    for (int k = 0; k < indegree; k++) {
        counts_in[k] = 1;
        at_in[k] = k;
        bytes_in[k] = (MPI_Aint)(sizeof(int) * (size_t)k);
    }
    for (int k = 0; k < 64; k++)
        types[k] = MPI_INT;
    memset(in, 255, sizeof in);
    OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    ANSWER("alltoall");
    memset(in, 255, sizeof in);
    OK(MPI_Neighbor_alltoallv(out, counts_out, at_out, MPI_INT, in, counts_in, at_in, MPI_INT, comm));
    ANSWER("alltoallv");
    memset(in, 255, sizeof in);
    OK(MPI_Neighbor_alltoallw(out, counts_out, bytes_out, types, in, counts_in, bytes_in, types,
                              comm));
    ANSWER("alltoallw");
    memset(in, 255, sizeof in);
    OK(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ANSWER("ialltoall");
    memset(in, 255, sizeof in);
    OK(MPI_Ineighbor_alltoallv(out, counts_out, at_out, MPI_INT, in, counts_in, at_in, MPI_INT, comm,
                               &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ANSWER("ialltoallv");
    memset(in, 255, sizeof in);
    OK(MPI_Ineighbor_alltoallw(out, counts_out, bytes_out, types, in, counts_in, bytes_in, types, comm,
                               &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ANSWER("ialltoallw");
#if MPI_VERSION >= 4
    for (int round = 0; round < 2; round++) {
        MPI_Request persistent[3];
        int again[3][64];
        OK(MPI_Neighbor_alltoall_init(out, 1, MPI_INT, again[0], 1, MPI_INT, comm, MPI_INFO_NULL,
                                      &persistent[0]));
        OK(MPI_Neighbor_alltoallv_init(out, counts_out, at_out, MPI_INT, again[1], counts_in, at_in,
                                       MPI_INT, comm, MPI_INFO_NULL, &persistent[1]));
        OK(MPI_Neighbor_alltoallw_init(out, counts_out, bytes_out, types, again[2], counts_in,
                                       bytes_in, types, comm, MPI_INFO_NULL, &persistent[2]));
        for (int form = 0; form < 3; form++) {
            OK(MPI_Start(&persistent[form]));
            OK(MPI_Wait(&persistent[form], MPI_STATUS_IGNORE));
            memcpy(in, again[form], sizeof in);
            ANSWER("persistent");
            OK(MPI_Request_free(&persistent[form]));
        }
    }
#endif
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int k = 0; k < indegree; k++)
        if (sources[k] != MPI_PROC_NULL)
            CHECK(in[k] == sources[k], "allgather: edge %d of %d has %d", k, rank, in[k]);
}

/* Checks a distributed graph of all vertices. `exact`: the neighbours have the order of the arguments. */
static void check_dist(MPI_Comm comm, int weighted, int exact)
{
    int n, v, kind, indegree, outdegree, flag, from[64], to[3];
    int sources[64], targets[64], in_weights[64], out_weights[64];
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &v);
    OK(MPI_Topo_test(comm, &kind));
    SAME(kind, MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &flag));
    SAME(flag != 0, weighted);
    OK(MPI_Dist_graph_neighbors(comm, indegree, sources, in_weights, outdegree, targets, out_weights));
    const int out = targets_of(v, n, to), in = sources_of(v, n, from);
    same_set("source", v, indegree, sources, in, from);
    same_set("target", v, outdegree, targets, out, to);
    for (int k = 0; exact && k < in; k++)
        SAME(sources[k], from[k]);
    for (int k = 0; exact && k < out; k++)
        SAME(targets[k], to[k]);
    for (int k = 0; weighted && k < indegree; k++)
        SAME(in_weights[k], weight_of(sources[k], v));
    for (int k = 0; weighted && k < outdegree; k++)
        SAME(out_weights[k], weight_of(v, targets[k]));
    exchange(comm, indegree, sources, outdegree, targets);
}

static void adjacent(MPI_Comm parent)
{
    int n, v, from[64], to[3], in_weights[64], out_weights[3];
    MPI_Comm_size(parent, &n);
    MPI_Comm_rank(parent, &v);
    const int in = sources_of(v, n, from), out = targets_of(v, n, to);
    for (int k = 0; k < in; k++)
        in_weights[k] = weight_of(from[k], v);
    for (int k = 0; k < out; k++)
        out_weights[k] = weight_of(v, to[k]);
    MPI_Comm comm;
    OK(MPI_Dist_graph_create_adjacent(parent, in, from, in_weights, out, to, out_weights,
                                      MPI_INFO_NULL, 1, &comm));
    note(parent, comm);
    check_dist(comm, 1, 1);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Dist_graph_create_adjacent(parent, in, from, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 1, &comm));
    check_dist(comm, 0, 1);
    OK(MPI_Comm_free(&comm));

    /* Only the first and the last vertex have edges, from each other. */
    const int last = n - 1, one = 1;
    int sources[1] = {last}, targets[1] = {0};
    OK(MPI_Dist_graph_create_adjacent(
        parent, v == 0, sources, v == 0 ? &one : MPI_WEIGHTS_EMPTY, v == last, targets,
        v == last ? &one : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 1, &comm));
    int rank, indegree, outdegree, flag;
    MPI_Comm_rank(comm, &rank);
    OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &flag));
    SAME(indegree, rank == 0);
    SAME(outdegree, rank == last);
    SAME(flag != 0, 1);
    OK(MPI_Comm_free(&comm));
}

/* The edges of vertex v are given by others: half of them by v+1, the rest by v+3, and those of two
 * vertices in one call. */
static void dist(MPI_Comm parent)
{
    int n, me, to[3];
    MPI_Comm_size(parent, &n);
    MPI_Comm_rank(parent, &me);
    for (int weighted = 0; weighted < 2; weighted++) {
        int sources[2] = {(me + n - 1) % n, (me + 3 * n - 3) % n}, degrees[2], targets[6], weights[6];
        int count = 0;
        for (int half = 0; half < 2; half++) {
            const int all = targets_of(sources[half], n, to), first = half ? all / 2 : 0;
            degrees[half] = (half ? all : all / 2) - first;
            for (int k = 0; k < degrees[half]; k++) {
                targets[count] = to[first + k];
                weights[count++] = weight_of(sources[half], to[first + k]);
            }
        }
        MPI_Comm comm;
        OK(MPI_Dist_graph_create(parent, 2, sources, degrees, targets,
                                 weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
        note(parent, comm);
        check_dist(comm, weighted, 0);
        OK(MPI_Comm_free(&comm));
    }
    /* One process gives all edges. */
    int *sources = malloc(sizeof(int) * (size_t)n), *degrees = malloc(sizeof(int) * (size_t)n);
    int *targets = malloc(sizeof(int) * 3 * (size_t)n);
    int count = 0;
    for (int v = 0; v < n; v++) {
        sources[v] = v;
        degrees[v] = targets_of(v, n, targets + count);
        count += degrees[v];
    }
    MPI_Comm comm;
    OK(MPI_Dist_graph_create(parent, me == n - 1 ? n : 0, sources, degrees, targets, MPI_UNWEIGHTED,
                             MPI_INFO_NULL, 1, &comm));
    check_dist(comm, 0, 0);
    OK(MPI_Comm_free(&comm));
    free(sources);
    free(degrees);
    free(targets);
}

static void graph(MPI_Comm parent, int vertices)
{
    /* Neighbourhood collectives on such a graph need every edge at both ends. */
    int index[64], edges[256], count = 0, rank, n;
    MPI_Comm_size(parent, &n);
    for (int v = 0; v < vertices; v++) {
        if (v > 0)
            edges[count++] = v - 1;
        if (v + 1 < vertices)
            edges[count++] = v + 1;
        if (vertices > 3 && (v == 0 || v == vertices - 1))
            edges[count++] = v == 0 ? vertices - 1 : 0;
        index[v] = count;
    }
    MPI_Comm comm;
    OK(MPI_Graph_create(parent, vertices, index, edges, 1, &comm));
    note(parent, comm);
    int there = comm != MPI_COMM_NULL, all;
    OK(MPI_Allreduce(&there, &all, 1, MPI_INT, MPI_SUM, parent));
    SAME(all, vertices);
    int wanted = -1;
    OK(MPI_Graph_map(parent, vertices, index, edges, &wanted));
    /* Here, Open MPI also gives a rank to processes that are not needed for the topology. */
    if (!there)
        return;
    MPI_Comm_rank(comm, &rank);
    SAME(wanted, rank);
    int kind, nodes, number, neighbours[64];
    OK(MPI_Topo_test(comm, &kind));
    SAME(kind, MPI_GRAPH);
    OK(MPI_Graphdims_get(comm, &nodes, &number));
    SAME(nodes, vertices);
    SAME(number, count);
    MPI_Comm_rank(comm, &rank);
    const int first = rank ? index[rank - 1] : 0, degree = index[rank] - first;
    OK(MPI_Graph_neighbors_count(comm, rank, &number));
    SAME(number, degree);
    OK(MPI_Graph_neighbors(comm, rank, 64, neighbours));
    for (int k = 0; k < degree; k++)
        SAME(neighbours[k], edges[first + k]);
    exchange(comm, degree, neighbours, degree, neighbours);
    OK(MPI_Comm_free(&comm));
}

static void cart(MPI_Comm parent, const int *dims, int periodic)
{
    int periods[2] = {periodic, periodic}, n, rank, at[2], got_dims[2], got_periods[2], back;
    const int vertices = dims[0] * dims[1];
    MPI_Comm_size(parent, &n);
    MPI_Comm comm;
    OK(MPI_Cart_create(parent, 2, dims, periods, 1, &comm));
    note(parent, comm);
    int there = comm != MPI_COMM_NULL, all;
    OK(MPI_Allreduce(&there, &all, 1, MPI_INT, MPI_SUM, parent));
    SAME(all, vertices);
    int wanted = -1;
    OK(MPI_Cart_map(parent, 2, dims, periods, &wanted));
    /* Here, Open MPI also gives a rank to processes that are not needed for the topology. */
    if (!there)
        return;
    MPI_Comm_rank(comm, &rank);
    SAME(wanted, rank);
    OK(MPI_Cart_get(comm, 2, got_dims, got_periods, at));
    SAME(at[0], rank / dims[1]);
    SAME(at[1], rank % dims[1]);
    SAME(got_dims[0], dims[0]);
    SAME(got_periods[1], periodic);
    OK(MPI_Cart_rank(comm, at, &back));
    SAME(back, rank);
    int neighbours[4];
    for (int d = 0; d < 2; d++) {
        OK(MPI_Cart_shift(comm, d, 1, &neighbours[2 * d], &neighbours[2 * d + 1]));
        for (int up = 0; up < 2; up++) {
            int to[2] = {at[0], at[1]};
            to[d] += up ? 1 : -1;
            const int inside = to[d] >= 0 && to[d] < dims[d];
            to[d] = (to[d] + dims[d]) % dims[d];
            SAME(neighbours[2 * d + up],
                 inside || periodic ? to[0] * dims[1] + to[1] : MPI_PROC_NULL);
        }
    }
    /* The MPI library decides which of two edges between the same processes comes first. */
    exchange(comm, 4, neighbours, 4, neighbours);
    OK(MPI_Comm_free(&comm));
}

/* Checks what a communicator inherits from the one it was made from. */
static void inheritance(MPI_Comm parent)
{
    MPI_Comm copy, comm;
    MPI_Errhandler handler;
    int n, keyval, flag, *value, dims[1], periods[1] = {1};
    MPI_Comm_size(parent, &n);
    dims[0] = n;
    OK(MPI_Comm_dup(parent, &copy));
    OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Comm_set_attr(copy, keyval, &n));
    OK(MPI_Cart_create(copy, 1, dims, periods, 1, &comm));
    OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    SAME(flag, 0);
    OK(MPI_Comm_get_errhandler(copy, &handler));
    SAME(handler == MPI_ERRORS_RETURN, 1);
    MPI_Errhandler_free(&handler);
    OK(MPI_Comm_get_errhandler(comm, &handler));
    SAME(handler == MPI_ERRORS_RETURN, 1);
    MPI_Errhandler_free(&handler);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&keyval));
    OK(MPI_Comm_free(&copy));
}

static void all_of(const char *what, MPI_Comm parent)
{
    const int everything = !strcmp(what, "all");
    int n, dims[2] = {0, 0};
    MPI_Comm_size(parent, &n);
    if (everything || !strcmp(what, "cart")) {
        MPI_Dims_create(n, 2, dims);
        cart(parent, dims, 0);
        dims[0] = 1;
        dims[1] = n > 3 ? n - 1 : n;
        cart(parent, dims, n > 3);
        inheritance(parent);
    }
    if (everything || !strcmp(what, "graph")) {
        graph(parent, n);
        if (n > 2)
            graph(parent, n - 1);
    }
    if (everything || !strcmp(what, "adjacent"))
        adjacent(parent);
    if (everything || !strcmp(what, "dist"))
        dist(parent);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    begin(&argc, &argv);
    expect_moved = argc > 2 && !strcmp(argv[2], "moved");
    all_of(what, MPI_COMM_WORLD);
    /* A communicator of some processes, in another order. */
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half));
    all_of(what, half);
    OK(MPI_Comm_free(&half));
    int any = 0;
    OK(MPI_Allreduce(&moved, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (expect_moved)
        SAME(any, 1);
    return verdict("constructors");
}
