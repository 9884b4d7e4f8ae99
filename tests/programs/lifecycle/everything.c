/* A little of everything that the library counts or does: the program for tests in which the library's own
 * calls fail. Prints sums that do not depend on the order of the ranks, and ends with exit code 3.
 */
#include "check.h"

static long long sum;

static void shift(MPI_Comm comm, int rounds)
{
    int rank, size, out, in = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < rounds; i++) {
        out = rank * 1000 + i;
        OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1,
                        comm, MPI_STATUS_IGNORE));
        SAME(in, (rank + size - 1) % size * 1000 + i);
        sum += in;
    }
}

static void communicators(void)
{
    MPI_Comm half, copy;
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half));
    OK(MPI_Comm_dup(half, &copy));
    shift(half, 5);
    shift(copy, 5);
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&copy));
}

static void topologies(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, rank, in[4] = {-1, -1, -1, -1};
    MPI_Comm grid, graph;
    OK(MPI_Dims_create(world_size, 2, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
    OK(MPI_Comm_rank(grid, &rank));
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, grid));
    for (int i = 0; i < 4; i++) sum += in[i];
    shift(grid, 3);
    OK(MPI_Comm_free(&grid));
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size, weight = 7;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &weight, 1, &to, &weight, MPI_INFO_NULL, 1,
                                      &graph));
    OK(MPI_Comm_rank(graph, &rank));
    OK(MPI_Neighbor_alltoall(&rank, 1, MPI_INT, in, 1, MPI_INT, graph));
    SAME(in[0], (rank + world_size - 1) % world_size);
    OK(MPI_Comm_free(&graph));
}

static void objects(void)
{
    MPI_Datatype pair;
    MPI_Request both[2];
    MPI_Win window;
    int out[2] = {1, 2}, in[2] = {0, 0}, *target;
    const int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Recv_init(in, 1, pair, from, 2, MPI_COMM_WORLD, &both[0]));
    OK(MPI_Send_init(out, 1, pair, to, 2, MPI_COMM_WORLD, &both[1]));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Startall(2, both));
        OK(MPI_Wait(&both[0], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&both[1], MPI_STATUS_IGNORE));
    }
    SAME(in[1], 2);
    // From the fifth use on, the library keeps the size of the type.
    for (int i = 0; i < 6; i++)
        OK(MPI_Sendrecv(out, 1, pair, to, 3, in, 1, pair, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    SAME(in[0], 1);
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
    OK(MPI_Type_free(&pair));
    OK(MPI_Win_allocate(sizeof *target, sizeof *target, MPI_INFO_NULL, MPI_COMM_WORLD, &target, &window));
    *target = -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* The test does not check that the number arrives: with MPICH 4.0.2 of Debian 12 it does not. */
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window));
    OK(MPI_Put(&world_rank, 1, MPI_INT, to, 0, 1, MPI_INT, window));
    OK(MPI_Win_unlock(to, window));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&window));
}

int main(int argc, char **argv)
{
    long long all = 0;
    int largest = -1;
    begin(&argc, &argv);
    shift(MPI_COMM_WORLD, 20);
    communicators();
    topologies();
    objects();
    OK(MPI_Allreduce(&sum, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Reduce(&world_rank, &largest, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
    if (world_rank == 0) {
        SAME(largest, world_size - 1);
        printf("sum %lld\n", all);
        fflush(stdout);
    }
    return verdict("everything") ? 1 : 3;
}
