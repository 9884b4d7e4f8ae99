/* Loads another library before MPI_Init. Calls from that library may not be seen.
 *   late_library FILE   a ring of messages of 100 bytes, ten times */
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    if (argc > 1 && dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    char out[100] = {0}, in[100];
    for (int i = 0; i < 10; i++)
        OK(MPI_Sendrecv(out, sizeof out, MPI_CHAR, (world_rank + 1) % world_size, 3, in, sizeof in,
                        MPI_CHAR, (world_rank + world_size - 1) % world_size, 3, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    if (world_rank == 0)
        printf("ok late_library\n");
    MPI_Finalize();
    return 0;
}
