! Tests the constructors of topologies with `use mpi_f08`.
#define BINDING use mpi_f08
#define HANDLE type(MPI_Comm)
#include "constructors.inc"
