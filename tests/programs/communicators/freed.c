/* Frees communicators as early as possible, around and after a new order. The program frees the input of
 * rankweave_reorder and its result as soon as the call returns. It does the same with a topology that may be
 * reordered: it frees the parent before the topology is used. */
#include "check.h"
#include "rankweave.h"

static int total(MPI_Comm comm)
{
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    return sum;
}

int main(int argc, char **argv)
{
    char data[2000] = {0};
    begin(&argc, &argv);
    const int other = (world_rank + world_size / 2) % world_size;
    const int back = (world_rank + world_size - world_size / 2) % world_size;
    for (int round = 0; round < 4; round++) {
        MPI_Comm input, output = MPI_COMM_NULL, again = MPI_COMM_NULL, grid = MPI_COMM_NULL;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &input));
        OK(MPI_Sendrecv_replace(data, sizeof data, MPI_CHAR, other, 3, back, 3, input,
                                MPI_STATUS_IGNORE));
        SAME(RANKWEAVE_Reorder(input, &output), RANKWEAVE_OK);
        OK(MPI_Comm_free(&input));
        SAME(total(output), world_size);
        SAME(RANKWEAVE_Reorder(output, &again), RANKWEAVE_OK);
        OK(MPI_Comm_free(&output));
        const int periods[1] = {1}, dims[1] = {world_size};
        OK(MPI_Cart_create(again, 1, dims, periods, 1, &grid));
        OK(MPI_Comm_free(&again));
        SAME(total(grid), world_size);
        if (round % 2) /* Freed while a message is pending. */
        {
            MPI_Request requests[2];
            int left, right, in = -1, out = round;
            MPI_Cart_shift(grid, 0, 1, &left, &right);
            OK(MPI_Irecv(&in, 1, MPI_INT, left, 4, grid, &requests[0]));
            OK(MPI_Isend(&out, 1, MPI_INT, right, 4, grid, &requests[1]));
            OK(MPI_Comm_free(&grid));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            SAME(in, round);
        } else
            OK(MPI_Comm_free(&grid));
        RANKWEAVE_Reset();
    }
    SAME(total(MPI_COMM_WORLD), world_size);
    return verdict("freed");
}
