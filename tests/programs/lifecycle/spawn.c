/* MPI_COMM_WORLD starts two more processes, communicates with them, merges with them and disconnects. */
#include "check.h"

static int child(MPI_Comm parent)
{
    int remote, rank, in = -1;
    MPI_Comm merged;
    MPI_Comm_remote_size(parent, &remote);
    MPI_Comm_rank(parent, &rank);
    MPI_Recv(&in, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    in = in == 10 + rank ? world_rank * 100 : -1;
    MPI_Send(&in, 1, MPI_INT, 0, 2, parent);
    MPI_Intercomm_merge(parent, 1, &merged);
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return sum != remote + 2;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, merged;
    begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(parent);
    int codes[2], remote;
    OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    MPI_Comm_remote_size(inter, &remote);
    SAME(remote, 2);
    if (world_rank == 0)
        for (int k = 0; k < 2; k++) {
            int out = 10 + k, in = -1;
            OK(MPI_Send(&out, 1, MPI_INT, k, 1, inter));
            OK(MPI_Recv(&in, 1, MPI_INT, k, 2, inter, MPI_STATUS_IGNORE));
            SAME(in, k * 100);
        }
    OK(MPI_Intercomm_merge(inter, 0, &merged));
    int one = 1, sum = 0, rank;
    MPI_Comm_rank(merged, &rank);
    SAME(rank, world_rank);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
    SAME(sum, world_size + 2);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_disconnect(&inter));
    return verdict("spawn");
}
