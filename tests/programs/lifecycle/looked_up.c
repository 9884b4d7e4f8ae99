/* Some calls of this program go through functions that it looks up by a handle of the MPI library, and the other calls
 * through linked functions. Both see the same ranks, and the messages of both are counted.
 *   looked_up        five rounds of a ring in each way
 *   looked_up late   the same, with the functions looked up after MPI_Init */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

static void *library;

/* Looks a function up as careful programs do: dlerror says whether it worked. */
static void *function(const char *name)
{
    dlerror();
    void *address = dlsym(library, name);
    const char *error = dlerror();
    CHECK(address != NULL && error == NULL, "%s: %s", name, error ? error : "no error");
    return address;
}

static int (*rank_of)(MPI_Comm, int *), (*size_of)(MPI_Comm, int *);
static int (*sendrecv)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                       MPI_Status *);

static void look_up(void)
{
    /* The handle leads to the library that has the functions for tools: the MPI library. */
    Dl_info info;
    void *init = dlsym(RTLD_DEFAULT, "PMPI_Init");
    if (init == NULL || !dladdr(init, &info))
        exit(1);
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        exit(1);
    *(void **)&rank_of = function("MPI_Comm_rank");
    *(void **)&size_of = function("MPI_Comm_size");
    *(void **)&sendrecv = function("MPI_Sendrecv");
    CHECK(dlsym(library, "MPI_No_such_function") == NULL, "found");
    CHECK(dlerror() != NULL, "no error");
    /* The functions for tools are those of the library. */
    CHECK(dlsym(library, "PMPI_Init") == init, "another PMPI_Init");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        look_up();
    begin(&argc, &argv);
    if (argc > 1)
        look_up();
    int rank = -1, size = -1;
    OK(rank_of(MPI_COMM_WORLD, &rank));
    OK(size_of(MPI_COMM_WORLD, &size));
    SAME(rank, world_rank);
    SAME(size, world_size);
    const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    int out[25] = {0}, in[25];
    for (int i = 0; i < 10; i++) {
        out[0] = rank;
        in[0] = -1;
        OK((i % 2 ? sendrecv : MPI_Sendrecv)(out, 25, MPI_INT, right, 3, in, 25, MPI_INT, left, 3, MPI_COMM_WORLD,
                                             MPI_STATUS_IGNORE));
        SAME(in[0], left);
    }
    return verdict("looked_up");
}
