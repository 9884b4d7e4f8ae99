/* C interface of librankweave.so: new rank orders that the program itself asks for.
 *
 * The library is preloaded, not linked. A program that includes this header needs nothing at link time
 * and runs without the library as well:
 *
 *   rankweave_X    the function of the library, a weak reference. It is null without the library, and
 *                  also in position-dependent executables (-no-pie), where the linker decides so.
 *   RANKWEAVE_X    the same as an inline function that finds the library in any executable (through
 *                  MPI_Pcontrol) and without it does what leaves everything in its place.
 *
 * A program whose communication changes as it runs:
 *
 *     RANKWEAVE_Reset();                             measure from here on
 *     for (step = 0; step < 10; step++) ...          as usual, on `comm`
 *     MPI_Comm better;
 *     RANKWEAVE_Reorder(comm, &better);              the same processes, perhaps in another order
 *     RANKWEAVE_Move(comm, better, mine, bytes, taken, bytes);      the data follows its rank
 *     ...                                            go on with `taken`, on `better`
 *
 * examples/adaptive-stencil is such a program. include/rankweave.f90 is the same for Fortran.
 *
 * Return values, of all functions:
 *   RANKWEAVE_OK            done. rankweave_reorder returns it as well when there was nothing to be
 *                           gained and `*out` is in the old order (MPI_Comm_compare: MPI_CONGRUENT; in a
 *                           new order it is MPI_SIMILAR)
 *   RANKWEAVE_NOT_NOW       before MPI_Init, after MPI_Finalize, or nothing is recorded; nothing was done
 *   RANKWEAVE_BAD_ARGUMENT  a null pointer, MPI_COMM_NULL, or communicators that do not belong together
 *   RANKWEAVE_MPI_FAILED    the MPI library could not do it; `*out` is MPI_COMM_NULL
 * Nothing here calls an error handler of the program or ends it. */
#ifndef RANKWEAVE_H
#define RANKWEAVE_H

#include <mpi.h>
#include <stddef.h>
#include <string.h>

#define RANKWEAVE_OK 0
#define RANKWEAVE_NOT_NOW 1
#define RANKWEAVE_BAD_ARGUMENT 2
#define RANKWEAVE_MPI_FAILED 3

/* Levels of MPI_Pcontrol. Without the library MPI ignores them; other tools' levels are not touched.
 *
 *   MPI_Comm better = MPI_COMM_NULL;
 *   MPI_Pcontrol(RANKWEAVE_PCONTROL_REORDER, comm, &better);      MPI_Comm, MPI_Comm *
 *   if (better == MPI_COMM_NULL)
 *       MPI_Comm_dup(comm, &better);                               no library here
 *
 * is rankweave_reorder without this header's help; `better` keeps its value if there is no library, in
 * mode `off`, or if no communicator could be made. RESET and FLUSH take no further argument and can be
 * used from Fortran too (Open MPI passes them on only from C); REORDER cannot. */
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

/* Version of the library that is loaded. Either pointer may be null. */
int rankweave_version(int *major, int *minor) RANKWEAVE_WEAK;

/* Has the matrix so far put into the store, for the tasks on the node of the caller, while the program
 * runs on; returns before it is there. RANKWEAVE_NOT_NOW if no spill file is kept. */
int rankweave_flush(void) RANKWEAVE_WEAK;

/* Traffic up to now does not count in later calls of rankweave_reorder. Local; to be called by all
 * processes at the same point. The matrix that the launch leaves in the store loses nothing. */
int rankweave_reset(void) RANKWEAVE_WEAK;

/* Makes a communicator of the processes of `in` whose order suits what they sent each other since the
 * last reset (else since the start): point-to-point, collective and one-sided, on any communicator,
 * also on those that are gone. Collective over `in`.
 *
 * On success `*out` is a communicator of its own, to be freed; with the error handler of `in`, but, in
 * the old order too, without its attributes, topology and name. Of an intercommunicator, and in mode
 * `off`, the order stays. Modes auto, reorder and record reorder, unless the program
 * is in the list of --deny or minds other ranks by `rankweave check`; mode shuffle gives a random order.
 * The tasks of RANKWEAVE_FIX (0 unless set) keep their rank, and below a gain of RANKWEAVE_MIN_GAIN
 * percent nothing is changed. The measured traffic stays: call rankweave_reset to
 * begin anew. */
int rankweave_reorder(MPI_Comm in, MPI_Comm *out) RANKWEAVE_WEAK;

/* The mapping only, by the topology of a communicator: puts into `*newrank` the rank that the caller
 * should have so that neighbours sit close. The weights of a distributed graph count as bytes; edges
 * without weights (of Cartesian and graph communicators too) are weighed by what was measured along
 * them, if anything. Collective. MPI_Comm_split(comm, 0, newrank, &better) makes the communicator.
 * Without a topology: RANKWEAVE_BAD_ARGUMENT, and `*newrank` is the caller's rank. */
int rankweave_newrank(MPI_Comm with_topology, int *newrank) RANKWEAVE_WEAK;

/* Who takes over from whom, when rank k of `out` goes on with the work of rank k of `in`. `in` and `out`
 * have the same processes. Both answers are ranks of `in`, so that one exchange on `in` moves the data:
 *
 *   *old_rank_whose_data_i_take   the process that had, in `in`, the rank that I have in `out`
 *   *new_rank_that_takes_mine     the process that has, in `out`, the rank that I have in `in`
 *
 *   MPI_Sendrecv(mine,  n, MPI_DOUBLE, new_rank_that_takes_mine, 0,
 *                taken, n, MPI_DOUBLE, old_rank_whose_data_i_take, 0, in, MPI_STATUS_IGNORE);
 *
 * Example: processes A B C D have ranks 0 1 2 3 in `in`; `out` is ordered A C D B. C has rank 1 there,
 * so it takes the data of rank 1 of `in` (B); its own, of rank 2, goes to D, which is rank 3 of `in`.
 * For C the answers are 1 and 3; for A 0 and 0. As functions of the rank in `in` they are permutations,
 * inverse to each other. Local. Either pointer may be null. */
int rankweave_reorder_roles(MPI_Comm in, MPI_Comm out, int *old_rank_whose_data_i_take,
                            int *new_rank_that_takes_mine) RANKWEAVE_WEAK;

/* Moves data in that way: gives `mine_bytes` at `mine` to the process that takes the caller's role, and
 * gets `taken_bytes` at `taken` for the one it has now. Buffers must not overlap. Collective over `in`.
 * If one process's `taken_bytes` is not what comes, RANKWEAVE_BAD_ARGUMENT on all and nothing is moved.
 * What is moved so is not counted as traffic of the program. */
int rankweave_move(MPI_Comm in, MPI_Comm out, const void *mine, size_t mine_bytes, void *taken,
                   size_t taken_bytes) RANKWEAVE_WEAK;

/* The functions above as the library gives them to RANKWEAVE_PCONTROL_FUNCTIONS. `size` is that of the
 * struct; what the library does not have stays as it is. */
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

/* The functions of the library; all null without it, before MPI_Init and after MPI_Finalize. */
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

/* True if the program runs with the library, not in mode `off`. */
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

/* Without the library: the same processes in the same order. */
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

/* Without the library: the caller's rank. */
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

/* Without the library: the same, of any two communicators with the same processes. */
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

/* Without the library: for communicators of the same order, which are the only ones that
 * RANKWEAVE_Reorder then makes. */
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
