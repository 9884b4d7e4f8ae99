/* Uses more datatypes, communicators, windows and persistent requests by turns than anybody keeps at hand, frees
 * them and makes others, which get the same handles and other sizes. Each task prints what it sent, scattered, and
 * moved by one-sided calls:
 *
 *   sent FROM TO BYTES MESSAGES        scattered FROM TO BYTES MESSAGES        moved FROM TO BYTES MESSAGES
 *
 * usage: many ROUNDS
 */
#include "check.h"

enum {
    TYPES = 70, COMMS = 24, REPEATS = 12, PLAIN = 50, SCATTERS = 3, STARTS = 2, REQUESTS = 3000, GROUP = 50,
    WINDOWS = 3
};

static char out[1024], in[1024];
static long long sent[2], kept[2], stepped[2], scattered[2], put[2], fetched[2];
static MPI_Datatype types[TYPES];
static MPI_Comm comms[COMMS], turned[COMMS];

static void count(long long *sum, long long bytes, long long messages)
{
    sum[0] += bytes;
    sum[1] += messages;
}

/* The size of datatype k in a round. */
static int size_of(int k, int round) { return 1 + (7 * k + 11 * round) % 13; }

static void messages(int round, int left, int right)
{
    for (int r = 0; r < REPEATS; r++) {
        for (int k = 0; k < TYPES; k++) {
            OK(MPI_Sendrecv(out, 1, types[k], right, 0, in, 1, types[k], left, 0,
                            comms[(k + r) % COMMS], MPI_STATUS_IGNORE));
            count(sent, size_of(k, round), 1);
        }
    }
}

/* The kinds of communicators of `plain`. */
enum { ALONE, REVERSED, SAME, EVERY_SECOND, KINDS };

static MPI_Comm communicator(int kind)
{
    MPI_Comm made;
    switch (kind) {
    case ALONE: OK(MPI_Comm_dup(MPI_COMM_SELF, &made)); break;
    case REVERSED: OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made)); break;
    case SAME: OK(MPI_Comm_dup(MPI_COMM_WORLD, &made)); break;
    default: OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &made));
    }
    return made;
}

/* The rank of this process among those whose rank has the same parity, and the number of these. */
static int second_rank(void) { return world_rank / 2; }
static int seconds(void) { return (world_size + 1 - world_rank % 2) / 2; }
/* The rank among all of the one that follows this process among those. */
static int next_second(void) { return (second_rank() + 1) % seconds() * 2 + world_rank % 2; }

/* MPI_Send, whose communicators and datatypes are found in other ways than those of MPI_Sendrecv: on communicators
 * whose ranks are in the other order, of one process, of all, and of every second one. Each datatype is used so often
 * that its size is kept. */
static void plain(int round, int right)
{
    static MPI_Request receives[TYPES];
    const int to[KINDS] = {0, world_size - 1 - right, right, (second_rank() + 1) % seconds()};
    long long *const sums[KINDS] = {kept, sent, sent, stepped};
    for (int k = 0; k < COMMS; k++) turned[k] = communicator(k % KINDS);
    for (int r = 0; r < PLAIN; r++) {
        for (int k = 0; k < TYPES; k++) {
            OK(MPI_Irecv(in + 13 * k, 1, types[k], MPI_ANY_SOURCE, k, turned[(k + r) % COMMS], receives + k));
        }
        for (int k = 0; k < TYPES; k++) {
            const int c = (k + r) % COMMS, kind = c % KINDS;
            OK(MPI_Send(out, 1, types[k], MPI_PROC_NULL, k, turned[c]));
            OK(MPI_Send(out, 1, types[k], to[kind], k, turned[c]));
            count(sums[kind], size_of(k, round), 1);
        }
        OK(MPI_Waitall(TYPES, receives, MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k < COMMS; k++) OK(MPI_Comm_free(turned + k));
}

static void persistent(int round, int left, int right)
{
    MPI_Request requests[2 * TYPES];
    for (int k = 0; k < TYPES; k++) {
        OK(MPI_Send_init(out, 1, types[k], right, k, comms[k % COMMS], requests + k));
        OK(MPI_Recv_init(in, 1, types[k], left, k, comms[k % COMMS], requests + TYPES + k));
    }
    for (int s = 0; s < STARTS; s++) {
        OK(MPI_Startall(2 * TYPES, requests));
        OK(MPI_Waitall(2 * TYPES, requests, MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k < TYPES; k++) count(sent, STARTS * size_of(k, round), STARTS);
    for (int k = 0; k < 2 * TYPES; k++) OK(MPI_Request_free(requests + k));
}

/* So many that tables of them grow; they are freed in another order than they were made in. */
static void many_requests(int round, int left, int right)
{
    static MPI_Request requests[REQUESTS], receives[GROUP];
    for (int k = 0; k < REQUESTS; k++)
        OK(MPI_Send_init(out, size_of(k, round), MPI_CHAR, right, 0, comms[k % COMMS], requests + k));
    for (int first = 0; first < REQUESTS; first += GROUP) {
        for (int k = 0; k < GROUP; k++) {
            OK(MPI_Irecv(in, sizeof in, MPI_CHAR, left, 0, comms[(first + k) % COMMS], receives + k));
            OK(MPI_Start(requests + first + k));
            count(sent, size_of(first + k, round), 1);
        }
        OK(MPI_Waitall(GROUP, requests + first, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(GROUP, receives, MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k < REQUESTS; k++) OK(MPI_Request_free(requests + 1009 * k % REQUESTS));
}

/* Puts of all datatypes, and operations that fetch, on windows by turns. */
static void one_sided(int round, int right)
{
    static char memory[WINDOWS][1024];
    static int one = 1, result;
    MPI_Win windows[WINDOWS];
    for (int k = 0; k < WINDOWS; k++) {
        OK(MPI_Win_create(memory[k], sizeof memory[k], 1, MPI_INFO_NULL, comms[k], windows + k));
        OK(MPI_Win_fence(0, windows[k]));
    }
    for (int k = 0; k < TYPES; k++) {
        MPI_Win window = windows[k % WINDOWS];
        OK(MPI_Put(out, 1, types[k], right, 0, size_of(k, round), MPI_CHAR, window));
        OK(MPI_Put(out, 1, types[k], MPI_PROC_NULL, 0, size_of(k, round), MPI_CHAR, window));
        count(put, size_of(k, round), 1);
        OK(MPI_Fetch_and_op(&one, &result, MPI_INT, right, 512, k % 2 ? MPI_SUM : MPI_NO_OP, window));
        count(fetched, sizeof one, 1);
        if (k % 2) count(put, sizeof one, 1);
    }
    for (int k = 0; k < WINDOWS; k++) {
        OK(MPI_Win_fence(0, windows[k]));
        OK(MPI_Win_free(windows + k));
    }
}

static void scatters(int round)
{
    for (int s = 0; s < SCATTERS; s++) {
        for (int k = 0; k < TYPES; k++) {
            const int root = k % world_size;
            OK(MPI_Scatter(out, 1, types[k], in, 1, types[k], root, comms[k % COMMS]));
            if (root == world_rank) count(scattered, size_of(k, round), 1);
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 5;
    const int left = (world_rank + world_size - 1) % world_size;
    const int right = (world_rank + 1) % world_size;
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < TYPES; k++) {
            OK(MPI_Type_contiguous(size_of(k, round), MPI_CHAR, types + k));
            OK(MPI_Type_commit(types + k));
        }
        for (int k = 0; k < COMMS; k++) OK(MPI_Comm_dup(MPI_COMM_WORLD, comms + k));
        messages(round, left, right);
        plain(round, right);
        persistent(round, left, right);
        many_requests(round, left, right);
        one_sided(round, right);
        scatters(round);
        for (int k = 0; k < COMMS; k++)
            OK(MPI_Comm_free(comms + (round % 2 ? k : COMMS - 1 - k)));
        for (int k = 0; k < TYPES; k++)
            OK(MPI_Type_free(types + (round % 2 ? k : TYPES - 1 - k)));
    }
    printf("sent %d %d %lld %lld\n", world_rank, right, sent[0], sent[1]);
    printf("sent %d %d %lld %lld\n", world_rank, world_rank, kept[0], kept[1]);
    printf("sent %d %d %lld %lld\n", world_rank, next_second(), stepped[0], stepped[1]);
    printf("moved %d %d %lld %lld\n", world_rank, right, put[0], put[1]);
    printf("moved %d %d %lld %lld\n", right, world_rank, fetched[0], fetched[1]);
    for (int to = 0; to < world_size; to++)
        if (to != world_rank)
            printf("scattered %d %d %lld %lld\n", world_rank, to, scattered[0], scattered[1]);
    MPI_Finalize();
    return failures != 0;
}
