/* Alternates between reductions of the same number of bytes on one communicator: of ints, of doubles, and with
 * an operation that does not commute. MPI libraries choose a different algorithm for each. If the library
 * confused these calls, the matrix would be wrong.
 *
 * usage: alternate WHICH CALLS     WHICH: any of i (ints), d (doubles), n (does not commute), f (a new
 *                                  operation each time, every other one commuting), in turn
 */
#include "check.h"

static void keep(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in; (void)inout; (void)count; (void)type;
}

int main(int argc, char **argv)
{
    static double in[32768], out[32768];
    begin(&argc, &argv);
    const char *which = argc > 1 ? argv[1] : "idn";
    int calls = argc > 2 ? atoi(argv[2]) : 5;
    MPI_Op ordered;
    MPI_Op_create(keep, 0, &ordered);
    for (int c = 0; c < calls; c++) {
        for (const char *w = which; *w; w++) {
            if (*w == 'i') OK(MPI_Allreduce(in, out, 65536, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            if (*w == 'd') OK(MPI_Allreduce(in, out, 32768, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            if (*w == 'n') OK(MPI_Allreduce(in, out, 65536, MPI_INT, ordered, MPI_COMM_WORLD));
            if (*w == 'f' || *w == 'F') {
                /* The new operation may get the same handle as the previous one. */
                MPI_Op op;
                MPI_Op_create(keep, *w == 'f', &op);
                OK(MPI_Allreduce(in, out, 65536, MPI_INT, op, MPI_COMM_WORLD));
                MPI_Op_free(&op);
            }
        }
    }
    MPI_Op_free(&ordered);
    return verdict("alternate");
}
