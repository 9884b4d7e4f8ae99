/* Halo exchange on a periodic 3-D grid, on a communicator whose ranks MPI may reorder (`reorder`). The x faces
 * have 8 times the bytes of the other faces, or `factor` times.
 *
 *     mpicc -O2 -o halo_topology halo_topology.c
 *     mpirun -n 16 ./halo_topology HOW PX PY PZ [steps [factor]]
 *
 * HOW selects the communicator of the exchange:
 *   world    MPI_COMM_WORLD itself
 *   cart     MPI_Cart_create at the start: MPI knows the grid, but not that its x faces are heavy
 *   measured MPI_Cart_create after one step in the order of the world
 *   graph    MPI_Dist_graph_create_adjacent with the bytes of the faces as weights
 *   edges    MPI_Dist_graph_create with the same weights; every process gives its own edges
 *
 * Rank 0 of the world prints the seconds of the loop. Every face contains the rank that sent it, and
 * every process checks this for each face that it receives.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 3, FACES = 2 * AXES, FACTOR = 8, LIGHT = 32768, HEAVY = FACTOR * LIGHT };

static int grid[AXES], factor = FACTOR;
static char *out, *in;

/* The rank on the other side of a face. */
static int neighbour(int rank, int face)
{
    int at[AXES] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    const int axis = face / 2;
    at[axis] = (at[axis] + (face % 2 ? 1 : grid[axis] - 1)) % grid[axis];
    return (at[0] * grid[1] + at[1]) * grid[2] + at[2];
}

static int bytes_of(int face) { return face / 2 == 0 ? factor * LIGHT : LIGHT; }

static void step(MPI_Comm comm, int rank)
{
    MPI_Request requests[2 * FACES];
    for (int face = 0; face < FACES; face++) {
        /* The data of a face goes to the opposite face of the neighbour. */
        MPI_Irecv(in + (size_t)face * HEAVY, bytes_of(face), MPI_CHAR, neighbour(rank, face),
                  face ^ 1, comm, &requests[face]);
        memset(out + (size_t)face * HEAVY, rank, 1);
        MPI_Isend(out + (size_t)face * HEAVY, bytes_of(face), MPI_CHAR, neighbour(rank, face), face,
                  comm, &requests[FACES + face]);
    }
    MPI_Waitall(2 * FACES, requests, MPI_STATUSES_IGNORE);
    for (int face = 0; face < FACES; face++)
        if (in[(size_t)face * HEAVY] != (char)neighbour(rank, face)) {
            fprintf(stderr, "halo_topology: rank %d got a face of somebody else\n", rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

int main(int argc, char **argv)
{
    int world, ranks, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *how = argc > 1 ? argv[1] : "";
    for (int axis = 0; axis < AXES; axis++)
        grid[axis] = argc > 2 + axis ? atoi(argv[2 + axis]) : 0;
    const int steps = argc > 5 ? atoi(argv[5]) : 20;
    if (argc > 6)
        factor = atoi(argv[6]);
    if (factor < 1 || factor > FACTOR || grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[0] * grid[1] * grid[2] != ranks) {
        if (world == 0)
            fprintf(stderr, "usage: mpirun -n PX*PY*PZ halo_topology HOW PX PY PZ [steps [1..8]]\n");
        MPI_Finalize();
        return 2;
    }
    out = calloc(FACES, HEAVY);
    in = calloc(FACES, HEAVY);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);

    const int periods[AXES] = {1, 1, 1}, degree = FACES;
    int neighbours[FACES], weights[FACES];
    for (int face = 0; face < FACES; face++) {
        neighbours[face] = neighbour(world, face);
        weights[face] = bytes_of(face);
    }
    MPI_Comm comm = MPI_COMM_WORLD;
    if (!strcmp(how, "measured"))
        step(comm, world);
    if (!strcmp(how, "cart") || !strcmp(how, "measured"))
        MPI_Cart_create(MPI_COMM_WORLD, AXES, grid, periods, 1, &comm);
    else if (!strcmp(how, "graph"))
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, FACES, neighbours, weights, FACES, neighbours,
                                       weights, MPI_INFO_NULL, 1, &comm);
    else if (!strcmp(how, "edges"))
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world, &degree, neighbours, weights, MPI_INFO_NULL,
                              1, &comm);

    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < steps; i++)
        step(comm, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world == 0)
        printf("%s: %d steps in %.3f s\n", how, steps, MPI_Wtime() - start);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
