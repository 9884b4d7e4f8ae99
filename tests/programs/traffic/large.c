/* Single calls that move more than 2^31 bytes, from task 0 to task 1.
 *
 * usage: large send|send_c|bcast
 *   send    int count of doubles     send_c  MPI_Count of bytes     bcast  int count of doubles
 * Matrix: C(0, 1) = 2^31 + 8 bytes in one message. Neither side needs that much memory: the sender
 * reads pages of zeros, and all addresses of the receiver are mapped to the same two megabytes.
 */
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

static const size_t bytes = (1ul << 31) + 8, window = 2ul << 20;

static void *source(void)
{
    return mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *sink(void)
{
    const int file = memfd_create("large", 0);
    const size_t all = bytes + window;
    char *start = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || ftruncate(file, window) != 0 || start == MAP_FAILED)
        return MAP_FAILED;
    for (size_t at = 0; at + window <= all; at += window)
        if (mmap(start + at, window, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED)
            return MAP_FAILED;
    close(file);
    return start;
}

int main(int argc, char **argv)
{
    const int doubles = (int)(bytes / sizeof(double));
    begin(&argc, &argv);
    void *buffer = world_rank == 0 ? source() : sink();
    const char *how = argc > 1 ? argv[1] : "";
    if (CHECK(buffer != MAP_FAILED, "no addresses") && world_rank < 2) {
        MPI_Status status;
        int count = -1;
        if (strcmp(how, "bcast") == 0)
            OK(MPI_Bcast(buffer, doubles, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        else if (strcmp(how, "send") == 0 && world_rank == 0)
            OK(MPI_Send(buffer, doubles, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
#if MPI_VERSION >= 4
        else if (strcmp(how, "send_c") == 0 && world_rank == 0)
            OK(MPI_Send_c(buffer, (MPI_Count)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else if (strcmp(how, "send_c") == 0) {
            OK(MPI_Recv_c(buffer, (MPI_Count)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
            SAME(count, doubles);
        }
#endif
        else if (CHECK(strcmp(how, "send") == 0, "usage: large send|send_c|bcast")) {
            OK(MPI_Recv(buffer, doubles, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
            SAME(count, doubles);
        }
    }
    if (strcmp(how, "bcast") != 0)
        return verdict("large");
    // The common verdict is a collective call too.
    if (world_rank == 1 && failures == 0)
        printf("ok large\n");
    MPI_Finalize();
    return failures != 0;
}
