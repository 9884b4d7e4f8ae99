/* All blocking and nonblocking collectives, with MPI_IN_PLACE and the forms with counts, on the
 * world, on a communicator with reversed ranks and on MPI_COMM_SELF. */
#include "check.h"

static MPI_Comm comm;
static int rank, size;
enum { N = 3, MOST = 64 };

static void maybe_wait(MPI_Request *request)
{
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static int triangle(int n) { return n * (n + 1) / 2; }

static void one_to_all(void)
{
    for (int root = 0; root < size; root++) {
        int in[N * MOST], out[N * MOST], counts[MOST], at[MOST];
        MPI_Request request;
        for (int i = 0; i < N; i++)
            in[i] = rank == root ? root + i : -1;
        OK(MPI_Bcast(in, N, MPI_INT, root, comm));
        SAME(in[N - 1], root + N - 1);
        in[0] = rank == root ? 77 : 0;
        OK(MPI_Ibcast(in, 1, MPI_INT, root, comm, &request));
        maybe_wait(&request);
        SAME(in[0], 77);

        for (int i = 0; i < N * size; i++)
            out[i] = 100 * root + i;
        OK(MPI_Scatter(out, N, MPI_INT, in, N, MPI_INT, root, comm));
        SAME(in[1], 100 * root + N * rank + 1);
        if (rank == root)
            OK(MPI_Scatter(out, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, root, comm));
        else
            OK(MPI_Scatter(NULL, 0, MPI_INT, in, N, MPI_INT, root, comm));
        for (int k = 0, sum = 0; k < size; k++) {
            counts[k] = k % N;
            at[k] = sum;
            sum += k % N;
        }
        OK(MPI_Scatterv(out, counts, at, MPI_INT, in, counts[rank], MPI_INT, root, comm));
        if (counts[rank])
            SAME(in[0], 100 * root + at[rank]);

        for (int i = 0; i < N; i++)
            in[i] = 10 * rank + i;
        memset(out, 0, sizeof out);
        OK(MPI_Gather(in, N, MPI_INT, out, N, MPI_INT, root, comm));
        if (rank == root)
            for (int k = 0; k < size; k++)
                SAME(out[N * k + 2], 10 * k + 2);
        if (rank == root) {
            out[N * rank] = 10 * rank;
            OK(MPI_Gather(MPI_IN_PLACE, N, MPI_INT, out, N, MPI_INT, root, comm));
            SAME(out[N * (size - 1)], 10 * (size - 1));
        } else {
            OK(MPI_Gather(in, N, MPI_INT, NULL, 0, MPI_INT, root, comm));
        }
        OK(MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, at, MPI_INT, root, comm));
        OK(MPI_Igather(in, N, MPI_INT, out, N, MPI_INT, root, comm, &request));
        maybe_wait(&request);
        if (rank == root)
            SAME(out[N * (size - 1) + 1], 10 * (size - 1) + 1);

        int sum = 0, mine = rank + 1;
        OK(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, comm));
        if (rank == root)
            SAME(sum, triangle(size));
        if (rank == root)
            OK(MPI_Reduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, root, comm));
        else
            OK(MPI_Reduce(&mine, NULL, 1, MPI_INT, MPI_MAX, root, comm));
        if (rank == root)
            SAME(mine, size);
    }
}

static void all_to_all(void)
{
    int in[N * MOST], out[N * MOST], counts[MOST], at[MOST], sum = 0, mine = rank + 1;
    MPI_Request request;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    SAME(sum, triangle(size));
    OK(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MIN, comm));
    SAME(mine, 1);
    struct { double value; int at; } pair = {(rank * 7) % size, rank}, best;
    OK(MPI_Allreduce(&pair, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
    SAME((best.at * 7) % size, (int)best.value);
    mine = rank + 1;
    OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    maybe_wait(&request);
    SAME(sum, triangle(size));

    for (int i = 0; i < N; i++)
        out[i] = 10 * rank + i;
    OK(MPI_Allgather(out, N, MPI_INT, in, N, MPI_INT, comm));
    for (int k = 0; k < size; k++)
        SAME(in[N * k + 1], 10 * k + 1);
    memset(in, 0, sizeof in);
    for (int i = 0; i < N; i++)
        in[N * rank + i] = 10 * rank + i;
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, N, MPI_INT, comm));
    for (int k = 0; k < size; k++)
        SAME(in[N * k + 2], 10 * k + 2);
    int total = 0;
    for (int k = 0; k < size; k++) {
        counts[k] = (k + 1) % N;
        at[k] = total;
        total += counts[k];
    }
    OK(MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, at, MPI_INT, comm));
    for (int k = 0; k < size; k++)
        if (counts[k])
            SAME(in[at[k]], 10 * k);

    for (int k = 0; k < size; k++)
        out[k] = 100 * rank + k;
    OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int k = 0; k < size; k++)
        SAME(in[k], 100 * k + rank);
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm));
    for (int k = 0; k < size; k++)
        SAME(out[k], 100 * k + rank);
    OK(MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &request));
    maybe_wait(&request);
    for (int k = 0; k < size; k++)
        SAME(out[k], 100 * rank + k);

    /* Task i gives one number to every task above it. */
    int receive[MOST], receive_at[MOST];
    for (int k = 0; k < size; k++) {
        counts[k] = k > rank;
        receive[k] = k < rank;
        at[k] = receive_at[k] = k;
        out[k] = 100 * rank + k;
        in[k] = -1;
    }
    OK(MPI_Alltoallv(out, counts, at, MPI_INT, in, receive, receive_at, MPI_INT, comm));
    for (int k = 0; k < size; k++)
        SAME(in[k], k < rank ? 100 * k + rank : -1);
    MPI_Datatype types[MOST];
    int bytes_at[MOST];
    for (int k = 0; k < size; k++) {
        types[k] = MPI_INT;
        bytes_at[k] = k * (int)sizeof(int);
        in[k] = -1;
    }
    OK(MPI_Alltoallw(out, counts, bytes_at, types, in, receive, bytes_at, types, comm));
    for (int k = 0; k < size; k++)
        SAME(in[k], k < rank ? 100 * k + rank : -1);
    OK(MPI_Ialltoallv(out, counts, at, MPI_INT, in, receive, receive_at, MPI_INT, comm, &request));
    maybe_wait(&request);

    mine = rank + 1;
    OK(MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    SAME(sum, triangle(rank + 1));
    OK(MPI_Exscan(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    if (rank > 0)
        SAME(sum, triangle(rank));
    OK(MPI_Scan(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, comm));
    SAME(mine, triangle(rank + 1));

    for (int k = 0; k < size; k++) {
        counts[k] = 1;
        out[k] = rank + k;
    }
    OK(MPI_Reduce_scatter(out, &sum, counts, MPI_INT, MPI_SUM, comm));
    SAME(sum, triangle(size - 1) + size * rank);
    OK(MPI_Reduce_scatter_block(out, &sum, 1, MPI_INT, MPI_SUM, comm));
    SAME(sum, triangle(size - 1) + size * rank);
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, comm));
    SAME(out[0], triangle(size - 1) + size * rank);

    OK(MPI_Barrier(comm));
    OK(MPI_Ibarrier(comm, &request));
    int done = 0;
    while (!done)
        OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

/* A user's operation that does not commute: its result depends on the order of the ranks. */
static void append(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        const long long a = ((long long *)in)[i], b = ((long long *)inout)[i];
        long long shift = 1;
        while (shift <= b)
            shift *= 10;
        ((long long *)inout)[i] = a * shift + b;
    }
}

static void order_of_operation(void)
{
    MPI_Op op;
    long long mine = rank + 1, all = 0, expected = 0;
    OK(MPI_Op_create(append, 0, &op));
    OK(MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, op, comm));
    const int shown = size < 9 ? size : 9;
    for (int k = 0; k < shown; k++)
        expected = expected * 10 + k + 1;
    if (size <= 9)
        SAME(all, expected);
    OK(MPI_Op_free(&op));
}

static void all(MPI_Comm c)
{
    comm = c;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    one_to_all();
    all_to_all();
    order_of_operation();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (!CHECK(world_size <= MOST, "at most %d ranks", MOST))
        return verdict("collectives");
    MPI_Comm reversed;
    all(MPI_COMM_WORLD);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed));
    all(reversed);
    OK(MPI_Comm_free(&reversed));
    all(MPI_COMM_SELF);
    return verdict("collectives");
}
