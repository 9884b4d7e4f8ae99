/* Uses null handles, and handles whose bits are all zero, which are no communicator and no datatype in any MPI.
 * MPI must report them, also directly after a communicator was freed. */
#include "check.h"

static void refused(void)
{
    MPI_Comm none;
    MPI_Datatype nothing;
    char byte = 0;
    memset(&none, 0, sizeof none);
    memset(&nothing, 0, sizeof nothing);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(&byte, 1, MPI_CHAR, 0, 9, none) != MPI_SUCCESS, "no communicator");
    CHECK(MPI_Send(&byte, 1, MPI_CHAR, 0, 9, MPI_COMM_NULL) != MPI_SUCCESS, "null communicator");
    CHECK(MPI_Send(&byte, 1, nothing, 0, 9, MPI_COMM_SELF) != MPI_SUCCESS, "no datatype");
    CHECK(MPI_Send(&byte, 1, MPI_DATATYPE_NULL, 0, 9, MPI_COMM_SELF) != MPI_SUCCESS,
          "null datatype");
}

/* The last communicator of this thread is freed while nothing is cached, because a file was opened. */
static void refused_after_a_file(void)
{
    MPI_Comm comm, none;
    MPI_File file;
    char name[] = "/dev/null", byte = 0;
    memset(&none, 0, sizeof none);
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Barrier(comm));
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
        OK(MPI_File_close(&file));
    OK(MPI_Comm_free(&comm));
    CHECK(MPI_Bcast(&byte, 1, MPI_CHAR, 0, none) != MPI_SUCCESS, "no communicator");
}

static int reports;

static void report(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    reports++;
}

/* The error handler runs once for each call. Which communicator's handler it is depends on the MPI library. MPICH 5
 * returns MPI_SUCCESS all the same. */
static void refused_windows(void)
{
    MPI_Errhandler handler;
    char byte = 0;
    OK(MPI_Comm_create_errhandler(report, &handler));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (int i = 1; i <= 3; i++) {
        MPI_Put(&byte, 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, MPI_WIN_NULL);
        SAME(reports, i);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char out = 1, in = 0;
    MPI_Comm comm;
    MPI_Datatype pair;
    /* Errors are fatal on all communicators but this one. */
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Allreduce(&out, &in, 1, MPI_CHAR, MPI_OP_NULL, comm) != MPI_SUCCESS, "null operation");
    CHECK(MPI_Bcast(&out, 1, MPI_DATATYPE_NULL, 0, comm) != MPI_SUCCESS, "null datatype");
    OK(MPI_Comm_free(&comm));
    refused();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_contiguous(2, MPI_CHAR, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Sendrecv(&out, 1, MPI_CHAR, (world_rank + 1) % world_size, 1, &in, 1, MPI_CHAR,
                    (world_rank + world_size - 1) % world_size, 1, comm, MPI_STATUS_IGNORE));
    OK(MPI_Send(&out, 1, pair, MPI_PROC_NULL, 1, comm));
    OK(MPI_Type_free(&pair));
    OK(MPI_Comm_free(&comm));
    refused();
    refused_after_a_file();
    refused_windows();
    return verdict("null_handles");
}
