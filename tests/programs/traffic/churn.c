/* Threads that make, use and free MPI objects at random, with totals that the program computes itself.
 *
 * Each of THREADS threads has a communicator of its own, from the same sequence of random numbers on
 * all tasks, so that collective calls meet. In each round a thread picks one kind of object:
 *   c  a communicator (duplicated or split, also from MPI_COMM_SELF): messages on it, then freed
 *   t  a derived datatype of random size: one message of it, then freed
 *   r  a persistent send and receive: started a few times, then freed
 *   o  a reduction operation: an MPI_Allreduce with it, then freed
 *   f  a file: one block written, then closed
 *   n  a send and a receive that do not block, and MPI_Waitall
 *   g  groups: of the communicator and in reverse order, then freed
 *   e  an error handler: attached to a new communicator, called, then freed
 * With `w` all threads meet one new window at the same time, put one number into it, and one frees it.
 *
 * With SECONDS the rounds are repeated for so long, by new threads each time. Every eighth time all of them meet
 * windows, whatever KINDS says. Each task then tells its resident memory now and then: `memory TASK ROUNDS KIB`.
 *
 * usage: churn [THREADS [ROUNDS [SEED [KINDS [SECONDS]]]]]
 * Prints, besides the verdict, what each task sent: `sent FROM TO BYTES MESSAGES` for messages and
 * `put FROM TO BYTES MESSAGES` for one-sided calls; nothing with 0 messages.
 */
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

enum { MOST_THREADS = 16, LARGEST = 96 };

typedef struct {
    pthread_t thread;
    int number;
    uint64_t random;
    MPI_Comm parent;
    /* To the next task, and to itself. */
    long long bytes[2], messages[2], put;
    int wrong;
} Worker;

static Worker workers[MOST_THREADS];
static int threads = 4, rounds = 200;
static const char *kinds = "ctr";
static pthread_barrier_t meeting;
static MPI_Win window;
static long *memory;

static unsigned draw(Worker *worker, unsigned below)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return (unsigned)((worker->random >> 11) % below);
}

#define TRY(call) (worker->wrong += (call) != MPI_SUCCESS)

/* One message round a communicator of all tasks (`self` = 0) or of this one alone. */
static void pass(Worker *worker, MPI_Comm comm, MPI_Datatype type, int count, int size, int self)
{
    char out[LARGEST], in[LARGEST];
    int tasks = self ? 1 : world_size, rank = self ? 0 : world_rank;
    memset(out, worker->number + 1, sizeof out);
    memset(in, 0, sizeof in);
    TRY(MPI_Sendrecv(out, count, type, (rank + 1) % tasks, worker->number, in, count, type,
                     (rank + tasks - 1) % tasks, worker->number, comm, MPI_STATUS_IGNORE));
    worker->wrong += size > 0 && (in[0] != worker->number + 1 || in[size - 1] != worker->number + 1);
    worker->bytes[self] += size;
    worker->messages[self]++;
}

static void communicator(Worker *worker)
{
    MPI_Comm made;
    const int how = (int)draw(worker, 4), self = how >= 2;
    if (how == 0) TRY(MPI_Comm_split(worker->parent, 0, world_rank, &made));
    else TRY(MPI_Comm_dup(self ? MPI_COMM_SELF : worker->parent, &made));
    for (int i = (int)draw(worker, 3); i >= 0; i--) {
        const int size = (int)draw(worker, LARGEST) + 1;
        pass(worker, made, MPI_CHAR, size, size, self);
    }
    TRY(MPI_Comm_free(&made));
}

static void datatype(Worker *worker)
{
    MPI_Datatype made;
    const int size = (int)draw(worker, LARGEST) + 1;
    TRY(MPI_Type_contiguous(size, MPI_CHAR, &made));
    TRY(MPI_Type_commit(&made));
    pass(worker, worker->parent, made, 1, size, 0);
    TRY(MPI_Type_free(&made));
}

static void request(Worker *worker)
{
    char out[LARGEST] = {0}, in[LARGEST];
    MPI_Request both[2];
    const int size = (int)draw(worker, LARGEST) + 1, tag = worker->number;
    TRY(MPI_Recv_init(in, size, MPI_CHAR, (world_rank + world_size - 1) % world_size, tag,
                      worker->parent, &both[0]));
    TRY(MPI_Send_init(out, size, MPI_CHAR, (world_rank + 1) % world_size, tag, worker->parent,
                      &both[1]));
    for (int i = (int)draw(worker, 3); i >= 0; i--) {
        TRY(MPI_Startall(2, both));
        TRY(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        worker->bytes[0] += size;
        worker->messages[0]++;
    }
    TRY(MPI_Request_free(&both[0]));
    TRY(MPI_Request_free(&both[1]));
}

static void larger(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((int *)in)[i] > ((int *)inout)[i]) ((int *)inout)[i] = ((int *)in)[i];
}

static void operation(Worker *worker)
{
    MPI_Op made;
    int mine = world_rank, all = -1;
    TRY(MPI_Op_create(larger, 1, &made));
    TRY(MPI_Allreduce(&mine, &all, 1, MPI_INT, made, worker->parent));
    worker->wrong += all != world_size - 1;
    TRY(MPI_Op_free(&made));
}

static void file(Worker *worker)
{
    char name[64];
    MPI_File made;
    snprintf(name, sizeof name, "churn-%d-%d", worker->number, world_rank);
    TRY(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &made));
    TRY(MPI_File_write_at(made, 0, name, 16, MPI_CHAR, MPI_STATUS_IGNORE));
    TRY(MPI_File_close(&made));
}

static void no_wait(Worker *worker)
{
    char out[LARGEST] = {0}, in[LARGEST];
    MPI_Request both[2];
    const int size = (int)draw(worker, LARGEST) + 1, tag = worker->number;
    TRY(MPI_Irecv(in, size, MPI_CHAR, (world_rank + world_size - 1) % world_size, tag, worker->parent,
                  &both[0]));
    TRY(MPI_Isend(out, size, MPI_CHAR, (world_rank + 1) % world_size, tag, worker->parent, &both[1]));
    TRY(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    worker->bytes[0] += size;
    worker->messages[0]++;
}

static void groups(Worker *worker)
{
    MPI_Group all, reverse;
    int range[1][3] = {{world_size - 1, 0, -1}}, rank = -1;
    TRY(MPI_Comm_group(worker->parent, &all));
    TRY(MPI_Group_range_incl(all, 1, range, &reverse));
    TRY(MPI_Group_rank(reverse, &rank));
    worker->wrong += rank != world_size - 1 - world_rank;
    TRY(MPI_Group_free(&reverse));
    TRY(MPI_Group_free(&all));
}

static __thread int errors;
static void count_error(MPI_Comm *comm, int *code, ...)
{
    errors += *comm != MPI_COMM_NULL && *code != MPI_SUCCESS;
}

static void error_handler(Worker *worker)
{
    MPI_Comm made;
    MPI_Errhandler handler;
    errors = 0;
    TRY(MPI_Comm_dup(MPI_COMM_SELF, &made));
    TRY(MPI_Comm_create_errhandler(count_error, &handler));
    TRY(MPI_Comm_set_errhandler(made, handler));
    TRY(MPI_Errhandler_free(&handler));
    TRY(MPI_Comm_call_errhandler(made, MPI_ERR_OTHER));
    worker->wrong += errors != 1;
    TRY(MPI_Comm_free(&made));
}

/* All threads of all tasks are here. Only the first makes and frees the window. */
static void shared_window(Worker *worker)
{
    const long value = worker->number;
    if (worker->number == 0) {
        TRY(MPI_Win_create(memory, MOST_THREADS * sizeof(long), sizeof(long), MPI_INFO_NULL,
                           worker->parent, &window));
        TRY(MPI_Win_lock_all(0, window));
    }
    pthread_barrier_wait(&meeting);
    TRY(MPI_Put(&value, 1, MPI_LONG, (world_rank + 1) % world_size, worker->number, 1, MPI_LONG,
                window));
    worker->put++;
    pthread_barrier_wait(&meeting);
    if (worker->number == 0) {
        TRY(MPI_Win_unlock_all(window));
        TRY(MPI_Win_free(&window));
    }
    pthread_barrier_wait(&meeting);
}

static void *work(void *argument)
{
    Worker *worker = argument;
    for (int round = 0; round < rounds; round++) {
        const char kind = kinds[draw(worker, (unsigned)strlen(kinds))];
        if (kind == 'c') communicator(worker);
        else if (kind == 't') datatype(worker);
        else if (kind == 'r') request(worker);
        else if (kind == 'o') operation(worker);
        else if (kind == 'f') file(worker);
        else if (kind == 'n') no_wait(worker);
        else if (kind == 'g') groups(worker);
        else if (kind == 'e') error_handler(worker);
        else if (kind == 'w') shared_window(worker);
    }
    return NULL;
}

static void tell(const char *what, int to, long long bytes, long long messages)
{
    if (messages) printf("%s %d %d %lld %lld\n", what, world_rank, to, bytes, messages);
}

static void all_threads(void)
{
    for (int t = 0; t < threads; t++) pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    for (int t = 0; t < threads; t++) pthread_join(workers[t].thread, NULL);
}

static long resident_kib(void)
{
    long size = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm) return 0;
    if (fscanf(statm, "%ld %ld", &size, &resident) != 2) resident = 0;
    fclose(statm);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* All threads again and again. Task 0 says when time is up; memory is told 40 times. */
static void soak(double seconds)
{
    const double start = MPI_Wtime();
    const char *mixed = kinds;
    double told = start;
    int done = 0;
    for (long long batch = 1; !done; batch++) {
        kinds = batch % 8 ? mixed : "w";
        all_threads();
        if (MPI_Wtime() - told >= seconds / 40) {
            printf("memory %d %lld %ld\n", world_rank, batch * threads * rounds, resident_kib());
            told = MPI_Wtime();
        }
        done = MPI_Wtime() - start >= seconds;
        MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int provided = 0;
    const double seconds = argc > 5 ? atof(argv[5]) : 0;
    const uint64_t seed = argc > 3 ? (uint64_t)atoll(argv[3]) : 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (argc > 1) threads = atoi(argv[1]);
    if (argc > 2) rounds = atoi(argv[2]);
    if (argc > 4) kinds = argv[4];
    memory = calloc(MOST_THREADS, sizeof *memory);
    if (CHECK(provided == MPI_THREAD_MULTIPLE, "this MPI provides level %d only", provided) &&
        CHECK(memory && threads > 0 && threads <= MOST_THREADS, "threads: %d", threads)) {
        long long sum[2][2] = {{0}}, put = 0;
        pthread_barrier_init(&meeting, NULL, (unsigned)threads);
        for (int t = 0; t < threads; t++) {
            workers[t].number = t;
            /* With windows all threads have to pick the same kinds. */
            workers[t].random = 0x9e3779b97f4a7c15ull * (seed * 64 + 1 + (strchr(kinds, 'w') ? 0 : t));
            MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].parent);
        }
        if (seconds > 0) soak(seconds);
        else all_threads();
        for (int t = 0; t < threads; t++) {
            MPI_Comm_free(&workers[t].parent);
            SAME(workers[t].wrong, 0);
            for (int self = 0; self < 2; self++) {
                sum[self][0] += workers[t].bytes[self];
                sum[self][1] += workers[t].messages[self];
            }
            put += workers[t].put;
        }
        tell("sent", (world_rank + 1) % world_size, sum[0][0], sum[0][1]);
        tell("sent", world_rank, sum[1][0], sum[1][1]);
        tell("put", (world_rank + 1) % world_size, put * (long long)sizeof(long), put);
    }
    free(memory);
    return verdict("churn");
}
