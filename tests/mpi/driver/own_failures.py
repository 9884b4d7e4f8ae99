"""Failures of the MPI libraries themselves: they come now and then on a busy machine, with and without the library under
test. A launch that failed so is repeated.

Limits: each failure is known by what it writes, so that a failure of the library under test is not taken for it.

>>> from types import SimpleNamespace as Outcome
>>> crash = "*** Process received signal ***\\nFailing at address: 0x7f549affb6f0\\n"
>>> reason(Outcome(code=139, out="", err=crash, timed_out=False))
'Open MPI 4 calls a component that MPI_Finalize has unloaded'
>>> reason(Outcome(code=139, out="", err=crash + "[vm:1] [ 0] libc.so.6(+0x3c050)", timed_out=False))
>>> reason(Outcome(code=139, out="", err=crash.replace("b6f0", "b6f8"), timed_out=False))
>>> reason(Outcome(code=1, out="", err=crash, timed_out=False))
>>> reason(Outcome(code=213, out="", err=NOT_STARTED[1], timed_out=False))
"Open MPI 5's launcher fails"
>>> reason(Outcome(code=0, out="", err="", timed_out=False))
"""

import collections
import re
import signal

# How many launches were repeated, by the reason.
REPEATED = collections.Counter()

# What Open MPI 5's launcher writes when it cannot start itself, and its exit code. This happens now and then on a
# busy machine. The library is not in the launcher, and no process of the program has started.
NOT_STARTED = (213, "PMIx server's listener thread failed to start")
# What it writes about a program that has failed, before it ends itself.
HAS_REPORTED = "prterun detected that one or more processes exited"

# MPI_Init of Open MPI 4.1.4 leaves an event to a thread, and MPI_Finalize does not wait until it is handled. A thread that
# is late by as much as the program takes then calls a function of mca_pmix_ext3x.so, which is no longer there. Without the
# library under test, nine of nine programs of MPI_Init and MPI_Finalize ended so when a preloaded `poll` slept for 300 ms or
# more in each thread but the first, and none of three when it slept for 100 ms. This is the address of that function in its
# page, in Debian 12. Open MPI's own account of the crash ends with the address, because there is no code any more from which
# the stack could be followed.
UNLOADED = re.compile(r"Failing at address: 0x[0-9a-f]+6f0$", re.MULTILINE)
FRAME = "[ 0]"


def reason(outcome):
    """Which failure of the MPI library ended the launch; None if it is none of those that are known."""
    if is_of_launcher(outcome):
        return "Open MPI 5's launcher fails"
    said = outcome.err + outcome.out
    if outcome.code == 128 + signal.SIGSEGV and UNLOADED.search(said) and FRAME not in said:
        return "Open MPI 4 calls a component that MPI_Finalize has unloaded"
    return None


def is_of_launcher(outcome):
    """Whether a launcher of Open MPI 5 could not start itself, or did not end as it should. Either it is the only process
    that is left of the launch, and its main thread waits for a lock of the launcher's: one launch in a hundred ends so,
    with and without the library. Or it was aborted (the processes of the program have exit codes, not the launcher's
    signal) after it had reported how the program had ended; this was seen once in several thousand launches."""
    if outcome.timed_out:
        processes = [line for line in outcome.waiting if line.startswith("process ")]
        main = "\n".join(outcome.waiting).partition("Thread 1 ")[2]
        return len(processes) == 1 and "/prterun " in processes[0] and "lock_wait" in main and "libprrte" in main
    # The command names the exit code of a launcher that it started.
    if f"run 1: exit code {NOT_STARTED[0]}" in outcome.err or f"exit code {NOT_STARTED[0]} (" in outcome.out:
        return True
    if outcome.code == -signal.SIGABRT and HAS_REPORTED in outcome.err:
        return True
    return outcome.code == NOT_STARTED[0] and NOT_STARTED[1] in outcome.err
