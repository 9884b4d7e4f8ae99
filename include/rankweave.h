/* C interface of librankweave.so: a program asks for a new rank order while it runs.
 *
 * The library is preloaded. A program that includes this header is not linked with it and also runs
 * without it. Each function X exists in two forms:
 *
 *   rankweave_X    The function of the library, declared as a weak reference. It is null without the
 *                  library. In position-dependent executables (-no-pie) it is null with the library as well,
 *                  because the linker resolves it there.
 *   RANKWEAVE_X    An inline function that finds the library in any executable, through MPI_Pcontrol.
 *                  Without the library it keeps the rank order and the data as they are.
 *
 * A program whose communication changes while it runs uses them like this:
 *
 *     RANKWEAVE_Reset();                             the measurement begins here
 *     for (step = 0; step < 10; step++) ...          the program communicates as usual, on `comm`
 *     MPI_Comm better;
 *     RANKWEAVE_Reorder(comm, &better);              the same processes, possibly in another order
 *     RANKWEAVE_Move(comm, better, mine, bytes, taken, bytes);      the data moves to the new ranks
 *     ...                                            the program continues with `taken`, on `better`
 *
 * examples/adaptive-stencil is such a program. include/rankweave.f90 is the same interface for Fortran.
 *
 * All functions return one of these values:
 *   RANKWEAVE_OK            Success. rankweave_reorder also returns it if no better order was found. `*out`
 *                           then has the old order (MPI_Comm_compare: MPI_CONGRUENT). In a new order it is
 *                           MPI_SIMILAR.
 *   RANKWEAVE_NOT_NOW       The call came before MPI_Init or after MPI_Finalize, or nothing is recorded.
 *                           Nothing was done.
 *   RANKWEAVE_BAD_ARGUMENT  A null pointer, MPI_COMM_NULL, or communicators that do not belong together.
 *   RANKWEAVE_MPI_FAILED    The MPI library reported an error; `*out` is MPI_COMM_NULL.
 * No function calls an error handler of the program or ends the program. */
#ifndef RANKWEAVE_H
#define RANKWEAVE_H

#include <mpi.h>
#include <stddef.h>
#include <string.h>

#define RANKWEAVE_OK 0
#define RANKWEAVE_NOT_NOW 1
#define RANKWEAVE_BAD_ARGUMENT 2
#define RANKWEAVE_MPI_FAILED 3

/* Levels of MPI_Pcontrol. Without the library, MPI ignores them. The library passes on the levels of
 * other tools.
 *
 *   MPI_Comm better = MPI_COMM_NULL;
 *   MPI_Pcontrol(RANKWEAVE_PCONTROL_REORDER, comm, &better);      MPI_Comm, MPI_Comm *
 *   if (better == MPI_COMM_NULL)
 *       MPI_Comm_dup(comm, &better);                               the library is not loaded
 *
 * does the same as rankweave_reorder and needs only the number of the level. `better` keeps its value
 * without the library, in mode `off`, and if no communicator could be made. RESET and FLUSH take no
 * further argument. They can be used from Fortran too, but Open MPI passes them on only from C. REORDER
 * cannot be used from Fortran. */
#define RANKWEAVE_PCONTROL_REORDER 0x52570001
#define RANKWEAVE_PCONTROL_RESET 0x52570002
#define RANKWEAVE_PCONTROL_FLUSH 0x52570003
#define RANKWEAVE_PCONTROL_FUNCTIONS 0x52570004 /* struct rankweave_functions * */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RANKWEAVE_WEAK __attribute__((weak))
#define RANKWEAVE_INLINE static inline __attribute__((unused))
#else
#define RANKWEAVE_WEAK
#define RANKWEAVE_INLINE static inline
#endif

/* Gives the version of the library that is loaded. Either pointer may be null. */
int rankweave_version(int *major, int *minor) RANKWEAVE_WEAK;

/* Stores the matrix recorded so far, for the tasks on the node of the caller, while the program continues.
 * The call returns before the matrix is in the store. It returns RANKWEAVE_NOT_NOW if the library keeps no
 * spill file. */
int rankweave_flush(void) RANKWEAVE_WEAK;

/* Begins the measurement anew: later calls of rankweave_reorder ignore all traffic before this call. The
 * call is local, but all processes must make it at the same point of the program. The matrix that the
 * launch stores still contains all traffic. */
int rankweave_reset(void) RANKWEAVE_WEAK;

/* Makes a communicator with the processes of `in`, in a rank order computed from their traffic since the
 * last reset (or since the start). This traffic is point-to-point, collective and one-sided, on any
 * communicator, including communicators that are freed already. Collective over `in`.
 *
 * On success `*out` is a new communicator, which the program has to free. It has the error handler of
 * `in`, but not its attributes, topology and name, even if it has the old order. The old order stays if
 * `in` is an intercommunicator, and in mode `off`. The modes auto, reorder and record compute a new order,
 * unless the program is in the list of --deny or `rankweave check` found that its results depend on the
 * rank order. Mode shuffle gives a random order. The tasks of RANKWEAVE_FIX (0 unless set) keep their
 * rank. If the predicted gain is below RANKWEAVE_MIN_GAIN percent, the order stays. The call does not
 * begin the measurement anew; rankweave_reset does. */
int rankweave_reorder(MPI_Comm in, MPI_Comm *out) RANKWEAVE_WEAK;

/* Computes a rank order for a communicator with a topology and makes no communicator: `*newrank` is the rank
 * that the caller should have so that neighbours are close in the machine. The weights of a distributed
 * graph count as bytes. Edges without weights, which includes those of Cartesian and graph
 * communicators, get the traffic that was measured along them, if any, as their weight. Collective.
 * MPI_Comm_split(comm, 0, newrank, &better) makes the communicator. Without a topology the function
 * returns RANKWEAVE_BAD_ARGUMENT, and `*newrank` is the caller's rank. */
int rankweave_newrank(MPI_Comm with_topology, int *newrank) RANKWEAVE_WEAK;

/* Tells which process takes over the work of which other process, if rank k of `out` continues the work of
 * rank k of `in`. `in` and `out` have the same processes. Both results are ranks of `in`, so that one
 * exchange on `in` moves the data:
 *
 *   *old_rank_whose_data_i_take   the process whose rank in `in` is my rank in `out`
 *   *new_rank_that_takes_mine     the process whose rank in `out` is my rank in `in`
 *
 *   MPI_Sendrecv(mine,  n, MPI_DOUBLE, new_rank_that_takes_mine, 0,
 *                taken, n, MPI_DOUBLE, old_rank_whose_data_i_take, 0, in, MPI_STATUS_IGNORE);
 *
 * Example: the processes A B C D have the ranks 0 1 2 3 in `in`, and `out` has the order A C D B. C has
 * rank 1 in `out`, so it takes the data of rank 1 of `in`, which is B. The data of C, which has rank 2 in
 * `in`, goes to D, because D has rank 2 in `out`; D is rank 3 of `in`. For C the results are 1 and 3, for
 * A they are 0 and 0. As functions of the rank in `in`, the two results are permutations that are inverse
 * to each other. The call is local. Either pointer may be null. */
int rankweave_reorder_roles(MPI_Comm in, MPI_Comm out, int *old_rank_whose_data_i_take,
                            int *new_rank_that_takes_mine) RANKWEAVE_WEAK;

/* Moves data as rankweave_reorder_roles describes: sends `mine_bytes` from `mine` to the process that takes
 * over the caller's work, and receives `taken_bytes` into `taken` from the process whose work the caller
 * takes over. The buffers must not overlap. Collective over `in`. If `taken_bytes` of one process is not the
 * number of bytes sent to it, all processes return RANKWEAVE_BAD_ARGUMENT and nothing is moved. These
 * bytes are not counted as traffic of the program. */
int rankweave_move(MPI_Comm in, MPI_Comm out, const void *mine, size_t mine_bytes, void *taken,
                   size_t taken_bytes) RANKWEAVE_WEAK;

/* The functions above, as the library returns them for RANKWEAVE_PCONTROL_FUNCTIONS. The caller sets `size`
 * to the size of the struct. The library leaves members unchanged for which it has no function. */
struct rankweave_functions {
    size_t size;
    int (*version)(int *, int *);
    int (*reorder)(MPI_Comm, MPI_Comm *);
    int (*newrank)(MPI_Comm, int *);
    int (*reorder_roles)(MPI_Comm, MPI_Comm, int *, int *);
    int (*move)(MPI_Comm, MPI_Comm, const void *, size_t, void *, size_t);
    int (*reset)(void);
    int (*flush)(void);
};

/* Returns the functions of the library. All are null without the library, before MPI_Init and after
 * MPI_Finalize. */
RANKWEAVE_INLINE struct rankweave_functions RANKWEAVE_Functions(void)
{
    struct rankweave_functions found;
    int initialized = 0, finalized = 0;
    memset(&found, 0, sizeof found);
    found.size = sizeof found;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized)
        MPI_Pcontrol(RANKWEAVE_PCONTROL_FUNCTIONS, &found);
    return found;
}

/* Tells whether the library is loaded and its mode is not `off`. */
RANKWEAVE_INLINE int RANKWEAVE_Loaded(void) { return RANKWEAVE_Functions().reorder != 0; }

RANKWEAVE_INLINE int RANKWEAVE_Reset(void)
{
    struct rankweave_functions found = RANKWEAVE_Functions();
    return found.reset ? found.reset() : RANKWEAVE_NOT_NOW;
}

RANKWEAVE_INLINE int RANKWEAVE_Flush(void)
{
    struct rankweave_functions found = RANKWEAVE_Functions();
    return found.flush ? found.flush() : RANKWEAVE_NOT_NOW;
}

/* Without the library: makes a communicator with the same processes in the same order. */
RANKWEAVE_INLINE int RANKWEAVE_Reorder(MPI_Comm in, MPI_Comm *out)
{
    struct rankweave_functions found = RANKWEAVE_Functions();
    int rank = 0;
    if (found.reorder)
        return found.reorder(in, out);
    if (in == MPI_COMM_NULL || !out)
        return RANKWEAVE_BAD_ARGUMENT;
    MPI_Comm_rank(in, &rank);
    return MPI_Comm_split(in, 0, rank, out) == MPI_SUCCESS ? RANKWEAVE_OK : RANKWEAVE_MPI_FAILED;
}

/* Without the library: gives the caller's rank. */
RANKWEAVE_INLINE int RANKWEAVE_Newrank(MPI_Comm with_topology, int *newrank)
{
    struct rankweave_functions found = RANKWEAVE_Functions();
    if (found.newrank)
        return found.newrank(with_topology, newrank);
    if (with_topology == MPI_COMM_NULL || !newrank)
        return RANKWEAVE_BAD_ARGUMENT;
    return MPI_Comm_rank(with_topology, newrank) == MPI_SUCCESS ? RANKWEAVE_OK
                                                                : RANKWEAVE_MPI_FAILED;
}

/* Without the library: gives the same results, for any two communicators with the same processes. */
RANKWEAVE_INLINE int RANKWEAVE_Reorder_roles(MPI_Comm in, MPI_Comm out,
                                             int *old_rank_whose_data_i_take,
                                             int *new_rank_that_takes_mine)
{
    struct rankweave_functions found = RANKWEAVE_Functions();
    MPI_Group before, after;
    int rank = 0, taker = 0;
    if (found.reorder_roles)
        return found.reorder_roles(in, out, old_rank_whose_data_i_take, new_rank_that_takes_mine);
    if (in == MPI_COMM_NULL || out == MPI_COMM_NULL)
        return RANKWEAVE_BAD_ARGUMENT;
    MPI_Comm_group(in, &before);
    MPI_Comm_group(out, &after);
    MPI_Comm_rank(in, &rank);
    MPI_Group_translate_ranks(after, 1, &rank, before, &taker);
    MPI_Comm_rank(out, &rank);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    if (taker == MPI_UNDEFINED)
        return RANKWEAVE_BAD_ARGUMENT;
    if (old_rank_whose_data_i_take)
        *old_rank_whose_data_i_take = rank;
    if (new_rank_that_takes_mine)
        *new_rank_that_takes_mine = taker;
    return RANKWEAVE_OK;
}

/* Without the library: copies the data if both communicators have the same order. RANKWEAVE_Reorder makes no
 * others without the library. */
RANKWEAVE_INLINE int RANKWEAVE_Move(MPI_Comm in, MPI_Comm out, const void *mine, size_t mine_bytes,
                                    void *taken, size_t taken_bytes)
{
    struct rankweave_functions found = RANKWEAVE_Functions();
    int before = 0, after = 0;
    if (found.move)
        return found.move(in, out, mine, mine_bytes, taken, taken_bytes);
    if (in == MPI_COMM_NULL || out == MPI_COMM_NULL || mine_bytes != taken_bytes)
        return RANKWEAVE_BAD_ARGUMENT;
    MPI_Comm_rank(in, &before);
    MPI_Comm_rank(out, &after);
    if (before != after)
        return RANKWEAVE_BAD_ARGUMENT;
    if (mine_bytes > 0)
        memcpy(taken, mine, mine_bytes);
    return RANKWEAVE_OK;
}

#ifdef __cplusplus
}
#endif

#endif
