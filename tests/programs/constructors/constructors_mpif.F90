! Tests the constructors of topologies with mpif.h.
#define WITH_MPIF
#define HANDLE integer
#include "constructors.inc"
