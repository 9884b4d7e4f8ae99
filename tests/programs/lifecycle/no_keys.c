/* All keys of thread-specific data are taken (argv[1]: before or after MPI_Init); tools that need one get none.
 *
 * Every task sends ten messages of 100 bytes to the next: five from its first thread, five from two other
 * threads, one of which begins after the other has ended.
 * Matrix: C(i, i+1 mod n) = 1000 bytes in 10 messages.
 */
#include "check.h"
#include <pthread.h>

static int taken;

static void take_all(void)
{
    pthread_key_t key;
    while (pthread_key_create(&key, NULL) == 0) taken++;
}

static void *send_some(void *number)
{
    char out[100], in[100];
    const int count = *(const int *)number;
    memset(out, world_rank, sizeof out);
    for (int i = 0; i < count; i++) {
        const int left = (world_rank + world_size - 1) % world_size;
        OK(MPI_Sendrecv(out, 100, MPI_CHAR, (world_rank + 1) % world_size, 1, in, 100, MPI_CHAR, left, 1,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        SAME(in[99], left);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, counts[3] = {5, 3, 2};
    const int before = argc > 1 && strcmp(argv[1], "before") == 0;
    if (before) take_all();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    CHECK(provided >= MPI_THREAD_SERIALIZED, "%d", provided);
    if (!before) take_all();
    CHECK(taken > 100, "%d keys", taken);
    send_some(&counts[0]);
    for (int i = 1; i < 3; i++) {
        pthread_t thread;
        SAME(pthread_create(&thread, NULL, send_some, &counts[i]), 0);
        SAME(pthread_join(thread, NULL), 0);
    }
    return verdict("no_keys");
}
