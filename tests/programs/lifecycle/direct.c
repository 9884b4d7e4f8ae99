/* A library of the program (libdirect.c) calls PMPI_Comm_rank: it and the program see the same rank, and messages arrive
 * where the library says. */
#include "beside.h"

int main(int argc, char **argv)
{
    /* Loaded before MPI_Init, like a library that the program is linked with. */
    void *library = load_beside("libdirect.so");
    begin(&argc, &argv);
    int (*direct_rank)(void) = NULL;
    if (library != NULL)
        *(void **)&direct_rank = dlsym(library, "direct_rank");
    if (CHECK(direct_rank != NULL, "no function")) {
        int rank = direct_rank(), got = -1;
        SAME(rank, world_rank);
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % world_size, 5, &got, 1, MPI_INT,
                     (rank + world_size - 1) % world_size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(got, (rank + world_size - 1) % world_size);
    }
    return verdict("direct");
}
