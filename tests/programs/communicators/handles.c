/* Makes, uses and frees many handles. A tool must discard its data about a handle when the handle is freed. */
#include "check.h"

enum { LOCAL = 100000, COLLECTIVE = 60 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    char out[64], in[64];

    /* Datatypes of different sizes get the same handle one after the other. */
    for (int i = 0; i < LOCAL; i++) {
        MPI_Datatype type;
        int size;
        MPI_Type_contiguous(i % 13 + 1, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        MPI_Type_size(type, &size);
        if (size != i % 13 + 1)
            SAME(size, i % 13 + 1);
        if (i % 1000 == 0)
            OK(MPI_Sendrecv(out, 1, type, next, 1, in, 1, type, before, 1, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
        MPI_Type_free(&type);
    }

    for (int i = 0; i < LOCAL; i++) {
        MPI_Group world, part;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &next, &part);
        MPI_Group_free(&part);
        MPI_Group_free(&world);
    }

    /* Requests that are freed without a wait, and persistent requests that are never started. */
    for (int i = 0; i < LOCAL; i++) {
        MPI_Request request;
        MPI_Send_init(out, 1, MPI_CHAR, next, 2, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < 1000; i++) {
        MPI_Request request;
        MPI_Isend(out, 1, MPI_CHAR, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }

    /* Communicators of one task do not involve the other tasks. */
    for (int i = 0; i < 5000; i++) {
        MPI_Comm comm;
        int value = i, got = -1;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        if (i % 100 == 0) {
            MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, comm,
                         MPI_STATUS_IGNORE);
            SAME(got, i);
        }
        MPI_Comm_free(&comm);
    }
    /* The same handle is used again for a communicator with another order. */
    for (int i = 0; i < COLLECTIVE; i++) {
        MPI_Comm comm;
        int rank, got = -1;
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -world_rank : world_rank, &comm));
        MPI_Comm_rank(comm, &rank);
        const int left = (rank + world_size - 1) % world_size;
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % world_size, 3, &got, 1, MPI_INT, left, 3,
                        comm, MPI_STATUS_IGNORE));
        SAME(got, left);
        OK(MPI_Comm_free(&comm));
    }
    return verdict("handles");
}
