/* Makes calls fail that the library under test makes: a library to preload after it.
 *
 * It stands before functions of the C library and PMPI functions (`faults.inc` lists them) and looks at the
 * return address: only calls from the library under test are touched. A site is a function and the offset of
 * the return address in that library, the same in every process.
 *
 *   FAULT_LOG=DIR        writes the sites that were reached, one `FUNCTION OFFSET` a line, to DIR/PID
 *   FAULT_SITE=FUN:OFF   this site fails; FAULT_SITE=FUN: all calls of this function fail
 *   FAULT_ONCE=1         only the first call of the site fails
 *   FAULT_RANK=N         only in the process with this rank of the launcher
 *
 * Needs no mpi.h: a call is passed on with the registers and the stack as they came.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_SITES = 4096 };
typedef enum { MINUS_ONE, NOTHING, NO_MAPPING, ERROR_NUMBER, MPI_ERROR, CLOSED } Result;

static unsigned long low, high;
static const char *site_name;
static unsigned long site_offset;
static int all_sites, once, here = 1, done, log_file = -1, ready;
static struct { const char *name; unsigned long offset; } seen[MOST_SITES];
static int sites;
static char locked;

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (!strstr(info->dlpi_name, "librankweave.so")) return 0;
    low = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const unsigned long end = low + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > high) high = end;
    }
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    static char name[64];
    const char *text = getenv("FAULT_SITE"), *rank = getenv("PMI_RANK"), *folder = getenv("FAULT_LOG");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    dl_iterate_phdr(find_library, NULL);
    if (!rank) return; /* the launcher */
    if (getenv("FAULT_RANK")) here = atoi(getenv("FAULT_RANK")) == atoi(rank);
    once = getenv("FAULT_ONCE") != NULL;
    if (text) {
        const char *colon = strchr(text, ':');
        const size_t length = colon ? (size_t)(colon - text) : strlen(text);
        if (length < sizeof name) {
            memcpy(name, text, length);
            site_name = name;
        }
        if (colon) site_offset = strtoul(colon + 1, NULL, 16);
        all_sites = !colon;
    }
    if (folder) {
        char path[512];
        snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
        log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    ready = 1;
}

/* Signals are held back meanwhile. A signal handler of the library under test also makes calls that this library
 * logs. If it interrupted this function, it would wait forever for the lock that its own thread holds. */
static void note(const char *name, unsigned long offset)
{
    char line[128];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE)) {}
    int known = 0;
    while (known < sites && (seen[known].offset != offset || seen[known].name != name)) known++;
    if (known == sites && sites < MOST_SITES) {
        seen[sites].name = name;
        seen[sites++].offset = offset;
        const int length = snprintf(line, sizeof line, "%s %lx\n", name, offset);
        if (write(log_file, line, (size_t)length) != length) _exit(99);
    }
    __atomic_clear(&locked, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Whether a call with this return address is to fail. */
static int fails(const char *name, void *address)
{
    const unsigned long from = (unsigned long)address;
    if (!ready || from < low || from >= high) return 0;
    if (log_file >= 0) {
        const int before = errno;
        note(name, from - low);
        errno = before;
    }
    if (!site_name || !here || strcmp(name, site_name) != 0) return 0;
    if (!all_sites && from - low != site_offset) return 0;
    return !once || !__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED);
}

static long failure(Result result, int number)
{
    if (result == MPI_ERROR) return 16;
    if (result == ERROR_NUMBER) return number;
    errno = number;
    return result == NOTHING ? 0 : result == NO_MAPPING ? (long)MAP_FAILED : -1;
}

/* In C the function has another name, so that no header needs to know its parameters. */
#define FAULT(name, result, number)                                                       \
    __attribute__((visibility("default"))) long fault_##name() __asm__(#name);            \
    __attribute__((visibility("default"))) long fault_##name()                            \
    {                                                                                     \
        static void (*next)();                                                            \
        void *arguments = __builtin_apply_args();                                         \
        if (!next) next = (void (*)())dlsym(RTLD_NEXT, #name);                            \
        const int failed = fails(#name, __builtin_return_address(0));                     \
        if (failed && (result) != CLOSED) return failure(result, number);                 \
        void *answer = __builtin_apply(next, arguments, 96);                              \
        if (failed) return failure(result, number);                                       \
        __builtin_return(answer);                                                         \
    }
#include "faults.inc"
