/* A program that depends on the process of its ranks, or does not. The argument decides:
 *
 *   launcher        takes the launcher's rank from the environment for its rank in MPI
 *   cart            mixes ranks of a Cartesian communicator whose ranks may be reordered with those
 *                   of MPI_COMM_WORLD
 *   right           asks each communicator for its own ranks
 *   unordered       the same, and every rank prints its line itself, in no fixed order
 *   chance          prints another number in every run
 *   hangs           waits for ever if its rank is not the launcher's
 *   slow MS         takes MS milliseconds, five times as long if its rank is not the launcher's
 *
 * Each process works on the block of the rank that it takes itself for; the blocks are gathered and
 * printed. In the launcher's order all of them print the same. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int launcher_rank(int otherwise) {
    static const char *names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (int i = 0; i < 4; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL) return atoi(text);
    }
    return otherwise;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "right";
    int slow = strcmp(how, "slow") == 0 ? atoi(argc > 2 ? argv[2] : "100") : 0;
    const char *out = argc > 2 && !slow ? argv[2] : NULL;
    /* Before MPI_Init, as programs do that choose a device by this rank. */
    int given = launcher_rank(-1);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (given < 0) given = rank;

    MPI_Comm cart = MPI_COMM_WORLD;
    int is_cart = strcmp(how, "cart") == 0;
    int period = 1, me = rank;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 1, &cart);
    if (strcmp(how, "launcher") == 0) me = given;
    if (is_cart || strcmp(how, "right") == 0) MPI_Comm_rank(cart, &me);
    MPI_Comm gather_on = strcmp(how, "right") == 0 ? cart : MPI_COMM_WORLD;
    if (strcmp(how, "hangs") == 0 && given != rank)
        for (;;) pause();

    /* Traffic for the record: round the ring of its own communicator. */
    double token = rank, got = 0;
    MPI_Sendrecv(&token, 1, MPI_DOUBLE, (rank + 1) % size, 1, &got, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    double start = MPI_Wtime(), block = 0;
    for (int i = 0; i < 1000; i++) block += 1.0 / (1 + me * 1000 + i);
    usleep(1000u * (unsigned)(given == rank ? slow : 5 * slow));
    double *blocks = calloc((size_t)size, sizeof *blocks);
    int root;
    MPI_Comm_rank(gather_on, &root);
    MPI_Gather(&block, 1, MPI_DOUBLE, blocks, 1, MPI_DOUBLE, 0, gather_on);
    if (strcmp(how, "unordered") == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        /* Like a random number. Without it several runs may print in the same order. */
        unsigned mixed = ((unsigned)now.tv_nsec ^ (unsigned)getpid() * 2654435761u) * 2654435761u;
        usleep(1000 * (mixed >> 28));
        printf("block of rank %d is %.12f\n", rank, block);
    } else if (root == 0) {
        FILE *file = out != NULL ? fopen(out, "w") : stdout;
        if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
        for (int i = 0; i < size; i++) fprintf(file, "block of rank %d is %.12f\n", i, blocks[i]);
        if (out != NULL) fclose(file);
        printf("done in %.6f s on %d ranks\n", MPI_Wtime() - start, size);
        if (strcmp(how, "chance") == 0) printf("by chance %d\n", (int)getpid());
    }
    free(blocks);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
