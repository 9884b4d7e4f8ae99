/* A second PMPI tool, as small as one can be: counts MPI_Send, MPI_Allreduce and MPI_Comm_rank, and
   appends `RANK SENDS ALLREDUCES` to the file that PMPI_TOOL_OUT names when MPI ends. Built as a
   library to preload before or after the one under test. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

static int initialised, sends, reductions;

#ifndef WITHOUT_INIT
int MPI_Init(int *argc, char ***argv) {
    initialised++;
    return PMPI_Init(argc, argv);
}
#endif

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    sends++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    reductions++;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void) {
    const char *path = getenv("PMPI_TOOL_OUT");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (path) {
        char line[64];
        int length = snprintf(line, sizeof line, "%d %d %d %d\n", rank, initialised, sends, reductions);
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (file < 0 || write(file, line, (size_t)length) != length) return MPI_ERR_OTHER;
        close(file);
    }
    return PMPI_Finalize();
}
