/* Kinds of communicators; which task has which rank is worked out anew in
 * tests/mpi/recording/truth_expected.py. Calls here use MPI names: making communicators is part of what the
 * library has to follow. */
#include "truth_comms.h"
#include <string.h>

static MPI_Comm kept[4]; /* communicators that the one under test was made from */
static int kept_count;
#ifdef HAVE_MPI_4
static MPI_Session session = MPI_SESSION_NULL;
#endif

static MPI_Comm keep(MPI_Comm comm) { return kept[kept_count++] = comm; }

static MPI_Group rotated(int by) {
    MPI_Group world, group;
    int size, order[MAX_PEERS];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(world, &size);
    for (int j = 0; j < size; j++) order[j] = (j + by) % size;
    MPI_Group_incl(world, size, order, &group);
    MPI_Group_free(&world);
    return group;
}

static void grid(MPI_Comm *comm) {
    int size, dims[2] = {0, 0}, periods[2] = {1, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, comm);
}

/* A ring and the chord to the task opposite, both ways. */
static void graph(MPI_Comm *comm) {
    int size, index[MAX_PEERS], edges[4 * MAX_PEERS], count = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int j = 0; j < size; j++) {
        edges[count++] = (j + 1) % size;
        edges[count++] = (j + size - 1) % size;
        if (j == 0) edges[count++] = size / 2;
        if (j == size / 2) edges[count++] = 0;
        index[j] = count;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, comm);
}

/* Task j sends to j + 1, j + 2, and if it is even once more to j + 1. */
static void directed(MPI_Comm *comm, int adjacent) {
    int rank, size, weights[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to[3] = {(rank + 1) % size, (rank + 2) % size, (rank + 1) % size};
    int left = (rank + size - 1) % size;
    int from[3] = {left, (rank + size - 2) % size, left};
    int out = rank % 2 == 0 ? 3 : 2, in = left % 2 == 0 ? 3 : 2;
    if (adjacent) {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, weights, out, to, weights,
                                       MPI_INFO_NULL, 0, comm);
    } else {
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &out, to, weights, MPI_INFO_NULL, 0, comm);
    }
}

static void bridge(MPI_Comm *comm) {
    int rank;
    MPI_Comm half;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Odd tasks in reversed order: their rank 0 is the highest odd task. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank % 2 ? -rank : rank, &half);
    keep(half);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int highest_odd = size % 2 ? size - 2 : size - 1;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : highest_odd, 5, comm);
}

#ifdef HAVE_MPI_4
static MPI_Group everybody(void) {
    MPI_Group group;
    if (session == MPI_SESSION_NULL) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    return group;
}

static void bridge_from_groups(MPI_Comm *comm) {
    MPI_Group all = everybody(), local, remote;
    int rank, size, even[MAX_PEERS], odd[MAX_PEERS], evens = 0, odds = 0;
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &size);
    for (int j = 0; j < size; j++) {
        if (j % 2) odd[odds++] = j;
        else even[evens++] = j;
    }
    MPI_Group_incl(all, rank % 2 ? odds : evens, rank % 2 ? odd : even, &local);
    MPI_Group_incl(all, rank % 2 ? evens : odds, rank % 2 ? even : odd, &remote);
    MPI_Intercomm_create_from_groups(local, 0, remote, 0, "rankweave", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, comm);
    MPI_Group_free(&local);
    MPI_Group_free(&remote);
    MPI_Group_free(&all);
}
#endif

static void neighbours(struct place *place) {
    int kind, dims, n, weighted, weights[MAX_PEERS];
    MPI_Topo_test(place->comm, &kind);
    place->topology = kind == MPI_CART || kind == MPI_GRAPH || kind == MPI_DIST_GRAPH;
    if (kind == MPI_CART) {
        MPI_Cartdim_get(place->comm, &dims);
        for (int d = 0; d < dims; d++) {
            int source, dest;
            MPI_Cart_shift(place->comm, d, 1, &source, &dest);
            place->source[2 * d] = place->destination[2 * d] = source;
            place->source[2 * d + 1] = place->destination[2 * d + 1] = dest;
        }
        place->sources = place->destinations = 2 * dims;
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(place->comm, place->rank, &n);
        MPI_Graph_neighbors(place->comm, place->rank, n, place->source);
        memcpy(place->destination, place->source, sizeof place->source);
        place->sources = place->destinations = n;
    } else if (kind == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(place->comm, &place->sources, &place->destinations, &weighted);
        MPI_Dist_graph_neighbors(place->comm, place->sources, place->source, weights,
                                 place->destinations, place->destination, weights);
    }
}

int make_place(const char *kind, struct place *place) {
#define IS(name) (!strcmp(kind, name))
    int rank;
    MPI_Comm comm = MPI_COMM_NULL, base;
    MPI_Group group;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (IS("world")) comm = MPI_COMM_WORLD;
    else if (IS("split")) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    else if (IS("halves")) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    else if (IS("split_type")) {
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &comm);
    } else if (IS("dup")) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else if (IS("dup_with_info")) MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    else if (IS("idup")) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &base);
        MPI_Comm_idup(keep(base), &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (IS("create")) {
        group = rotated(1);
        MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
        MPI_Group_free(&group);
    } else if (IS("create_group")) {
        group = rotated(2);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &comm);
        MPI_Group_free(&group);
    } else if (IS("cart")) grid(&comm);
    else if (IS("cart_sub")) {
        int remain[2] = {1, 0};
        grid(&base);
        MPI_Cart_sub(keep(base), remain, &comm);
    } else if (IS("graph")) graph(&comm);
    else if (IS("dist_graph")) directed(&comm, 0);
    else if (IS("dist_graph_adjacent")) directed(&comm, 1);
    else if (IS("inter")) bridge(&comm);
    else if (IS("inter_dup")) {
        bridge(&base);
        MPI_Comm_dup(keep(base), &comm);
    } else if (IS("merge")) {
        bridge(&base);
        MPI_Intercomm_merge(keep(base), rank % 2 == 0, &comm);
    }
#ifdef HAVE_MPI_4
    else if (IS("idup_with_info")) {
        MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (IS("from_group")) {
        group = everybody();
        MPI_Comm_create_from_group(group, "rankweave", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Group_free(&group);
    } else if (IS("inter_from_groups")) bridge_from_groups(&comm);
#endif
    if (comm == MPI_COMM_NULL) return 0;
    memset(place, 0, sizeof *place);
    place->comm = comm;
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->size);
    MPI_Comm_test_inter(comm, &place->inter);
    place->remote = place->first = place->size;
    if (place->inter) {
        MPI_Comm_remote_size(comm, &place->remote);
        place->group = rank % 2;
        place->first = rank % 2 ? place->remote : place->size;
    } else {
        neighbours(place);
    }
    return 1;
}

void free_place(struct place *place) {
    if (place->comm != MPI_COMM_WORLD) MPI_Comm_free(&place->comm);
    while (kept_count > 0) MPI_Comm_free(&kept[--kept_count]);
#ifdef HAVE_MPI_4
    if (session != MPI_SESSION_NULL) MPI_Session_finalize(&session);
#endif
}
