/* What the test programs share: checks that say what failed, and one verdict at the end.
 *
 * A program prints nothing but `ok NAME` (from the last task that knows: task 0 of the world) or
 * lines `FAIL …`, and returns 0 or 1. It verifies what MPI promises, never which process or host it
 * runs on, so that it is right for any order of the ranks.
 */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, world_rank, world_size;

static inline int check_failed(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    char text[512];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (failures++ < 5)
        printf("FAIL %s:%d: task %d: %s\n", file, line, world_rank, text);
    return 0;
}

#define CHECK(condition, ...) \
    ((condition) ? 1 : check_failed(__FILE__, __LINE__, #condition ": " __VA_ARGS__))
/* Two integers that have to be the same. */
#define SAME(got, expected)                                                                      \
    do {                                                                                         \
        const long long got_ = (long long)(got), expected_ = (long long)(expected);              \
        if (got_ != expected_)                                                                   \
            check_failed(__FILE__, __LINE__, #got " is %lld, expected %lld", got_, expected_);   \
    } while (0)
#define OK(call)                                                                                 \
    do {                                                                                         \
        const int code_ = (call);                                                                \
        if (code_ != MPI_SUCCESS)                                                                \
            check_failed(__FILE__, __LINE__, #call " returned %d", code_);                       \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

/* Collects the failures of all tasks, says the verdict, and finalizes. */
static inline int verdict(const char *name)
{
    int all = 0;
    fflush(stdout);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0 && all == 0)
        printf("ok %s\n", name);
    MPI_Finalize();
    return all != 0;
}

#endif
