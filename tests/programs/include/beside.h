/* Loads a library that lies beside the program, for programs that use libraries of their own. */
#ifndef BESIDE_H
#define BESIDE_H

#include "check.h"
#include <dlfcn.h>
#include <unistd.h>

/* The handle of the library, or NULL; what failed is said. */
static inline void *load_beside(const char *name)
{
    char path[4096] = {0};
    if (!CHECK(readlink("/proc/self/exe", path, sizeof path - 256) > 0, "no path"))
        return NULL;
    strcpy(strrchr(path, '/') + 1, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL, "%s", dlerror());
    return library;
}

#endif
