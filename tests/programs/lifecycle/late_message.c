/* Sends nothing for a while after MPI_Init, so that no message of its own reaches a process that is still there. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, ranks, sum;
    const struct timespec while_others_start = {0, 200 * 1000 * 1000};
    MPI_Init(&argc, &argv);
    nanosleep(&while_others_start, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int is_right = sum == ranks * (ranks - 1) / 2;
    if (rank == 0)
        printf("%s\n", is_right ? "ok" : "wrong sum");
    MPI_Finalize();
    return is_right ? 0 : 1;
}
