/* Added time per object where very many live at a time: they are made, each is used once, and they are
 * freed. Rounds with PMPI_X and MPI_X take turns; the medians of both
 * are compared. Two numbers of objects: what the library adds should not grow with it.
 *
 * Usage: objects [BLOCKS] [ROWS] [COMMUNICATORS DATATYPES REQUESTS]; run with two processes, of which one
 * sleeps. BLOCKS is not used. An MPI library may give fewer communicators than asked for: the row has the number that it gave. */
#include "compare.h"

static double out[16], in[16];
static MPI_Comm comm;
static MPI_Comm *comms;
static MPI_Datatype *types;
static MPI_Request *requests;

#define OBJECTS(name, P)                                                                          \
    static int communicators_##name(int n) {                                                      \
        int made = 0;                                                                             \
        while (made < n && P##Comm_dup(comm, comms + made) == MPI_SUCCESS) made++;                \
        for (int k = 0; k < made; k++) P##Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comms[k]);   \
        for (int k = 0; k < made; k++) P##Comm_free(comms + k);                                   \
        return made;                                                                              \
    }                                                                                             \
    static int datatypes_##name(int n) {                                                          \
        for (int k = 0; k < n; k++) {                                                             \
            P##Type_contiguous(1 + k % 8, MPI_DOUBLE, types + k);                                 \
            P##Type_commit(types + k);                                                            \
        }                                                                                         \
        for (int k = 0; k < n; k++)                                                               \
            P##Sendrecv(out, 1, types[k], 0, 0, in, 1, types[k], 0, 0, comm, MPI_STATUS_IGNORE);  \
        for (int k = 0; k < n; k++) P##Type_free(types + k);                                      \
        return n;                                                                                 \
    }                                                                                             \
    static int requests_##name(int n) {                                                           \
        for (int k = 0; k < n; k++) P##Send_init(out, 1, MPI_DOUBLE, 0, 0, comm, requests + k);   \
        for (int k = 0; k < n; k++) {                                                             \
            PMPI_Irecv(in, 1, MPI_DOUBLE, 0, 0, comm, requests + n);                              \
            P##Start(requests + k);                                                               \
            PMPI_Waitall(1, requests + n, MPI_STATUSES_IGNORE);                                   \
            PMPI_Waitall(1, requests + k, MPI_STATUSES_IGNORE);                                   \
        }                                                                                         \
        for (int k = 0; k < n; k++) P##Request_free(requests + k);                                \
        return n;                                                                                 \
    }
OBJECTS(plain, PMPI_)
OBJECTS(seen, MPI_)

// Compares rounds with `n` objects.
static void many(const char *what, int (*plain)(int), int (*seen)(int), int n, double goal) {
    enum { MOST = 101 };
    double a[MOST], b[MOST];
    char name[64];
    if (!wanted(what)) return;
    int made = plain(n), rounds = 0;
    made = seen(made) < made ? seen(made) : made;
    double end = now() + 4e9;
    for (; rounds < MOST && (rounds < 3 || now() < end); rounds++) {
        double t0 = now();
        (rounds % 2 ? seen : plain)(made);
        double t1 = now();
        (rounds % 2 ? plain : seen)(made);
        double t2 = now();
        a[rounds] = (rounds % 2 ? t2 - t1 : t1 - t0) / made;
        b[rounds] = (rounds % 2 ? t1 - t0 : t2 - t1) / made;
    }
    qsort(a, rounds, sizeof *a, ascending), qsort(b, rounds, sizeof *b, ascending);
    double x = a[rounds / 2], y = b[rounds / 2];
    snprintf(name, sizeof name, "%s, %d alive", what, made);
    if (prints)
        printf("%-44s %-6s %10.2f %10.2f %8.2f %8.3f %8.0f\n", name, "dup", x, y, y - x, y / x, goal);
    fflush(stdout);
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
    requests = malloc(sizeof *requests * (most[2] + 1));
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    heading();
    for (int large = 0; large < 2 && me == 0; large++) {
        many("communicators", communicators_plain, communicators_seen, large ? most[0] : 1000, 300);
        many("datatypes", datatypes_plain, datatypes_seen, large ? most[1] : 1000, 150);
        many("requests", requests_plain, requests_seen, large ? most[2] : 1000, 75);
    }
    rest();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
