/* Makes every MPI call that moves data, on one kind of communicator. Each call has a size of its own, so that calls
 * can be distinguished. tests/mpi/recording/truth_expected.py computes the expected counts by the same rules.
 *
 * usage: truth KIND [ROW…]      KIND: see truth_comms.c; ROW: functions as in calls.tbl, default all;
 *                               ROW:in_place and ROW:null leave out that form of the call, ROW:again
 *                               starts a persistent one only once
 *
 * The calls under test go through the callers of one binding (truth.h). Everything else that
 * communicates uses C: receives, which are not counted, and PMPI names. These are looked up, not linked:
 * a program that links them has a profiling layer of its own, and its launches would keep the launcher's order. */
#include "truth_comms.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PMPI_name, of the type of MPI_name. */
#define UNSEEN(name) ((__typeof__(&MPI_##name))dlsym(RTLD_DEFAULT, "PMPI_" #name))

#define SPACE (1 << 20)
#define WINDOWS 3

static struct place place;          /* the communicator and where the caller is in it */
static struct args a;               /* of the present call */
static char send_space[SPACE], recv_space[SPACE], peer_space[SPACE], attached[SPACE];
static int64_t window_space[2][SPACE / 8];
static MPI_Datatype types[4];
static int without_in_place, without_null, without_again; /* forms that this MPI library does not have */
static int sizes[4] = {4, 8, 1, 12};
static MPI_Op own_op, own_commutative;
static MPI_Win windows[WINDOWS];
static MPI_Aint window_base[WINDOWS][MAX_PEERS];

/* ---- the rules that the expectation shares --------------------------------------------------- */

static int rounds(int k) { return 1 + k % 3; }
static int base(int k) { return 10 + k * 37 % 1009; }
static int shift(int k) { return k % 5; }
static int uniform(int k, int i) { return base(k) + i; }
static int mine(int k, int i, int rank) { return base(k) + rank + i; }
static int varying(int k, int i, int rank) {
    return (rank + k + i) % 5 == 4 ? 0 : base(k) + rank + i;
}
static int pairwise(int k, int i, int from, int to) {
    return (from + 2 * to + k + i) % 4 == 3 ? 0 : base(k) + from + 2 * to + i;
}
static int symmetric(int k, int i, int x, int y) { return base(k) + x + y + i; }
static int type_of(int k, int i) { return (k + i) % 4; }
static int pair_type(int from, int to) { return (from + to) % 4; }

/* ---- helpers ---------------------------------------------------------------------------------- */

static void check(int code, const char *what) {
    if (code != MPI_SUCCESS) {
        printf("FAIL %s: error %d\n", what, code);
        fflush(stdout);
        UNSEEN(Abort)(MPI_COMM_WORLD, 2);
    }
}

static void set(struct vector *v, int at, long long value) {
    v->narrow[at] = (int)value;
    v->wide[at] = (MPI_Count)value;
    v->address[at] = (MPI_Aint)value;
}

/* Offsets that keep the blocks apart, in elements of 20 bytes at most. */
static void spread(struct vector *v, int peers, int in_bytes) {
    for (int j = 0; j < peers; j++) set(v, j, (long long)j * 2400 * (in_bytes ? 20 : 1));
}

static void keep(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in; (void)inout; (void)count; (void)type; /* the traffic matters, not the values */
}

static void fresh(void) {
    memset(&a, 0, sizeof a);
    a.send = send_space;
    a.recv = recv_space;
    a.compare = peer_space;
    a.comm = place.comm;
    a.tag = 7;
    a.source = MPI_PROC_NULL;
    a.type = a.rtype = a.ttype = MPI_BYTE;
    a.op = MPI_SUM;
    a.request = MPI_REQUEST_NULL;
    for (int j = 0; j < MAX_PEERS; j++) a.stypes[j] = a.rtypes[j] = MPI_BYTE;
}

static const struct row *find(const char *name) {
    for (int j = 0; j < row_count; j++) {
        if (!strcmp(rows[j].name, name)) return &rows[j];
    }
    return NULL;
}

static int start(void) {
    static const struct row *row;
    if (!row) row = find("MPI_Start");
    return row->call(&a);
}

/* Makes a call `times` times. A persistent call is made once and started `times` times. */
static void make(const struct row *row, int times) {
    if (row->flavour == PERSISTENT) {
        check(row->call(&a), row->name);
        for (int t = 0; t < (without_again ? 1 : times); t++) {
            check(start(), "start");
            UNSEEN(Wait)(&a.request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&a.request);
        return;
    }
    for (int t = 0; t < times; t++) {
        check(row->call(&a), row->name);
        if (row->flavour == NONBLOCKING) UNSEEN(Wait)(&a.request, MPI_STATUS_IGNORE);
    }
}

/* ---- point to point --------------------------------------------------------------------------- */

static MPI_Request receives[MAX_PEERS];
static int receiving;

/* Posts receives for all tasks that send to the caller when every task sends to (rank + by) % their remote
 * group; `but` is left to the call itself. */
static void post(int by, MPI_Datatype type, int but) {
    receiving = 0;
    for (int s = 0; s < place.remote; s++) {
        if ((s + by) % place.size == place.rank && s != but) {
            MPI_Irecv(peer_space, SPACE / 20, type, s, a.tag, place.comm, &receives[receiving++]);
        }
    }
    UNSEEN(Barrier)(place.comm);
}

static int only_sender(int by) {
    int found = MPI_PROC_NULL;
    for (int s = 0; s < place.remote; s++) {
        if ((s + by) % place.size != place.rank) continue;
        if (found != MPI_PROC_NULL) return MPI_PROC_NULL;
        found = s;
    }
    return found;
}

static void sends(const struct row *row, int by, int count, int kind, int times) {
    a.peer = (place.rank + by) % place.remote;
    a.count = count;
    a.type = types[kind];
    int left = MPI_PROC_NULL;
    if (row->family == SENDRECV) {
        left = a.source = only_sender(by);
        a.rtype = a.type;
        /* A call that replaces its buffer needs space for the data of the sender. */
        a.rcount = SPACE / 20;
    }
    if (row->flavour == PERSISTENT) check(row->call(&a), row->name);
    for (int t = 0; t < times; t++) {
        post(by, a.type, left);
        if (row->flavour == PERSISTENT) check(start(), "start");
        else check(row->call(&a), row->name);
        if (row->flavour != BLOCKING) UNSEEN(Wait)(&a.request, MPI_STATUS_IGNORE);
        UNSEEN(Waitall)(receiving, receives, MPI_STATUSES_IGNORE);
    }
    if (row->flavour == PERSISTENT) MPI_Request_free(&a.request);
}

static void point_to_point(const struct row *row) {
    int k = row->index;
    int replaces = strstr(row->name, "replace") != NULL;
    for (int i = 0; i < rounds(k); i++) {
        fresh();
        /* A call that replaces its buffer receives as much as it sends. */
        int count = replaces ? uniform(k, i) : mine(k, i, place.rank);
        sends(row, shift(k) + i, count, type_of(k, i), 2);
    }
    fresh();
    sends(row, shift(k), 0, type_of(k, 0), 1);
    if (without_null) return;
    fresh();
    a.peer = MPI_PROC_NULL;
    a.count = base(k);
    a.type = types[0];
    make(row, 1);
}

static void starts(const struct row *row) {
    int k = row->index, all = row->family == STARTALL;
    const struct row *init = find("MPI_Send_init");
    MPI_Request request[2];
    fresh();
    a.type = types[type_of(k, 0)];
    a.peer = (place.rank + 1) % place.remote;
    for (int j = 0; j < 2; j++) {
        a.count = mine(k, j, place.rank);
        check(init->call(&a), "MPI_Send_init");
        request[j] = a.request;
    }
    for (int t = 0; t < rounds(k) + 1; t++) {
        for (int j = 0; j < 2; j++) {
            post(1, a.type, MPI_PROC_NULL);
            int mine_now = receiving;
            MPI_Request first[MAX_PEERS];
            memcpy(first, receives, sizeof first);
            if (all) {
                /* Both at once: the receives of the second message are posted too. */
                if (j == 1) break;
                post(1, a.type, MPI_PROC_NULL);
                a.requests = request;
                a.request_count = 2;
                check(row->call(&a), row->name);
                UNSEEN(Waitall)(2, request, MPI_STATUSES_IGNORE);
                UNSEEN(Waitall)(receiving, receives, MPI_STATUSES_IGNORE);
                UNSEEN(Waitall)(mine_now, first, MPI_STATUSES_IGNORE);
                break;
            }
            a.request = request[j];
            check(row->call(&a), row->name);
            request[j] = a.request;
            UNSEEN(Wait)(&request[j], MPI_STATUS_IGNORE);
            UNSEEN(Waitall)(mine_now, first, MPI_STATUSES_IGNORE);
        }
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

#ifdef HAVE_MPI_4
static void partitioned(const struct row *row) {
    int k = row->index;
    const struct row *init = find("MPI_Psend_init"), *one = find("MPI_Pready");
    fresh();
    a.type = types[type_of(k, 0)];
    a.count = uniform(k, 0);
    a.partitions = 3;
    a.peer = (place.rank + 1) % place.size;
    MPI_Request receive;
    check(init->call(&a), "MPI_Psend_init");
    MPI_Precv_init(peer_space, 3, a.count, a.type, (place.rank + place.size - 1) % place.size, a.tag,
                    place.comm, MPI_INFO_NULL, &receive);
    for (int t = 0; t < rounds(k); t++) {
        check(start(), "start");
        MPI_Start(&receive);
        if (row->family == PREADY_RANGE) {
            a.low = 0, a.high = 1;
            check(row->call(&a), row->name);
            a.low = a.high = 2;
            check(row->call(&a), row->name);
        } else if (row->family == PREADY_LIST) {
            a.list[0] = 2, a.list[1] = 0, a.length = 2;
            check(row->call(&a), row->name);
            a.list[0] = 1, a.length = 1;
            check(row->call(&a), row->name);
        } else {
            for (a.low = 0; a.low < 3; a.low++) check(one->call(&a), "MPI_Pready");
        }
        UNSEEN(Wait)(&a.request, MPI_STATUS_IGNORE);
        UNSEEN(Wait)(&receive, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&a.request);
    MPI_Request_free(&receive);
}
#endif

/* ---- collectives ------------------------------------------------------------------------------ */

/* The root argument: the root is a rank of the first group. True at the root itself. */
static int set_root(int k, int i) {
    int root = (k + i) % place.first;
    if (!place.inter) {
        a.root = root;
        return place.rank == root;
    }
    if (place.group != 0) {
        a.root = root;
        return 0;
    }
    a.root = place.rank == root ? MPI_ROOT : MPI_PROC_NULL;
    return place.rank == root;
}

static void set_reduction(int k, int i) {
    int kind = (k + i) % 3;
    a.type = types[kind == 2 ? 3 : kind];
    a.op = (k + i) % 2 ? own_op : kind == 2 ? own_commutative : MPI_SUM;
}

static void nothing_to_send(void) { a.count = 0, a.type = MPI_BYTE, a.send = NULL; }

/* One round of a collective on an intracommunicator or an intercommunicator; `in_place` as the
 * operation allows it. False if there is no such form. */
static int arrange(const struct row *row, int i, int in_place) {
    int k = row->index, peers = place.remote, type = type_of(k, i), is_root;
    fresh();
    a.type = a.rtype = types[type];
    /* On an intercommunicator each group has a size of its own. */
    int own = uniform(k, i) + place.group, other = uniform(k, i) + (place.inter ? 1 - place.group : 0);
    spread(&a.sdispls, peers, 0);
    spread(&a.rdispls, peers, 0);
    switch (row->family) {
    case BARRIER:
        return !in_place;
    case BCAST:
        a.count = uniform(k, i);
        set_root(k, i);
        return !in_place;
    case GATHER:
    case GATHERV:
        is_root = set_root(k, i);
        a.count = row->family == GATHER ? uniform(k, i) : varying(k, i, place.rank);
        a.rcount = is_root ? uniform(k, i) : 0;
        if (!is_root) a.rtype = MPI_BYTE;
        for (int j = 0; j < peers; j++) set(&a.rcounts, j, is_root ? varying(k, i, j) : 0);
        if (place.inter && place.group == 0) nothing_to_send();
        if (in_place && is_root) nothing_to_send(), a.send_in_place = 1;
        return 1;
    case SCATTER:
    case SCATTERV:
        is_root = set_root(k, i);
        a.rcount = row->family == SCATTER ? uniform(k, i) : varying(k, i, place.rank);
        a.count = is_root ? uniform(k, i) : 0;
        if (!is_root) a.type = MPI_BYTE;
        for (int j = 0; j < peers; j++) set(&a.scounts, j, is_root ? varying(k, i, j) : 0);
        if (place.inter && place.group == 0) a.rcount = 0;
        if (in_place && is_root) a.rcount = 0, a.rtype = MPI_BYTE, a.recv_in_place = 1;
        return 1;
    case ALLGATHER:
        a.count = own;
        a.rcount = other;
        if (in_place) nothing_to_send(), a.send_in_place = 1;
        return 1;
    case ALLGATHERV:
        a.count = varying(k, i + place.group, place.rank);
        for (int j = 0; j < peers; j++) {
            set(&a.rcounts, j, varying(k, i + (place.inter ? 1 - place.group : 0), j));
        }
        if (in_place) nothing_to_send(), a.send_in_place = 1;
        return 1;
    case ALLTOALL:
        a.count = own;
        a.rcount = other;
        /* An intercommunicator moves as much back as forth here. */
        if (place.inter) a.count = a.rcount = uniform(k, i);
        if (in_place) nothing_to_send(), a.send_in_place = 1;
        return 1;
    case ALLTOALLV:
    case ALLTOALLW:
        if (row->family == ALLTOALLW) spread(&a.sdispls, peers, 1), spread(&a.rdispls, peers, 1);
        for (int j = 0; j < peers; j++) {
            set(&a.scounts, j, pairwise(k, i, place.rank, j));
            set(&a.rcounts, j, pairwise(k, i, j, place.rank));
            a.stypes[j] = a.rtypes[j] = types[pair_type(place.rank, j)];
            if (in_place) {
                set(&a.scounts, j, 0);
                set(&a.rcounts, j, symmetric(k, i, place.rank, j));
                a.stypes[j] = MPI_BYTE;
            }
        }
        a.send_in_place = in_place;
        return 1;
    case REDUCE:
        is_root = set_root(k, i);
        set_reduction(k, i);
        a.count = uniform(k, i);
        a.send_in_place = in_place && is_root;
        return 1;
    case ALLREDUCE:
    case SCAN:
    case EXSCAN:
        set_reduction(k, i);
        a.count = uniform(k, i);
        a.send_in_place = in_place;
        return 1;
    case REDUCE_SCATTER_BLOCK:
        set_reduction(k, i);
        /* Both groups scatter vectors of the same length. */
        a.rcount = uniform(k, i) * (place.inter ? place.remote : 1);
        a.send_in_place = in_place;
        return 1;
    case REDUCE_SCATTER:
        set_reduction(k, i);
        for (int j = 0; j < place.size; j++) {
            int count = varying(k, i, j);
            if (place.inter) count = uniform(k, i) * place.remote + (j == 0) - (j == 1);
            if (place.inter && place.size == 1) count = uniform(k, i) * place.remote;
            set(&a.rcounts, j, count);
        }
        a.send_in_place = in_place;
        return 1;
    default:
        return 0;
    }
}

static void collective(const struct row *row) {
    for (int i = 0; i < rounds(row->index); i++) {
        for (int in_place = 0; in_place < (place.inter || without_in_place ? 1 : 2); in_place++) {
            if (arrange(row, i, in_place)) make(row, in_place ? 1 : 2);
        }
    }
}

static void neighbourhood(const struct row *row) {
    int k = row->index;
    for (int i = 0; i < rounds(k); i++) {
        fresh();
        a.type = a.rtype = types[type_of(k, i)];
        a.count = a.rcount = uniform(k, i);
        int w = row->family == NEIGHBOR_ALLTOALLW, v = row->family == NEIGHBOR_ALLGATHERV;
        if (v) a.count = varying(k, i, place.rank);
        spread(&a.sdispls, place.destinations, w);
        spread(&a.rdispls, place.sources, w);
        for (int j = 0; j < place.destinations; j++) {
            int to = place.destination[j];
            set(&a.scounts, j, to < 0 ? 0 : pairwise(k, i, place.rank, to));
            a.stypes[j] = to < 0 ? MPI_BYTE : types[pair_type(place.rank, to)];
        }
        for (int j = 0; j < place.sources; j++) {
            int from = place.source[j];
            int count = v ? varying(k, i, from) : pairwise(k, i, from, place.rank);
            set(&a.rcounts, j, from < 0 ? 0 : count);
            a.rtypes[j] = from < 0 ? MPI_BYTE : types[pair_type(from, place.rank)];
        }
        make(row, 2);
    }
}

/* ---- one-sided -------------------------------------------------------------------------------- */

static void make_windows(void) {
    void *memory = NULL;
    int first, rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    UNSEEN(Allreduce)(&rank, &first, 1, MPI_INT, MPI_MIN, place.comm);
    /* One communicator after the other: windows that disjoint communicators make at the same time share one file in
     * Open MPI 4, and then the program ends or hangs, also without the library. */
    for (int turn = 0; turn < size; turn++) {
        if (turn == first) {
            MPI_Win_create(window_space[0], SPACE, 1, MPI_INFO_NULL, place.comm, &windows[0]);
            MPI_Win_allocate(SPACE, 1, MPI_INFO_NULL, place.comm, &memory, &windows[1]);
            MPI_Win_create_dynamic(MPI_INFO_NULL, place.comm, &windows[2]);
        }
        UNSEEN(Barrier)(MPI_COMM_WORLD);
    }
    MPI_Win_attach(windows[2], window_space[1], SPACE);
    MPI_Aint here;
    MPI_Get_address(window_space[1], &here);
    /* In the order of the ranks that the program sees. */
    MPI_Comm same;
    MPI_Comm_dup(place.comm, &same);
    UNSEEN(Allgather)(&here, 1, MPI_AINT, window_base[2], 1, MPI_AINT, same);
    MPI_Comm_free(&same);
}

static void free_windows(void) {
    UNSEEN(Barrier)(place.comm);
    MPI_Win_detach(windows[2], window_space[1]);
    for (int w = 0; w < WINDOWS; w++) MPI_Win_free(&windows[w]);
}

static void one_sided(const struct row *row) {
    int k = row->index;
    static const int single[2] = {0, 1};
    for (int i = 0; i < rounds(k) + !without_null; i++) {
        int last = i == rounds(k); /* to MPI_PROC_NULL */
        int w = (k + i) % WINDOWS;
        fresh();
        a.win = windows[w];
        a.peer = last ? MPI_PROC_NULL : (place.rank + shift(k) + i) % place.size;
        a.disp = last ? 0 : window_base[w][a.peer];
        a.count = a.rcount = a.tcount = mine(k, i, place.rank);
        int type = type_of(k, i);
        a.type = a.rtype = a.ttype = types[type];
        if (type == 3 && row->family <= GET) { /* the same ints, otherwise arranged at the target */
            a.ttype = MPI_INT;
            a.tcount = 3 * a.count;
        }
        if (row->family >= ACCUMULATE) a.type = a.rtype = a.ttype = types[single[(k + i) % 2]];
        if (row->family == COMPARE_AND_SWAP) a.type = (k + i) % 2 ? MPI_LONG_LONG_INT : MPI_INT;
        a.op = (k + i) % 3 == 1 && row->family != ACCUMULATE ? MPI_NO_OP
             : (k + i) % 3 == 2 ? MPI_REPLACE : MPI_SUM;
        for (int t = 0; t < (last ? 1 : 2); t++) {
            UNSEEN(Win_lock)(MPI_LOCK_SHARED, last ? place.rank : a.peer, 0, a.win);
            check(row->call(&a), row->name);
            if (row->flavour == NONBLOCKING) UNSEEN(Wait)(&a.request, MPI_STATUS_IGNORE);
            UNSEEN(Win_unlock)(last ? place.rank : a.peer, a.win);
        }
    }
}

/* ----------------------------------------------------------------------------------------------- */

/* False where the kind of communicator does not have this family. */
static int run(const struct row *row) {
    switch (row->family) {
    case SEND:
    case SENDRECV:
        point_to_point(row);
        return 1;
    case START:
    case STARTALL:
        starts(row);
        return 1;
    case PSEND:
    case PREADY:
    case PREADY_RANGE:
    case PREADY_LIST:
#ifdef HAVE_MPI_4
        if (place.inter) return 0;
        partitioned(row);
        return 1;
#else
        return 0;
#endif
    case PUT:
    case GET:
    case ACCUMULATE:
    case GET_ACCUMULATE:
    case FETCH_AND_OP:
    case COMPARE_AND_SWAP:
        if (place.inter) return 0;
        one_sided(row);
        return 1;
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLGATHERV:
    case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        if (!place.topology) return 0;
        neighbourhood(row);
        return 1;
    case SCAN:
    case EXSCAN:
        if (place.inter) return 0;
        collective(row);
        return 1;
    default:
        collective(row);
        return 1;
    }
}

int main(int argc, char **argv) {
    binding_init(&argc, &argv);
    int rank;
    UNSEEN(Comm_rank)(MPI_COMM_WORLD, &rank);
    if (argc < 2 || !make_place(argv[1], &place)) {
        if (rank == 0) fprintf(stderr, "truth: this MPI has no communicator %s\n", argc > 1 ? argv[1] : "");
        binding_finalize();
        return 2;
    }
    for (int j = 0; j < 3; j++) types[j] = j == 0 ? MPI_INT : j == 1 ? MPI_DOUBLE : MPI_BYTE;
    MPI_Type_vector(3, 1, 2, MPI_INT, &types[3]);
    MPI_Type_commit(&types[3]);
    for (int j = 0; j < 4; j++) {
        int size;
        MPI_Type_size(types[j], &size);
        if (size != sizes[j]) check(1, "size of a datatype");
    }
    MPI_Op_create(keep, 0, &own_op);
    MPI_Op_create(keep, 1, &own_commutative);
    MPI_Buffer_attach(attached, SPACE);
    int with_windows = 0;
    char done[16384] = "";
    for (int j = 0; j < row_count; j++) {
        int wanted = argc == 2;
        without_in_place = without_null = without_again = 0;
        for (int w = 2; w < argc; w++) {
            size_t length = strcspn(argv[w], ":");
            if (strlen(rows[j].name) != length || strncmp(argv[w], rows[j].name, length)) continue;
            wanted = 1;
            without_in_place |= strstr(argv[w] + length, ":in_place") != NULL;
            without_null |= strstr(argv[w] + length, ":null") != NULL;
            without_again |= strstr(argv[w] + length, ":again") != NULL;
        }
        if (!wanted) continue;
        if (rows[j].family >= PUT && !place.inter && !with_windows) make_windows(), with_windows = 1;
        if (getenv("TRUTH_TRACE")) fprintf(stderr, "%d %s\n", rank, rows[j].name);
        if (run(&rows[j])) {
            strcat(done, " ");
            strcat(done, rows[j].name);
        }
    }
    if (with_windows) free_windows();
    void *detached;
    int detached_size;
    MPI_Buffer_detach(&detached, &detached_size);
    MPI_Op_free(&own_op);
    MPI_Op_free(&own_commutative);
    MPI_Type_free(&types[3]);
    UNSEEN(Barrier)(MPI_COMM_WORLD);
    free_place(&place);
    if (rank == 0) printf("rows%s\nok %s\n", done, binding);
    fflush(stdout);
    binding_finalize();
    return 0;
}
