/* Added time per call of what programs do most (see compare.h for the method).
 *
 * Without the library preloaded the same program shows the noise floor of the method.
 * Usage: overhead [BLOCKS] [ROWS] [CALLS_PER_BLOCK]; run with any number of processes, rank 0 prints. */
#include "compare.h"

static MPI_Comm comm;
static char out[64][8], in[64][8];
static MPI_Request requests[128];
static double sum_in = 1, sum_out;

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

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size, world_rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (argc > 1) blocks = atoi(argv[1]);
    if (argc > 2) rows = argv[2];
    if (argc > 3) calls = atoi(argv[3]);
    prints = world_rank == 0;
    together = MPI_COMM_WORLD;
    MPI_Comm cart;
    int period = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &cart);
    heading();
    for (int c = 0; c < 2; c++) {
        comm = c ? cart : MPI_COMM_WORLD;
        const char *where = c ? "cart" : "world";
        PMPI_Comm_rank(comm, &me);
        compare("Send to MPI_PROC_NULL", where, send_null_plain, send_null_seen, 1, 0);
        compare("Irecv from MPI_PROC_NULL + Wait", where, irecv_null_plain, irecv_null_seen, 1, 0);
        compare("Test of a null request", where, test_null_plain, test_null_seen, 1, 0);
        compare("Irecv + Isend + Waitall to self", where, self_plain, self_seen, 1, 0);
        compare("64 x 8 B Isend/Irecv window, per message", where, window_plain, window_seen, 1, 0);
        if (size > 1)
            compare("Allreduce of 8 bytes", where, allreduce_plain, allreduce_seen, 16, 0);
    }
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
