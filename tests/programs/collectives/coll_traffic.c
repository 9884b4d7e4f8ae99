/* Calls one collective operation on MPI_COMM_WORLD a number of times and nothing else. A tool that counts
 * the messages below MPI then sees only the traffic of this operation.
 *
 * usage: coll_traffic OPERATION BYTES CALLS [ROOT [ELEMENT [n]]]
 * BYTES means what it means in src/matrix/collectives: the whole vector for bcast and reductions,
 * ELEMENT is 1, 4 or 8 (bytes per element; default 1); "n" makes the reduction non-commutative,
 * an operation name with a leading i is nonblocking.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in; (void)inout; (void)count; (void)type; /* the traffic matters, not the values */
}

static void *buffer(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) { fprintf(stderr, "coll_traffic: no memory for %zu bytes\n", bytes); exit(2); }
    return memory;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) {
        if (rank == 0) fprintf(stderr, "usage: coll_traffic OPERATION BYTES CALLS [ROOT [ELEMENT [n]]]\n");
        MPI_Finalize();
        return 2;
    }
    const char *operation = argv[1];
    long bytes = atol(argv[2]);
    int calls = atoi(argv[3]);
    int root = argc > 4 ? atoi(argv[4]) : 0;
    int element = argc > 5 ? atoi(argv[5]) : 1;
    MPI_Op sum = MPI_SUM;
    if (argc > 6 && argv[6][0] == 'n') MPI_Op_create(keep, 0, &sum);
    MPI_Datatype type = element == 8 ? MPI_DOUBLE : element == 4 ? MPI_INT : MPI_SIGNED_CHAR;
    int count = (int)(bytes / element);

    size_t space = (size_t)bytes * (size_t)size * 3 + 64;
    void *send = buffer(space), *receive = buffer(space);
    int *counts = buffer(sizeof(int) * size), *offsets = buffer(sizeof(int) * size);
    int *own = buffer(sizeof(int) * size), *own_offsets = buffer(sizeof(int) * size);
    int *byte_offsets = buffer(sizeof(int) * size), *own_byte_offsets = buffer(sizeof(int) * size);
    MPI_Datatype *types = buffer(sizeof(MPI_Datatype) * size);
    for (int i = 0, at = 0; i < size; i++) {
        counts[i] = (1 + i % 3) * count;
        offsets[i] = at;
        at += counts[i];
        own[i] = (1 + rank % 3) * count; /* the data that the others send to this task */
        own_offsets[i] = i * own[i];
        types[i] = type;
        byte_offsets[i] = offsets[i] * element;
        own_byte_offsets[i] = own_offsets[i] * element;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm world = MPI_COMM_WORLD;
    for (int call = 0; call < calls; call++) {
#define IS(name) (!strcmp(operation, name))
        if (IS("nothing")) ;
        else if (IS("barrier")) MPI_Barrier(world);
        else if (IS("bcast")) MPI_Bcast(send, count, type, root, world);
        else if (IS("gather")) MPI_Gather(send, count, type, receive, count, type, root, world);
        else if (IS("scatter")) MPI_Scatter(send, count, type, receive, count, type, root, world);
        else if (IS("allgather")) MPI_Allgather(send, count, type, receive, count, type, world);
        else if (IS("alltoall")) MPI_Alltoall(send, count, type, receive, count, type, world);
        else if (IS("reduce")) MPI_Reduce(send, receive, count, type, sum, root, world);
        else if (IS("allreduce")) MPI_Allreduce(send, receive, count, type, sum, world);
        else if (IS("reduce_scatter_block")) MPI_Reduce_scatter_block(send, receive, count, type, sum, world);
        else if (IS("reduce_scatter")) MPI_Reduce_scatter(send, receive, counts, type, sum, world);
        else if (IS("scan")) MPI_Scan(send, receive, count, type, sum, world);
        else if (IS("exscan")) MPI_Exscan(send, receive, count, type, sum, world);
        else if (IS("gatherv")) MPI_Gatherv(send, counts[rank], type, receive, counts, offsets, type, root, world);
        else if (IS("scatterv")) MPI_Scatterv(send, counts, offsets, type, receive, counts[rank], type, root, world);
        else if (IS("allgatherv")) MPI_Allgatherv(send, counts[rank], type, receive, counts, offsets, type, world);
        else if (IS("alltoallv")) MPI_Alltoallv(send, counts, offsets, type, receive, own, own_offsets, type, world);
        else if (IS("alltoallw")) MPI_Alltoallw(send, counts, byte_offsets, types, receive, own, own_byte_offsets, types, world);
        else if (IS("ibarrier")) MPI_Ibarrier(world, &request);
        else if (IS("ibcast")) MPI_Ibcast(send, count, type, root, world, &request);
        else if (IS("igather")) MPI_Igather(send, count, type, receive, count, type, root, world, &request);
        else if (IS("iscatter")) MPI_Iscatter(send, count, type, receive, count, type, root, world, &request);
        else if (IS("iallgather")) MPI_Iallgather(send, count, type, receive, count, type, world, &request);
        else if (IS("ialltoall")) MPI_Ialltoall(send, count, type, receive, count, type, world, &request);
        else if (IS("ireduce")) MPI_Ireduce(send, receive, count, type, sum, root, world, &request);
        else if (IS("iallreduce")) MPI_Iallreduce(send, receive, count, type, sum, world, &request);
        else if (IS("ireduce_scatter_block")) MPI_Ireduce_scatter_block(send, receive, count, type, sum, world, &request);
        else if (IS("ireduce_scatter")) MPI_Ireduce_scatter(send, receive, counts, type, sum, world, &request);
        else if (IS("iscan")) MPI_Iscan(send, receive, count, type, sum, world, &request);
        else if (IS("iexscan")) MPI_Iexscan(send, receive, count, type, sum, world, &request);
        else if (IS("igatherv")) MPI_Igatherv(send, counts[rank], type, receive, counts, offsets, type, root, world, &request);
        else if (IS("iscatterv")) MPI_Iscatterv(send, counts, offsets, type, receive, counts[rank], type, root, world, &request);
        else if (IS("iallgatherv")) MPI_Iallgatherv(send, counts[rank], type, receive, counts, offsets, type, world, &request);
        else if (IS("ialltoallv")) MPI_Ialltoallv(send, counts, offsets, type, receive, own, own_offsets, type, world, &request);
        else if (IS("ialltoallw")) MPI_Ialltoallw(send, counts, byte_offsets, types, receive, own, own_byte_offsets, types, world, &request);
        else {
            if (rank == 0) fprintf(stderr, "coll_traffic: unknown operation %s\n", operation);
            MPI_Finalize();
            return 2;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
