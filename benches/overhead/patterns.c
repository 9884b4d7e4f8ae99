/* Added time of patterns that use many objects or objects by turns, and of the life of an object (see
 * compare.h for the method). Each row has the most that may be added.
 *
 * Messages go from a process to itself: waiting for others would hide what the library adds. Nothing is
 * recorded in a job of one process, so there is a second one, which sleeps.
 * Usage: patterns [BLOCKS] [ROWS] [CALLS_PER_BLOCK]; run with two processes. */
#include "compare.h"
#include <stdint.h>

enum { MANY = 64 };

static MPI_Comm comms[MANY], worlds[MANY]; // of one process; of both
static MPI_Datatype types[MANY], pair[2];
static MPI_Request requests[2 * MANY], sends[MANY], receives[MANY];
static MPI_Win wins[2];
static MPI_Op ops[2];
static char out[MANY][64], in[MANY][64];
static double a[4] = {1, 1, 1, 1}, b[4];
static int turns, own; // own: the rank of this process in the communicators of a window

// Messages of 64 datatypes at most on 64 communicators at most: one message each per call of the row.
#define WINDOW(P, COMM, TYPE)                                                                     \
    if (i % MANY == 0) {                                                                          \
        for (int k = 0; k < MANY; k++) P##Irecv(in[k], 1, TYPE, own, k, COMM, requests + k);      \
        for (int k = 0; k < MANY; k++) P##Isend(out[k], 1, TYPE, own, k, COMM, requests + MANY + k); \
        P##Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);                                      \
    }
#define TWO_TYPES(P) WINDOW(P, comms[0], pair[k % 2])
#define TYPES(P) WINDOW(P, comms[0], types[k % turns])
#define TYPES_AND_COMMS(P) WINDOW(P, comms[k], types[k])
#define COMMS(P) P##Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, comms[i % turns]);
#define COMMS_TO_SELF(P) WINDOW(P, comms[k % turns], MPI_DOUBLE)
#define WORLDS_TO_SELF(P) WINDOW(P, worlds[k % turns], MPI_DOUBLE)

/* What counting a message costs at least without help of the compiler of the program: a table in C finds the tasks of a
 * communicator, and a counter is added to. It knows communicators of two processes whose ranks are in the other order,
 * so that the task of a rank is read from memory. */
enum { PLACES = 256 };
static MPI_Comm turned[MANY];
static struct { MPI_Comm comm; const int *tasks; } table[PLACES];
static int tasks_of[MANY][16]; // a line of the cache each, as objects of their own have
static struct { long long bytes, messages; } counted[2];

static unsigned place_of(MPI_Comm comm) { return (unsigned)(((uintptr_t)comm * 0x19E3779B9ull) >> 32) % PLACES; }

static void enter(MPI_Comm comm, const int *tasks) {
    unsigned place = place_of(comm);
    while (table[place].tasks) place = (place + 1) % PLACES;
    table[place].comm = comm, table[place].tasks = tasks;
}

static __attribute__((noinline)) int counted_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag,
                                                   MPI_Comm comm, MPI_Request *request) {
    unsigned place = place_of(comm);
    while (table[place].comm != comm) place = (place + 1) % PLACES;
    if (to >= 0) {
        const int task = table[place].tasks[to];
        counted[task].bytes += 8 * count, counted[task].messages++;
    }
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

#define TURNED(P) WINDOW(P, turned[k % turns], MPI_DOUBLE)
static void turned_plain(void) { for (int i = 0; i < calls; i++) { TURNED(PMPI_) } }
static void turned_seen(void) { for (int i = 0; i < calls; i++) { TURNED(MPI_) } }
#define counted_Irecv PMPI_Irecv
#define counted_Waitall PMPI_Waitall
static void turned_counted(void) { for (int i = 0; i < calls; i++) { TURNED(counted_) } }

#define ALLREDUCE(P) P##Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, comms[0]);
#define ALLREDUCE_OPS(P) P##Allreduce(a, b, 1, MPI_DOUBLE, ops[i % 2], comms[0]);
#define ALLREDUCE_COUNTS(P) P##Allreduce(a, b, 1 + i % 2, MPI_DOUBLE, MPI_SUM, comms[0]);
#define ALLREDUCE_TYPES(P) P##Allreduce(a, b, 1, pair[i % 2], MPI_SUM, comms[0]);
#define ALLREDUCE_COMMS(P) P##Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, comms[i % turns]);
#define ALLREDUCE_ALL(P) P##Allreduce(a, b, 1 + i % 4, pair[i / 2 % 2], ops[i % 2], comms[i % 8]);
#define BCAST_BARRIER(P)                                                                          \
    if (i % 2) P##Bcast(a, 1, MPI_DOUBLE, 0, comms[0]);                                           \
    else P##Barrier(comms[0]);
#define BCAST_AND_SEND(P)                                                                         \
    if (i % 2) P##Bcast(a, 1, MPI_DOUBLE, 0, comms[0]);                                           \
    else P##Send(out, 1, MPI_INT, MPI_PROC_NULL, 0, comms[1]);

#define FLUSH(P, WIN) if (i % 16 == 15) P##Win_flush(0, WIN);
#define PUT(P) P##Put(a, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, wins[0]); FLUSH(P, wins[0])
#define GET(P) P##Get(b, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, wins[0]); FLUSH(P, wins[0])
#define ACCUMULATE(P)                                                                             \
    P##Accumulate(a, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, wins[0]); FLUSH(P, wins[0])
#define FETCH(P) P##Fetch_and_op(a, b, MPI_DOUBLE, 0, 0, MPI_SUM, wins[0]); FLUSH(P, wins[0])
#define FETCH_WINDOWS(P)                                                                          \
    P##Fetch_and_op(a, b, MPI_DOUBLE, 0, 0, MPI_SUM, wins[i % 2]);                                \
    FLUSH(P, wins[0]) FLUSH(P, wins[1])
#define SWAP(P) P##Compare_and_swap(a, a, b, MPI_INT, 0, 0, wins[0]); FLUSH(P, wins[0])

#define START(P)                                                                                  \
    if (i % MANY == 0) {                                                                          \
        P##Startall(MANY, receives);                                                              \
        for (int k = 0; k < MANY; k++) P##Start(sends + k);                                       \
        P##Waitall(MANY, sends, MPI_STATUSES_IGNORE);                                             \
        P##Waitall(MANY, receives, MPI_STATUSES_IGNORE);                                          \
    }
#define STARTALL(P)                                                                               \
    if (i % MANY == 0) {                                                                          \
        P##Startall(MANY, receives);                                                              \
        P##Startall(MANY, sends);                                                                 \
        P##Waitall(MANY, sends, MPI_STATUSES_IGNORE);                                             \
        P##Waitall(MANY, receives, MPI_STATUSES_IGNORE);                                          \
    }
#define REQUEST(P) {                                                                              \
        MPI_Request r;                                                                            \
        P##Send_init(out, 1, MPI_DOUBLE, 0, 0, comms[0], &r);                                     \
        P##Request_free(&r);                                                                      \
    }
#define REQUEST_RECV(P) {                                                                         \
        MPI_Request r;                                                                            \
        P##Recv_init(in, 1, MPI_DOUBLE, 0, 0, comms[0], &r);                                      \
        P##Request_free(&r);                                                                      \
    }
#define REQUEST_MIXED(P) {                                                                        \
        MPI_Request r;                                                                            \
        P##Send_init(out, 1, types[i % MANY], 0, 0, comms[i % MANY], &r);                         \
        P##Request_free(&r);                                                                      \
    }
#define DATATYPE(P) {                                                                             \
        MPI_Datatype t;                                                                           \
        P##Type_contiguous(2, MPI_DOUBLE, &t);                                                    \
        P##Type_commit(&t);                                                                       \
        P##Irecv(in, 1, t, 0, 0, comms[0], requests);                                             \
        P##Isend(out, 1, t, 0, 0, comms[0], requests + 1);                                        \
        P##Waitall(2, requests, MPI_STATUSES_IGNORE);                                             \
        P##Type_free(&t);                                                                         \
    }
#define DATATYPE_USED(P) if (i % 16 == 0) {                                                       \
        MPI_Datatype t;                                                                           \
        P##Type_contiguous(2, MPI_DOUBLE, &t);                                                    \
        P##Type_commit(&t);                                                                       \
        for (int k = 0; k < 32; k++) {                                                            \
            P##Irecv(in, 1, t, 0, 0, comms[0], requests);                                         \
            P##Isend(out, 1, t, 0, 0, comms[0], requests + 1);                                    \
            P##Waitall(2, requests, MPI_STATUSES_IGNORE);                                         \
        }                                                                                         \
        P##Type_free(&t);                                                                         \
    }
#define COMMUNICATOR(P) if (i % 16 == 0) {                                                        \
        MPI_Comm c;                                                                               \
        P##Comm_dup(comms[0], &c);                                                                \
        P##Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, c);                                         \
        P##Comm_free(&c);                                                                         \
    }
#define COMMUNICATOR_SENT(P) if (i % 16 == 0) {                                                   \
        MPI_Comm c;                                                                               \
        P##Comm_dup(comms[0], &c);                                                                \
        P##Sendrecv(out, 1, MPI_DOUBLE, 0, 0, in, 1, MPI_DOUBLE, 0, 0, c, MPI_STATUS_IGNORE);     \
        P##Comm_free(&c);                                                                         \
    }
#define COMMUNICATOR_REDUCED(P) if (i % 16 == 0) {                                                \
        MPI_Comm c;                                                                               \
        P##Comm_dup(comms[0], &c);                                                                \
        P##Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, c);                                            \
        P##Comm_free(&c);                                                                         \
    }

PAIR(two_types, TWO_TYPES)
PAIR(types, TYPES)
PAIR(types_and_comms, TYPES_AND_COMMS)
PAIR(comms, COMMS)
PAIR(comms_to_self, COMMS_TO_SELF)
PAIR(worlds_to_self, WORLDS_TO_SELF)
PAIR(allreduce, ALLREDUCE)
PAIR(allreduce_ops, ALLREDUCE_OPS)
PAIR(allreduce_counts, ALLREDUCE_COUNTS)
PAIR(allreduce_types, ALLREDUCE_TYPES)
PAIR(allreduce_comms, ALLREDUCE_COMMS)
PAIR(allreduce_all, ALLREDUCE_ALL)
PAIR(bcast_barrier, BCAST_BARRIER)
PAIR(bcast_and_send, BCAST_AND_SEND)
PAIR(put, PUT)
PAIR(get, GET)
PAIR(accumulate, ACCUMULATE)
PAIR(fetch, FETCH)
PAIR(fetch_windows, FETCH_WINDOWS)
PAIR(swap, SWAP)
PAIR(start, START)
PAIR(startall, STARTALL)
PAIR(request, REQUEST)
PAIR(request_recv, REQUEST_RECV)
PAIR(request_mixed, REQUEST_MIXED)
PAIR(datatype, DATATYPE)
PAIR(datatype_used, DATATYPE_USED)
PAIR(communicator, COMMUNICATOR)
PAIR(communicator_sent, COMMUNICATOR_SENT)
PAIR(communicator_reduced, COMMUNICATOR_REDUCED)

#define ROW(name, function, per_call, goal) \
    compare(name, "dup", function##_plain, function##_seen, per_call, goal)

static void by_turns(void) {
    char name[64];
    ROW("messages: MPI_INT, MPI_DOUBLE by turns", two_types, 1, 5);
    for (turns = 1; turns <= MANY; turns *= turns < 8 ? 8 : 2) {
        snprintf(name, sizeof name, "messages: %d derived datatypes by turns", turns);
        ROW(name, types, 1, 5);
    }
    for (turns = 1; turns <= MANY; turns *= turns == 2 ? 4 : turns == 1 ? 2 : 8) {
        snprintf(name, sizeof name, "sends: %d communicators by turns", turns);
        ROW(name, comms, 1, 5);
        snprintf(name, sizeof name, "messages: %d communicators by turns", turns);
        ROW(name, comms_to_self, 1, 5);
        snprintf(name, sizeof name, "messages: %d communicators of 2 by turns", turns);
        ROW(name, worlds_to_self, 1, 5);
    }
    ROW("messages: 64 datatypes, 64 communicators", types_and_comms, 1, 5);
    turns = MANY, own = 1;
    ROW("messages: 64 communicators of 2, turned", turned, 1, 0);
    compare("floor: table in C, 64 communicators, turned", "dup", turned_plain, turned_counted, 1, 0);
    own = 0;
}

static void collectives(void) {
    ROW("collective: Allreduce", allreduce, 1, 15);
    ROW("collective: Allreduce, 2 operations", allreduce_ops, 1, 15);
    ROW("collective: Allreduce, 2 counts", allreduce_counts, 1, 15);
    ROW("collective: Allreduce, 2 datatypes", allreduce_types, 1, 15);
    turns = 8;
    ROW("collective: Allreduce, 8 communicators", allreduce_comms, 1, 15);
    turns = MANY;
    ROW("collective: Allreduce, 64 communicators", allreduce_comms, 1, 15);
    ROW("collective: Allreduce, all by turns", allreduce_all, 1, 15);
    ROW("collective: Bcast, Barrier by turns", bcast_barrier, 1, 15);
    ROW("collective: Bcast, Send by turns", bcast_and_send, 1, 15);
}

static void one_sided(void) {
    for (int k = 0; k < 2; k++) MPI_Win_lock_all(0, wins[k]);
    ROW("one-sided: Put", put, 1, 15);
    ROW("one-sided: Get", get, 1, 15);
    ROW("one-sided: Accumulate", accumulate, 1, 15);
    ROW("one-sided: Fetch_and_op", fetch, 1, 15);
    ROW("one-sided: Fetch_and_op, 2 windows", fetch_windows, 1, 15);
    ROW("one-sided: Compare_and_swap", swap, 1, 15);
    for (int k = 0; k < 2; k++) MPI_Win_unlock_all(wins[k]);
}

static void persistent(void) {
    // Made by MPI_X: both columns start the same requests, and PMPI_Start counts nothing.
    for (int k = 0; k < MANY; k++) {
        MPI_Send_init(out[k], 8, MPI_CHAR, 0, k, comms[0], sends + k);
        MPI_Recv_init(in[k], 8, MPI_CHAR, 0, k, comms[0], receives + k);
    }
    ROW("persistent: Start", start, 1, 15);
    ROW("persistent: Startall of 64, each", startall, 1, 15);
    for (int k = 0; k < MANY; k++) MPI_Request_free(sends + k), MPI_Request_free(receives + k);
}

static void lives(void) {
    ROW("life: a persistent send", request, 1, 60);
    ROW("life: a persistent receive", request_recv, 1, 60);
    ROW("life: a send of 64 types on 64 communicators", request_mixed, 1, 60);
    ROW("life: a datatype", datatype, 1, 150);
    // The life, and 5 for each message.
    ROW("life: a datatype of 32 messages", datatype_used, 16, 310);
    ROW("life: a communicator", communicator, 16, 300);
    ROW("life: a communicator, with a message", communicator_sent, 16, 305);
    // The life (300), and 15 for the collective. The first collective call on a communicator also makes two records
    // in the spill file, so that a process that is killed leaves its counts: the tasks of the communicator, and the
    // arguments of the call. When the communicator is freed, both are taken back, and the calls are added to the
    // matrix as messages. The most for these records is what the life of a datatype may add (150).
    ROW("life: a communicator, with an Allreduce", communicator_reduced, 16, 465);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    together = MPI_COMM_SELF;
    if (argc > 1) blocks = atoi(argv[1]);
    if (argc > 2) rows = argv[2];
    if (argc > 3) calls = atoi(argv[3]);
    prints = me == 0;
    pair[0] = MPI_INT, pair[1] = MPI_DOUBLE;
    ops[0] = MPI_SUM, ops[1] = MPI_MAX;
    for (int k = 0; k < MANY; k++) {
        MPI_Comm_dup(MPI_COMM_SELF, comms + k);
        MPI_Comm_dup(MPI_COMM_WORLD, worlds + k);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -me, turned + k);
        int *const tasks = tasks_of[29 * k % MANY]; // not in the order of their use
        tasks[0] = 1, tasks[1] = 0;
        enter(turned[k], tasks);
        MPI_Type_contiguous(1 + k % 8, MPI_CHAR, types + k);
        MPI_Type_commit(types + k);
    }
    for (int k = 0; k < 2; k++) {
        void *memory;
        MPI_Win_allocate(128, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, wins + k);
        memset(memory, 0, 128);
    }
    heading();
    if (me == 0) {
        // At first the library times every call. What it adds when it knows which calls come often is measured.
        turns = MANY;
        for (double until = now() + 1e9; now() < until;) comms_to_self_seen();
        by_turns();
        collectives();
        one_sided();
        persistent();
        lives();
    }
    rest();
    for (int k = 0; k < 2; k++) MPI_Win_free(wins + k);
    for (int k = 0; k < MANY; k++) MPI_Comm_free(comms + k), MPI_Comm_free(worlds + k), MPI_Comm_free(turned + k), MPI_Type_free(types + k);
    MPI_Finalize();
    return 0;
}
