/* A test aid for emulated clusters: turns sched_yield into a short sleep.
 *
 * MPI libraries poll, and call sched_yield when nothing arrives. With many more ranks than cores the kernel
 * then spends its time on switching between polling ranks, and measurements show the scheduler instead of
 * the network. A short sleep leaves the cores to the ranks that have work to do.
 *
 * scripts/cluster loads it through the hosts' own /etc/ld.so.preload, so that LD_PRELOAD stays free
 * for the library under test. It defines nothing but sched_yield.
 */
#define _GNU_SOURCE
#include <time.h>

#ifndef PACING_NANOSECONDS
#define PACING_NANOSECONDS 200000L
#endif

int sched_yield(void)
{
    const struct timespec pause = {0, PACING_NANOSECONDS};
    nanosleep(&pause, 0);
    return 0;
}
