/* Uses files with a library that calls MPI itself (ROMIO). The messages of that library are not traffic of the
 * program. The program's own traffic is five rings and the reduction at its end.
 *   io_inside blocking | nonblocking */
#include "check.h"
#include <unistd.h>

static void ring(void)
{
    char out[500] = {0}, in[500];
    OK(MPI_Sendrecv(out, sizeof out, MPI_CHAR, (world_rank + 1) % world_size, 3, in, sizeof in,
                    MPI_CHAR, (world_rank + world_size - 1) % world_size, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int nonblocking = argc > 1 && strcmp(argv[1], "nonblocking") == 0;
    char name[512];
    const char *directory = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/rankweave-inside-%d", directory ? directory : "/tmp",
             (int)getppid());

    ring();
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    int block[64], back[64];
    MPI_Datatype stripe;
    OK(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * world_size, &stripe));
    OK(MPI_Type_commit(&stripe));
    for (int i = 0; i < 64; i++)
        block[i] = 1000 * world_rank + i;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int part = 0; part < 2; part++) {
        OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * world_rank, MPI_INT, stripe, "native",
                             MPI_INFO_NULL));
        /* The exchange between processes happens in the wait. */
        if (part)
            OK(MPI_File_seek(file, 32, MPI_SEEK_SET));
        if (nonblocking) {
            OK(MPI_File_iwrite_all(file, block + 32 * part, 32, MPI_INT, &request));
            OK(MPI_Wait(&request, &status));
            OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * world_rank, MPI_INT, stripe,
                                 "native", MPI_INFO_NULL));
            if (part)
                OK(MPI_File_seek(file, 32, MPI_SEEK_SET));
        }
        OK(MPI_File_write_all(file, block + 32 * part, 32, MPI_INT, &status));
        ring();
    }
    OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * world_rank, MPI_INT, stripe, "native",
                         MPI_INFO_NULL));
    if (nonblocking) {
        OK(MPI_File_iread_all(file, back, 64, MPI_INT, &request));
        OK(MPI_Wait(&request, &status));
    } else
        OK(MPI_File_read_all(file, back, 64, MPI_INT, &status));
    SAME(back[31], 1000 * world_rank + 31);
    SAME(back[63], 1000 * world_rank + 63);
    OK(MPI_File_close(&file));
    ring();
    /* With the second file, all components are loaded already. */
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
    OK(MPI_File_read_at_all(file, (MPI_Offset)sizeof(int) * world_rank, back, 1, MPI_INT, &status));
    SAME(back[0], 1000 * world_rank);
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&stripe));
    ring();
    return verdict("io_inside");
}
