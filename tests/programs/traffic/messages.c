/* Sends unusual messages: to MPI_PROC_NULL, to the same process, empty, of derived types, packed,
 * through MPI_BOTTOM, cancelled, and completed in every way. */
#include "check.h"

static void nobody(void)
{
    int value = 5;
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < 100; i++)
        OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
    SAME(value, 5);
    OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0,
                    MPI_COMM_WORLD, &status));
    OK(MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
}

static void empty(int next, int before)
{
    int count = -1;
    MPI_Status status;
    OK(MPI_Sendrecv(NULL, 0, MPI_INT, next, 1, NULL, 0, MPI_INT, before, 1, MPI_COMM_WORLD,
                    &status));
    MPI_Get_count(&status, MPI_INT, &count);
    SAME(count, 0);
    SAME(status.MPI_SOURCE, before);
    int value = world_rank, got = -1;
    OK(MPI_Sendrecv(&value, 1, MPI_INT, world_rank, 2, &got, 1, MPI_INT, world_rank, 2,
                    MPI_COMM_WORLD, &status));
    SAME(got, world_rank);
    OK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
}

static void types(int next, int before)
{
    enum { ROWS = 50, COLUMNS = 40 };
    static double table[ROWS][COLUMNS], got[ROWS];
    MPI_Datatype column, record, indexed, two;
    MPI_Status status;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            table[i][j] = world_rank * 10000 + i * 100 + j;
    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Sendrecv(&table[0][3], 1, column, next, 1, got, ROWS, MPI_DOUBLE, before, 1,
                    MPI_COMM_WORLD, &status));
    SAME(got[ROWS - 1], before * 10000 + (ROWS - 1) * 100 + 3);
    OK(MPI_Type_free(&column));

    struct { char tag; double value[3]; int id; } item = {'x', {1, 2, world_rank}, world_rank}, in;
    int lengths[3] = {1, 3, 1};
    MPI_Aint start, at[3];
    MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Get_address(&item, &start);
    MPI_Get_address(&item.tag, &at[0]);
    MPI_Get_address(item.value, &at[1]);
    MPI_Get_address(&item.id, &at[2]);
    for (int i = 0; i < 3; i++)
        at[i] -= start;
    OK(MPI_Type_create_struct(3, lengths, at, parts, &record));
    OK(MPI_Type_commit(&record));
    memset(&in, 0, sizeof in);
    OK(MPI_Sendrecv(&item, 1, record, next, 2, &in, 1, record, before, 2, MPI_COMM_WORLD,
                    &status));
    SAME(in.id, before);
    SAME(in.value[2], before);

    /* Absolute addresses: the buffer is MPI_BOTTOM. */
    int here = world_rank * 3, there = -1, one = 1;
    MPI_Aint address;
    MPI_Datatype absolute_out, absolute_in;
    MPI_Get_address(&here, &address);
    OK(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute_out));
    MPI_Get_address(&there, &address);
    OK(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute_in));
    OK(MPI_Type_commit(&absolute_out));
    OK(MPI_Type_commit(&absolute_in));
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, absolute_out, next, 3, MPI_BOTTOM, 1, absolute_in, before, 3,
                    MPI_COMM_WORLD, &status));
    SAME(there, before * 3);
    OK(MPI_Type_free(&absolute_out));
    OK(MPI_Type_free(&absolute_in));

    int blocks[2] = {2, 1}, places[2] = {0, 5}, list[6] = {1, 2, 3, 4, 5, 6}, taken[3];
    OK(MPI_Type_indexed(2, blocks, places, MPI_INT, &indexed));
    OK(MPI_Type_commit(&indexed));
    OK(MPI_Sendrecv(list, 1, indexed, next, 4, taken, 3, MPI_INT, before, 4, MPI_COMM_WORLD,
                    &status));
    SAME(taken[2], 6);
    /* A datatype remains valid after the datatype it was made from is freed. */
    OK(MPI_Type_contiguous(2, record, &two));
    OK(MPI_Type_free(&record));
    OK(MPI_Type_commit(&two));
    int size;
    MPI_Type_size(two, &size);
    SAME(size, 2 * (1 + 3 * 8 + 4));
    OK(MPI_Type_free(&two));
    OK(MPI_Type_free(&indexed));

    /* A large message of a type with gaps: 4 MB of 8 MB. */
    enum { MANY = 1 << 19 };
    double *large = calloc(2 * (size_t)MANY, sizeof(double));
    double *landed = calloc((size_t)MANY, sizeof(double));
    MPI_Request request;
    OK(MPI_Type_vector(MANY, 1, 2, MPI_DOUBLE, &column));
    OK(MPI_Type_commit(&column));
    large[2 * (MANY - 1)] = world_rank + 0.5;
    OK(MPI_Irecv(landed, MANY, MPI_DOUBLE, before, 5, MPI_COMM_WORLD, &request));
    OK(MPI_Send(large, 1, column, next, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    SAME(landed[MANY - 1] * 2, before * 2 + 1);
    OK(MPI_Type_free(&column));
    free(large);
    free(landed);

    char packed[64];
    int at_byte = 0, number = world_rank;
    double weight = world_rank / 2.0;
    OK(MPI_Pack(&number, 1, MPI_INT, packed, sizeof packed, &at_byte, MPI_COMM_WORLD));
    OK(MPI_Pack(&weight, 1, MPI_DOUBLE, packed, sizeof packed, &at_byte, MPI_COMM_WORLD));
    OK(MPI_Pack_size(1, MPI_DOUBLE, MPI_COMM_WORLD, &size));
    CHECK(size >= 8, "%d", size);
    char unpack[64];
    OK(MPI_Sendrecv(packed, at_byte, MPI_PACKED, next, 6, unpack, sizeof unpack, MPI_PACKED, before,
                    6, MPI_COMM_WORLD, &status));
    at_byte = 0;
    OK(MPI_Unpack(unpack, sizeof unpack, &at_byte, &number, 1, MPI_INT, MPI_COMM_WORLD));
    SAME(number, before);
}

static void completion(int next, int before)
{
    enum { MANY = 12 };
    int out[MANY], in[MANY], indices[2 * MANY], done, index;
    MPI_Request request[2 * MANY];
    MPI_Status status[2 * MANY];
    for (int way = 0; way < 6; way++) {
        for (int i = 0; i < MANY; i++) {
            out[i] = way * 100 + i;
            in[i] = -1;
            OK(MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &request[i]));
        }
        for (int i = 0; i < MANY; i++)
            OK(MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &request[MANY + i]));
        int left = 2 * MANY;
        while (left > 0) {
            int some = 0;
            if (way == 0) {
                OK(MPI_Waitany(2 * MANY, request, &index, status));
                some = 1;
            } else if (way == 1) {
                OK(MPI_Testany(2 * MANY, request, &index, &done, status));
                some = done && index != MPI_UNDEFINED;
            } else if (way == 2) {
                OK(MPI_Waitsome(2 * MANY, request, &some, indices, status));
            } else if (way == 3) {
                OK(MPI_Testsome(2 * MANY, request, &some, indices, status));
            } else if (way == 4) {
                OK(MPI_Testall(2 * MANY, request, &done, MPI_STATUSES_IGNORE));
                some = done ? left : 0;
            } else {
                for (int i = 0; i < 2 * MANY; i++) {
                    int there = 0;
                    while (!there)
                        OK(MPI_Request_get_status(request[i], &there, MPI_STATUS_IGNORE));
                    OK(MPI_Test(&request[i], &there, MPI_STATUS_IGNORE));
                    SAME(there, 1);
                }
                some = left;
            }
            left -= some;
        }
        for (int i = 0; i < MANY; i++) {
            SAME(in[i], way * 100 + i);
            SAME(request[i] == MPI_REQUEST_NULL, 1);
        }
    }
    /* A receive that no message matches is cancelled. */
    MPI_Status last;
    int cancelled = 0;
    OK(MPI_Irecv(in, 1, MPI_INT, before, 9999, MPI_COMM_WORLD, &request[0]));
    OK(MPI_Cancel(&request[0]));
    OK(MPI_Wait(&request[0], &last));
    OK(MPI_Test_cancelled(&last, &cancelled));
    SAME(cancelled, 1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int next = (world_rank + 1) % world_size;
    const int before = (world_rank + world_size - 1) % world_size;
    nobody();
    empty(next, before);
    types(next, before);
    completion(next, before);
    return verdict("messages");
}
