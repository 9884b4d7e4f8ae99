/* A handle that is converted to Fortran and back refers to the same object. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int result, rank;
    MPI_Comm back = MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD));
    SAME(back == MPI_COMM_WORLD, 1);
    MPI_Comm_compare(back, MPI_COMM_WORLD, &result);
    SAME(result, MPI_IDENT);
    MPI_Comm_rank(back, &rank);
    SAME(rank, world_rank);
    SAME(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF, 1);
    SAME(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL, 1);
    MPI_Comm reversed;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed));
    back = MPI_Comm_f2c(MPI_Comm_c2f(reversed));
    SAME(back == reversed, 1);
    MPI_Comm_rank(back, &rank);
    SAME(rank, world_size - 1 - world_rank);
    OK(MPI_Comm_free(&reversed));
    SAME(MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT, 1);
    SAME(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM, 1);
    MPI_Group group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    MPI_Group group_back = MPI_Group_f2c(MPI_Group_c2f(group));
    MPI_Group_rank(group_back, &rank);
    SAME(rank, world_rank);
    OK(MPI_Group_free(&group));
    return verdict("f2c");
}
