/* Heat flow on a periodic 3-D grid: an ordinary MPI program whose rank order matters.
 *
 *     mpicc -O2 -o stencil3d stencil3d.c
 *     mpirun -n 16 ./stencil3d 4 2 2 [steps [thickness]]
 *
 * The ranks form a grid of px x py x pz in C order (z varies fastest). The block of one rank has
 * `thickness` cells in x and eight times as many in y and in z, so its x faces have eight times the
 * bytes of the others. A launcher that fills one node after the other puts ranks with the same x on the
 * same node, and every heavy face crosses the network. With lines of ranks along x on each node, the heavy
 * faces stay inside the nodes. The program does nothing about this: it uses MPI_COMM_WORLD and its ranks
 * without any change.
 *
 * Rank 0 prints the time of the loop and a checksum that does not depend on the order of additions.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AXES 3

/* The cells of the block, surrounded by one layer of the neighbours' cells; x varies slowest. */
typedef struct {
    int cells[AXES];
    size_t stride[AXES];
    double *now, *next;
} Block;

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "stencil3d: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Copies the layer `at` of `axis` from the block into `buffer`, or the other way round. */
static void copy_layer(const Block *block, int axis, int at, double *buffer, int into_block)
{
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    size_t k = 0;
    for (int i = 1; i <= block->cells[u]; i++)
        for (int j = 1; j <= block->cells[v]; j++, k++) {
            double *cell = block->now + (size_t)at * block->stride[axis] +
                           (size_t)i * block->stride[u] + (size_t)j * block->stride[v];
            if (into_block)
                *cell = buffer[k];
            else
                buffer[k] = *cell;
        }
}

static void compute(Block *block)
{
    const size_t sx = block->stride[0], sy = block->stride[1];
    for (int i = 1; i <= block->cells[0]; i++)
        for (int j = 1; j <= block->cells[1]; j++) {
            const double *restrict a = block->now + (size_t)i * sx + (size_t)j * sy;
            double *restrict b = block->next + (size_t)i * sx + (size_t)j * sy;
            for (int k = 1; k <= block->cells[2]; k++)
                b[k] = 0.4 * a[k] + 0.1 * (a[k - 1] + a[k + 1] + a[k - sy] + a[k + sy] +
                                           a[k - sx] + a[k + sx]);
        }
    double *swap = block->now;
    block->now = block->next;
    block->next = swap;
}

int main(int argc, char **argv)
{
    int rank, ranks, grid[AXES] = {0, 0, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int axis = 0; axis < AXES && axis + 1 < argc; axis++)
        grid[axis] = atoi(argv[axis + 1]);
    const int steps = argc > 4 ? atoi(argv[4]) : 40;
    const int thickness = argc > 5 ? atoi(argv[5]) : 16;
    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[0] * grid[1] * grid[2] != ranks ||
        steps < 0 || thickness < 1 || thickness > 256) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -n PX*PY*PZ stencil3d PX PY PZ [steps [thickness]]\n");
        MPI_Finalize();
        return 2;
    }

    const int place[AXES] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1],
                             rank % grid[2]};
    int neighbour[AXES][2];
    for (int axis = 0; axis < AXES; axis++)
        for (int side = 0; side < 2; side++) {
            int to[AXES] = {place[0], place[1], place[2]};
            to[axis] = (to[axis] + (side ? 1 : grid[axis] - 1)) % grid[axis];
            neighbour[axis][side] = (to[0] * grid[1] + to[1]) * grid[2] + to[2];
        }

    Block block = {.cells = {thickness, 8 * thickness, 8 * thickness}};
    block.stride[2] = 1;
    block.stride[1] = (size_t)block.cells[2] + 2;
    block.stride[0] = block.stride[1] * ((size_t)block.cells[1] + 2);
    const size_t total = block.stride[0] * ((size_t)block.cells[0] + 2);
    block.now = allocate(total, sizeof(double));
    block.next = allocate(total, sizeof(double));
    for (size_t i = 0; i < total; i++)
        block.now[i] = (double)((i * 2654435761u + (size_t)rank * 40503u) % 1000u);

    int face[AXES];
    double *out[AXES][2], *in[AXES][2];
    for (int axis = 0; axis < AXES; axis++) {
        face[axis] = 1;
        for (int other = 0; other < AXES; other++)
            if (other != axis)
                face[axis] *= block.cells[other];
        for (int side = 0; side < 2; side++) {
            out[axis][side] = allocate((size_t)face[axis], sizeof(double));
            in[axis][side] = allocate((size_t)face[axis], sizeof(double));
        }
    }

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        MPI_Request request[4 * AXES];
        int pending = 0;
        for (int axis = 0; axis < AXES; axis++)
            for (int side = 0; side < 2; side++)
                MPI_Irecv(in[axis][side], face[axis], MPI_DOUBLE, neighbour[axis][side],
                          2 * axis + side, MPI_COMM_WORLD, &request[pending++]);
        for (int axis = 0; axis < AXES; axis++)
            for (int side = 0; side < 2; side++) {
                copy_layer(&block, axis, side ? block.cells[axis] : 1, out[axis][side], 0);
                /* The data of the upper side goes to the lower side of the neighbour. */
                MPI_Isend(out[axis][side], face[axis], MPI_DOUBLE, neighbour[axis][side],
                          2 * axis + !side, MPI_COMM_WORLD, &request[pending++]);
            }
        MPI_Waitall(pending, request, MPI_STATUSES_IGNORE);
        for (int axis = 0; axis < AXES; axis++)
            for (int side = 0; side < 2; side++)
                copy_layer(&block, axis, side ? block.cells[axis] + 1 : 0, in[axis][side], 1);
        compute(&block);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;

    uint64_t mine = 0, sum = 0;
    for (int i = 1; i <= block.cells[0]; i++)
        for (int j = 1; j <= block.cells[1]; j++)
            for (int k = 1; k <= block.cells[2]; k++) {
                uint64_t bits;
                const double value =
                    block.now[(size_t)i * block.stride[0] + (size_t)j * block.stride[1] + (size_t)k];
                memcpy(&bits, &value, sizeof bits);
                mine += bits * (uint64_t)(((rank * 31 + i) * 31 + j) * 31 + k);
            }
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("stencil3d %dx%dx%d: %d steps, checksum %016llx, loop time %.3f s\n", grid[0],
               grid[1], grid[2], steps, (unsigned long long)sum, seconds);
    for (int axis = 0; axis < AXES; axis++)
        for (int side = 0; side < 2; side++) {
            free(out[axis][side]);
            free(in[axis][side]);
        }
    free(block.now);
    free(block.next);
    MPI_Finalize();
    return 0;
}
