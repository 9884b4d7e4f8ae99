/* Tests MPI-IO on MPI_COMM_WORLD: collective, ordered, shared pointer, views; argv[1] is the file. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char name[512];
    const char *directory = getenv("TMPDIR");
    int process = (int)getpid();
    OK(MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(name, sizeof name, "%s/rankweave-io-%d", directory ? directory : "/tmp", process);
    if (argc > 1)
        snprintf(name, sizeof name, "%s", argv[1]);

    MPI_File file;
    MPI_Status status;
    int block[16], count;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int i = 0; i < 16; i++)
        block[i] = world_rank * 100 + i;
    OK(MPI_File_write_at_all(file, (MPI_Offset)world_rank * (MPI_Offset)sizeof block, block, 16,
                             MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    SAME(count, 16);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const int next = (world_rank + 1) % world_size;
    OK(MPI_File_read_at(file, (MPI_Offset)next * (MPI_Offset)sizeof block, block, 16, MPI_INT,
                        &status));
    SAME(block[15], next * 100 + 15);
    MPI_Offset bytes;
    OK(MPI_File_get_size(file, &bytes));
    SAME(bytes, (long long)sizeof block * world_size);

    /* A view in which the tasks' numbers alternate. */
    MPI_Datatype stripe;
    OK(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * world_size, &stripe));
    OK(MPI_Type_commit(&stripe));
    OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * world_rank, MPI_INT, stripe, "native",
                         MPI_INFO_NULL));
    for (int i = 0; i < 4; i++)
        block[i] = 7000 + world_rank * 10 + i;
    OK(MPI_File_write_all(file, block, 4, MPI_INT, &status));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at_all(file, world_size, block, 2, MPI_INT, &status));
    SAME(block[0], 7001);
    if (world_size > 1)
        SAME(block[1], 7011);

    /* The order of the ranks decides where each rank writes. */
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    block[0] = 9000 + world_rank;
    OK(MPI_File_write_ordered(file, block, 1, MPI_INT, &status));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at(file, next, block, 1, MPI_INT, &status));
    SAME(block[0], 9000 + next);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&stripe));
    if (world_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return verdict("io");
}
