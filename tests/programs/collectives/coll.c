/* One collective operation `calls` times on the world, for exact matrices; no other collective.
 *
 *     coll KIND BYTES CALLS
 *
 * KIND: bcast ROOT is task 1; reduce root 1; allreduce allgather alltoall alltoallv gather scatter
 * gatherv scatterv allgatherv barrier scan reduce_scatter_block. BYTES is the number of bytes that one
 * task gives to one other task (or to the operation). In alltoallv task i sends (i+1) * BYTES to task i+1 and BYTES to
 * task i+2, nothing else. Only the last task prints, and every task checks its own
 * results, because a common verdict would be a further collective call.
 */
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argc > 1 ? argv[1] : "allreduce";
    const int bytes = argc > 2 ? atoi(argv[2]) : 800, calls = argc > 3 ? atoi(argv[3]) : 5;
    const int n = world_size, ints = bytes / (int)sizeof(int);
    int *out = calloc((size_t)(ints * n * n + n), sizeof(int));
    int *in = calloc((size_t)(ints * n * n + n), sizeof(int));
    int *send = calloc((size_t)n, sizeof(int)), *send_at = calloc((size_t)n, sizeof(int));
    int *recv = calloc((size_t)n, sizeof(int)), *recv_at = calloc((size_t)n, sizeof(int));
    for (int i = 0; i < ints * n * n + n; i++)
        out[i] = world_rank + 1;
    const MPI_Comm w = MPI_COMM_WORLD;
    for (int call = 0; call < calls; call++) {
        if (!strcmp(kind, "bcast")) {
            OK(MPI_Bcast(world_rank == 1 ? out : in, ints, MPI_INT, 1, w));
            if (world_rank != 1)
                SAME(in[ints - 1], 2);
        } else if (!strcmp(kind, "reduce")) {
            OK(MPI_Reduce(out, in, ints, MPI_INT, MPI_SUM, 1, w));
            if (world_rank == 1)
                SAME(in[ints - 1], n * (n + 1) / 2);
        } else if (!strcmp(kind, "allreduce")) {
            OK(MPI_Allreduce(out, in, ints, MPI_INT, MPI_SUM, w));
            SAME(in[ints - 1], n * (n + 1) / 2);
        } else if (!strcmp(kind, "allgather")) {
            OK(MPI_Allgather(out, ints, MPI_INT, in, ints, MPI_INT, w));
            SAME(in[ints * n - 1], n);
        } else if (!strcmp(kind, "alltoall")) {
            OK(MPI_Alltoall(out, ints, MPI_INT, in, ints, MPI_INT, w));
            SAME(in[ints * n - 1], n);
        } else if (!strcmp(kind, "gather")) {
            OK(MPI_Gather(out, ints, MPI_INT, in, ints, MPI_INT, 1, w));
            if (world_rank == 1)
                SAME(in[ints * n - 1], n);
        } else if (!strcmp(kind, "scatter")) {
            OK(MPI_Scatter(out, ints, MPI_INT, in, ints, MPI_INT, 1, w));
            SAME(in[0], 2);
        } else if (!strcmp(kind, "barrier")) {
            OK(MPI_Barrier(w));
        } else if (!strcmp(kind, "scan")) {
            OK(MPI_Scan(out, in, ints, MPI_INT, MPI_SUM, w));
            SAME(in[0], (world_rank + 1) * (world_rank + 2) / 2);
        } else if (!strcmp(kind, "reduce_scatter_block")) {
            OK(MPI_Reduce_scatter_block(out, in, ints, MPI_INT, MPI_SUM, w));
            SAME(in[0], n * (n + 1) / 2);
        } else if (!strcmp(kind, "gatherv") || !strcmp(kind, "allgatherv") ||
                   !strcmp(kind, "scatterv")) {
            for (int k = 0, at = 0; k < n; k++) {
                recv[k] = ints * (k + 1);
                recv_at[k] = at;
                at += recv[k];
            }
            const int mine = ints * (world_rank + 1);
            if (kind[0] == 'g')
                OK(MPI_Gatherv(out, mine, MPI_INT, in, recv, recv_at, MPI_INT, 1, w));
            else if (kind[0] == 'a')
                OK(MPI_Allgatherv(out, mine, MPI_INT, in, recv, recv_at, MPI_INT, w));
            else
                OK(MPI_Scatterv(in, recv, recv_at, MPI_INT, out, mine, MPI_INT, 1, w));
            if (kind[0] != 's' && (kind[0] == 'a' || world_rank == 1))
                SAME(in[recv_at[n - 1]], n);
        } else if (!strcmp(kind, "alltoallv")) {
            const int to = (world_rank + 1) % n, to2 = (world_rank + 2) % n;
            const int from = (world_rank + n - 1) % n, from2 = (world_rank + n - 2) % n;
            send[to] = ints * (world_rank + 1);
            send[to2] = ints;
            send_at[to2] = send[to];
            recv[from] = ints * (from + 1);
            recv[from2] = ints;
            recv_at[from2] = recv[from];
            OK(MPI_Alltoallv(out, send, send_at, MPI_INT, in, recv, recv_at, MPI_INT, w));
            SAME(in[0], from + 1);
            SAME(in[recv_at[from2]], from2 + 1);
        } else {
            CHECK(0, "no kind %s", kind);
        }
    }
    free(out);
    free(in);
    free(send);
    free(send_at);
    free(recv);
    free(recv_at);
    fflush(stdout);
    if (world_rank == 0 && !failures)
        printf("ok %s\n", kind);
    MPI_Finalize();
    return failures != 0;
}
