/* Private memory of a process before MPI_Init, after it, and after messages to each of N peers.
 * Usage: memory PEERS, linked with stub_mpi.c; prints the three figures in KiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MPI_Init(int *, char ***);
int MPI_Send(const void *, int, int, int, int, int);

/* Dirty pages that are the process's own, and those of files it keeps counters in; not the pages of
 * a library that was just built and is not written back yet. */
static long private_kib(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    long value, sum = 0;
    int spill = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (strchr(line, '/'))
            spill = strstr(line, ".spill") != NULL;
        if (sscanf(line, "Private_Dirty: %ld", &value) == 1 ||
            (spill && sscanf(line, "Shared_Dirty: %ld", &value) == 1))
            sum += value;
    }
    if (file)
        fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    const int peers = argc > 1 ? atoi(argv[1]) : 1000;
    private_kib();
    const long before = private_kib();
    MPI_Init(&argc, &argv);
    const long started = private_kib();
    for (int peer = 1; peer <= peers; peer++)
        for (int i = 0; i < 10; i++)
            MPI_Send(NULL, 100, 0x4c000101, peer, 3, 0x44000000);
    const long after = private_kib();
    printf("%ld %ld %ld\n", before, started, after);
    fflush(stdout);
    _exit(0);
}
