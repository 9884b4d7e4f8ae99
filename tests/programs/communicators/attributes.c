/* Tests attributes: the predefined ones of MPI_COMM_WORLD, and the user's own with their callbacks. */
#include "check.h"

static int copies, deletions;
static MPI_Comm last_copied, last_deleted;

static int copied(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)key;
    last_copied = comm;
    copies++;
    SAME(*(int *)extra, 42);
    *(void **)copy = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    SAME(*(int *)extra, 42);
    last_deleted = comm;
    deletions++;
    return MPI_SUCCESS;
}

static int willing;

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return willing ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int flag = 0, *value = NULL;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    if (CHECK(flag && value, "MPI_TAG_UB is not set"))
        CHECK(*value >= 32767, "MPI_TAG_UB is %d", *value);
    const int most = flag && value ? *value : 32767;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(flag, "MPI_WTIME_IS_GLOBAL is not set");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    if (flag)
        CHECK(*value >= 1, "MPI_UNIVERSE_SIZE is %d", *value);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    if (flag)
        SAME(*value, 0);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
    CHECK(flag, "MPI_HOST is not set");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(flag, "MPI_IO is not set");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value == most, "the old call sees another MPI_TAG_UB");
#pragma GCC diagnostic pop

    /* Libraries ask a duplicate. What it inherits is up to MPI, but every MPI here gives it the largest tag. */
    MPI_Comm twin, again, later;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Comm_dup(twin, &again));
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &later, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Comm *twins[] = {&twin, &again, &later};
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_get_attr(*twins[i], MPI_TAG_UB, &value, &flag));
        if (CHECK(flag && value, "duplicate %d has no MPI_TAG_UB", i))
            SAME(*value, most);
        OK(MPI_Comm_free(twins[i]));
    }

    /* A message with the largest tag arrives. */
    const int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    int out = world_rank, in = -1;
    MPI_Status status;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, to, most, &in, 1, MPI_INT, from, most, MPI_COMM_WORLD,
                    &status));
    SAME(in, from);
    SAME(status.MPI_TAG, most);

    int key, extra = 42, number = 5;
    MPI_Comm copy;
    OK(MPI_Comm_create_keyval(copied, deleted, &key, &extra));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    SAME(flag, 0);
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &number));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    SAME(flag, 1);
    SAME(value == &number, 1);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    SAME(copies, 1);
    SAME(last_copied == MPI_COMM_WORLD, 1);
    OK(MPI_Comm_get_attr(copy, key, &value, &flag));
    SAME(flag, 1);
    SAME((char *)value - (char *)&number, 1);
    MPI_Comm before = copy;
    OK(MPI_Comm_free(&copy));
    SAME(deletions, 1);
    SAME(last_deleted == before, 1);
    /* Setting an attribute again deletes the old value. MPI_Comm_split copies no attributes. */
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &extra));
    SAME(deletions, 2);
    SAME(last_deleted == MPI_COMM_WORLD, 1);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &copy));
    SAME(copies, 1);
    OK(MPI_Comm_free(&copy));
    SAME(deletions, 2);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    SAME(deletions, 3);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    SAME(flag, 0);
    OK(MPI_Comm_free_keyval(&key));
    SAME(key, MPI_KEYVAL_INVALID);

    /* MPI_COMM_DUP_FN and MPI_COMM_NULL_COPY_FN. */
    int kept, dropped;
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &dropped, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, kept, &number));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, dropped, &number));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_get_attr(copy, kept, &value, &flag));
    SAME(flag && value == &number, 1);
    OK(MPI_Comm_get_attr(copy, dropped, &value, &flag));
    SAME(flag, 0);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, kept));
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, dropped));
    OK(MPI_Comm_free_keyval(&kept));
    OK(MPI_Comm_free_keyval(&dropped));

    /* An error that a delete callback returns reaches the caller. */
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &number));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_delete_attr(MPI_COMM_SELF, key) != MPI_SUCCESS, "the refusal was lost");
    willing = 1;
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, kept, &number));
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, kept));
    OK(MPI_Comm_free_keyval(&kept));

    /* Attributes of datatypes follow the same rules for callbacks, but have no communicator. */
    MPI_Datatype type;
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &kept, NULL));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, kept, &number));
    OK(MPI_Type_get_attr(type, kept, &value, &flag));
    SAME(flag && value == &number, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free_keyval(&kept));
    return verdict("attributes");
}
