/* Makes races wide: a library to preload after the one under test. It sleeps before and after calls that
 * make and free MPI objects, and inside those PMPI calls with which a tool attaches attributes.
 *
 * An attribute that is set a second time makes MPI call the delete callback of the first value, which
 * once freed an entry that another thread was using. This helper library reports such a second value as `FAIL`.
 *
 * The length is random, up to DELAY_US microseconds (default 200); every second call does not sleep.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void pause_here(void)
{
    static __thread unsigned seed;
    static long longest = -1;
    if (longest < 0) {
        const char *text = getenv("DELAY_US");
        longest = text ? atol(text) : 200;
    }
    if (!seed) seed = (unsigned)(size_t)&seed ^ (unsigned)time(NULL);
    const int number = rand_r(&seed);
    if (longest == 0 || number & 1) return;
    const struct timespec length = {0, (number >> 1) % longest * 1000};
    nanosleep(&length, NULL);
}

#define DELAYED(name, parameters, arguments)                                 \
    int name parameters                                                      \
    {                                                                        \
        static int(*next) parameters;                                        \
        if (!next) next = (int(*) parameters)dlsym(RTLD_NEXT, #name);        \
        pause_here();                                                        \
        const int code = next arguments;                                     \
        pause_here();                                                        \
        return code;                                                         \
    }
#define BOTH(name, parameters, arguments)    \
    DELAYED(MPI_##name, parameters, arguments) \
    DELAYED(PMPI_##name, parameters, arguments)

BOTH(Comm_free, (MPI_Comm * comm), (comm))
BOTH(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
BOTH(Type_free, (MPI_Datatype * type), (type))
BOTH(Request_free, (MPI_Request * request), (request))
BOTH(Win_free, (MPI_Win * win), (win))
BOTH(Op_free, (MPI_Op * op), (op))
DELAYED(PMPI_Type_set_attr, (MPI_Datatype type, int key, void *value), (type, key, value))
DELAYED(PMPI_Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
DELAYED(PMPI_Win_get_group, (MPI_Win win, MPI_Group *group), (win, group))

#define SET_ONCE(name, handle)                                                      \
    int PMPI_##name##_set_attr(handle object, int key, void *value)                 \
    {                                                                               \
        static int (*next)(handle, int, void *);                                    \
        void *before;                                                               \
        int there = 0;                                                              \
        if (!next)                                                                  \
            next = (int (*)(handle, int, void *))dlsym(RTLD_NEXT, "PMPI_" #name "_set_attr"); \
        pause_here();                                                               \
        if (PMPI_##name##_get_attr(object, key, &before, &there) == 0 && there) {   \
            printf("FAIL an attribute is set twice: " #name "\n");                 \
            fflush(stdout);                                                         \
        }                                                                           \
        const int code = next(object, key, value);                                  \
        pause_here();                                                               \
        return code;                                                                \
    }
SET_ONCE(Comm, MPI_Comm)
SET_ONCE(Win, MPI_Win)
