/* Measures its own time in MPI, in seconds. Every task prints `ok times SECONDS`. No task makes another call that
 * waits for other tasks, because on a busy machine such a call alone may take long.
 *
 *   wait      task 0 computes while the others wait for it, in different calls by turns
 *   short     many short calls with many arguments, about half of the time between them
 *   fast      calls without a pause for half of the time: too many to time each of them
 *   threads   short calls from several threads one after the other (MPI_THREAD_SERIALIZED)
 *   longjmp   an error handler leaves the call by longjmp, then as `wait`
 *   fork      as `fast`, with child processes that do not use MPI
 *   exit      an error handler ends the program inside a call, with code 3
 *   leave     exit(0) without MPI_Finalize
 */
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double in_mpi;
#define TIMED(call)                         \
    do {                                    \
        double start_ = MPI_Wtime();        \
        OK(call);                           \
        in_mpi += MPI_Wtime() - start_;     \
    } while (0)

static void pause_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void spin(double seconds)
{
    double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until)
        ;
}

static void waits(double seconds)
{
    int value = 0;
    for (int round = 0; round < 4; round++) {
        if (world_rank == 0) {
            pause_for(seconds / 4);
            value = round;
            if (round == 3) {
                TIMED(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
                continue;
            }
            for (int to = 1; to < world_size; to++)
                TIMED(MPI_Send(&value, 1, MPI_INT, to, round, MPI_COMM_WORLD));
            continue;
        }
        MPI_Request request;
        MPI_Status status;
        int flag = 0;
        switch (round) {
        case 0:
            TIMED(MPI_Recv(&value, 1, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            break;
        case 1:
            TIMED(MPI_Irecv(&value, 1, MPI_INT, 0, round, MPI_COMM_WORLD, &request));
            TIMED(MPI_Wait(&request, &status));
            SAME(status.MPI_SOURCE, 0);
            break;
        case 2:
            TIMED(MPI_Probe(0, round, MPI_COMM_WORLD, &status));
            TIMED(MPI_Irecv(&value, 1, MPI_INT, 0, round, MPI_COMM_WORLD, &request));
            while (!flag)
                TIMED(MPI_Testall(1, &request, &flag, &status));
            break;
        default:
            TIMED(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
        }
        SAME(value, round);
    }
}

/* Twelve arguments, then nine: arguments on the stack stand one behind the other. */
static void one_round(int i)
{
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    int out[2] = {world_rank, i}, in[2] = {-1, -1};
    MPI_Status status;
    TIMED(MPI_Sendrecv(out, 2, MPI_INT, right, 5, in, 2, MPI_INT, left, 5, MPI_COMM_WORLD, &status));
    SAME(in[0], left);
    SAME(in[1], i);
    SAME(status.MPI_TAG, 5);
    spin(20e-6);
    if (i % 64 == 0) {
        int counts[64] = {0}, places[64] = {0}, got[64];
        MPI_Datatype types[64];
        for (int k = 0; k < world_size; k++) {
            counts[k] = 1;
            places[k] = 4 * k;
            types[k] = MPI_INT;
            got[k] = -1;
        }
        int sent[64];
        for (int k = 0; k < world_size; k++)
            sent[k] = 100 * world_rank + k;
        TIMED(MPI_Alltoallw(sent, counts, places, types, got, counts, places, types, MPI_COMM_WORLD));
        for (int k = 0; k < world_size; k++)
            SAME(got[k], 100 * k + world_rank);
    }
}

static void shorts(double seconds)
{
    int go_on = 1;
    double until = MPI_Wtime() + seconds;
    for (int i = 0; go_on; i++) {
        one_round(i);
        if (i % 100 == 0) {
            go_on = MPI_Wtime() < until;
            TIMED(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
        }
    }
}

/* A call counts until it returns, also if another process had the processor meanwhile. */
static void fast(double seconds, int with_children)
{
    double begin = MPI_Wtime(), until = begin + seconds, next = begin + 0.1;
    while (MPI_Wtime() < until) {
        double start = MPI_Wtime();
        for (int i = 0; i < 500; i++) {
            int in = -1;
            MPI_Sendrecv(&i, 1, MPI_INT, 0, 5, &in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            SAME(in, i);
        }
        double length = MPI_Wtime() - start;
        in_mpi += length;
        spin(length);
        if (with_children && MPI_Wtime() > next) {
            next += 0.1;
            pid_t child = fork();
            if (child == 0)
                _exit(7);
            int status = 0;
            CHECK(child > 0 && waitpid(child, &status, 0) == child);
            SAME(WEXITSTATUS(status), 7);
        }
    }
}

static void *some_rounds(void *first)
{
    for (int i = 0; i < 10; i++)
        one_round(*(int *)first + i);
    return NULL;
}

static void by_threads(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        int first = 10 * i;
        if (pthread_create(&thread, NULL, some_rounds, &first) == 0)
            pthread_join(thread, NULL);
    }
}

static jmp_buf back;

static void jumps(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

static void exits(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    exit(3);
}

static void wrong_call(void (*function)(MPI_Comm *, int *, ...))
{
    MPI_Errhandler handler;
    int value = 0;
    OK(MPI_Comm_create_errhandler(function, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    MPI_Send(&value, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "wait";
    double seconds = argc > 2 ? atof(argv[2]) : 0.8;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (strcmp(how, "longjmp") == 0) {
        /* Some MPI libraries hold a lock while the handler runs, so this is done before any message is pending. */
        if (!setjmp(back))
            wrong_call(jumps);
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        pause_for(1.1);
        how = "wait";
    } else if (strcmp(how, "exit") == 0 || strcmp(how, "leave") == 0) {
        fast(0.3, 0);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (strcmp(how, "exit") == 0)
            wrong_call(exits);
        exit(0);
    }
    if (strcmp(how, "short") == 0)
        shorts(seconds);
    else if (strcmp(how, "fast") == 0 || strcmp(how, "fork") == 0)
        fast(seconds, strcmp(how, "fork") == 0);
    else if (strcmp(how, "threads") == 0)
        by_threads();
    else
        waits(seconds);
    if (!failures)
        printf("ok times %.6f\n", in_mpi);
    MPI_Finalize();
    return failures != 0;
}
