/* A halo exchange on a Cartesian communicator that is made before anything is sent:
 *
 *     cart_first DX[p][xN] [DY[p][xN] [DZ[p][xN]]]
 *
 * DX, DY and DZ are the extents of the grid. p makes a dimension periodic. xN gives its faces N times the bytes
 * (at most 8). Every process sends BYTES to every neighbour, or N times as many. Each message contains the
 * rank of its sender. There is no other traffic between processes.
 */
#include "check.h"

enum { BYTES = 1000, MOST = 8 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int dims[3], periods[3], bytes[3], rank, mapped, count = 0;
    const int axes = argc - 1 < 3 ? argc - 1 : 3;
    static char out[MOST * BYTES], in[6][MOST * BYTES];
    MPI_Request requests[6];
    MPI_Comm comm;
    for (int k = 0; k < axes; k++) {
        dims[k] = atoi(argv[1 + k]);
        periods[k] = strchr(argv[1 + k], 'p') != NULL;
        const char *times = strchr(argv[1 + k], 'x');
        int n = times ? atoi(times + 1) : 1;
        CHECK(n >= 1 && n <= MOST, "faces of %d times the bytes", n);
        bytes[k] = BYTES * (n >= 1 && n <= MOST ? n : 1);
    }
    OK(MPI_Cart_create(MPI_COMM_WORLD, axes, dims, periods, 1, &comm));
    OK(MPI_Cart_map(MPI_COMM_WORLD, axes, dims, periods, &mapped));
    if (comm == MPI_COMM_NULL) {
        SAME(mapped, MPI_UNDEFINED);
        return verdict("cart_first");
    }
    MPI_Comm_rank(comm, &rank);
    SAME(mapped, rank);
    memset(out, 'a' + rank, sizeof out);
    int from[6];
    for (int k = 0; k < axes; k++)
        for (int way = -1; way <= 1; way += 2) {
            int source, target;
            OK(MPI_Cart_shift(comm, k, way, &source, &target));
            from[count] = source;
            OK(MPI_Irecv(in[count], bytes[k], MPI_CHAR, source, 2 * k + (way > 0), comm,
                         &requests[count]));
            OK(MPI_Send(out, bytes[k], MPI_CHAR, target, 2 * k + (way > 0), comm));
            count++;
        }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < count; k++)
        if (from[k] != MPI_PROC_NULL)
            CHECK(in[k][0] == 'a' + from[k] && in[k][bytes[k / 2] - 1] == 'a' + from[k],
                  "a face of rank %d", from[k]);
    OK(MPI_Comm_free(&comm));
    return verdict("cart_first");
}
