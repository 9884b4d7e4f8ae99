/* The program and its own library (libmpi_helper.c) see the same rank, and the messages of the library are
 * counted. */
#include "beside.h"

int main(int argc, char **argv)
{
    /* Loaded before MPI_Init, like a library that the program is linked with. */
    void *library = load_beside("libmpi_helper.so");
    begin(&argc, &argv);
    int (*helper_rank)(void) = NULL;
    void (*helper_ring)(void) = NULL;
    if (library != NULL) {
        *(void **)&helper_rank = dlsym(library, "helper_rank");
        *(void **)&helper_ring = dlsym(library, "helper_ring");
    }
    if (CHECK(helper_rank != NULL && helper_ring != NULL, "no function")) {
        SAME(helper_rank(), world_rank);
        for (int i = 0; i < 5; i++)
            helper_ring();
    }
    return verdict("helper");
}
