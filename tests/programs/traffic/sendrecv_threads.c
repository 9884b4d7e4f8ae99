/* MPI_THREAD_MULTIPLE: 4 threads of every task call MPI_Sendrecv many times, each to the next task:
 * two with a tag of their own on MPI_COMM_WORLD, two on a communicator of their own. With `self` each
 * task is its own neighbour: then no thread waits for another process, and a million calls take
 * seconds where processors are few.
 *
 * usage: sendrecv_threads [CALLS of each thread, default 2000] [self]
 * Matrix: C(i, i+1), or C(i, i), = 4 * CALLS * 8 bytes in 4 * CALLS messages.
 */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4 };
static long calls = 2000;
static int distance = 1;
static MPI_Comm comms[THREADS];
static int wrong[THREADS];

static void *work(void *argument)
{
    const int thread = *(int *)argument;
    const int next = (world_rank + distance) % world_size;
    const int before = (world_rank + world_size - distance) % world_size;
    for (long i = 0; i < calls; i++) {
        long out = i * THREADS + thread, in = -1;
        MPI_Sendrecv(&out, 1, MPI_LONG, next, thread, &in, 1, MPI_LONG, before, thread,
                     comms[thread], MPI_STATUS_IGNORE);
        wrong[thread] += in != out;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (argc > 1) calls = atol(argv[1]);
    if (argc > 2 && strcmp(argv[2], "self") == 0) distance = 0;
    if (CHECK(provided == MPI_THREAD_MULTIPLE, "this MPI provides level %d only", provided)) {
        pthread_t threads[THREADS];
        int numbers[THREADS];
        for (int t = 0; t < THREADS; t++) {
            comms[t] = MPI_COMM_WORLD;
            if (t >= 2) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
        }
        for (int t = 0; t < THREADS; t++) {
            numbers[t] = t;
            pthread_create(&threads[t], NULL, work, &numbers[t]);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
            SAME(wrong[t], 0);
        }
        for (int t = 2; t < THREADS; t++) MPI_Comm_free(&comms[t]);
    }
    return verdict("sendrecv_threads");
}
