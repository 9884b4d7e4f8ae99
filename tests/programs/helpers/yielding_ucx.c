/* Linked into the test programs for an MPICH on UCX: a process that waits gives its processor to others.
 *
 * The processes of a test outnumber the processors. MPICH 4.0 has no setting for that, and a process that waits
 * spins until the end of its turn. The tests of this MPI then take three times as long. MPICH calls this function, as
 * it is in the program, in place of the one in UCX.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static __thread unsigned idle;
    if (next == NULL)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned moved = next ? next(worker) : 0;
    if (moved != 0) {
        idle = 0;
    } else if (++idle > 20) {
        idle = 0;
        sched_yield();
    }
    return moved;
}
