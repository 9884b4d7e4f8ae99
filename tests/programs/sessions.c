/* A program that never calls MPI_Init: a ring on a communicator made from a session's process set.
 *
 * Matrix: C(i, i+1) = 10 * 100 bytes in 10 messages.
 */
#include "check.h"

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    char out[100] = "", in[100];
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "ring", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    MPI_Comm_rank(comm, &world_rank);
    MPI_Comm_size(comm, &world_size);
    for (int i = 0; i < 10; i++) {
        OK(MPI_Sendrecv(out, 100, MPI_CHAR, (world_rank + 1) % world_size, 1, in, 100, MPI_CHAR,
                        (world_rank + world_size - 1) % world_size, 1, comm, MPI_STATUS_IGNORE));
    }
    int all = 0;
    OK(MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, comm));
    if (world_rank == 0 && all == 0) printf("ok sessions\n");
    fflush(stdout);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    return all != 0;
}
