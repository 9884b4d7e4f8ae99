// Uses every function of rankweave.h from C++, with and without the library.
#include "rankweave.h"

#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, takes = -1, taker = -1, wanted = -1, major = 0, minor = 0;
    MPI_Comm better = MPI_COMM_NULL, triggered = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    RANKWEAVE_Reset();
    bool good = RANKWEAVE_Reorder(MPI_COMM_WORLD, &better) == RANKWEAVE_OK;
    MPI_Pcontrol(RANKWEAVE_PCONTROL_REORDER, MPI_COMM_WORLD, &triggered);
    good = good && (triggered != MPI_COMM_NULL) == (RANKWEAVE_Loaded() != 0);
    good = good && RANKWEAVE_Reorder_roles(MPI_COMM_WORLD, better, &takes, &taker) == RANKWEAVE_OK;
    const std::vector<double> mine(100, rank);
    std::vector<double> taken(100, -1.0);
    good = good && RANKWEAVE_Move(MPI_COMM_WORLD, better, mine.data(), 800, taken.data(), 800) ==
                       RANKWEAVE_OK && taken[99] == takes;
    RANKWEAVE_Newrank(better, &wanted);
    RANKWEAVE_Flush();
    if (rankweave_version)
        good = good && rankweave_version(&major, &minor) == RANKWEAVE_OK;
    if (triggered != MPI_COMM_NULL)
        MPI_Comm_free(&triggered);
    MPI_Comm_free(&better);
    int mine_good = good, all_good = 0;
    MPI_Allreduce(&mine_good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("%s api_plus\n", all_good ? "ok" : "FAIL");
    MPI_Finalize();
    return !all_good;
}
