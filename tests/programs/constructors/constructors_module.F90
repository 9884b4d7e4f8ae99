! Tests the constructors of topologies with `use mpi`.
#define BINDING use mpi
#define HANDLE integer
#include "constructors.inc"
