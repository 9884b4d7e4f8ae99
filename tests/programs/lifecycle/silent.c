/* Makes calls besides communication that a tool must not disturb: time, version, names, input,
 * memory, info objects, MPI_Pcontrol, requests of the user's own. */
#include "check.h"

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int release(void *extra) { (void)extra; return MPI_SUCCESS; }
static int cancel(void *extra, int complete) { (void)extra, (void)complete; return MPI_SUCCESS; }

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const double t = MPI_Wtime();
    CHECK(MPI_Wtick() > 0 && MPI_Wtime() >= t, "time runs backwards");
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    OK(MPI_Get_library_version(text, &length));
    CHECK(length > 3, "%d", length);
    OK(MPI_Get_processor_name(text, &length));
    SAME(length, strlen(text));
    for (int level = 0; level < 3; level++)
        MPI_Pcontrol(level);
    /* Task 0 receives the standard input. */
    if (argc > 1 && !strcmp(argv[1], "stdin") && world_rank == 0) {
        char line[64] = "";
        CHECK(fgets(line, sizeof line, stdin) && !strcmp(line, "hello\n"), "got '%s'", line);
    }
    MPI_Info info;
    int flag = 0;
    char value[32];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "value"));
    OK(MPI_Info_get(info, "key", 31, value, &flag));
    SAME(flag && !strcmp(value, "value"), 1);
    OK(MPI_Info_free(&info));
    void *memory = NULL;
    OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory));
    memset(memory, 1, 1000);
    OK(MPI_Free_mem(memory));
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Grequest_start(query, release, cancel, NULL, &request));
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    MPI_Get_elements(&status, MPI_INT, &length);
    SAME(length, 3);
    MPI_Datatype type;
    OK(MPI_Type_dup(MPI_DOUBLE, &type));
    OK(MPI_Type_set_name(type, "mine"));
    OK(MPI_Type_get_name(type, text, &length));
    CHECK(!strcmp(text, "mine"), "'%s'", text);
    OK(MPI_Type_free(&type));
    int total = 0, one = 1;
    OK(MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    SAME(total, world_size);
    return verdict("silent");
}
