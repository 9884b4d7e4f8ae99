/* What happens once in a program, or once per communicator.
 *   lifecycle init          MPI_Init and MPI_Finalize, nothing else
 *   lifecycle comms N       N times: duplicate, send and reduce on it, free; prints the growth of the
 *                           resident memory in KiB, over the second half, of the process that grew
 *                           most */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &pages, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
    int rank, size, in = 1, out = 0;
    long middle = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[1], "comms") == 0) {
        const long cycles = atol(argv[2]);
        for (long i = 0; i < cycles; i++) {
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Sendrecv(&in, 1, MPI_INT, (rank + 1) % size, 1, &out, 1, MPI_INT,
                         (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
            if (i % 16 == 0)
                MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
            MPI_Comm_free(&comm);
            if (i == cycles / 2)
                middle = resident_kib();
        }
        long growth = resident_kib() - middle, most = 0;
        MPI_Reduce(&growth, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%ld\n", most);
    }
    MPI_Finalize();
    return 0;
}
