/* What the generated callers (tests/mpi/recording/callers.py) and the program that uses them (truth.c) share.
 *
 * A caller makes one MPI call of one binding (C, mpif.h, mpi or mpi_f08) with arguments taken from a
 * struct; the program decides what to call and when. So every function of calls.tbl that moves data
 * can be called in the same way from every language. */
#ifndef RANKWEAVE_TRUTH_H
#define RANKWEAVE_TRUTH_H

#include <mpi.h>
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#endif

/* Open MPI 5 has these parts of MPI-4.0 and says 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_MPI_4 1
#endif

#define MAX_PEERS 16

/* Counts or offsets of each peer, in every width that MPI knows. */
struct vector {
    int narrow[MAX_PEERS];
    MPI_Count wide[MAX_PEERS];
    MPI_Aint address[MAX_PEERS];
};

struct args {
    void *send, *recv, *compare;
    long long count, rcount, tcount; /* of the caller's data, of the received, at the target */
    MPI_Datatype type, rtype, ttype;
    int peer, source, root, tag;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Win win;
    MPI_Aint disp;
    MPI_Request request;
    MPI_Request *requests;
    int request_count;
    struct vector scounts, sdispls, rcounts, rdispls;
    MPI_Datatype stypes[MAX_PEERS], rtypes[MAX_PEERS];
    int partitions, low, high, list[4], length;
    int send_in_place, recv_in_place; /* Fortran has a sentinel of its own */
};

enum family {
    SEND, SENDRECV, PSEND, PREADY, PREADY_RANGE, PREADY_LIST, START, STARTALL,
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV,
    ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK,
    SCAN, EXSCAN,
    NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP
};

enum flavour { BLOCKING, NONBLOCKING, PERSISTENT };

struct row {
    const char *name;
    int index; /* place in calls.tbl: decides sizes, peers and repetitions */
    enum family family;
    enum flavour flavour;
    int (*call)(struct args *);
};

/* The rows that this MPI and this binding have. */
extern const struct row rows[];
extern const int row_count;
/* The name of the binding. */
extern const char binding[];
int binding_init(int *argc, char ***argv);
int binding_finalize(void);

#endif
