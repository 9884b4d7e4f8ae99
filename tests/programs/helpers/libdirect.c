/* A program's own library that calls functions under their profiling names; used by direct.c. */
#include <mpi.h>

int direct_rank(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
