/* Traffic on communicators whose ranks are not those of the world.
 *
 * Phase 1: the world split with reversed keys: 3 x 800 bytes to the next rank of the reversed
 * communicator, so from task i to task i-1. Phase 2: the tasks of one parity, reversed: 1 x 4000
 * bytes from every rank but 0 to rank 0. Phase 3: a duplicate of that, kept while the original is
 * freed: 2 x 100 bytes from rank 0 to every other.
 */
#include "check.h"

int main(int argc, char **argv)
{
    static char out[4000], in[4000];
    begin(&argc, &argv);

    MPI_Comm reversed;
    int rank, size;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed));
    MPI_Comm_rank(reversed, &rank);
    MPI_Comm_size(reversed, &size);
    SAME(size, world_size);
    SAME(rank, world_size - 1 - world_rank);
    const int left = (rank + size - 1) % size;
    for (int round = 0; round < 3; round++) {
        MPI_Status status;
        memset(out, rank, 800);
        OK(MPI_Sendrecv(out, 800, MPI_CHAR, (rank + 1) % size, 1, in, 800, MPI_CHAR, left, 1,
                        reversed, &status));
        SAME(status.MPI_SOURCE, left);
        SAME(in[799], left);
    }

    MPI_Comm half, copy;
    OK(MPI_Comm_split(reversed, world_rank % 2, rank, &half));
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    SAME(size, (world_size + 1 - world_rank % 2) / 2);
    if (rank > 0) {
        memset(out, rank, sizeof out);
        OK(MPI_Send(out, 4000, MPI_CHAR, 0, 2, half));
    } else {
        for (int k = 1; k < size; k++) {
            MPI_Status status;
            OK(MPI_Recv(in, 4000, MPI_CHAR, MPI_ANY_SOURCE, 2, half, &status));
            SAME(in[0], status.MPI_SOURCE);
        }
    }
    OK(MPI_Comm_dup(half, &copy));
    OK(MPI_Comm_free(&half));
    SAME(half == MPI_COMM_NULL, 1);
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            for (int k = 1; k < size; k++)
                OK(MPI_Send(out, 25, MPI_INT, k, 3, copy));
        } else {
            OK(MPI_Recv(in, 25, MPI_INT, 0, 3, copy, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&reversed));

    /* A task that is not a member gets no communicator. */
    MPI_Comm some;
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 4, 0, &some));
    SAME(some == MPI_COMM_NULL, world_rank == 0);
    if (some != MPI_COMM_NULL)
        OK(MPI_Comm_free(&some));
    return verdict("subcomm");
}
