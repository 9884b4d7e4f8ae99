/* The MPI_Init of this program does not reach a preloaded library, as if it were called through a handle of
 * dlopen. The same is true for those calls of this program that are not part of the test.
 *   unseen ring     all processes then communicate
 *   unseen partly   only tasks 0 and 1 make calls that can be seen before the end
 *   unseen alone    the same, and MPI_Finalize of the others is not seen either */
#include "check.h"
#include <dlfcn.h>

static void *function(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (address == NULL) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return address;
}

int main(int argc, char **argv)
{
    int (*init)(int *, char ***), (*rank)(MPI_Comm, int *), (*size)(MPI_Comm, int *);
    int (*reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm), (*finalize)(void);
    *(void **)&init = function("PMPI_Init");
    *(void **)&rank = function("PMPI_Comm_rank");
    *(void **)&size = function("PMPI_Comm_size");
    *(void **)&reduce = function("PMPI_Allreduce");
    *(void **)&finalize = function("PMPI_Finalize");
    init(&argc, &argv);
    rank(MPI_COMM_WORLD, &world_rank);
    size(MPI_COMM_WORLD, &world_size);
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
    reduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0 && all == 0)
        printf("ok unseen\n");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "alone") == 0 && world_rank > 1)
        finalize();
    else
        MPI_Finalize();
    return all != 0;
}
