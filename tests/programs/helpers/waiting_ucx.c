/* Linked into the test programs for an MPICH on UCX: a process that waits sleeps for about 50 microseconds.
 *
 * The processes of a test outnumber the processors. MPICH on UCX waits in a busy loop, which takes the processor from
 * the process that is waited for. A call of sched_yield in this loop does not help much with Linux 6.18: 300 times
 * MPI_Allreduce and MPI_Barrier with 7 processes on 2 processors took 18 s in the busy loop, 4 s with sched_yield, and
 * 0.17 s with a sleep. MPICH calls this function, as it is in the program, in place of the one in UCX.
 *
 * A process that only sends messages to itself never waits for another one, but all its polls are without a result,
 * and a thread that sleeps here holds the lock of MPICH. With the variable WAIT_BUSY, processes do not sleep.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

/* So many polls without a result come before each sleep. */
#define POLLS 20

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static int busy;
    static __thread unsigned idle;
    if (next == NULL) {
        busy = getenv("WAIT_BUSY") != NULL;
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    unsigned moved = next ? next(worker) : 0;
    if (moved != 0) {
        idle = 0;
    } else if (!busy && ++idle > POLLS) {
        /* The kernel rounds this up to its timer slack, which is 50 microseconds. */
        struct timespec moment = {0, 1};
        nanosleep(&moment, NULL);
    }
    return moved;
}
