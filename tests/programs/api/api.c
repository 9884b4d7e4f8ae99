/* Tests the functions of rankweave.h and the MPI_Pcontrol trigger. With and without the library, the new
 * communicators must have the same processes, the roles must be inverse to each other, and moved data must
 * arrive.
 *
 * With the argument `moved` the ranks must change after traffic between r and r ^ 1. With `old` they must
 * not change. With `example` the example of the header runs as well. All other messages that are counted go
 * to the same task in every launch: 3 of 20000 bytes from r to r ^ 1 each time, and 2 of 64 bytes from r to
 * r + 1.
 */
#include "check.h"

#include "rankweave.h"

#define BYTES 20000
#define VALUES 1000

static int moved, old, example, loaded;
static char buffer[BYTES], answer[BYTES];

/* Sends three messages to the other process of the pair. */
static void pairs(void)
{
    const int other = world_rank ^ 1;
    if (other < world_size)
        for (int i = 0; i < 3; i++)
            OK(MPI_Sendrecv(buffer, BYTES, MPI_BYTE, other, i, answer, BYTES, MPI_BYTE, other, i,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Collective over `in`. `changes`: the traffic so far requires a new order. */
static void same_processes(MPI_Comm in, MPI_Comm out, const char *what, int changes)
{
    int relation = MPI_UNEQUAL, size_in, size_out;
    if (!CHECK(out != MPI_COMM_NULL, "%s", what))
        return;
    OK(MPI_Comm_compare(in, out, &relation));
    MPI_Comm_size(in, &size_in);
    MPI_Comm_size(out, &size_out);
    SAME(size_out, size_in);
    CHECK(relation == MPI_CONGRUENT || relation == MPI_SIMILAR, "%s: %d", what, relation);
    if (moved && changes > 0)
        CHECK(relation == MPI_SIMILAR, "%s: the order is the old one", what);
    if (old || !loaded || changes == 0)
        CHECK(relation == MPI_CONGRUENT, "%s: the order is a new one", what);
}

/* Checks the roles, and the data that is moved with them. */
static void roles(MPI_Comm in, MPI_Comm out)
{
    int n, rank, new_rank, takes = -1, taker = -1, first, both[2];
    MPI_Comm_size(in, &n);
    MPI_Comm_rank(in, &rank);
    MPI_Comm_rank(out, &new_rank);
    SAME(RANKWEAVE_Reorder_roles(in, out, &takes, &taker), RANKWEAVE_OK);
    SAME(takes, new_rank);
    SAME(RANKWEAVE_Reorder_roles(in, out, &first, NULL), RANKWEAVE_OK);
    SAME(first, takes);
    int (*all)[2] = malloc(sizeof *all * (size_t)n);
    both[0] = takes;
    both[1] = taker;
    OK(MPI_Allgather(both, 2, MPI_INT, all, 2, MPI_INT, in));
    for (int r = 0; r < n; r++) {
        if (!CHECK(all[r][0] >= 0 && all[r][0] < n && all[r][1] >= 0 && all[r][1] < n, "%d", r))
            continue;
        SAME(all[all[r][0]][1], r);
        SAME(all[all[r][1]][0], r);
    }
    free(all);

    double mine[VALUES], taken[VALUES];
    for (int i = 0; i < VALUES; i++)
        mine[i] = 1000.0 * rank + i;
    memset(taken, 0, sizeof taken);
    if (example) {
        OK(MPI_Sendrecv(mine, VALUES, MPI_DOUBLE, taker, 0, taken, VALUES, MPI_DOUBLE, takes, 0, in,
                        MPI_STATUS_IGNORE));
        SAME(taken[VALUES - 1], 1000.0 * new_rank + VALUES - 1);
    }
    memset(taken, 0, sizeof taken);
    SAME(RANKWEAVE_Move(in, out, mine, sizeof mine, taken, sizeof taken), RANKWEAVE_OK);
    SAME(taken[0], 1000.0 * new_rank);
    SAME(taken[VALUES - 1], 1000.0 * new_rank + VALUES - 1);

    /* Blocks of different sizes: the block of role r has size r. If one process gives a wrong size, nothing is moved. */
    memset(taken, 0, sizeof taken);
    const size_t gives = sizeof(double) * (size_t)rank, gets = sizeof(double) * (size_t)new_rank;
    if (loaded) {
        SAME(RANKWEAVE_Move(in, out, mine, gives, taken, gets), RANKWEAVE_OK);
        if (new_rank > 0)
            SAME(taken[new_rank - 1], 1000.0 * new_rank + new_rank - 1);
        SAME(RANKWEAVE_Move(in, out, mine, gives, taken, gets + (new_rank == n - 1 ? 8 : 0)),
             RANKWEAVE_BAD_ARGUMENT);
    }
}

/* Sends two messages to the next task, on a communicator with any rank order. */
static void next_task(MPI_Comm comm)
{
    MPI_Group world, group;
    int peers[2] = {(world_rank + 1) % world_size, (world_rank + world_size - 1) % world_size};
    int ranks[2];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    OK(MPI_Group_translate_ranks(world, 2, peers, group, ranks));
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    for (int i = 0; i < 2; i++) {
        int from = -1;
        memcpy(buffer, &world_rank, sizeof world_rank);
        OK(MPI_Sendrecv(buffer, 64, MPI_BYTE, ranks[0], 7, answer, 64, MPI_BYTE, ranks[1], 7, comm,
                        MPI_STATUS_IGNORE));
        memcpy(&from, answer, sizeof from);
        SAME(from, peers[1]);
    }
}

static void measured(void)
{
    MPI_Comm out = MPI_COMM_NULL, again = MPI_COMM_NULL, triggered = MPI_COMM_NULL;
    int relation;
    RANKWEAVE_Reset();
    pairs();
    SAME(RANKWEAVE_Reorder(MPI_COMM_WORLD, &out), RANKWEAVE_OK);
    same_processes(MPI_COMM_WORLD, out, "reorder", -1);
    if (moved)
        same_processes(MPI_COMM_WORLD, out, "reorder", 1);

    /* The trigger uses the same traffic and gives the same order. */
    MPI_Pcontrol(RANKWEAVE_PCONTROL_REORDER, MPI_COMM_WORLD, &triggered);
    CHECK((triggered != MPI_COMM_NULL) == loaded, "the trigger");
    if (triggered != MPI_COMM_NULL) {
        OK(MPI_Comm_compare(out, triggered, &relation));
        SAME(relation, MPI_CONGRUENT);
        next_task(triggered);
        MPI_Comm_free(&triggered);
    } else
        next_task(out);
    roles(MPI_COMM_WORLD, out);

    /* No traffic since the reset: no gain is possible. */
    RANKWEAVE_Reset();
    SAME(RANKWEAVE_Reorder(out, &again), RANKWEAVE_OK);
    if (getenv("RANKWEAVE_MODE") == NULL || strcmp(getenv("RANKWEAVE_MODE"), "shuffle") != 0)
        same_processes(out, again, "after a reset", 0);
    roles(out, again);
    MPI_Comm_free(&again);
    MPI_Comm_free(&out);
}

/* Traffic of collective calls that are counted but not yet spread over pairs of tasks: on a communicator that
 * exists and on one that was freed. */
static void collective(void)
{
    for (int freed = 0; freed < 2; freed++) {
        MPI_Comm pair, out = MPI_COMM_NULL;
        char *all = malloc(2 * BYTES);
        RANKWEAVE_Reset();
        OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, world_rank, &pair));
        for (int i = 0; i < 10; i++)
            OK(MPI_Allgather(buffer, BYTES, MPI_BYTE, all, BYTES, MPI_BYTE, pair));
        if (freed)
            MPI_Comm_free(&pair);
        SAME(RANKWEAVE_Reorder(MPI_COMM_WORLD, &out), RANKWEAVE_OK);
        same_processes(MPI_COMM_WORLD, out, "collective", moved ? 1 : -1);
        if (!freed)
            MPI_Comm_free(&pair);
        MPI_Comm_free(&out);
        free(all);
    }
}

/* Traffic of MPI_Get. */
static void fetched(void)
{
    MPI_Win window;
    MPI_Comm out = MPI_COMM_NULL;
    const int other = world_rank ^ 1;
    OK(MPI_Win_create(buffer, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    RANKWEAVE_Reset();
    MPI_Win_fence(0, window);
    if (other < world_size)
        OK(MPI_Get(answer, BYTES, MPI_BYTE, other, 0, BYTES, MPI_BYTE, window));
    MPI_Win_fence(0, window);
    SAME(RANKWEAVE_Reorder(MPI_COMM_WORLD, &out), RANKWEAVE_OK);
    same_processes(MPI_COMM_WORLD, out, "one-sided", moved ? 1 : -1);
    MPI_Comm_free(&out);
    MPI_Win_free(&window);
}

/* Uses a part of the processes, in reversed order. */
static void part(void)
{
    MPI_Comm some, out = MPI_COMM_NULL;
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank < 3 ? 0 : 1, -world_rank, &some));
    SAME(RANKWEAVE_Reorder(some, &out), RANKWEAVE_OK);
    same_processes(some, out, "part", -1);
    roles(some, out);
    MPI_Comm_free(&out);
    MPI_Comm_free(&some);
}

/* The mapping of a distributed graph: heavy between r and r ^ 1. */
static void mapping(void)
{
    const int other = world_rank ^ 1, next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    int to[2] = {next, other}, from[2] = {before, other}, weights[2] = {1, 5000};
    const int degree = other < world_size ? 2 : 1;
    int newrank = -1, changed, any = 0;
    MPI_Comm graph, wanted;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, from, weights, degree, to, weights,
                                      MPI_INFO_NULL, 0, &graph));
    SAME(RANKWEAVE_Newrank(graph, &newrank), RANKWEAVE_OK);
    int *all = malloc(sizeof(int) * (size_t)world_size), *seen = calloc(1 + (size_t)world_size, sizeof(int));
    OK(MPI_Allgather(&newrank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < world_size; r++)
        if (CHECK(all[r] >= 0 && all[r] < world_size, "%d", all[r]))
            SAME(seen[all[r]]++, 0);
    free(all);
    free(seen);
    changed = newrank != world_rank;
    OK(MPI_Allreduce(&changed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (moved)
        SAME(any, 1);
    if (old || !loaded)
        SAME(any, 0);
    OK(MPI_Comm_split(graph, 0, newrank, &wanted));
    int rank;
    MPI_Comm_rank(wanted, &rank);
    SAME(rank, newrank);
    MPI_Comm_free(&wanted);
    MPI_Comm_free(&graph);
}

static void arguments(void)
{
    MPI_Comm out = MPI_COMM_SELF, half, between;
    int rank = -1, size, inter = 0;
    SAME(RANKWEAVE_Reorder(MPI_COMM_NULL, &out), RANKWEAVE_BAD_ARGUMENT);
    SAME(RANKWEAVE_Reorder(MPI_COMM_WORLD, NULL), RANKWEAVE_BAD_ARGUMENT);
    SAME(RANKWEAVE_Newrank(MPI_COMM_NULL, &rank), RANKWEAVE_BAD_ARGUMENT);
    SAME(RANKWEAVE_Reorder_roles(MPI_COMM_NULL, MPI_COMM_WORLD, &rank, &rank),
         RANKWEAVE_BAD_ARGUMENT);
    if (loaded) {
        SAME(RANKWEAVE_Newrank(MPI_COMM_WORLD, &rank), RANKWEAVE_BAD_ARGUMENT);
        SAME(rank, world_rank);
        SAME(RANKWEAVE_Reorder_roles(MPI_COMM_WORLD, MPI_COMM_SELF, &rank, &rank),
             RANKWEAVE_BAD_ARGUMENT);
    }
    MPI_Pcontrol(RANKWEAVE_PCONTROL_REORDER, MPI_COMM_NULL, &out);
    CHECK(out == MPI_COMM_SELF, "the trigger wrote after an error");
    /* Other levels belong to other tools, with arguments of any kind. */
    MPI_Pcontrol(0);
    MPI_Pcontrol(1, 2.5, &out, 7, 8, 9, 10, 11, 12.5);
    MPI_Pcontrol(-3, "text");

    SAME(RANKWEAVE_Reorder(MPI_COMM_SELF, &out), RANKWEAVE_OK);
    MPI_Comm_size(out, &size);
    SAME(size, 1);
    MPI_Comm_free(&out);

    /* The result for an intercommunicator is an intercommunicator. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, world_rank % 2 ? 0 : 1, 3, &between));
    SAME(RANKWEAVE_Reorder(between, &out), RANKWEAVE_OK);
    MPI_Comm_test_inter(out, &inter);
    SAME(inter, 1);
    MPI_Comm_free(&out);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

/* Before MPI_Init and after MPI_Finalize the functions do nothing and do not crash. */
static void too_early_or_late(void)
{
    MPI_Comm out = MPI_COMM_NULL;
    int rank = -1;
    SAME(RANKWEAVE_Loaded(), 0);
    if (rankweave_reorder) {
        SAME(rankweave_reorder(MPI_COMM_WORLD, &out), RANKWEAVE_NOT_NOW);
        SAME(rankweave_newrank(MPI_COMM_WORLD, &rank), RANKWEAVE_NOT_NOW);
        SAME(rankweave_reorder_roles(MPI_COMM_WORLD, MPI_COMM_WORLD, &rank, &rank),
             RANKWEAVE_NOT_NOW);
        SAME(rankweave_move(MPI_COMM_WORLD, MPI_COMM_WORLD, &rank, 4, &rank, 4), RANKWEAVE_NOT_NOW);
        SAME(rankweave_reset(), RANKWEAVE_NOT_NOW);
    }
    SAME(rank, -1);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        moved |= strcmp(argv[i], "moved") == 0;
        old |= strcmp(argv[i], "old") == 0;
        example |= strcmp(argv[i], "example") == 0;
    }
    too_early_or_late();
    begin(&argc, &argv);
    loaded = RANKWEAVE_Loaded();
    if (moved)
        SAME(loaded, 1);
    measured();
    collective();
    fetched();
    part();
    mapping();
    arguments();
    const int code = verdict("api");
    failures = 0;
    too_early_or_late();
    return code || failures;
}
