/* An error handler throws a C++ exception, which leaves the MPI call and every frame below the program. Prints for
 * each wrong call the class of the error that the program caught, or `none`. A ring at the end shows that MPI and the
 * counts still work.
 */
// The C functions only: the C++ bindings of MPI 2 need a library of their own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <cstdio>
#include <cstring>
#include <vector>

struct Thrown {
    int number;
};

static int destroyed;

struct Local {
    ~Local() { destroyed++; }
};

static void handler(MPI_Comm *, int *code, ...)
{
    Thrown thrown = {MPI_SUCCESS};
    MPI_Error_class(*code, &thrown.number);
    throw thrown;
}

static void window_handler(MPI_Win *, int *code, ...)
{
    handler(nullptr, code);
}

template <typename Call> static void attempt(const char *name, Call call)
{
    int number = -1;
    destroyed = 0;
    try {
        Local local;
        call();
    } catch (const Thrown &thrown) {
        number = thrown.number;
    }
    if (number < 0)
        printf("%s none %d\n", name, destroyed);
    else
        printf("%s %d %d\n", name, number, destroyed);
}

int main(int argc, char **argv)
{
    int rank, size, value = 1, other = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm world = MPI_COMM_WORLD, made;
    MPI_Errhandler own, of_window;
    MPI_Request request;
    MPI_Datatype freed = MPI_DATATYPE_NULL, type;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);

    attempt("send_rank", [&] { MPI_Send(&value, 1, MPI_INT, size, 0, world); });
    attempt("send_count", [&] { MPI_Send(&value, -1, MPI_INT, 0, 0, world); });
    attempt("send_tag", [&] { MPI_Send(&value, 1, MPI_INT, 0, -5, world); });
    attempt("send_type", [&] { MPI_Send(&value, 1, freed, 0, 0, world); });
    attempt("send_comm", [&] { MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL); });
    attempt("isend_rank", [&] { MPI_Isend(&value, 1, MPI_INT, size, 0, world, &request); });
    attempt("isend_type", [&] { MPI_Isend(&value, 1, freed, 0, 0, world, &request); });
    attempt("sendrecv_rank", [&] {
        MPI_Sendrecv(&value, 1, MPI_INT, size, 0, &other, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
    });
    attempt("recv_rank", [&] { MPI_Recv(&value, 1, MPI_INT, size, 0, world, MPI_STATUS_IGNORE); });
    attempt("send_init_rank", [&] { MPI_Send_init(&value, 1, MPI_INT, size, 0, world, &request); });
    attempt("send_init_type", [&] { MPI_Send_init(&value, 1, freed, 0, 0, world, &request); });
    attempt("bcast_root", [&] { MPI_Bcast(&value, 1, MPI_INT, size + 3, world); });
    attempt("bcast_type", [&] { MPI_Bcast(&value, 1, freed, 0, world); });
    attempt("reduce_op", [&] { MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_OP_NULL, world); });
    attempt("reduce_type", [&] { MPI_Allreduce(&value, &other, 1, freed, MPI_SUM, world); });
    attempt("gather_root", [&] { MPI_Gather(&value, 1, MPI_INT, &other, 1, MPI_INT, -7, world); });
    attempt("barrier_comm", [&] { MPI_Barrier(MPI_COMM_NULL); });
    attempt("comm_rank", [&] { MPI_Comm_rank(MPI_COMM_NULL, &other); });
    attempt("comm_dup", [&] { MPI_Comm_dup(MPI_COMM_NULL, &made); });
    attempt("comm_split", [&] { MPI_Comm_split(world, -3, 0, &made); });
    attempt("comm_free", [&] { MPI_Comm null = MPI_COMM_NULL; MPI_Comm_free(&null); });
    attempt("comm_create", [&] { MPI_Comm_create(world, MPI_GROUP_NULL, &made); });
    attempt("cart_create", [&] {
        int extent = size + 1, period = 0;
        MPI_Cart_create(world, 1, &extent, &period, 1, &made);
    });
    attempt("cart_shift", [&] { MPI_Cart_shift(world, 0, 1, &value, &other); });
    attempt("neighbours", [&] { MPI_Neighbor_allgather(&value, 1, MPI_INT, &other, 1, MPI_INT, world); });
    attempt("type_size", [&] { MPI_Type_size(freed, &other); });
    attempt("type_free", [&] { MPI_Datatype null = freed; MPI_Type_free(&null); });
    attempt("type_contiguous", [&] { MPI_Type_contiguous(-2, MPI_INT, &type); });
    attempt("group_translate", [&] { MPI_Group_translate_ranks(MPI_GROUP_NULL, 0, nullptr, MPI_GROUP_NULL, nullptr); });
    attempt("request_free", [&] { MPI_Request null = MPI_REQUEST_NULL; MPI_Request_free(&null); });
    attempt("start", [&] { MPI_Request null = MPI_REQUEST_NULL; MPI_Start(&null); });
    attempt("probe_rank", [&] { MPI_Status status; MPI_Probe(size + 2, 0, world, &status); });
    attempt("call_errhandler", [&] { MPI_Comm_call_errhandler(world, MPI_ERR_OTHER); });

    MPI_Win window;
    std::vector<int> memory(4);
    MPI_Win_create(memory.data(), 4 * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &window);
    MPI_Win_create_errhandler(window_handler, &of_window);
    MPI_Win_set_errhandler(window, of_window);
    MPI_Win_fence(0, window);
    attempt("put_rank", [&] { MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, window); });
    attempt("put_type", [&] { MPI_Put(&value, 1, freed, 0, 0, 1, MPI_INT, window); });
    attempt("accumulate_op", [&] {
        MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, window);
    });
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &other, 1, MPI_INT, (rank + size - 1) % size, 1, world,
                 MPI_STATUS_IGNORE);
    printf("ring %s\n", other == (rank + size - 1) % size ? "ok" : "FAIL");
    MPI_Errhandler_free(&own);
    MPI_Errhandler_free(&of_window);
    MPI_Finalize();
    return 0;
}
