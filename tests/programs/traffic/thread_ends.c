/* Destructors of threads that send: a thread's own key has a destructor, which runs after that of the library.
 *
 * Matrix: each task sends 8 bytes to the next one in a thread and 4000 bytes in its destructor. The datatype of the
 * second message may have the handle of the first one, which was freed meanwhile. Another thread sends to
 * MPI_PROC_NULL in every round of destructors; its storage is gone when the communicator is freed.
 */
#include "check.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_key_t key;
static MPI_Datatype small, large;
static sem_t at_end, go_on;
static char out[4000];
static int right;

static void at_thread_end(void *round)
{
    if (round == &small) {
        sem_post(&at_end);
        sem_wait(&go_on);
        MPI_Send(out, 1, large, right, 2, MPI_COMM_WORLD);
        return;
    }
    MPI_Send(out, 1, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_SELF);
    MPI_Send(out, 1, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    if ((char *)round < out + 4)
        pthread_setspecific(key, (char *)round + 1);
}

static void *sender(void *unused)
{
    MPI_Send(out, 1, small, right, 1, MPI_COMM_WORLD);
    pthread_setspecific(key, &small);
    return unused;
}

static void *in_every_round(void *unused)
{
    MPI_Send(out, 1, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    pthread_setspecific(key, out);
    return unused;
}

static void type_of(int bytes, MPI_Datatype *type)
{
    OK(MPI_Type_contiguous(bytes, MPI_CHAR, type));
    OK(MPI_Type_commit(type));
}

int main(int argc, char **argv)
{
    int provided;
    char in[4000];
    pthread_t thread;
    pthread_attr_t attributes;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    right = (world_rank + 1) % world_size;
    /* The library makes its key first. */
    MPI_Send(out, 1, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    pthread_key_create(&key, at_thread_end);
    sem_init(&at_end, 0, 0);
    sem_init(&go_on, 0, 0);
    MPI_Request request[2];
    for (int k = 0; k < 2; k++)
        OK(MPI_Irecv(in, (int)sizeof in, MPI_CHAR, MPI_ANY_SOURCE, k + 1, MPI_COMM_WORLD, &request[k]));
    type_of(8, &small);
    pthread_create(&thread, NULL, sender, NULL);
    sem_wait(&at_end);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    OK(MPI_Type_free(&small));
    type_of(sizeof out, &large);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    OK(MPI_Type_free(&large));
    /* A stack of a size that the C library does not keep. */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    pthread_create(&thread, &attributes, in_every_round, NULL);
    pthread_join(thread, NULL);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    return verdict("thread_ends");
}
