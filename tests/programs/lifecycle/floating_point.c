/* Tests that the floating-point environment of the program is its own: no trap that it has turned on is met by what
 * happens inside of MPI calls, and no flag is left that a program would see (one in Fortran that ends with STOP prints
 * them). argv[1] is `traps` or `flags`.
 */
#define _GNU_SOURCE
#include "check.h"
#include <fenv.h>

enum { SEEN = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW };

static void look(const char *after)
{
    const int flags = fetestexcept(SEEN);
    CHECK(flags == 0, "flags %#x after %s", flags, after);
    CHECK(fegetround() == FE_UPWARD, "the rounding after %s is %#x", after, fegetround());
    feclearexcept(FE_ALL_EXCEPT);
}

int main(int argc, char **argv)
{
    const int traps = argc > 1 && !strcmp(argv[1], "traps");
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
    if (traps)
        feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    begin(&argc, &argv);
    look("MPI_Init");
    static char out[1 << 16], in[1 << 16];
    for (int i = 0; i < 20; i++)
        OK(MPI_Sendrecv(out, 1 << 16, MPI_CHAR, (world_rank + 1) % world_size, 1, in, 1 << 16, MPI_CHAR,
                        (world_rank + world_size - 1) % world_size, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    look("messages");
    int dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Comm grid;
    OK(MPI_Dims_create(world_size, 2, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
    look("MPI_Cart_create");
    if (grid != MPI_COMM_NULL)
        OK(MPI_Comm_free(&grid));
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    failures = 0;
    look("MPI_Finalize");
    if (world_rank == 0 && all == 0 && failures == 0)
        printf("ok floating_point\n");
    return all != 0 || failures != 0;
}
