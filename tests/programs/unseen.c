/* MPI_Init goes past everything that stands before the MPI library, as it does under a tool that
 * wraps it, or through a handle of dlopen.
 *   unseen ring     all processes then communicate
 *   unseen partly   only tasks 0 and 1 make calls that can be seen before the end
 *   unseen alone    the same, and the end of the others passes by unseen too */
#include "check.h"

int main(int argc, char **argv)
{
    PMPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    const int ring = argc < 2 || strcmp(argv[1], "ring") == 0;
    char out[100] = {0}, in[100];
    for (int i = 0; i < 10; i++) {
        if (ring)
            OK(MPI_Sendrecv(out, sizeof out, MPI_CHAR, (world_rank + 1) % world_size, 3, in,
                            sizeof in, MPI_CHAR, (world_rank + world_size - 1) % world_size, 3,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        else if (world_rank < 2)
            OK(MPI_Sendrecv(out, sizeof out, MPI_CHAR, 1 - world_rank, 3, in, sizeof in, MPI_CHAR,
                            1 - world_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    int all = 0;
    PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0 && all == 0)
        printf("ok unseen\n");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "alone") == 0 && world_rank > 1)
        PMPI_Finalize();
    else
        MPI_Finalize();
    return all != 0;
}
