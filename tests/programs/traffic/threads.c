/* MPI_THREAD_MULTIPLE: 4 threads of every task send 50 messages of 64 bytes each to the next task.
 *
 * Matrix: C(i, i+1) = 4 * 50 * 64 bytes in 200 messages.
 */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, MESSAGES = 50, BYTES = 64 };
static int wrong[THREADS];

static void *work(void *argument)
{
    const int thread = *(int *)argument;
    const int next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    char out[BYTES], in[BYTES];
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        memset(out, (i + thread) % 100, sizeof out);
        MPI_Irecv(in, BYTES, MPI_CHAR, before, thread, MPI_COMM_WORLD, &request);
        MPI_Send(out, BYTES, MPI_CHAR, next, thread, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong[thread] += in[BYTES - 1] != (i + thread) % 100;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = 0, main_thread = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int level = -1;
    MPI_Query_thread(&level);
    SAME(level, provided);
    MPI_Is_thread_main(&main_thread);
    SAME(main_thread, 1);
    if (CHECK(provided == MPI_THREAD_MULTIPLE, "this MPI provides level %d only", provided)) {
        pthread_t threads[THREADS];
        int numbers[THREADS];
        for (int t = 0; t < THREADS; t++) {
            numbers[t] = t;
            pthread_create(&threads[t], NULL, work, &numbers[t]);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
            SAME(wrong[t], 0);
        }
    }
    return verdict("threads");
}
