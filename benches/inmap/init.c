/* Prints the milliseconds that MPI_Init took in the slowest process, after an exchange between processes
 * that are half the job apart, so that there is an order to find. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    char data[1000] = {0};
    int rank, size;
    double took = now(), longest = 0;
    MPI_Init(&argc, &argv);
    took = now() - took;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int other = (rank + size / 2) % size;
    for (int i = 0; i < 4; i++)
        MPI_Sendrecv_replace(data, sizeof data, MPI_CHAR, other, 0, other, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.3f\n", longest);
    MPI_Finalize();
    return 0;
}
