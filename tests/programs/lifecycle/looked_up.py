"""A ring of messages by ctypes alone: the program is not linked with MPI, and loads it for itself. Arguments: the file of
the MPI library, and `local` or `global`, how it is loaded."""

import ctypes
import os
import sys


def handles(library):
    """MPI_COMM_WORLD, MPI_INT and MPI_STATUS_IGNORE of the two families, as mpi.h gives them."""
    try:
        world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world")))
        integer = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_int")))
        return world, integer, ctypes.c_void_p(0)
    except ValueError:
        return ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405), ctypes.c_void_p(1)


def main():
    file, way = sys.argv[1:]
    library = ctypes.CDLL(file, os.RTLD_LOCAL if way == "local" else os.RTLD_GLOBAL)
    world, integer, ignore = handles(library)
    rank, size = ctypes.c_int(), ctypes.c_int()
    library.MPI_Init(None, None)
    library.MPI_Comm_rank(world, ctypes.byref(rank))
    library.MPI_Comm_size(world, ctypes.byref(size))
    right, left = (rank.value + 1) % size.value, (rank.value - 1) % size.value
    out, into = (ctypes.c_int * 25)(rank.value), (ctypes.c_int * 25)(-1)
    wrong = 0
    for _ in range(10):
        library.MPI_Sendrecv(out, 25, integer, right, 3, into, 25, integer, left, 3, world, ignore)
        wrong += into[0] != left
    if rank.value == 0 and not wrong:
        print("ok looked_up", flush=True)
    library.MPI_Finalize()
    return wrong


sys.exit(main())
