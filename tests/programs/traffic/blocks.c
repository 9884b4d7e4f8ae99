/* Tasks in blocks: argv[1] tasks are a block, which belongs on one node, because all its tasks send each other 4096
 * bytes. The tasks whose numbers in their block follow in argv send 1024 bytes to the task of the same number in each
 * other block, ten times.
 */
#include "check.h"

#define INSIDE 4096
#define BETWEEN 1024
#define ROUNDS 10
#define TAG 7

static char out[INSIDE], in[INSIDE];

static void exchange(int other, int bytes)
{
    memset(out, world_rank % 120, (size_t)bytes);
    memset(in, 125, (size_t)bytes);
    OK(MPI_Sendrecv(out, bytes, MPI_CHAR, other, TAG, in, bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    SAME(in[0], other % 120);
    SAME(in[bytes - 1], other % 120);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int block = argc > 1 ? atoi(argv[1]) : 2;
    const int own = world_rank % block, first = world_rank - own;
    int sends_far = 0;
    for (int k = 2; k < argc; k++)
        sends_far |= atoi(argv[k]) == own;
    for (int round = 0; round < ROUNDS; round++) {
        /* Pairs of tasks whose numbers add up to `sum`, so that no task waits for a third one. */
        for (int sum = 0; sum < block; sum++) {
            const int other = (sum + block - own) % block;
            if (other != own)
                exchange(first + other, INSIDE);
        }
        for (int sum = 0; sends_far && sum < world_size / block; sum++) {
            const int blocks = world_size / block, here = world_rank / block;
            const int there = (sum + blocks - here) % blocks;
            if (there != here)
                exchange(there * block + own, BETWEEN);
        }
    }
    return verdict("blocks");
}
