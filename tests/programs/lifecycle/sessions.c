/* A program without MPI_Init: one session, a communicator of all processes in reversed order and one
 * of the even ones, a ring on each. */
#include "check.h"

#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
static void ring(MPI_Comm comm, int messages)
{
    char out[100] = {0}, in[100];
    int rank, size;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    for (int i = 0; i < messages; i++)
        OK(MPI_Sendrecv(out, sizeof out, MPI_CHAR, (rank + 1) % size, 0, in, sizeof in, MPI_CHAR,
                        (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE));
}

int main(void)
{
    MPI_Session session;
    MPI_Group all, reversed, even;
    MPI_Comm comm, half;
    int all_failures = 0;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    OK(MPI_Group_rank(all, &world_rank));
    OK(MPI_Group_size(all, &world_size));
    int backwards[1][3] = {{world_size - 1, 0, -1}}, evens[1][3] = {{0, (world_size - 1) / 2 * 2, 2}};
    OK(MPI_Group_range_incl(all, 1, backwards, &reversed));
    OK(MPI_Comm_create_from_group(reversed, "test.reversed", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &comm));
    ring(comm, 10);
    OK(MPI_Group_range_incl(all, 1, evens, &even));
    if (world_rank % 2 == 0) {
        OK(MPI_Comm_create_from_group(even, "test.even", MPI_INFO_NULL, MPI_ERRORS_RETURN, &half));
        ring(half, 3);
        OK(MPI_Comm_free(&half));
    }
    MPI_Reduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, world_size - 1, comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&even));
    OK(MPI_Group_free(&reversed));
    OK(MPI_Group_free(&all));
    OK(MPI_Session_finalize(&session));
    if (world_rank == 0 && all_failures == 0)
        printf("ok sessions\n");
    return all_failures != 0;
}
#else
int main(void)
{
    printf("FAIL this MPI has no sessions\n");
    return 1;
}
#endif
