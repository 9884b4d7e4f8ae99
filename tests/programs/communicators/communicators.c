/* Makes a communicator from MPI_COMM_WORLD in every way, uses it for traffic, and frees it. */
#include "check.h"

/* A ring and a broadcast; then the communicator is freed. */
static void use(MPI_Comm *comm, int expected_rank)
{
    int rank, size, in = -1;
    MPI_Comm_rank(*comm, &rank);
    MPI_Comm_size(*comm, &size);
    if (expected_rank >= 0)
        SAME(rank, expected_rank);
    const int left = (rank + size - 1) % size;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, left, 0, *comm,
                    MPI_STATUS_IGNORE));
    SAME(in, left);
    in = rank == size - 1 ? world_size * 3 : 0;
    OK(MPI_Bcast(&in, 1, MPI_INT, size - 1, *comm));
    SAME(in, world_size * 3);
    OK(MPI_Comm_free(comm));
    SAME(*comm == MPI_COMM_NULL, 1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm comm, second;
    MPI_Request request;
    MPI_Info info;
    MPI_Group world, group;

    OK(MPI_Comm_dup(w, &comm));
    OK(MPI_Comm_dup(comm, &second));
    use(&comm, world_rank);
    use(&second, world_rank);
    OK(MPI_Comm_idup(w, &comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use(&comm, world_rank);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "rankweave_test", "yes"));
    OK(MPI_Comm_dup_with_info(w, info, &comm));
    use(&comm, world_rank);
    OK(MPI_Comm_dup(w, &comm));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_info(w, &info));
    OK(MPI_Info_free(&info));
    use(&comm, world_rank);

    /* Which processes share memory depends on the machine. The result must be a partition in any case. */
    int size, sum = 0, one;
    OK(MPI_Comm_split_type(w, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &one);
    one = one == 0 ? size : 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, w));
    SAME(sum, world_size);
    use(&comm, -1);
    OK(MPI_Comm_split_type(w, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
    SAME(comm == MPI_COMM_NULL, 1);

    OK(MPI_Comm_group(w, &world));
    int range[1][3] = {{world_size - 1, 0, -1}};
    OK(MPI_Group_range_incl(world, 1, range, &group));
    OK(MPI_Comm_create(w, group, &comm));
    use(&comm, world_size - 1 - world_rank);
    OK(MPI_Comm_create_group(w, group, 5, &comm));
    use(&comm, world_size - 1 - world_rank);
    OK(MPI_Group_free(&group));
    /* Only the even tasks call, and only they take part. */
    int evens[1][3] = {{0, world_size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, evens, &group));
    if (world_rank % 2 == 0) {
        OK(MPI_Comm_create_group(w, group, 6, &comm));
        use(&comm, world_rank / 2);
    }
    OK(MPI_Comm_create(w, group, &comm));
    SAME(comm == MPI_COMM_NULL, world_rank % 2);
    if (comm != MPI_COMM_NULL)
        use(&comm, world_rank / 2);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));

    /* MPI_Comm_disconnect does the same as MPI_Comm_free after all messages have arrived. */
    OK(MPI_Comm_dup(w, &comm));
    OK(MPI_Comm_disconnect(&comm));
    SAME(comm == MPI_COMM_NULL, 1);

    /* Freed while a receive is pending: the communicator exists until the receive is complete. */
    int value = world_rank, in = -1, left = (world_rank + world_size - 1) % world_size;
    OK(MPI_Comm_dup(w, &comm));
    OK(MPI_Irecv(&in, 1, MPI_INT, left, 1, comm, &request));
    OK(MPI_Send(&value, 1, MPI_INT, (world_rank + 1) % world_size, 1, comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    SAME(in, left);

    comm = MPI_COMM_SELF;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    use(&comm, 0);
    return verdict("communicators");
}
