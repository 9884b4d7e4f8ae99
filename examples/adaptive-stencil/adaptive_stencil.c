/* A stencil whose communication changes direction at half time. The program has its ranks reordered while
 * it runs.
 *
 *     mpicc -O2 -I include -o adaptive_stencil adaptive_stencil.c
 *     mpirun -n 16 ./adaptive_stencil 4 2 2 [steps [edge [trigger [ranks per host]]]]
 *
 * The ranks form a periodic grid of px x py x pz in C order (z varies fastest). Each has a block of
 * edge^3 cells. The stencil reaches 8 cells in one direction and 1 cell in the others. In the first half of
 * the steps the wide direction is z; a launcher puts neighbours along z side by side. In the second half it
 * is x, and neighbours along x are on other hosts. At half time the program therefore
 *
 *     begins the measurement anew                       RANKWEAVE_Reset
 *     makes two steps of the new kind, which are measured
 *     gets the same processes in a better order         RANKWEAVE_Reorder, or MPI_Pcontrol
 *     sends its block to the process that has its rank now, and receives another one  RANKWEAVE_Move
 *
 * and continues. `trigger` is `call` (default), `pcontrol` (which needs only one constant of the
 * header), or `none`. Without the preloaded library, each of them keeps the old order.
 *
 * The program runs all steps twice, the first time without reordering, and compares the results bit for
 * bit. Rank 0 prints whether they are equal. It also prints how many bytes a step of the second half sends
 * between hosts, in the old and in the new order. A host is what MPI_Get_processor_name returns. With
 * `ranks per host`, a host is that many successive ranks of MPI_COMM_WORLD. The exit code is 1 if the
 * results differ. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankweave.h"

#define AXES 3
#define WIDE 8
#define MEASURED_STEPS 2

enum trigger { NONE, CALL, PCONTROL };

static int grid[AXES], edge, row; /* row: cells of a block in one direction, with the layers around it */

/* The block of one rank, surrounded by WIDE layers of the neighbours' cells. */
struct block {
    double *now, *next;
};

static size_t cells(void) { return (size_t)row * (size_t)row * (size_t)row; }

static size_t at(int x, int y, int z)
{
    return ((size_t)x * (size_t)row + (size_t)y) * (size_t)row + (size_t)z;
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fprintf(stderr, "adaptive_stencil: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void fill(struct block *block, int role)
{
    memset(block->now, 0, cells() * sizeof(double));
    for (int x = WIDE; x < WIDE + edge; x++)
        for (int y = WIDE; y < WIDE + edge; y++)
            for (int z = WIDE; z < WIDE + edge; z++)
                block->now[at(x, y, z)] =
                    (double)((at(x, y, z) * 2654435761u + (size_t)role * 40503u) % 1000u);
}

/* The rank next to `role` in the grid. */
static int neighbour(int role, int axis, int step)
{
    int place[AXES] = {role / (grid[1] * grid[2]), role / grid[2] % grid[1], role % grid[2]};
    place[axis] = (place[axis] + step + grid[axis]) % grid[axis];
    return (place[0] * grid[1] + place[1]) * grid[2] + place[2];
}

static int layers(int axis, int wide_axis) { return axis == wide_axis ? WIDE : 1; }

/* Copies layers [from, from + count) of an axis out of the block or into it. */
static void copy(double *block, int axis, int from, int count, double *buffer, int into)
{
    const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    for (int l = from; l < from + count; l++)
        for (int i = WIDE; i < WIDE + edge; i++)
            for (int j = WIDE; j < WIDE + edge; j++) {
                int place[AXES];
                place[axis] = l;
                place[first] = i;
                place[second] = j;
                double *cell = block + at(place[0], place[1], place[2]);
                if (into)
                    *cell = *buffer++;
                else
                    *buffer++ = *cell;
            }
}

static void step(struct block *block, MPI_Comm comm, int wide_axis, double *out, double *in)
{
    int role;
    MPI_Comm_rank(comm, &role);
    for (int axis = 0; axis < AXES; axis++) {
        const int count = layers(axis, wide_axis), face = count * edge * edge;
        for (int side = -1; side <= 1; side += 2) {
            /* The upper layers go to the upper neighbour, which keeps them below its own cells. */
            copy(block->now, axis, side > 0 ? WIDE + edge - count : WIDE, count, out, 0);
            MPI_Sendrecv(out, face, MPI_DOUBLE, neighbour(role, axis, side), axis, in, face,
                         MPI_DOUBLE, neighbour(role, axis, -side), axis, comm, MPI_STATUS_IGNORE);
            copy(block->now, axis, side > 0 ? WIDE - count : WIDE + edge, count, in, 1);
        }
    }
    for (int x = WIDE; x < WIDE + edge; x++)
        for (int y = WIDE; y < WIDE + edge; y++)
            for (int z = WIDE; z < WIDE + edge; z++) {
                const size_t stride[AXES] = {at(1, 0, 0), at(0, 1, 0), 1}, here = at(x, y, z);
                double sum = 0.5 * block->now[here];
                for (int axis = 0; axis < AXES; axis++) {
                    const int count = layers(axis, wide_axis);
                    for (int d = 1; d <= count; d++)
                        sum += (block->now[here - (size_t)d * stride[axis]] +
                                block->now[here + (size_t)d * stride[axis]]) /
                               (12.0 * count);
                }
                block->next[here] = sum;
            }
    double *swap = block->now;
    block->now = block->next;
    block->next = swap;
}

/* Makes a communicator with the same processes in an order computed from the measured traffic. */
static MPI_Comm reorder(MPI_Comm comm, enum trigger trigger)
{
    MPI_Comm better = MPI_COMM_NULL;
    if (trigger == CALL)
        RANKWEAVE_Reorder(comm, &better);
    if (trigger == PCONTROL)
        MPI_Pcontrol(RANKWEAVE_PCONTROL_REORDER, comm, &better);
    if (better == MPI_COMM_NULL)
        MPI_Comm_dup(comm, &better);
    return better;
}

/* Makes all steps. Returns the communicator of the second half; rank k of it has block k at the end. */
static MPI_Comm run(struct block *block, int steps, enum trigger trigger)
{
    MPI_Comm comm = MPI_COMM_WORLD, better;
    int role;
    double *out = allocate(sizeof(double) * WIDE * (size_t)(edge * edge));
    double *in = allocate(sizeof(double) * WIDE * (size_t)(edge * edge));
    MPI_Comm_rank(comm, &role);
    fill(block, role);
    int done = 0;
    for (; done < steps / 2; done++)
        step(block, comm, 2, out, in);

    RANKWEAVE_Reset();
    for (int k = 0; k < MEASURED_STEPS && done < steps; k++, done++)
        step(block, comm, 0, out, in);
    better = reorder(comm, trigger);
    if (RANKWEAVE_Move(comm, better, block->now, cells() * sizeof(double), block->next,
                       cells() * sizeof(double)) != RANKWEAVE_OK) {
        fprintf(stderr, "adaptive_stencil: the blocks could not be moved\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double *swap = block->now;
    block->now = block->next;
    block->next = swap;

    for (; done < steps; done++)
        step(block, better, 0, out, in);
    free(out);
    free(in);
    return better;
}

/* The bytes that one step of the second half sends between hosts. */
static long long between_hosts(MPI_Comm comm, int host)
{
    int size, role;
    long long mine = 0, all = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &role);
    int *hosts = allocate(sizeof(int) * (size_t)size);
    MPI_Allgather(&host, 1, MPI_INT, hosts, 1, MPI_INT, comm);
    for (int axis = 0; axis < AXES; axis++)
        for (int side = -1; side <= 1; side += 2)
            if (hosts[neighbour(role, axis, side)] != host)
                mine += (long long)sizeof(double) * layers(axis, 0) * edge * edge;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, comm);
    free(hosts);
    return all;
}

/* A number for the host of this process. */
static int host_of(int rank, int size, int per_host)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length, host = 0;
    if (per_host > 0)
        return rank / per_host;
    memset(name, 0, sizeof name);
    MPI_Get_processor_name(name, &length);
    char *names = allocate(sizeof name * (size_t)size);
    MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    while (memcmp(names + (size_t)host * sizeof name, name, sizeof name) != 0)
        host++;
    free(names);
    return host;
}

int main(int argc, char **argv)
{
    int rank, size, different, any = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int axis = 0; axis < AXES && axis + 1 < argc; axis++)
        grid[axis] = atoi(argv[axis + 1]);
    const int steps = argc > 4 ? atoi(argv[4]) : 20;
    edge = argc > 5 ? atoi(argv[5]) : 16;
    const char *how = argc > 6 ? argv[6] : "call";
    const enum trigger trigger = strcmp(how, "none") == 0       ? NONE
                                 : strcmp(how, "pcontrol") == 0 ? PCONTROL
                                                                : CALL;
    const int per_host = argc > 7 ? atoi(argv[7]) : 0;
    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[0] * grid[1] * grid[2] != size ||
        steps < 0 || edge < WIDE || edge > 256) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -n PX*PY*PZ adaptive_stencil PX PY PZ [steps [edge (at least "
                            "8) [call|pcontrol|none [ranks per host]]]]\n");
        MPI_Finalize();
        return 2;
    }
    row = edge + 2 * WIDE;
    const int host = host_of(rank, size, per_host);

    struct block plain = {allocate(cells() * sizeof(double)), allocate(cells() * sizeof(double))};
    struct block block = {allocate(cells() * sizeof(double)), allocate(cells() * sizeof(double))};
    MPI_Comm same = run(&plain, steps, NONE);
    double start = MPI_Wtime();
    MPI_Comm better = run(&block, steps, trigger);
    const double seconds = MPI_Wtime() - start;

    /* Send the result of the first run to the process that has this block in the second run. */
    RANKWEAVE_Move(same, better, plain.now, cells() * sizeof(double), plain.next,
                   cells() * sizeof(double));
    different = 0;
    for (int x = WIDE; x < WIDE + edge; x++)
        for (int y = WIDE; y < WIDE + edge; y++)
            different |= memcmp(block.now + at(x, y, WIDE), plain.next + at(x, y, WIDE),
                                sizeof(double) * (size_t)edge) != 0;
    MPI_Allreduce(&different, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const long long before = between_hosts(same, host), after = between_hosts(better, host);
    if (rank == 0)
        printf("adaptive_stencil %dx%dx%d %s: results %s, bytes between hosts per step %lld -> %lld "
               "(%.3f), %.3f s\n",
               grid[0], grid[1], grid[2], how, any ? "DIFFER" : "are the same", before, after,
               before ? (double)after / (double)before : 1.0, seconds);
    MPI_Comm_free(&same);
    MPI_Comm_free(&better);
    free(plain.now);
    free(plain.next);
    free(block.now);
    free(block.next);
    MPI_Finalize();
    return any;
}
