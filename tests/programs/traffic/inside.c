/* Calls from inside the MPI library: those of a component loaded by a call for files (mca_io_romio_inside.c),
 * and those made while such a call runs (here by an error handler). None of these calls belongs to
 * the program. The program's own traffic is five rings. */
#include "beside.h"

static int handled;

static void ring(int bytes)
{
    char out[1000] = {0}, in[1000];
    OK(MPI_Sendrecv(out, bytes, MPI_CHAR, (world_rank + 1) % world_size, 3, in, bytes, MPI_CHAR,
                    (world_rank + world_size - 1) % world_size, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
}

static void handler(MPI_File *file, int *code, ...)
{
    (void)file, (void)code;
    handled++;
    ring(999);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ring(100);
    MPI_Errhandler errhandler;
    OK(MPI_File_create_errhandler(handler, &errhandler));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, errhandler));
    MPI_File_delete("/nonexistent/rankweave", MPI_INFO_NULL);
    SAME(handled, 1);
    ring(100);

    void *component = load_beside("mca_io_romio_inside.so");
    void (*component_ring)(MPI_Comm) = NULL;
    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    if (component != NULL)
        *(void **)&component_ring = dlsym(component, "component_ring");
    if (CHECK(component_ring != NULL, "no function")) {
        MPI_File_delete("/nonexistent/rankweave", MPI_INFO_NULL);
        component_ring(copy);
        ring(100);
        component_ring(copy);
    }
    OK(MPI_Comm_free(&copy));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&errhandler));
    ring(100);
    ring(100);
    return verdict("inside");
}
