/* A halo exchange on a torus whose ranks may be reordered. HOW decides whether the program confuses the ranks
 * of the torus with those of MPI_COMM_WORLD:
 *
 *     mixed_halo KIND HOW
 *
 *     KIND   cart, graph, dist, adjacent: how the torus is made; with a trailing + it is freed and
 *            made again before every step
 *     HOW    right     neighbours as the new communicator tells them, on it
 *            before    neighbours by the rank in MPI_COMM_WORLD, on MPI_COMM_WORLD: right too
 *            unused    the same on another torus: the new communicator is not used
 *            neighbourhood  MPI_Neighbor_alltoall on the new one, and a ring on MPI_COMM_WORLD
 *            one-sided      MPI_Put to the neighbours, and the ring
 *            numbers   neighbours as the new communicator tells them, on MPI_COMM_WORLD
 *            rank      neighbours by the rank in MPI_COMM_WORLD, on the new communicator
 *
 * In every case each process has four neighbours and receives four messages from any source. A wrong program
 * therefore does not hang, but computes wrong numbers. If no rank changed, all of them print the same sum.
 * Prints how many processes have a new rank, and whether each received the data of its neighbours.
 */
#include "check.h"

enum { STEPS = 3 };

static int dims[2] = {0, 0};

/* Neighbours of a vertex of a torus. */
static void around(const int *extents, int vertex, int *to)
{
    const int y = vertex / extents[1], x = vertex % extents[1];
    to[0] = (y + extents[0] - 1) % extents[0] * extents[1] + x;
    to[1] = (y + 1) % extents[0] * extents[1] + x;
    to[2] = y * extents[1] + (x + extents[1] - 1) % extents[1];
    to[3] = y * extents[1] + (x + 1) % extents[1];
}

static MPI_Comm torus(const char *kind)
{
    MPI_Comm made = MPI_COMM_NULL;
    int mine[4], degree = 4;
    around(dims, world_rank, mine);
    if (strncmp(kind, "cart", 4) == 0) {
        int periods[2] = {1, 1};
        OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &made));
    } else if (strncmp(kind, "graph", 5) == 0) {
        int *ends = malloc(sizeof *ends * (size_t)world_size);
        int *edges = malloc(sizeof *edges * 4 * (size_t)world_size);
        for (int v = 0; v < world_size; v++) {
            ends[v] = 4 * (v + 1);
            around(dims, v, edges + 4 * v);
        }
        OK(MPI_Graph_create(MPI_COMM_WORLD, world_size, ends, edges, 1, &made));
        free(ends);
        free(edges);
    } else if (strncmp(kind, "dist", 4) == 0) {
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world_rank, &degree, mine, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 1, &made));
    } else {
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, mine, MPI_UNWEIGHTED, 4, mine,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made));
    }
    return made;
}

/* Neighbours of this process as the communicator tells them. */
static void told(const char *kind, MPI_Comm comm, int *to)
{
    int rank, weights[8], from[4];
    MPI_Comm_rank(comm, &rank);
    if (strncmp(kind, "cart", 4) == 0) {
        OK(MPI_Cart_shift(comm, 0, 1, &to[0], &to[1]));
        OK(MPI_Cart_shift(comm, 1, 1, &to[2], &to[3]));
    } else if (strncmp(kind, "graph", 5) == 0) {
        OK(MPI_Graph_neighbors(comm, rank, 4, to));
    } else {
        OK(MPI_Dist_graph_neighbors(comm, 4, from, weights, 4, to, weights + 4));
    }
}

static long exchange(MPI_Comm comm, const int *to, int count, int mine)
{
    long sum = 0;
    int got;
    MPI_Request requests[4];
    for (int k = 0; k < count; k++)
        OK(MPI_Isend(&mine, 1, MPI_INT, to[k], 5, comm, &requests[k]));
    for (int k = 0; k < count; k++) {
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE));
        sum += got;
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    return sum;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argc > 1 ? argv[1] : "cart", *how = argc > 2 ? argv[2] : "right";
    OK(MPI_Dims_create(world_size, 2, dims));
    const int again = strchr(kind, '+') != NULL;
    int rank = 0, to[4], news = 0, wrong = 0;
    int cross[2] = {dims[1], dims[0]};
    const int ring[2] = {(world_rank + 1) % world_size, (world_rank + world_size - 1) % world_size};
    MPI_Comm made = MPI_COMM_NULL;
    for (int step = 0; step < STEPS; step++) {
        if (step == 0 || again) made = torus(kind);
        MPI_Comm_rank(made, &rank);
        news = rank != world_rank;
        /* The vertex of this process: that of its new rank, or that of its old one. */
        int vertex = rank;
        MPI_Comm on = made;
        told(kind, made, to);
        long got = 0;
        if (strcmp(how, "neighbourhood") == 0) {
            int out[4] = {vertex, vertex, vertex, vertex}, in[4];
            OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, made));
            for (int k = 0; k < 4; k++) got += in[k];
            exchange(MPI_COMM_WORLD, ring, 2, 1);
        } else if (strcmp(how, "one-sided") == 0) {
            int in[4] = {0, 0, 0, 0};
            MPI_Win window;
            MPI_Win_create(in, sizeof in, sizeof(int), MPI_INFO_NULL, made, &window);
            MPI_Win_fence(0, window);
            /* A message to the neighbour on one side arrives there from the other side. */
            for (int k = 0; k < 4; k++)
                OK(MPI_Put(&vertex, 1, MPI_INT, to[k], k ^ 1, 1, MPI_INT, window));
            MPI_Win_fence(0, window);
            MPI_Win_free(&window);
            for (int k = 0; k < 4; k++) got += in[k];
            exchange(MPI_COMM_WORLD, ring, 2, 1);
        } else {
            if (strcmp(how, "right") != 0 && strcmp(how, "rank") != 0) on = MPI_COMM_WORLD;
            if (strcmp(how, "before") == 0 || strcmp(how, "rank") == 0) {
                vertex = world_rank;
                around(dims, world_rank, to);
            }
            if (strcmp(how, "unused") == 0) {
                vertex = world_rank;
                around(cross, world_rank, to);
            }
            got = exchange(on, to, 4, vertex);
        }
        int wanted[4];
        around(strcmp(how, "unused") == 0 ? cross : dims, vertex, wanted);
        for (int k = 0; k < 4; k++) got -= wanted[k];
        wrong = wrong || got != 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (again || step == STEPS - 1) MPI_Comm_free(&made);
    }
    int mine[2] = {news, wrong}, all[2] = {0, 0};
    MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0) printf("new ranks %d, wrong %d\n", all[0], all[1]);
    return verdict("mixed_halo");
}
