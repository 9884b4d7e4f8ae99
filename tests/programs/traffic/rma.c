/* One-sided communication in windows of the world. argv[1]:
 *
 * put: 3 puts of 400 bytes to the next task and 2 gets of 80 bytes from it, with fences.
 *      One-sided matrix: C(i, i+1) = 1200 bytes of puts; C(i+1, i) = 160 bytes of gets.
 * all: every call, every way to synchronise, checked for its result.
 */
#include "check.h"

enum { CELLS = 200 };

static void puts_and_gets(void)
{
    int *memory, fetched[20], out[100];
    const int next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    MPI_Win window;
    memory = calloc(CELLS, sizeof(int));
    for (int i = 0; i < 100; i++)
        out[i] = world_rank + i;
    OK(MPI_Win_create(memory, CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &window));
    OK(MPI_Win_fence(0, window));
    for (int k = 0; k < 3; k++)
        OK(MPI_Put(out, 100, MPI_INT, next, 0, 100, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    SAME(memory[99], before + 99);
    for (int k = 0; k < 2; k++)
        OK(MPI_Get(fetched, 20, MPI_INT, next, 0, 20, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    SAME(fetched[19], world_rank + 19);
    OK(MPI_Win_free(&window));
    free(memory);
}

static void everything(void)
{
    const int next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    int *memory = calloc(CELLS, sizeof(int)), one = 1, zero = 0, result = -1;
    MPI_Win window;
    MPI_Request request;
    OK(MPI_Win_create(memory, CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &window));
    MPI_Win_set_name(window, "cells");
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Win_get_name(window, name, &length);
    CHECK(!strcmp(name, "cells"), "'%s'", name);
    MPI_Group group;
    int size;
    OK(MPI_Win_get_group(window, &group));
    MPI_Group_size(group, &size);
    SAME(size, world_size);
    MPI_Group_rank(group, &size);
    SAME(size, world_rank);
    OK(MPI_Group_free(&group));

    /* Every task adds one to a number of task 0. */
    OK(MPI_Win_fence(0, window));
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window));
    OK(MPI_Win_fence(0, window));
    if (world_rank == 0)
        SAME(memory[0], world_size);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    OK(MPI_Fetch_and_op(&one, &result, MPI_INT, 0, 1, MPI_SUM, window));
    OK(MPI_Win_unlock(0, window));
    CHECK(result >= 0 && result < world_size, "%d", result);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, window));
    OK(MPI_Get(&result, 1, MPI_INT, 0, 1, 1, MPI_INT, window));
    OK(MPI_Win_flush(0, window));
    SAME(result, world_size);
    OK(MPI_Rput(&world_rank, 1, MPI_INT, next, 2, 1, MPI_INT, window, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush_all(window));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(window));
    SAME(memory[2], before);
    OK(MPI_Rget(&result, 1, MPI_INT, next, 2, 1, MPI_INT, window, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    SAME(result, world_rank);
    OK(MPI_Get_accumulate(&one, 1, MPI_INT, &result, 1, MPI_INT, next, 3, 1, MPI_INT, MPI_SUM,
                          window));
    OK(MPI_Win_flush(next, window));
    SAME(result, 0);
    OK(MPI_Compare_and_swap(&world_rank, &zero, &result, MPI_INT, next, 4, window));
    OK(MPI_Win_flush(next, window));
    SAME(result, 0);
    OK(MPI_Win_unlock_all(window));

    /* Post, start, complete, wait: along the ring. */
    MPI_Group world, to, from;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &next, &to));
    OK(MPI_Group_incl(world, 1, &before, &from));
    OK(MPI_Win_post(from, 0, window));
    OK(MPI_Win_start(to, 0, window));
    const int mark = 1000 + world_rank;
    OK(MPI_Put(&mark, 1, MPI_INT, next, 7, 1, MPI_INT, window));
    OK(MPI_Win_complete(window));
    OK(MPI_Win_wait(window));
    SAME(memory[7], 1000 + before);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Put(&mark, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window));
    OK(MPI_Win_free(&window));
    SAME(window == MPI_WIN_NULL, 1);
    free(memory);

    /* Memory allocated by MPI, on a communicator whose ranks differ from those of MPI_COMM_WORLD. */
    MPI_Comm reversed;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed));
    OK(MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, reversed, &memory,
                        &window));
    OK(MPI_Win_lock_all(0, window));
    memory[0] = -1;
    OK(MPI_Win_sync(window));
    OK(MPI_Barrier(reversed));
    OK(MPI_Put(&world_rank, 1, MPI_INT, world_rank, 0, 1, MPI_INT, window));
    OK(MPI_Win_flush_all(window));
    OK(MPI_Barrier(reversed));
    OK(MPI_Win_sync(window));
    SAME(memory[0], world_size - 1 - world_rank);
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&reversed));

    /* Shared memory of all tasks on one host. */
    MPI_Comm host;
    int *theirs, unit, rank;
    MPI_Aint bytes;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    MPI_Comm_rank(host, &rank);
    OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, host, &memory, &window));
    OK(MPI_Win_lock_all(0, window));
    *memory = 500 + rank;
    OK(MPI_Win_sync(window));
    OK(MPI_Barrier(host));
    OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &theirs));
    SAME(*theirs, 500);
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&host));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "all";
    if (!strcmp(what, "put"))
        puts_and_gets();
    else
        everything();
    return verdict(what);
}
