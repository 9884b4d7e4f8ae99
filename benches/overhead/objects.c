/* Added time per object where very many live at a time: they are made, each is used once, and they are
 * freed. Two numbers of objects: what the library adds should not grow with it.
 *
 * Half of the objects are made, used and freed by PMPI_X, the others by MPI_X: groups of 100 of both kinds take
 * turns, so that both see the same clock speed and the same neighbours on the machine. All of them live at the
 * same time. The medians over several rounds are compared; the first round is not counted, in which all memory is
 * touched for the first time. Two rounds make one measurement: in the second one, the other kind comes first. What
 * happens once in a round, such as giving memory back to the system after the last object, is then charged to both.
 *
 * Rows that begin with `floor` do not use the library. They show what a part of its work costs at least: MPI's own
 * attribute that tells when an object is freed, and a table in C that has a place for each request and no lock.
 *
 * Usage: objects [BLOCKS] [ROWS] [COMMUNICATORS DATATYPES REQUESTS]; run with two processes, of which one
 * sleeps. BLOCKS is not used. An MPI library may give fewer communicators than asked for: the row has the number
 * that it gave. */
#include "compare.h"
#include <stdint.h>

enum { GROUP = 100 };

static double out[16], in[16];
static MPI_Comm comm;
static MPI_Comm *comms;
static MPI_Datatype *types;
static MPI_Request *requests, receive;
static int of_comms, of_types;

// The table of the floor: a place for each request, by its handle, and what would be counted.
struct place { uint64_t key, task, bytes; };
static struct place *table, counter;
static uint64_t table_mask;

static struct place *place_of(MPI_Request r, uint64_t key) {
    uint64_t bits = (uint64_t)r, at = sizeof r == 8 ? bits >> 9 : bits;
    while (table[at & table_mask].key != key) at++;
    return table + (at & table_mask);
}

static void floor_made(MPI_Request r) {
    struct place *p = place_of(r, 0);
    p->key = (uint64_t)r, p->task = 0, p->bytes = 8;
}

static void floor_started(MPI_Request r) {
    struct place *p = place_of(r, (uint64_t)r);
    counter.bytes += p->bytes, counter.task++;
}

// What follows in its chain is not moved up: no other request takes the place of one that goes in the same round.
static void floor_freed(MPI_Request r) { place_of(r, (uint64_t)r)->key = 0; }

static int kept(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag) { return *flag = 0; }
static int gone(MPI_Comm c, int key, void *value, void *extra) { return 0; }
static int type_kept(MPI_Datatype t, int key, void *extra, void *in, void *out, int *flag) { return *flag = 0; }
static int type_gone(MPI_Datatype t, int key, void *value, void *extra) { return 0; }

// What is done with the objects [from, to): they are made, used, freed.
#define OBJECTS(name, P, COMM, TYPE, MADE, STARTED, FREED)                                        \
    static int communicators_##name(int step, int from, int to) {                                 \
        int k = from;                                                                             \
        if (step == 0) for (; k < to && P##Comm_dup(comm, comms + k) == MPI_SUCCESS; k++) COMM;   \
        if (step == 1) for (; k < to; k++) P##Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comms[k]); \
        if (step == 2) for (; k < to; k++) P##Comm_free(comms + k);                               \
        return k - from;                                                                          \
    }                                                                                             \
    static int datatypes_##name(int step, int from, int to) {                                     \
        int k = from;                                                                             \
        if (step == 0)                                                                            \
            for (; k < to; k++) {                                                                 \
                P##Type_contiguous(1 + k % 8, MPI_DOUBLE, types + k);                             \
                P##Type_commit(types + k);                                                        \
                TYPE;                                                                             \
            }                                                                                     \
        if (step == 1)                                                                            \
            for (; k < to; k++)                                                                   \
                P##Sendrecv(out, 1, types[k], 0, 0, in, 1, types[k], 0, 0, comm, MPI_STATUS_IGNORE); \
        if (step == 2) for (; k < to; k++) P##Type_free(types + k);                               \
        return k - from;                                                                          \
    }                                                                                             \
    static int requests_##name(int step, int from, int to) {                                      \
        int k = from;                                                                             \
        if (step == 0)                                                                            \
            for (; k < to; k++) {                                                                 \
                P##Send_init(out, 1, MPI_DOUBLE, 0, 0, comm, requests + k);                       \
                MADE(requests[k]);                                                                \
            }                                                                                     \
        if (step == 1)                                                                            \
            for (; k < to; k++) {                                                                 \
                PMPI_Irecv(in, 1, MPI_DOUBLE, 0, 0, comm, &receive);                              \
                STARTED(requests[k]);                                                             \
                P##Start(requests + k);                                                           \
                PMPI_Waitall(1, &receive, MPI_STATUSES_IGNORE);                                   \
                PMPI_Waitall(1, requests + k, MPI_STATUSES_IGNORE);                               \
            }                                                                                     \
        if (step == 2)                                                                            \
            for (; k < to; k++) {                                                                 \
                FREED(requests[k]);                                                               \
                P##Request_free(requests + k);                                                    \
            }                                                                                     \
        return k - from;                                                                          \
    }
#define NOTHING(r)
OBJECTS(plain, PMPI_, , , NOTHING, NOTHING, NOTHING)
OBJECTS(seen, MPI_, , , NOTHING, NOTHING, NOTHING)
OBJECTS(least, PMPI_, PMPI_Comm_set_attr(comms[k], of_comms, out), PMPI_Type_set_attr(types[k], of_types, out),
        floor_made, floor_started, floor_freed)

typedef int (*objects)(int step, int from, int to);

// Nanoseconds that this thread was on a processor: means are compared, so that the time of other processes must not
// count.
static double on_processor(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

// One step for all objects: the time of those of each kind, for an object. Gives the number of objects.
static int step_of_all(objects plain, objects seen, int step, int n, int turn, double *a, double *b) {
    int done = 0;
    for (int from = 0, group = 0; from < n; from += GROUP, group++) {
        int to = from + GROUP < n ? from + GROUP : n, second = (group + turn) % 2;
        double t = on_processor();
        int some = (second ? seen : plain)(step, from, to);
        *(second ? b : a) += (on_processor() - t) * 2 / n;
        done += some;
        if (some < to - from) break;
    }
    return done;
}

// Compares two ways of having `n` objects.
static void many(const char *what, objects plain, objects seen, int n, double goal) {
    enum { MOST = 101 };
    static double a[MOST], b[MOST];
    char name[64];
    if (!wanted(what)) return;
    int pairs = -1;
    double clock = clock_speed(), end = now() + 6e9;
    for (; pairs < MOST && (pairs < 5 || now() < end); pairs++) {
        double x = 0, y = 0;
        for (int turn = 0; turn < 2; turn++) {
            // Groups of the same size for both, also where the MPI library gives fewer objects.
            n = step_of_all(plain, seen, 0, n, turn, &x, &y);
            for (int step = 1; step < 3; step++) step_of_all(plain, seen, step, n, turn, &x, &y);
            if (pairs < 0) n -= n % (2 * GROUP);
        }
        if (pairs >= 0) a[pairs] = x / 2, b[pairs] = (y - x) / 2;
    }
    qsort(a, pairs, sizeof *a, ascending), qsort(b, pairs, sizeof *b, ascending);
    snprintf(name, sizeof name, "%s, %d alive", what, n);
    row(name, "dup", a[pairs / 2], b[pairs / 2], goal, (clock + clock_speed()) / 2);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int most[3] = {100000, 100000, 1000000};
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc > 2) rows = argv[2];
    for (int k = 0; k < 3 && k + 3 < argc; k++) most[k] = atoi(argv[k + 3]);
    prints = me == 0;
    comms = malloc(sizeof *comms * most[0]);
    types = malloc(sizeof *types * most[1]);
    requests = malloc(sizeof *requests * most[2]);
    for (table_mask = 1; table_mask < 4 * (uint64_t)most[2];) table_mask *= 2;
    table = calloc(table_mask--, sizeof *table);
    PMPI_Comm_create_keyval(kept, gone, &of_comms, NULL);
    PMPI_Type_create_keyval(type_kept, type_gone, &of_types, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    heading();
    for (int large = 0; large < 2 && me == 0; large++) {
        int n = large ? most[0] : 1000;
        many("communicators", communicators_plain, communicators_seen, n, 300);
        many("floor: attribute, communicators", communicators_plain, communicators_least, n, 0);
        n = large ? most[1] : 1000;
        many("datatypes", datatypes_plain, datatypes_seen, n, 150);
        many("floor: attribute, datatypes", datatypes_plain, datatypes_least, n, 0);
        n = large ? most[2] : 1000;
        many("requests", requests_plain, requests_seen, n, 75);
        many("floor: table in C, requests", requests_plain, requests_least, n, 0);
    }
    rest();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
