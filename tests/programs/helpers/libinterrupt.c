/* Interrupts a process at one of its changes to the files below a directory: a library to preload.
 *
 * The changes are numbered from 1 in the order in which the process makes them: files that are opened for writing,
 * bytes that are written, links, renames, removals, folders, and requests to write to the disk.
 *
 *   INTERRUPT_BELOW=DIR  the directory
 *   INTERRUPT_AT=N       the number of the change; 0 or unset: none
 *   INTERRUPT_HOW=HOW    kill: the process ends by SIGKILL before this change; torn: the same, but half of the
 *                        bytes of a write are written; fail: this change fails; full: this and all later changes
 *                        that need space fail
 *   INTERRUPT_LOG=FILE   gets a line `N CALL` for each change
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { GOES_ON, FAILS, TORN };

static int count;
static __thread int inside;

static int is_below(const char *path)
{
    const char *directory = getenv("INTERRUPT_BELOW");
    return directory && path && !strncmp(path, directory, strlen(directory));
}

static int leads_below(int file)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static void note(int number, const char *call)
{
    const char *name = getenv("INTERRUPT_LOG");
    char line[64];
    const int log = name ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (log < 0) return;
    const int length = snprintf(line, sizeof line, "%d %s\n", number, call);
    if (write(log, line, (size_t)length) != length) _exit(99);
    close(log);
}

/* What becomes of the next change. Changes that free space do not fail on a full disk. */
static int next_change(const char *call, int needs_space)
{
    const char *how = getenv("INTERRUPT_HOW"), *at = getenv("INTERRUPT_AT");
    const int number = ++count, wanted = at ? atoi(at) : 0;
    const int before = errno;
    inside = 1;
    note(number, call);
    inside = 0;
    errno = before;
    if (!wanted || !how || number < wanted) return GOES_ON;
    if (!strcmp(how, "full")) return needs_space ? FAILS : GOES_ON;
    if (number != wanted) return GOES_ON;
    if (!strcmp(how, "torn") && !strcmp(call, "write")) return TORN;
    if (!strcmp(how, "fail")) return FAILS;
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define EXPORT __attribute__((visibility("default")))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A function that changes what is at `path`. */
#define CHANGE(type, name, parameters, arguments, path, space)                        \
    EXPORT type name parameters                                                       \
    {                                                                                 \
        if (!inside && is_below(path) && next_change(#name, space) != GOES_ON) {      \
            errno = (space) ? ENOSPC : EIO;                                           \
            return -1;                                                                \
        }                                                                             \
        return NEXT(name) arguments;                                                  \
    }

CHANGE(int, mkdir, (const char *path, mode_t mode), (path, mode), path, 1)
CHANGE(int, rename, (const char *from, const char *to), (from, to), to, 1)
CHANGE(int, link, (const char *from, const char *to), (from, to), to, 1)
CHANGE(int, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), to, 1)
CHANGE(int, unlink, (const char *path), (path), path, 0)
CHANGE(int, rmdir, (const char *path), (path), path, 0)

/* A function that changes an open file. */
#define CHANGE_FILE(type, name, parameters, arguments, space)                              \
    EXPORT type name parameters                                                            \
    {                                                                                      \
        if (!inside && leads_below(file) && next_change(#name, space) != GOES_ON) {        \
            errno = (space) ? ENOSPC : EIO;                                                \
            return -1;                                                                     \
        }                                                                                  \
        return NEXT(name) arguments;                                                       \
    }

CHANGE_FILE(int, fsync, (int file), (file), 0)
CHANGE_FILE(int, fdatasync, (int file), (file), 0)
CHANGE_FILE(int, sync_file_range, (int file, off64_t from, off64_t bytes, unsigned flags), (file, from, bytes, flags), 0)
CHANGE_FILE(int, ftruncate64, (int file, off64_t length), (file, length), 1)

EXPORT ssize_t write(int file, const void *bytes, size_t length)
{
    const int change = inside || !leads_below(file) ? GOES_ON : next_change("write", 1);
    if (change == FAILS) {
        errno = ENOSPC;
        return -1;
    }
    if (change == TORN) {
        (void)!NEXT(write)(file, bytes, length / 2);
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    return NEXT(write)(file, bytes, length);
}

#define OPENING(name)                                                                          \
    EXPORT int name(const char *path, int flags, ...)                                          \
    {                                                                                          \
        va_list more;                                                                          \
        va_start(more, flags);                                                                 \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;          \
        va_end(more);                                                                          \
        if (!inside && (flags & (O_CREAT | O_TRUNC)) && is_below(path) &&                      \
            next_change("open", 1) != GOES_ON) {                                               \
            errno = ENOSPC;                                                                    \
            return -1;                                                                         \
        }                                                                                      \
        return NEXT(name)(path, flags, mode);                                                  \
    }

OPENING(open)
OPENING(open64)
