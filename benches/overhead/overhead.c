/* Added time per call: blocks of MPI_X and PMPI_X take turns in one process, so that both see the
 * same clock speed and the same neighbours on the machine; the 10th percentile of each is compared.
 *
 * Without the library preloaded the same program shows the noise floor of the method.
 * Usage: overhead [BLOCKS] [CALLS_PER_BLOCK]; run with any number of processes, rank 0 prints. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

// What one line of the table may take, about, in ns.
#define LONGEST 1e10

static int calls = 2000, blocks = 400, me;
static MPI_Comm comm;
static char out[64][8], in[64][8];
static MPI_Request requests[128];
static double sum_in = 1, sum_out;

#define PAIR(name, BODY)                                                                        \
    static void name##_plain(void) { for (int i = 0; i < calls; i++) { BODY(PMPI_) } }          \
    static void name##_seen(void) { for (int i = 0; i < calls; i++) { BODY(MPI_) } }

#define SEND_NULL(P) P##Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comm);
#define IRECV_NULL(P)                                                                           \
    P##Irecv(in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comm, requests);                              \
    P##Wait(requests, MPI_STATUS_IGNORE);
#define TEST_NULL(P) { int f; requests[0] = MPI_REQUEST_NULL; P##Test(requests, &f, MPI_STATUS_IGNORE); }
#define SELF(P)                                                                                 \
    P##Irecv(in, 1, MPI_DOUBLE, me, 0, comm, requests);                                         \
    P##Isend(out, 1, MPI_DOUBLE, me, 0, comm, requests + 1);                                    \
    P##Waitall(2, requests, MPI_STATUSES_IGNORE);
#define WINDOW(P)                                                                               \
    if (i % 64 == 0) {                                                                          \
        for (int k = 0; k < 64; k++) P##Irecv(in[k], 8, MPI_CHAR, me, k, comm, requests + k);   \
        for (int k = 0; k < 64; k++) P##Isend(out[k], 8, MPI_CHAR, me, k, comm, requests + 64 + k); \
        P##Waitall(128, requests, MPI_STATUSES_IGNORE);                                         \
    }
#define ALLREDUCE(P) if (i % 16 == 0) P##Allreduce(&sum_in, &sum_out, 1, MPI_DOUBLE, MPI_SUM, comm);

PAIR(send_null, SEND_NULL)
PAIR(irecv_null, IRECV_NULL)
PAIR(test_null, TEST_NULL)
PAIR(self, SELF)
PAIR(window, WINDOW)
PAIR(allreduce, ALLREDUCE)

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const char *what, const char *where, void (*plain)(void), void (*seen)(void),
                    int per_call) {
    double *a = malloc(sizeof *a * blocks), *b = malloc(sizeof *b * blocks);
    int calls_asked = calls, blocks_asked = blocks;
    // Where ranks wait for each other without a processor, calls take milliseconds: fewer of them.
    for (double took;; calls = calls > 160 ? calls / 4 : 32) {
        double t0 = now(), mine;
        plain(), seen();
        mine = now() - t0;
        PMPI_Allreduce(&mine, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        blocks = blocks_asked;
        if (took * blocks > LONGEST) blocks = LONGEST / took < 20 ? 20 : (int)(LONGEST / took);
        if (took * blocks <= 2 * LONGEST || calls == 32) break;
    }
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
    if (me == 0)
        printf("%-44s %-6s %10.2f %10.2f %8.2f %8.3f\n", what, where, x, y, y - x, y / x);
    free(a), free(b);
    calls = calls_asked, blocks = blocks_asked;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size, world_rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (argc > 1) blocks = atoi(argv[1]);
    if (argc > 2) calls = atoi(argv[2]);
    MPI_Comm cart;
    int period = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &cart);
    if (world_rank == 0)
        printf("%-44s %-6s %10s %10s %8s %8s\n", "ns per message or call, 10th percentile", "comm",
               "PMPI_X", "MPI_X", "added", "ratio");
    for (int c = 0; c < 2; c++) {
        comm = c ? cart : MPI_COMM_WORLD;
        const char *where = c ? "cart" : "world";
        PMPI_Comm_rank(comm, &me);
        compare("Send to MPI_PROC_NULL", where, send_null_plain, send_null_seen, 1);
        compare("Irecv from MPI_PROC_NULL + Wait", where, irecv_null_plain, irecv_null_seen, 1);
        compare("Test of a null request", where, test_null_plain, test_null_seen, 1);
        compare("Irecv + Isend + Waitall to self", where, self_plain, self_seen, 1);
        compare("64 x 8 B Isend/Irecv window, per message", where, window_plain, window_seen, 1);
        if (size > 1)
            compare("Allreduce of 8 bytes", where, allreduce_plain, allreduce_seen, 16);
    }
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
