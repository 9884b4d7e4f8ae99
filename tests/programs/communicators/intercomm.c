/* Tests intercommunicators between two groups of tasks: the even and the odd ones, in reversed order. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (world_size < 2)
        return verdict("intercomm");
    MPI_Comm local, inter, merged, copy;
    const int odd = world_rank % 2;
    int rank, size, remote, flag, result;
    OK(MPI_Comm_split(MPI_COMM_WORLD, odd, -world_rank, &local));
    MPI_Comm_rank(local, &rank);
    MPI_Comm_size(local, &size);
    /* The leaders are the last ranks of their groups: tasks 0 and 1 of the world. */
    OK(MPI_Intercomm_create(local, size - 1, MPI_COMM_WORLD, odd ? 0 : 1, 12, &inter));
    OK(MPI_Comm_test_inter(inter, &flag));
    SAME(flag, 1);
    MPI_Comm_remote_size(inter, &remote);
    SAME(remote, world_size - size);
    MPI_Comm_compare(inter, inter, &result);
    SAME(result, MPI_IDENT);

    /* Point to point: rank r of one side with rank r of the other. */
    int out = world_rank, in = -1;
    if (rank < remote) {
        OK(MPI_Sendrecv(&out, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, 3, inter,
                        MPI_STATUS_IGNORE));
        const int other_last = odd ? (world_size - 1) / 2 * 2 : (world_size / 2) * 2 - 1;
        SAME(in, other_last - 2 * rank);
    }
    MPI_Group group, world;
    int zero = 0, task;
    OK(MPI_Comm_remote_group(inter, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_translate_ranks(group, 1, &zero, world, &task));
    SAME(task % 2, !odd);
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    /* Collective calls send to the other group. */
    int sum = 0, one = 1;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
    SAME(sum, remote);
    int news = odd ? -1 : 17;
    if (odd)
        OK(MPI_Bcast(&news, 1, MPI_INT, 0, inter));
    else
        OK(MPI_Bcast(&news, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    SAME(news, 17);
    OK(MPI_Barrier(inter));
    int *all = calloc((size_t)world_size, sizeof(int));
    OK(MPI_Allgather(&world_rank, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int k = 0; k < remote; k++)
        SAME(all[k] % 2, !odd);
    free(all);

    OK(MPI_Comm_dup(inter, &copy));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Intercomm_merge(copy, odd, &merged));
    int merged_rank, merged_size;
    MPI_Comm_rank(merged, &merged_rank);
    MPI_Comm_size(merged, &merged_size);
    SAME(merged_size, world_size);
    SAME(merged_rank, odd ? remote + rank : rank);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
    SAME(sum, world_size);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&local));
    return verdict("intercomm");
}
