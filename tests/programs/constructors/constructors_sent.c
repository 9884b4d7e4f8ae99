/* Sends along the edges of topologies made with `reorder`, and prints what it sent:
 * lines `p2p FROM TO BYTES` and `collective FROM TO BYTES`, by rank in the world.
 *
 * It has no other traffic. Its only collective calls make communicators or send along edges.
 */
#include "check.h"

static void send_along(MPI_Comm comm, int indegree, const int *sources, int outdegree,
                       const int *targets)
{
    if (comm == MPI_COMM_NULL)
        return;
    int rank, tasks[64], counts_out[64], counts_in[64], at_out[64], at_in[64];
    char out[4096] = {0}, in[4096];
    MPI_Group group, world;
    MPI_Request requests[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    OK(MPI_Group_translate_ranks(group, outdegree, targets, world, tasks));
    for (int k = 0; k < indegree; k++)
        OK(MPI_Irecv(in, sizeof in, MPI_CHAR, sources[k], MPI_ANY_TAG, comm, &requests[k]));
    for (int k = 0; k < outdegree; k++) {
        const int bytes = 10 * rank + targets[k] + 1;
        OK(MPI_Send(out, bytes, MPI_CHAR, targets[k], k, comm));
        printf("p2p %d %d %d\n", world_rank, tasks[k], bytes);
    }
    MPI_Waitall(indegree, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < outdegree; k++) {
        counts_out[k] = 3 * rank + targets[k] + 2;
        at_out[k] = 0;
        printf("collective %d %d %d\n", world_rank, tasks[k], counts_out[k]);
    }
    for (int k = 0; k < indegree; k++) {
        counts_in[k] = 3 * sources[k] + rank + 2;
        at_in[k] = 0;
    }
    OK(MPI_Neighbor_alltoallv(out, counts_out, at_out, MPI_CHAR, in, counts_in, at_in, MPI_CHAR,
                              comm));
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int n = world_size, v = world_rank, before = (v + n - 1) % n, after = (v + 2) % n;
    const int far = (v + n - 2) % n, weights[1] = {v + 1}, back[1] = {far + 1};
    int rank;
    MPI_Comm comm;

    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &far, back, 1, &after, weights,
                                      MPI_INFO_NULL, 1, &comm));
    MPI_Comm_rank(comm, &rank);
    int sources[4] = {(rank + n - 2) % n}, targets[4] = {(rank + 2) % n};
    send_along(comm, 1, sources, 1, targets);
    OK(MPI_Comm_free(&comm));

    /* The edge from the previous process to this one. */
    const int degree = 1;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &before, &degree, &v, MPI_UNWEIGHTED, MPI_INFO_NULL,
                             1, &comm));
    MPI_Comm_rank(comm, &rank);
    sources[0] = (rank + n - 1) % n;
    targets[0] = (rank + 1) % n;
    send_along(comm, 1, sources, 1, targets);
    OK(MPI_Comm_free(&comm));

    int dims[1] = {n}, periods[1] = {1};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &comm));
    OK(MPI_Cart_shift(comm, 0, 1, &targets[0], &targets[1]));
    send_along(comm, 2, targets, 2, targets);
    OK(MPI_Comm_free(&comm));

    /* A topology of two processes; the others are not part of it. */
    const int ends[2] = {1, 2}, edges[2] = {1, 0};
    OK(MPI_Graph_create(MPI_COMM_WORLD, 2, ends, edges, 1, &comm));
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &rank);
        const int other = 1 - rank;
        send_along(comm, 1, &other, 1, &other);
        OK(MPI_Comm_free(&comm));
    }
    MPI_Finalize();
    return failures != 0;
}
