/* Tests the additions of MPI 4: sessions, large counts, persistent collectives, partitioned messages. With an MPI
 * library that has none of them the program checks nothing. */
#include "check.h"

#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, result;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MPI_Group_size(group, &size);
    SAME(size, world_size);
    OK(MPI_Comm_create_from_group(group, "rankweave.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Group_rank(group, &result);
    SAME(rank, result);
    int left = (rank + size - 1) % size, in = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, left, 0, comm,
                    MPI_STATUS_IGNORE));
    SAME(in, left);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
}

static void persistent(void)
{
    int mine = world_rank + 1, sum = 0;
    MPI_Request request;
    OK(MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request));
    for (int i = 0; i < 3; i++) {
        sum = 0;
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        SAME(sum, world_size * (world_size + 1) / 2);
    }
    OK(MPI_Request_free(&request));
}

#ifndef OPEN_MPI
static void large(void)
{
    const int next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    char out[32] = "", in[32] = "";
    MPI_Status status;
    MPI_Count count = 0;
    out[31] = (char)world_rank;
    OK(MPI_Sendrecv_c(out, (MPI_Count)32, MPI_CHAR, next, 1, in, (MPI_Count)32, MPI_CHAR, before, 1,
                      MPI_COMM_WORLD, &status));
    SAME(in[31], before);
    OK(MPI_Get_count_c(&status, MPI_CHAR, &count));
    SAME(count, 32);
    int mine = 1, sum = 0;
    OK(MPI_Allreduce_c(&mine, &sum, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    SAME(sum, world_size);
    MPI_Datatype type;
    MPI_Count size;
    OK(MPI_Type_contiguous_c((MPI_Count)3000000000LL, MPI_CHAR, &type));
    OK(MPI_Type_size_c(type, &size));
    SAME(size, 3000000000LL);
    OK(MPI_Type_free(&type));
}
#endif
#endif

int main(int argc, char **argv)
{
    begin(&argc, &argv);
#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
    sessions();
    persistent();
#ifndef OPEN_MPI
    large();
#endif
#endif
    return verdict("mpi4");
}
