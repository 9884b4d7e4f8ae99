/* Every task sends `messages` messages of `bytes` bytes to the next task; argv[1] selects the call.
 *
 * Matrix: C(i, i+1 mod n) = messages * bytes, nothing else (MODE start: on rank 0 alone).
 */
#include "check.h"

#define TAG 7

static char *out, *in;
static int bytes = 1000, messages = 10;

static void fill(int round)
{
    memset(out, (world_rank + round) % 120, (size_t)bytes);
    memset(in, 125, (size_t)bytes);
}

static void arrived(int left, int round, const MPI_Status *status)
{
    SAME(in[0], (left + round) % 120);
    SAME(in[bytes - 1], (left + round) % 120);
    if (status) {
        int count;
        SAME(status->MPI_SOURCE, left);
        SAME(status->MPI_TAG, TAG);
        MPI_Get_count(status, MPI_CHAR, &count);
        SAME(count, bytes);
    }
}

typedef int (*Immediate)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int (*Prepared)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int (*Blocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static void immediate(Immediate send, int left, int right, int round, int any)
{
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Irecv(in, bytes, MPI_CHAR, any ? MPI_ANY_SOURCE : left, any ? MPI_ANY_TAG : TAG,
              MPI_COMM_WORLD, &request[0]);
    send(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, status);
    arrived(left, round, &status[0]);
    SAME(request[0] == MPI_REQUEST_NULL && request[1] == MPI_REQUEST_NULL, 1);
}

static void blocking(Blocking send, int left, int right, int round)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(in, bytes, MPI_CHAR, left, TAG, MPI_COMM_WORLD, &request);
    send(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    arrived(left, round, &status);
}

/* A ready send needs a posted receive. A message that announces it would change the matrix, so the receives of all
 * rounds are posted first, and a barrier follows. */
static void ready(Blocking send, int left, int right)
{
    char *all = malloc((size_t)bytes * (size_t)messages);
    MPI_Request *request = malloc(sizeof(MPI_Request) * (size_t)messages);
    for (int round = 0; round < messages; round++)
        MPI_Irecv(all + (size_t)round * (size_t)bytes, bytes, MPI_CHAR, left, TAG, MPI_COMM_WORLD,
                  &request[round]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < messages; round++) {
        fill(round);
        send(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD);
    }
    MPI_Waitall(messages, request, MPI_STATUSES_IGNORE);
    for (int round = 0; round < messages; round++)
        SAME(all[(size_t)round * (size_t)bytes], (left + round) % 120);
    free(all);
    free(request);
}

static int irsend_and_wait(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    MPI_Request request;
    int code = MPI_Irsend(b, n, t, to, tag, c, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

static void persistent(Prepared prepare, int all_at_once, int left, int right)
{
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Recv_init(in, bytes, MPI_CHAR, left, TAG, MPI_COMM_WORLD, &request[0]);
    prepare(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD, &request[1]);
    for (int round = 0; round < messages; round++) {
        fill(round);
        if (all_at_once) {
            MPI_Startall(2, request);
        } else {
            MPI_Start(&request[0]);
            MPI_Start(&request[1]);
        }
        MPI_Waitall(2, request, status);
        arrived(left, round, &status[0]);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *mode = argc > 1 ? argv[1] : "send";
    if (argc > 2)
        bytes = atoi(argv[2]);
    if (argc > 3)
        messages = atoi(argv[3]);
    const int right = (world_rank + 1) % world_size;
    const int left = (world_rank + world_size - 1) % world_size;
    out = malloc((size_t)bytes);
    in = malloc((size_t)bytes);
    const int room = (bytes + MPI_BSEND_OVERHEAD + 64) * 4;
    void *buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);

    int known = 1;
    if (!strcmp(mode, "rsend") || !strcmp(mode, "irsend")) {
        ready(strcmp(mode, "rsend") ? irsend_and_wait : MPI_Rsend, left, right);
    } else if (!strcmp(mode, "send_init")) {
        persistent(MPI_Send_init, 1, left, right);
    } else if (!strcmp(mode, "ssend_init")) {
        persistent(MPI_Ssend_init, 0, left, right);
    } else if (!strcmp(mode, "bsend_init")) {
        persistent(MPI_Bsend_init, 0, left, right);
    } else {
        for (int round = 0; round < messages && known; round++) {
            MPI_Status status;
            fill(round);
            if (!strcmp(mode, "send")) {
                blocking(MPI_Send, left, right, round);
            } else if (!strcmp(mode, "ssend")) {
                blocking(MPI_Ssend, left, right, round);
            } else if (!strcmp(mode, "bsend")) {
                blocking(MPI_Bsend, left, right, round);
            } else if (!strcmp(mode, "isend")) {
                immediate(MPI_Isend, left, right, round, 0);
            } else if (!strcmp(mode, "isend_any")) {
                immediate(MPI_Isend, left, right, round, 1);
            } else if (!strcmp(mode, "issend")) {
                immediate(MPI_Issend, left, right, round, 0);
            } else if (!strcmp(mode, "ibsend")) {
                immediate(MPI_Ibsend, left, right, round, 0);
            } else if (!strcmp(mode, "sendrecv")) {
                MPI_Sendrecv(out, bytes, MPI_CHAR, right, TAG, in, bytes, MPI_CHAR, left, TAG,
                             MPI_COMM_WORLD, &status);
                arrived(left, round, &status);
            } else if (!strcmp(mode, "sendrecv_replace")) {
                memcpy(in, out, (size_t)bytes);
                MPI_Sendrecv_replace(in, bytes, MPI_CHAR, right, TAG, left, TAG, MPI_COMM_WORLD,
                                     &status);
                arrived(left, round, &status);
            } else if (!strcmp(mode, "mprobe")) {
                MPI_Request request;
                MPI_Message message;
                MPI_Isend(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD, &request);
                MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
                SAME(status.MPI_SOURCE, left);
                MPI_Mrecv(in, bytes, MPI_CHAR, &message, &status);
                arrived(left, round, &status);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else if (!strcmp(mode, "probe")) {
                MPI_Request request;
                int there = 0;
                MPI_Isend(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD, &request);
                MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
                SAME(status.MPI_SOURCE, left);
                MPI_Iprobe(left, TAG, MPI_COMM_WORLD, &there, &status);
                SAME(there, 1);
                MPI_Recv(in, bytes, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                         &status);
                arrived(left, round, &status);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
            } else if (!strcmp(mode, "send_c")) {
                MPI_Request request;
                MPI_Irecv_c(in, bytes, MPI_CHAR, left, TAG, MPI_COMM_WORLD, &request);
                MPI_Send_c(out, bytes, MPI_CHAR, right, TAG, MPI_COMM_WORLD);
                MPI_Wait(&request, &status);
                arrived(left, round, &status);
#endif
#if MPI_VERSION >= 4
            } else if (!strcmp(mode, "isendrecv")) {
                MPI_Request request;
                MPI_Isendrecv(out, bytes, MPI_CHAR, right, TAG, in, bytes, MPI_CHAR, left, TAG,
                              MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                arrived(left, round, NULL);
            } else if (!strcmp(mode, "psend")) {
                MPI_Request request[2];
                MPI_Precv_init(in, 2, bytes / 2, MPI_CHAR, left, TAG, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &request[0]);
                MPI_Psend_init(out, 2, bytes / 2, MPI_CHAR, right, TAG, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &request[1]);
                MPI_Startall(2, request);
                MPI_Pready(0, request[1]);
                MPI_Pready(1, request[1]);
                MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
                arrived(left, round, NULL);
                MPI_Request_free(&request[0]);
                MPI_Request_free(&request[1]);
#endif
            } else {
                known = 0;
            }
        }
    }
    CHECK(known, "this MPI or this program has no mode %s", mode);
    int detached;
    void *old;
    MPI_Buffer_detach(&old, &detached);
    SAME(old == buffer && detached == room, 1);
    free(buffer);
    free(in);
    free(out);
    return verdict(mode);
}
