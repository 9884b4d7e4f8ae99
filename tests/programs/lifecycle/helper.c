/* The program and its own library (libmpi_helper.c) see the same rank, and the messages of the library are
 * counted. */
#include "check.h"
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char path[4096] = {0};
    CHECK(readlink("/proc/self/exe", path, sizeof path - 20) > 0, "no path");
    strcpy(strrchr(path, '/') + 1, "libmpi_helper.so");
    /* Loaded before MPI_Init, like a library that the program is linked with. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    begin(&argc, &argv);
    int (*helper_rank)(void) = NULL;
    void (*helper_ring)(void) = NULL;
    if (CHECK(library != NULL, "%s", dlerror())) {
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
