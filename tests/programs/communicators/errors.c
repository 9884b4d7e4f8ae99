/* Tests error handlers: what the handler of MPI_COMM_WORLD receives, what it returns, and which calls must
 * still be errors. */
#include "check.h"

static int calls, last_code;
static MPI_Comm last;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last = *comm;
    last_code = *code;
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Errhandler mine, got;
    MPI_Comm copy, world = MPI_COMM_WORLD;
    int value = 1;

    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    SAME(got == MPI_ERRORS_ARE_FATAL, 1);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    SAME(got == MPI_ERRORS_RETURN, 1);
    OK(MPI_Errhandler_free(&got));
    SAME(class_of(MPI_Send(&value, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD)), MPI_ERR_RANK);
    SAME(class_of(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD)), MPI_ERR_COUNT);
    SAME(class_of(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD)), MPI_ERR_TAG);
    SAME(class_of(MPI_Bcast(&value, 1, MPI_INT, world_size + 3, MPI_COMM_WORLD)), MPI_ERR_ROOT);
    int where;
    CHECK(MPI_Comm_rank(MPI_COMM_NULL, &where) != MPI_SUCCESS, "rank of MPI_COMM_NULL");
    /* MPI_COMM_WORLD cannot be freed, and still works afterwards. */
    CHECK(MPI_Comm_free(&world) != MPI_SUCCESS, "the world was freed");
    world = MPI_COMM_WORLD;
    OK(MPI_Comm_rank(world, &where));
    SAME(where, world_rank);

    OK(MPI_Comm_create_errhandler(handler, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    SAME(got == mine, 1);
    OK(MPI_Errhandler_free(&got));
    MPI_Send(&value, 1, MPI_INT, world_size + 1, 0, MPI_COMM_WORLD);
    SAME(calls, 1);
    SAME(last == MPI_COMM_WORLD, 1);
    SAME(class_of(last_code), MPI_ERR_RANK);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    SAME(calls, 2);
    SAME(last == MPI_COMM_WORLD, 1);
    SAME(last_code, MPI_ERR_OTHER);

    /* A duplicate inherits the handler, and errors on the duplicate reach the handler. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MPI_Send(&value, 1, MPI_INT, world_size + 1, 0, copy);
    SAME(calls, 3);
    SAME(last == copy, 1);
    OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    SAME(class_of(MPI_Send(&value, 1, MPI_INT, -77, 0, copy)), MPI_ERR_RANK);
    SAME(calls, 3);
    OK(MPI_Comm_free(&copy));

    /* The handler works as long as it is attached to a communicator. */
    OK(MPI_Errhandler_free(&mine));
    MPI_Recv(&value, 1, MPI_INT, world_size + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    SAME(calls, 4);
    SAME(last == MPI_COMM_WORLD, 1);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));

    /* A second error after the first one: a truncated message. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int pair[2] = {1, 2};
    MPI_Request request;
    OK(MPI_Isend(pair, 2, MPI_INT, world_rank, 9, MPI_COMM_WORLD, &request));
    SAME(class_of(MPI_Recv(&value, 1, MPI_INT, world_rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
         MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    /* Error codes of the user. */
    int class, code, length;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "of our own"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, "of our own") != NULL, "'%s'", text);
    SAME(class_of(code), class);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return verdict("errors");
}
