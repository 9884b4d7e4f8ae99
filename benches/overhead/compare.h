/* Compares two functions that do the same, one with PMPI_X and one with MPI_X: blocks of both take turns in
 * one process, so that both see the same clock speed and the same neighbours on the machine. The 10th
 * percentile of each is compared. A line is printed for each row that the filter names.
 *
 * Goals are nanoseconds, at whatever clock the processor has. Its clock is measured beside each row, and printed, so
 * that figures of machines and moments with other clocks can be compared: the column `cycles` is the added time at
 * that clock. */
#ifndef COMPARE_H
#define COMPARE_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What one line of the table may take, about, in ns. */
#define LONGEST 1e10

static int calls = 2000, blocks = 400, me, prints;
static const char *rows = "";
static MPI_Comm together; // of the processes that take part

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Cycles of the processor in a nanosecond: additions that wait for each other take one cycle each. The smallest time of
 * a few is used, because others may be interrupted. */
static double clock_speed(void) {
    enum { STEPS = 20000 };
    double least = 1e9;
    for (int k = 0; k < 7; k++) {
        unsigned long sum = k, left = STEPS;
        double t = now();
        // Eight additions for each turn: what the turn itself takes goes on beside them.
        __asm__ volatile("1: add %2, %0\n add %2, %0\n add %2, %0\n add %2, %0\n"
                         "add %2, %0\n add %2, %0\n add %2, %0\n add %2, %0\n"
                         "sub $8, %1\n jnz 1b"
                         : "+r"(sum), "+r"(left) : "r"(sum + 1) : "cc");
        t = now() - t;
        if (t < least) least = t;
    }
    return STEPS / least;
}

#define PAIR(name, BODY)                                                                        \
    static void name##_plain(void) { for (int i = 0; i < calls; i++) { BODY(PMPI_) } }          \
    static void name##_seen(void) { for (int i = 0; i < calls; i++) { BODY(MPI_) } }

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether a row is asked for: the filter is a list of words, of which one has to be in the name. */
static int wanted(const char *name) {
    char word[128];
    if (!*rows) return 1;
    for (const char *at = rows; *at;) {
        size_t length = strcspn(at, ",");
        if (length < sizeof word) {
            memcpy(word, at, length), word[length] = 0;
            if (length && strstr(name, word)) return 1;
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

static void heading(void) {
    if (prints)
        printf("%-44s %-6s %10s %10s %8s %8s %8s %8s %8s\n", "ns per message or call, 10th percentile", "comm",
               "PMPI_X", "MPI_X", "added", "ratio", "goal", "cycles", "GHz");
}

/* Prints a row: the time without the library, what is added, and the clock at which that was measured. */
static void row(const char *what, const char *where, double plain, double added, double goal, double clock) {
    if (prints)
        printf("%-44s %-6s %10.2f %10.2f %8.2f %8.3f %8.0f %8.1f %8.2f\n", what, where, plain, plain + added, added,
               (plain + added) / plain, goal, added * clock, clock);
    fflush(stdout);
}

/* `goal` is the most that may be added, in ns; 0 = none. */
static void compare(const char *what, const char *where, void (*plain)(void), void (*seen)(void),
                    double per_call, double goal) {
    if (!wanted(what)) return;
    double *a = malloc(sizeof *a * blocks), *b = malloc(sizeof *b * blocks);
    int calls_asked = calls, blocks_asked = blocks;
    // Where ranks wait for each other without a processor, calls take milliseconds: fewer of them.
    for (double took;; calls = calls > 160 ? calls / 4 : 32) {
        double t0 = now(), mine;
        plain(), seen();
        mine = now() - t0;
        PMPI_Allreduce(&mine, &took, 1, MPI_DOUBLE, MPI_MAX, together);
        blocks = blocks_asked;
        if (took * blocks > LONGEST) blocks = LONGEST / took < 20 ? 20 : (int)(LONGEST / took);
        if (took * blocks <= 2 * LONGEST || calls == 32) break;
    }
    double clock = clock_speed();
    for (int i = 0; i < blocks; i++) {
        double t0 = now();
        (i % 2 ? seen : plain)();
        double t1 = now();
        (i % 2 ? plain : seen)();
        double t2 = now();
        a[i] = (i % 2 ? t2 - t1 : t1 - t0) / calls * per_call;
        b[i] = (i % 2 ? t1 - t0 : t2 - t1) / calls * per_call;
    }
    qsort(a, blocks, sizeof *a, ascending), qsort(b, blocks, sizeof *b, ascending);
    double x = a[blocks / 10], y = b[blocks / 10];
    row(what, where, x, y - x, goal, (clock + clock_speed()) / 2);
    free(a), free(b);
    calls = calls_asked, blocks = blocks_asked;
}

/* Holds all processes but the first one until that one has come here too; they take no processor. */
static void rest(void) {
    int size, there = 0;
    MPI_Request request;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (me == 0) {
        for (int k = 1; k < size; k++) PMPI_Send(&there, 0, MPI_INT, k, 0, MPI_COMM_WORLD);
        return;
    }
    PMPI_Irecv(&there, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    while (!there) {
        usleep(20000);
        PMPI_Test(&request, &there, MPI_STATUS_IGNORE);
    }
}
#endif
