"""A program that is not linked with MPI loads a library that is, and after MPI_Init a tool that passes calls on by a handle
of the MPI library. Arguments: the two files."""

import ctypes
import os
import sys


def main():
    helper = ctypes.CDLL(sys.argv[1], os.RTLD_LOCAL | os.RTLD_LAZY)
    helper.helper_begin()
    rank = helper.helper_rank()
    ctypes.CDLL(sys.argv[2], os.RTLD_GLOBAL | os.RTLD_NOW)
    for _ in range(5):
        helper.helper_ring()
    if rank == 0:
        print("ok late_tool", flush=True)
    helper.helper_end()


main()
