/* Measures its own time in MPI, in patterns of short and long calls. Every task prints `ok times SECONDS ELAPSED`:
 * the sum over its threads, at most the elapsed time, between the end of MPI_Init and the beginning of
 * MPI_Finalize.
 *
 *   time_patterns PATTERN SECONDS THREADS
 *
 *   burst      many short calls, then a long wait in another function
 *   same       many short calls, then a long wait in the same function
 *   setup      many short calls at the beginning, and later only long waits in the same function
 *   alternate  two milliseconds of short calls and two of computation by turns
 *   imbalance  tasks compute for different times before each barrier
 *   waiting    one wait for nearly all of the time
 *   compute    no call before the end
 *
 * Threads each have a communicator of their own. With more than one of them, each is in MPI for a smaller part of
 * the time, so that the sum stays below the elapsed time.
 */
#include "check.h"
#include <pthread.h>
#include <time.h>

#define SIZE 8192

static int threads = 1;
static double length = 3;

struct worker {
    MPI_Comm comm;
    pthread_t thread;
    const char *pattern;
    double in_mpi;
    double until;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rest(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void compute(double seconds)
{
    double until = now() + seconds;
    while (now() < until)
        ;
}

#define TIMED(w, call)                    \
    do {                                  \
        double start_ = now();            \
        OK(call);                         \
        (w)->in_mpi += now() - start_;    \
    } while (0)

/* Short calls without a pause; timed as one, because reading the clock takes long beside such a call. Messages are
 * of some size so that nearly all of the time is in the calls. */
static void short_calls(struct worker *w, double seconds)
{
    char out[SIZE], in[SIZE];
    double start = now(), until = start + seconds;
    memset(out, 1, sizeof out);
    do {
        for (int i = 0; i < 20; i++) {
            out[0] = (char)i;
            OK(MPI_Sendrecv(out, SIZE, MPI_CHAR, world_rank, 1, in, SIZE, MPI_CHAR, world_rank, 1, w->comm,
                            MPI_STATUS_IGNORE));
            SAME(in[0], i);
        }
    } while (now() < until);
    w->in_mpi += now() - start;
}

/* One task is late, by turns; the other waits for it. */
static void late(struct worker *w, int round, double seconds, int in_same)
{
    int value = round, partner = world_rank ^ 1;
    if (world_rank % 2 == round % 2) {
        rest(seconds);
        TIMED(w, MPI_Send(&value, 1, MPI_INT, partner, 2, w->comm));
    } else if (in_same) {
        TIMED(w, MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 3, &value, 1, MPI_INT, partner, 2, w->comm,
                              MPI_STATUS_IGNORE));
    } else {
        TIMED(w, MPI_Recv(&value, 1, MPI_INT, partner, 2, w->comm, MPI_STATUS_IGNORE));
    }
}

static int goes_on(struct worker *w)
{
    int go_on = now() < w->until;
    TIMED(w, MPI_Bcast(&go_on, 1, MPI_INT, 0, w->comm));
    return go_on;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    const char *pattern = w->pattern;
    /* Threads are in MPI for a smaller part of each round. */
    double part = threads > 1 ? 0.2 : 1;
    int same = strcmp(pattern, "same") == 0;
    if (strcmp(pattern, "waiting") == 0) {
        late(w, 0, length, 1);
        return NULL;
    }
    if (strcmp(pattern, "compute") == 0) {
        rest(length);
        return NULL;
    }
    if (strcmp(pattern, "setup") == 0)
        short_calls(w, 0.02);
    for (int round = 0; goes_on(w); round++) {
        if (strcmp(pattern, "burst") == 0 || same) {
            short_calls(w, 0.01 * part);
            rest(0.02);
            late(w, round, 0.02 * part, same);
            rest(threads > 1 ? 0.04 : 0);
        } else if (strcmp(pattern, "setup") == 0) {
            late(w, round, 0.05 * part, 1);
            rest(0.02);
        } else if (strcmp(pattern, "alternate") == 0) {
            for (int i = 0; i < 5; i++) {
                short_calls(w, 0.002 * part);
                rest(0.002);
            }
        } else if (strcmp(pattern, "imbalance") == 0) {
            for (int i = 0; i < 10; i++) {
                double seconds = 0.001 * (1 + 3 * ((world_rank + i) % world_size));
                if (threads > 1)
                    rest(0.004 + 0.25 * seconds);
                else
                    compute(seconds);
                TIMED(w, MPI_Barrier(w->comm));
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : "burst";
    int provided;
    length = argc > 2 ? atof(argv[2]) : length;
    threads = argc > 3 ? atoi(argv[3]) : threads;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    double begin = now(), in_mpi = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (threads > 1 && provided < MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    struct worker workers[16] = {{0}};
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.pattern = pattern, .until = begin + length};
        TIMED(&workers[i], MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm));
    }
    for (int i = 1; i < threads; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < threads; i++) {
        TIMED(&workers[i], MPI_Comm_free(&workers[i].comm));
        in_mpi += workers[i].in_mpi;
    }
    double elapsed = now() - begin;
    if (!failures)
        printf("ok times %.6f %.6f\n", in_mpi < elapsed ? in_mpi : elapsed, elapsed);
    MPI_Finalize();
    return failures != 0;
}
