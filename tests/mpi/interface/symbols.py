"""Checks that calls.tbl has every function of the installed MPI libraries.

The names come from the dynamic symbol table of each library. Functions of the standard must be in
the table. Extensions must be in it if they take a communicator or move data. All other extensions are
listed here, with their purpose.
"""

import os
import re

from recording import call_table, truth

# Extensions that neither take a communicator nor move data between processes.
EXTENSIONS = {
    "questions about the machine": "MPIX_Query_cuda_support MPIX_Query_hip_support "
    "MPIX_Query_rocm_support MPIX_Query_ze_support MPIX_GPU_query_support",
    "generalized requests and progress": "MPIX_Grequest_class_allocate MPIX_Grequest_class_create "
    "MPIX_Grequest_start MPIX_Async_get_state MPIX_Async_spawn MPIX_Async_start "
    "MPIX_Request_is_complete MPIX_Start_progress_thread MPIX_Stop_progress_thread "
    "MPIX_Stream_progress",
    "completion of what was counted when it was started": "MPIX_Wait_enqueue MPIX_Waitall_enqueue",
    "error classes and handlers of no communicator": "MPIX_Delete_error_class "
    "MPIX_Delete_error_code MPIX_Delete_error_string MPIX_Comm_create_errhandler_x "
    "MPIX_File_create_errhandler_x MPIX_Session_create_errhandler_x MPIX_Win_create_errhandler_x",
    "local objects": "MPIX_Info_set_hex MPIX_Op_create_x MPIX_Stream_create MPIX_Stream_free "
    "MPIX_Type_iov MPIX_Type_iov_len",
    "communicators of threads, which are never the world": "MPIX_Threadcomm_start "
    "MPIX_Threadcomm_finish MPIX_Threadcomm_free",
    "notifications of a window": "MPIX_Win_create_notify MPIX_Win_free_notify MPIX_Win_get_notify "
    "MPIX_Win_get_notify_request MPIX_Win_set_notify",
}


def known():
    """Every name in calls.tbl with its large-count twin."""
    found = set()
    with open(os.path.join(call_table.WRAPPERS, "calls.tbl"), encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                found.update(words[1:] if words[0].startswith("~") else words[:1])
    return found | {name + "_c" for name in found}


def marked(mark):
    """The names behind `@openmpi` or `@mpich` in calls.tbl: functions that only this family has."""
    with open(os.path.join(call_table.WRAPPERS, "calls.tbl"), encoding="utf-8") as f:
        lines = [line.split("#")[0].split() for line in f]
    return {name for words in lines if words[:1] == [mark] for name in words[1:]}


def check(results, stacks):
    table = known()
    listed = {name for names in EXTENSIONS.values() for name in names.split()}
    for stack in stacks:
        names = set().union(*(truth.exported(path) for path in stack.libraries()))
        # C functions: one capital letter after the prefix (MPI_T_ aside); not the Fortran MPI_SEND.
        standard = {n for n in names if re.match(r"MPI_([A-Z][a-z]|T_[a-z])", n)
                    and not n.endswith(("_f", "_f08"))}
        extensions = {n for n in names if re.match(r"MPIX_[A-Za-z]+[a-z]", n)
                      and not n.endswith(("_f", "_f08"))}
        problems = [f"{n} does not stand in calls.tbl" for n in sorted(standard - table)]
        problems += [f"{n}: an extension that neither calls.tbl nor tests/mpi/interface/symbols.py knows"
                     for n in sorted(extensions - table - listed)]
        others = marked("@mpich" if "ompi_mpi_comm_world" in names else "@openmpi")
        problems += [f"{n} is there, but calls.tbl says that only the other family has it"
                     for n in sorted(extensions & (others | {name + "_c" for name in others}))]
        if len(standard) < 300:
            problems.append(f"only {len(standard)} functions found")
        results.add(f"{stack.name}: all {len(standard)} functions and {len(extensions)} extensions "
                    "of the library are known", problems)
