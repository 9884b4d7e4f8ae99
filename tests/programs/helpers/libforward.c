/* A tool that is loaded while the program runs, for all to see. It passes MPI_Sendrecv on to the function that it finds in
 * the MPI library by a handle, under the same name; used by late_tool.py. */
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <stddef.h>

int MPI_Sendrecv(const void *out, int count, MPI_Datatype type, int to, int tag, void *in, int in_count,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    static int (*next)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                       MPI_Status *);
    Dl_info info;
    if (next == NULL && dladdr(dlsym(RTLD_NEXT, "PMPI_Init"), &info))
        *(void **)&next = dlsym(dlopen(info.dli_fname, RTLD_LAZY), "MPI_Sendrecv");
    return next(out, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, status);
}
