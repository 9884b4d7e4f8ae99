/* Checks that rank 0 reads from its standard input everything that was given to the launcher. */
#include "check.h"
#include <poll.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const long wanted = argc > 1 ? atol(argv[1]) : 0;
    if (world_rank == 0) {
        unsigned char block[4096];
        long total = 0, wrong = 0;
        for (ssize_t got; (got = read(0, block, sizeof block)) > 0; total += got)
            for (ssize_t i = 0; i < got; i++)
                wrong += block[i] != (unsigned char)((total + i) % 251);
        SAME(total, wanted);
        SAME(wrong, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank != 0) {
        /* No other process receives any of it. */
        char byte;
        struct pollfd input = {.fd = 0, .events = POLLIN};
        CHECK(poll(&input, 1, 0) <= 0 || read(0, &byte, 1) <= 0, "there is input");
    }
    return verdict("input");
}
