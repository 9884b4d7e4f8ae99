/* Which MPI functions a program finds by weak references, by dlsym, and in data that the loader
   fills in. Prints the answers: they must be the same with the library as without. Calls what it
   found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NEWER(X) \
    X(MPI_Send_c) X(MPI_Isend_c) X(MPI_Allreduce_c) X(MPI_Bcast_c) X(MPI_Alltoallv_c) \
    X(MPI_Psend_init) X(MPI_Isendrecv) X(MPI_Allreduce_init) X(MPI_Session_init) \
    X(MPI_Comm_idup_with_info) X(MPI_Group_from_session_pset) X(MPI_Neighbor_alltoall_init) \
    X(MPI_Comm_create_from_group) X(MPI_Comm_get_attr) X(MPI_Attr_get) X(MPI_Send) X(MPI_Put_c) \
    X(MPI_Comm_attach_buffer) X(MPI_Type_dup)

#define REF(name) extern int ref_##name() __asm__(#name) __attribute__((weak));
NEWER(REF)

struct probe {
    const char *name;
    int (*in_data)(); /* R_X86_64_64 */
};
#define ENTRY(name) {#name, ref_##name},
static struct probe table[] = {NEWER(ENTRY)};

int main(int argc, char **argv) {
    int rank, bad = 0;
    char in_code[64] = {0};
    unsigned k = 0;
#define CODE(name) in_code[k++] = (uintptr_t)ref_##name != 0; /* R_X86_64_GLOB_DAT */
    NEWER(CODE)
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (unsigned i = 0; i < k; i++) {
        int searched = dlsym(RTLD_DEFAULT, table[i].name) != NULL;
        char profiling[80];
        snprintf(profiling, sizeof profiling, "P%s", table[i].name);
        int real = dlsym(RTLD_DEFAULT, profiling) != NULL;
        if (rank == 0)
            printf("%s: weak %d, data %d, dlsym %d\n", table[i].name, in_code[i],
                   table[i].in_data != NULL, searched);
        if (in_code[i] != real || searched != real || (table[i].in_data != NULL) != real) bad++;
    }
    if (ref_MPI_Send_c) {
        int (*send)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm) = (void *)ref_MPI_Send_c;
        char byte = 1;
        if (send(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS) bad++;
    }
    MPI_Finalize();
    if (rank == 0) printf(bad ? "FAIL probes: %d answers are wrong\n" : "ok probes\n", bad);
    return bad != 0;
}
