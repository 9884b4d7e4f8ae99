/* A periodic Cartesian grid of two dimensions (as MPI_Dims_create chooses); argv[1] is `reorder`.
 *
 * With reorder 0, by rank in the grid = task: 5 messages of 8 * 100 bytes in the positive direction
 * of dimension 0, and 2 of 8 * 10 bytes in the positive direction of dimension 1 on a sub-grid.
 */
#include "check.h"

int main(int argc, char **argv)
{
    double out[100], in[100];
    begin(&argc, &argv);
    const int reorder = argc > 1 ? atoi(argv[1]) : 0;
    int dims[2] = {0, 0}, periods[2] = {1, 1}, rank, coordinates[2], back;
    OK(MPI_Dims_create(world_size, 2, dims));
    SAME(dims[0] * dims[1], world_size);
    MPI_Comm grid;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &grid));
    MPI_Comm_rank(grid, &rank);
    if (!reorder)
        SAME(rank, world_rank);
    OK(MPI_Cart_coords(grid, rank, 2, coordinates));
    SAME(coordinates[0] * dims[1] + coordinates[1], rank);
    OK(MPI_Cart_rank(grid, coordinates, &back));
    SAME(back, rank);
    int kind, n;
    OK(MPI_Topo_test(grid, &kind));
    SAME(kind, MPI_CART);
    OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    SAME(kind, MPI_UNDEFINED);
    OK(MPI_Cartdim_get(grid, &n));
    SAME(n, 2);

    int from, to;
    OK(MPI_Cart_shift(grid, 0, 1, &from, &to));
    SAME(to, (coordinates[0] + 1) % dims[0] * dims[1] + coordinates[1]);
    for (int round = 0; round < 5; round++) {
        MPI_Status status;
        for (int i = 0; i < 100; i++)
            out[i] = rank * 1000 + i;
        OK(MPI_Sendrecv(out, 100, MPI_DOUBLE, to, 1, in, 100, MPI_DOUBLE, from, 1, grid, &status));
        SAME(in[99], from * 1000 + 99);
        SAME(status.MPI_SOURCE, from);
    }
    MPI_Comm row;
    int keep[2] = {0, 1}, row_rank, row_size;
    OK(MPI_Cart_sub(grid, keep, &row));
    MPI_Comm_rank(row, &row_rank);
    MPI_Comm_size(row, &row_size);
    SAME(row_rank, coordinates[1]);
    SAME(row_size, dims[1]);
    OK(MPI_Cart_shift(row, 0, 1, &from, &to));
    for (int round = 0; round < 2; round++)
        OK(MPI_Sendrecv(out, 10, MPI_DOUBLE, to, 2, in, 10, MPI_DOUBLE, from, 2, row,
                        MPI_STATUS_IGNORE));
    int wanted;
    OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &wanted));
    CHECK(wanted >= 0 && wanted < world_size, "%d", wanted);

    /* If the grid is smaller than MPI_COMM_WORLD, some tasks get no communicator. */
    if (world_size > 2) {
        int small[1] = {world_size - 1}, open[1] = {0};
        MPI_Comm line;
        OK(MPI_Cart_create(MPI_COMM_WORLD, 1, small, open, 0, &line));
        SAME(line == MPI_COMM_NULL, world_rank == world_size - 1);
        if (line != MPI_COMM_NULL) {
            OK(MPI_Cart_shift(line, 0, 1, &from, &to));
            SAME(from, world_rank == 0 ? MPI_PROC_NULL : world_rank - 1);
            SAME(to, world_rank == world_size - 2 ? MPI_PROC_NULL : world_rank + 1);
            OK(MPI_Comm_free(&line));
        }
    }
    OK(MPI_Comm_free(&row));
    OK(MPI_Comm_free(&grid));
    return verdict("cart");
}
