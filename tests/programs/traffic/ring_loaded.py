"""A ring of sends by mpi4py, which loads its MPI library by itself and calls the newest functions it
has: the large-count ones of MPI 4, and partitioned sends. Prints `ok ring` and what it found, as
does a look by ctypes at a library that was loaded for this process alone (RTLD_LOCAL). A function that ctypes finds there
sees the same rank as mpi4py."""

import array
import ctypes
import os
import sys

from mpi4py import MPI

NAMES = ["MPI_Send", "MPI_Send_c", "MPI_Psend_init", "MPI_Session_init", "MPI_Allreduce_init",
         "MPI_Isendrecv", "MPI_Attr_get", "MPI_Comm_attach_buffer"]


def main():
    world = MPI.COMM_WORLD
    rank, size = world.rank, world.size
    right, left = (rank + 1) % size, (rank - 1) % size
    out, into = array.array("b", bytes(100)), array.array("b", bytes(100))
    for _ in range(10):
        request = world.Irecv(into, left)
        world.Send(out, right)
        request.Wait()
    partitions = 0
    try:
        send, receive = world.Psend_init(out, 2, right, 5), world.Precv_init(into, 2, left, 5)
        receive.Start()
        send.Start()
        send.Pready_range(0, 1)
        send.Wait()
        receive.Wait()
        send.Free()
        receive.Free()
        partitions = 2
    except NotImplementedError:
        pass
    library = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"], os.RTLD_LAZY | os.RTLD_LOCAL)
    world_by_name = (ctypes.c_char * MPI._sizeof(MPI.Comm)).from_address(MPI._addressof(world))
    handle = int.from_bytes(world_by_name.raw, sys.byteorder)
    by_name = ctypes.c_int(-1)
    as_argument = ctypes.c_void_p if MPI._sizeof(MPI.Comm) == 8 else ctypes.c_int
    library.MPI_Comm_rank(as_argument(handle), ctypes.byref(by_name))
    if by_name.value != rank:
        print(f"task {rank} has rank {by_name.value} by ctypes")
    found = "".join(str(int(hasattr(library, name))) for name in NAMES)
    if rank == 0:
        print(f"ok ring partitions {partitions} found {found}")
    sys.stdout.flush()


main()
