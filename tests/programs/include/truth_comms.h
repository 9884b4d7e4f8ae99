/* The communicators that truth.c makes its calls on. */
#ifndef RANKWEAVE_TRUTH_COMMS_H
#define RANKWEAVE_TRUTH_COMMS_H

#include "truth.h"
#include <stdint.h>

struct place {
    MPI_Comm comm;
    int rank, size;   /* in the caller's own group */
    int inter;        /* an intercommunicator? */
    int remote;       /* ranks that can be addressed: the remote group, or the own one */
    int group, first; /* which group the caller is in, and the size of group 0 */
    int topology;
    int sources, destinations, source[MAX_PEERS], destination[MAX_PEERS];
};

/* Makes the communicator of a kind; false if this MPI has none. */
int make_place(const char *kind, struct place *place);
void free_place(struct place *place);

#endif
