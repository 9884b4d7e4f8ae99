/* Ends in different ways, after 10 messages of 100 bytes to the next task; argv[1] selects the way.
 *
 * finalize N: MPI_Finalize, with a callback that still uses MPI; then task 0 returns N
 * at_exit:    MPI_Finalize in a function that was given to atexit before MPI_Init
 * abort N:    the last task calls MPI_Abort(N)
 * signal:     the last task ends by SIGTERM
 * exit:       exit(0) without MPI_Finalize
 * _exit:      _exit(0) without MPI_Finalize
 */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static int ended;

static int at_end(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    int initialized = 0, finalized = 1, rank = -1;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    /* MPI still works while the attributes of MPI_COMM_SELF are deleted. */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ended = initialized && !finalized && rank == world_rank;
    return MPI_SUCCESS;
}

static void finalize(void)
{
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    int before_init = 1;
    MPI_Initialized(&before_init);
    if (argc > 1 && !strcmp(argv[1], "at_exit"))
        atexit(finalize);
    begin(&argc, &argv);
    SAME(before_init, 0);
    const char *how = argc > 1 ? argv[1] : "finalize";
    const int code = argc > 2 ? atoi(argv[2]) : 0;
    char out[100] = "", in[100];
    for (int i = 0; i < 10; i++)
        OK(MPI_Sendrecv(out, 100, MPI_CHAR, (world_rank + 1) % world_size, 1, in, 100, MPI_CHAR,
                        (world_rank + world_size - 1) % world_size, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!strcmp(how, "abort")) {
        if (world_rank == world_size - 1)
            MPI_Abort(MPI_COMM_WORLD, code);
        sleep(30);
    } else if (!strcmp(how, "exit")) {
        exit(0);
    } else if (!strcmp(how, "at_exit")) {
        if (world_rank == 0 && failures == 0)
            printf("ok %s\n", how);
        return failures ? 1 : 0;
    } else if (!strcmp(how, "_exit")) {
        _exit(0);
    } else if (!strcmp(how, "signal")) {
        if (world_rank == world_size - 1)
            raise(SIGTERM);
        sleep(30);
    }
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Finalize();
    int finalized = 0, initialized = 0, version = 0, subversion;
    MPI_Finalized(&finalized);
    MPI_Initialized(&initialized);
    MPI_Get_version(&version, &subversion);
    SAME(finalized, 1);
    SAME(initialized, 1);
    CHECK(version >= 3, "%d", version);
    SAME(ended, 1);
    if (world_rank == 0 && failures == 0)
        printf("ok %s\n", how);
    return failures ? 1 : world_rank == 0 ? code : 0;
}
