/* C interface of librankweave.so, for programs that want to know whether they run under rankweave.
 *
 * The library is preloaded, not linked: its functions are declared weak here, so that a program also
 * runs without it; test them before calling. */
#ifndef RANKWEAVE_H
#define RANKWEAVE_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RANKWEAVE_WEAK __attribute__((weak))
#else
#define RANKWEAVE_WEAK
#endif

/* Version of the library that is loaded. Either pointer may be null. Returns 0. The function itself is
 * null when the library is not loaded:
 *
 *     if (rankweave_version) rankweave_version(&major, &minor); */
int rankweave_version(int *major, int *minor) RANKWEAVE_WEAK;

/* Has the matrix so far put into the store, for the tasks on the node of the caller, while the program
 * runs on; returns before it is there. 0, or 1 if nothing is recorded or no spill file is kept. */
int rankweave_flush(void) RANKWEAVE_WEAK;

#ifdef __cplusplus
}
#endif

#endif
