/* A libmpi for one process that says it is rank 0 of STUB_SIZE: it moves nothing and answers at once.
 * With it the memory that the library takes in a job of many thousand ranks can be measured on one
 * machine. It has what a program under benches/lifecycle and the library call until the measurement,
 * with the integer handles of MPICH. */
#include <stdlib.h>
#include <string.h>

typedef int Handle;
#define EXPORT __attribute__((visibility("default")))
/* Each function under both of its names, the plain one weak as in every MPI. */
#define BOTH(name, parameters)                                                                   \
    EXPORT int PMPI_##name parameters;                                                           \
    EXPORT int MPI_##name parameters __attribute__((weak, alias("PMPI_" #name)));                \
    int PMPI_##name parameters

static int size(void)
{
    const char *text = getenv("STUB_SIZE");
    return text ? atoi(text) : 2;
}

static int initialized, keyvals = 0x64400000, handles = 0x04000001;

BOTH(Init, (int *argc, char ***argv)) { (void)argc, (void)argv; initialized = 1; return 0; }
BOTH(Initialized, (int *flag)) { *flag = initialized; return 0; }
BOTH(Finalized, (int *flag)) { *flag = 0; return 0; }
BOTH(Get_library_version, (char *text, int *length))
{
    strcpy(text, "MPICH stub of one process");
    *length = (int)strlen(text);
    return 0;
}
BOTH(Comm_size, (Handle comm, int *result)) { (void)comm; *result = size(); return 0; }
BOTH(Comm_rank, (Handle comm, int *rank)) { (void)comm; *rank = 0; return 0; }
BOTH(Comm_test_inter, (Handle comm, int *flag)) { (void)comm; *flag = 0; return 0; }
BOTH(Comm_idup, (Handle comm, Handle *copy, Handle *request))
{
    (void)comm;
    *copy = ++handles | 0x84000000;
    *request = 0x2c000000;
    return 0;
}
BOTH(Comm_get_parent, (Handle *parent)) { *parent = 0x04000000; return 0; }
BOTH(Comm_free, (Handle *comm)) { *comm = 0x04000000; return 0; }
BOTH(Comm_set_errhandler, (Handle comm, Handle handler)) { (void)comm, (void)handler; return 0; }
BOTH(Comm_create_keyval, (void *copy, void *delete, int *keyval, void *extra))
{
    (void)copy, (void)delete, (void)extra;
    *keyval = ++keyvals;
    return 0;
}
BOTH(Type_create_keyval, (void *copy, void *delete, int *keyval, void *extra))
{
    return PMPI_Comm_create_keyval(copy, delete, keyval, extra);
}
BOTH(Win_create_keyval, (void *copy, void *delete, int *keyval, void *extra))
{
    return PMPI_Comm_create_keyval(copy, delete, keyval, extra);
}
BOTH(Comm_set_attr, (Handle comm, int keyval, void *value))
{
    (void)comm, (void)keyval, (void)value;
    return 0;
}
BOTH(Ibcast, (void *buffer, int count, Handle datatype, int root, Handle comm, Handle *request))
{
    (void)buffer, (void)count, (void)datatype, (void)root, (void)comm;
    *request = 0x2c000000;
    return 0;
}
BOTH(Iallreduce, (const void *in, void *out, int count, Handle datatype, Handle op, Handle comm,
                  Handle *request))
{
    (void)datatype, (void)op, (void)comm;
    memcpy(out, in, (size_t)count * 8);
    *request = 0x2c000000;
    return 0;
}
BOTH(Test, (Handle *request, int *flag, void *status)) { (void)request, (void)status; *flag = 1; return 0; }
BOTH(Type_size, (Handle datatype, int *bytes)) { *bytes = datatype >> 8 & 0xff; return 0; }
BOTH(Type_get_envelope, (Handle datatype, int *a, int *b, int *c, int *combiner))
{
    (void)datatype;
    *a = *b = *c = 0;
    *combiner = 1;
    return 0;
}
BOTH(Send, (const void *buffer, int count, Handle datatype, int dest, int tag, Handle comm))
{
    (void)buffer, (void)count, (void)datatype, (void)dest, (void)tag, (void)comm;
    return 0;
}
