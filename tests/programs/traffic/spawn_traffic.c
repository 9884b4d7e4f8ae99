/* Known traffic in a world and in one that it starts, and between the two.
 *   spawn_traffic [CHILDREN]
 * In each world a ring: 10 messages of 1000 bytes in the first, 4 of 300 in the second. Between the
 * worlds: through the intercommunicator 7 bytes from every task of one to every task of the other, both
 * ways; in the merged communicator a ring of 50 bytes, of which only what stays within a world is seen
 * there. Nothing else but the verdict. */
#include "check.h"

static char data[1000];

static void ring(MPI_Comm comm, int bytes, int times)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < times; i++)
        MPI_Sendrecv_replace(data, bytes, MPI_CHAR, (rank + 1) % size, 1, (rank + size - 1) % size, 1,
                             comm, MPI_STATUS_IGNORE);
}

static void across(MPI_Comm inter)
{
    int remote;
    MPI_Comm_remote_size(inter, &remote);
    for (int k = 0; k < remote; k++) {
        MPI_Request request;
        MPI_Isend(data, 7, MPI_CHAR, k, 2, inter, &request);
        MPI_Request_free(&request);
    }
    for (int k = 0; k < remote; k++)
        MPI_Recv(data, 7, MPI_CHAR, k, 2, inter, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, merged;
    begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    const int is_child = parent != MPI_COMM_NULL;
    if (is_child)
        inter = parent;
    else
        OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, argc > 1 ? atoi(argv[1]) : 3, MPI_INFO_NULL, 0,
                          MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    ring(MPI_COMM_WORLD, is_child ? 300 : 1000, is_child ? 4 : 10);
    across(inter);
    OK(MPI_Intercomm_merge(inter, is_child, &merged));
    ring(merged, 50, 1);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_disconnect(&inter));
    if (!is_child)
        return verdict("spawn_traffic");
    MPI_Finalize();
    return failures != 0;
}
