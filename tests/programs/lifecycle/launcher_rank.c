/* A program that reads its rank and its local rank on the node from the launcher's variables after MPI_Init. The
 * rank must be that in the MPI_COMM_WORLD that the program sees; the local rank must not change. With
 * "again" it sets a variable itself. */
#include "check.h"

static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};

int main(int argc, char **argv)
{
    const char *kept = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    char before[64] = "";
    int found = 0, least = -1;
    if (kept)
        snprintf(before, sizeof before, "%s", kept);
    begin(&argc, &argv);
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        if (!text)
            continue;
        found++;
        SAME(atoi(text), world_rank);
    }
    OK(MPI_Allreduce(&found, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK(least > 0, "no variable of the launcher is known here");
    kept = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    CHECK(strcmp(kept ? kept : "", before) == 0, "the place on the node changed");
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        /* A variable that the program set itself is not changed. */
        setenv(names[0], "1000", 1);
        unsetenv(names[1]);
    }
    const int code = verdict("launcher_rank");
    if (argc > 1 && (!getenv(names[0]) || atoi(getenv(names[0])) != 1000 || getenv(names[1]))) {
        printf("FAIL the program's own environment changed\n");
        return 1;
    }
    return code;
}
