/* Every task sends RUN_MESSAGES messages of 1000 bytes to the next task, and ends as RUN_END says:
 *
 * * (empty):  MPI_Finalize and exit code 0
 * * fail:     MPI_Finalize and exit code 1, as a Python program with a traceback does
 * * kill:     all tasks kill themselves after the last message
 * * part:     task 1 kills itself before its first message
 * * term:     all tasks end by SIGTERM after the last message
 * * flush:    all tasks send themselves SIGUSR1 after the last message, and then kill themselves
 * * abort:    MPI_Abort after the last message
 * * aborted:  the same with an MPI_Abort that returns, and then MPI_Finalize
 * * linger:   as without a value; before MPI_Finalize each task makes a file argv[1].TASK
 *
 * The arguments mean nothing else: they tell kinds of run apart.
 */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static void die_by(int number)
{
    /* The messages of all have arrived. */
    MPI_Barrier(MPI_COMM_WORLD);
    raise(number);
    pause();
}

int main(int argc, char **argv)
{
    const char *end = getenv("RUN_END"), *messages = getenv("RUN_MESSAGES");
    char out[1000] = {0}, in[1000];
    end = end ? end : "";
    begin(&argc, &argv);
    if (!strcmp(end, "part") && world_rank == 1)
        raise(SIGKILL);
    for (int k = messages ? atoi(messages) : 0; k > 0; k--)
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, (world_rank + 1) % world_size, 1, in, sizeof in, MPI_CHAR,
                     (world_rank + world_size - 1) % world_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(end, "kill"))
        die_by(SIGKILL);
    if (!strcmp(end, "term"))
        die_by(SIGTERM);
    if (!strcmp(end, "flush")) {
        raise(SIGUSR1);
        usleep(300000);
        die_by(SIGKILL);
    }
    if (!strncmp(end, "abort", 5)) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (!strcmp(end, "linger")) {
        char name[4096];
        MPI_Barrier(MPI_COMM_WORLD);
        snprintf(name, sizeof name, "%s.%d", argv[1], world_rank);
        FILE *file = fopen(name, "w");
        if (file)
            fclose(file);
    }
    MPI_Finalize();
    return strcmp(end, "fail") ? 0 : 1;
}
