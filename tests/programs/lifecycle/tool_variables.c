/* Reads variables of the tools interface that belong to a communicator. Those of MPI_COMM_WORLD must belong to the
 * MPI_COMM_WORLD that the program sees. Open MPI has such a variable: the number of messages from each rank
 * that arrived before a matching receive was posted. */
#include "check.h"

static int find(const char *wanted, int *comm_bound)
{
    int number = 0;
    *comm_bound = 0;
    OK(MPI_T_pvar_get_num(&number));
    for (int i = 0; i < number; i++) {
        char name[256] = "", text[2048];
        int length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous,
            atomic;
        MPI_Datatype type;
        MPI_T_enum names;
        if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &names, text,
                                &text_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        if (strcmp(name, wanted) == 0) {
            *comm_bound = bind == MPI_T_BIND_MPI_COMM;
            return i;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    int provided, comm_bound, variable, value = 5;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    variable = find("pml_ob1_unexpected_msgq_length", &comm_bound);
    /* Other MPI libraries, and other layers of Open MPI, do not have this variable. */
    if (variable >= 0 && comm_bound) {
        MPI_Comm world = MPI_COMM_WORLD, other;
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        int count = 0, to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
        unsigned waiting[64] = {0};
        OK(MPI_T_pvar_session_create(&session));
        OK(MPI_T_pvar_handle_alloc(session, variable, &world, &handle, &count));
        SAME(count, world_size);
        (void)MPI_T_pvar_start(session, handle);
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        MPI_Barrier(other);
        OK(MPI_Send(&value, 1, MPI_INT, to, 1, MPI_COMM_WORLD));
        OK(MPI_Send(&value, 1, MPI_INT, to, 2, MPI_COMM_WORLD));
        /* The last message has arrived, so all earlier ones have arrived too. */
        OK(MPI_Recv(&value, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_T_pvar_read(session, handle, waiting));
        /* No process sends anything else on MPI_COMM_WORLD before all have read the variable. */
        MPI_Barrier(other);
        OK(MPI_Comm_free(&other));
        for (int rank = 0; rank < world_size && rank < 64; rank++)
            SAME(waiting[rank], rank == from);
        OK(MPI_Recv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_T_pvar_handle_free(session, &handle));
        OK(MPI_T_pvar_session_free(&session));
    }
    OK(MPI_T_finalize());
    return verdict("tool_variables");
}
