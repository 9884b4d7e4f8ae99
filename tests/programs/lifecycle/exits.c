/* Ends in every possible way, after traffic of every kind. argv[1] selects the way. argv[2] is a file that task 0
 * creates when all tasks have sent everything.
 *
 * finalize, return (from main without MPI_Finalize), exit, first_exit (task 0 only, the others wait for its exit), _exit, abort (the C function), mpi_abort,
 * sigterm, sigkill, segv, last_sigkill (the last task only, the others wait), exec (another program
 * takes the place), fork (a child exits, then finalize), fork_sigkill (a child exits, then SIGKILL),
 * hang (waits to be killed), usr1 (a handler of the program's own, set before MPI_Init when argv[3] is
 * "before"; then finalize), usr1_default (the same signal without a handler), fill (argv[3] is a file on the same file system as the spill files: it is
 * filled up before most of the traffic; then exit), wait (two seconds of rest, then finalize)
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void handler(int number)
{
    caught += number == SIGUSR1;
}

static void ring(MPI_Comm comm, int bytes, int times)
{
    char out[256] = "", in[256];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < times; i++)
        OK(MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 1, in, bytes, MPI_CHAR,
                        (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE));
}

static void collectives(MPI_Comm comm, int sizes)
{
    double a[512] = { 0 }, b[512];
    int size;
    MPI_Comm_size(comm, &size);
    for (int i = 1; i <= sizes; i++) {
        OK(MPI_Allreduce(a, b, i, MPI_DOUBLE, MPI_SUM, comm));
        OK(MPI_Bcast(a, i, MPI_DOUBLE, i % size, comm));
    }
    OK(MPI_Scan(a, b, 3, MPI_INT, MPI_SUM, comm));
}

/* Puts 3 × 40 bytes to the next task and fetches 2 × 8 bytes from it. */
static void window(void)
{
    int memory[100] = { 0 }, mine[10] = { 0 };
    const int next = (world_rank + 1) % world_size;
    MPI_Win win;
    OK(MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 3; i++)
        OK(MPI_Put(mine, 10, MPI_INT, next, 0, 10, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 2; i++)
        OK(MPI_Get(mine, 2, MPI_INT, next, 20, 2, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

static void fill_up(const char *path)
{
    static char block[1 << 16];
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    for (size_t length = sizeof block; length > 0; length /= 2)
        while (write(file, block, length) == (ssize_t)length)
            ;
    close(file);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "finalize";
    const int before = argc > 3 && !strcmp(argv[3], "before");
    if (before)
        signal(SIGUSR1, handler);
    begin(&argc, &argv);
    ring(MPI_COMM_WORLD, 100, 10);
    if (!strcmp(how, "fill")) {
        if (world_rank == 0)
            fill_up(argv[3]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* Halves in reversed order, one of them freed again. */
    MPI_Comm half, gone;
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half));
    ring(half, 50, 4);
    /* More kinds of collective calls than fit into the first region of a spill file. */
    collectives(half, strcmp(how, "fill") ? 40 : 400);
    OK(MPI_Comm_dup(half, &gone));
    collectives(gone, 20);
    OK(MPI_Comm_free(&gone));
    collectives(MPI_COMM_WORLD, 10);
    window();
    /* A task that returns from this call knows that all tasks have reached it. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank == 0 && argc > 2)
        close(open(argv[2], O_CREAT | O_WRONLY, 0600));

    const int last = world_rank == world_size - 1;
    if (!strcmp(how, "return"))
        return 0;
    if (!strcmp(how, "exit") || !strcmp(how, "fill"))
        exit(0);
    if (!strcmp(how, "first_exit") && world_rank == 0)
        exit(7);
    if (!strcmp(how, "_exit"))
        _exit(0);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "mpi_abort") && last)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (!strcmp(how, "sigterm"))
        raise(SIGTERM);
    if (!strcmp(how, "sigkill"))
        raise(SIGKILL);
    if (!strcmp(how, "last_sigkill") && last)
        raise(SIGKILL);
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "exec"))
        execl("/bin/true", "true", (char *)NULL);
    if (!strncmp(how, "fork", 4)) {
        const pid_t child = fork();
        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
        if (!strcmp(how, "fork_sigkill"))
            raise(SIGKILL);
    }
    if (!strcmp(how, "hang") || !strcmp(how, "first_exit") || !strcmp(how, "mpi_abort") || !strcmp(how, "last_sigkill"))
        for (int i = 0; i < 180; i++)
            sleep(1);
    if (!strcmp(how, "usr1_default"))
        raise(SIGUSR1);
    if (!strcmp(how, "usr1")) {
        if (!before)
            signal(SIGUSR1, handler);
        raise(SIGUSR1);
        SAME(caught, 1);
    }
    if (!strcmp(how, "wait"))
        for (int i = 0; i < 20; i++)
            usleep(100000);
    /* No common verdict: this way of ending sends no more than the others. */
    if (world_rank == 0 && failures == 0)
        printf("ok %s\n", how);
    MPI_Finalize();
    return failures != 0;
}
