/* Graph topologies and neighbourhood collectives; argv[1] is `reorder`.
 *
 * Rank i of the new communicator must have the neighbours that were given for vertex i.
 */
#include "check.h"

static int up(int rank, int by) { return (rank + by) % world_size; }
static int down(int rank, int by) { return (rank + world_size - by % world_size) % world_size; }

/* Every rank has edges to the next two ranks. Checks the data that arrives along them. */
static void exchange(MPI_Comm comm)
{
    int rank, out[2], in[2], counts[2] = {1, 1}, displacements[2] = {0, 1};
    MPI_Comm_rank(comm, &rank);
    out[0] = rank * 10 + 1;
    out[1] = rank * 10 + 2;
    int sources[2], targets[2], weights_in[2], weights_out[2], indegree, outdegree, weighted;
    OK(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted));
    SAME(indegree, 2);
    SAME(outdegree, 2);
    OK(MPI_Dist_graph_neighbors(comm, 2, sources, weights_in, 2, targets, weights_out));
    /* The MPI library chooses the order of the neighbours, except for MPI_Dist_graph_create_adjacent. */
    for (int k = 0; k < 2; k++) {
        CHECK(targets[k] == up(rank, 1) || targets[k] == up(rank, 2), "target %d of %d", targets[k],
              rank);
        CHECK(sources[k] == down(rank, 1) || sources[k] == down(rank, 2), "source %d of %d",
              sources[k], rank);
    }
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    SAME(in[0], sources[0]);
    SAME(in[1], sources[1]);
    OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int k = 0; k < 2; k++)
        SAME(in[k] / 10, sources[k]);
    OK(MPI_Neighbor_alltoallv(out, counts, displacements, MPI_INT, in, counts, displacements,
                              MPI_INT, comm));
    for (int k = 0; k < 2; k++)
        SAME(in[k] / 10, sources[k]);
    MPI_Request request;
    OK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    SAME(in[0], sources[0]);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int reorder = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm comm;

    int sources[2] = {down(world_rank, 1), down(world_rank, 2)};
    int targets[2] = {up(world_rank, 1), up(world_rank, 2)};
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    exchange(comm);
    OK(MPI_Comm_free(&comm));

    /* Every task describes the edges of its successor. */
    int vertex[1] = {up(world_rank, 1)}, degree[1] = {2};
    int theirs[2] = {up(vertex[0], 1), up(vertex[0], 2)};
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, vertex, degree, theirs, MPI_UNWEIGHTED,
                             MPI_INFO_NULL, reorder, &comm));
    int kind;
    OK(MPI_Topo_test(comm, &kind));
    SAME(kind, MPI_DIST_GRAPH);
    exchange(comm);
    OK(MPI_Comm_free(&comm));

    /* MPI_Graph_create: a ring in both directions. */
    int *index = malloc(sizeof(int) * (size_t)world_size);
    int *edges = malloc(sizeof(int) * 2 * (size_t)world_size);
    for (int i = 0; i < world_size; i++) {
        index[i] = 2 * i + 2;
        edges[2 * i] = down(i, 1);
        edges[2 * i + 1] = up(i, 1);
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, reorder, &comm));
    int rank, nodes, count, neighbours[2], in[2], wanted;
    MPI_Comm_rank(comm, &rank);
    if (!reorder)
        SAME(rank, world_rank);
    OK(MPI_Graphdims_get(comm, &nodes, &count));
    SAME(nodes, world_size);
    SAME(count, 2 * world_size);
    OK(MPI_Graph_neighbors_count(comm, rank, &count));
    SAME(count, 2);
    OK(MPI_Graph_neighbors(comm, rank, 2, neighbours));
    SAME(neighbours[0], down(rank, 1));
    SAME(neighbours[1], up(rank, 1));
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    SAME(in[0], down(rank, 1));
    SAME(in[1], up(rank, 1));
    OK(MPI_Graph_map(MPI_COMM_WORLD, world_size, index, edges, &wanted));
    CHECK(wanted >= 0 && wanted < world_size, "%d", wanted);
    OK(MPI_Comm_free(&comm));
    free(index);
    free(edges);
    return verdict("graph");
}
