"""MPI libraries for another processor. Their programs and launchers run in an emulator (qemu) on this machine.

`scripts/emulate` makes the kernel start such programs in the emulator, and `scripts/setup --arch` installs the
libraries and compilers. The tests themselves run on the processor of this machine.

Limits: a program is ten to thirty times slower, so nothing that depends on the time can be tested. The emulator keeps the
order of memory accesses of this machine, so nothing is learned about the memory model of the other processor. What cannot
run is listed in `UNABLE`, and tests/README.md has the same list.
"""

import os
import shutil
import sys

from driver import stacks

# The processors, and the first part of the names of their compilers.
PROCESSORS = {"aarch64": "aarch64-linux-gnu"}
# How much longer than on this machine a launch may take, and after how many seconds any command is ended.
PATIENCE = 8
OVERDUE = 1800
ENTERED = "TEST_PROCESSOR"
# The emulator lacks process_vm_readv, with which Open MPI copies large messages. Without it, of the components for windows
# only `pt2pt` works, which Debian's settings of Open MPI switch off: every MPI_Win_create failed with MPI_ERR_WIN.
OPENMPI_SETTINGS = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_osc": "^ucx"}
# MPICH's UCX opens TCP connections beside the shared memory. In the emulator, MPI_Finalize then now and then does not end,
# also without the library under test: one rank waits until another one answers on its connection, and that one reads from
# the launcher only.
MPICH_SETTINGS = {"UCX_TLS": "self,posix,sysv"}

# Why no matrix is stored while a program runs: the library starts the command by a process of that kind.
NO_FLUSH = "qemu cannot make a process that shares memory and raises no signal"

# The parts of tests/mpi/run that cannot run in the emulator, with the reason.
UNABLE = {
    "sanitizers": "AddressSanitizer and ThreadSanitizer do not work in qemu",
    "times": "the emulator changes how long calls take",
    "slowdown": "the emulator changes how long launches take",
    "loaded": "Python and Julia are those of this machine's processor",
    "slurm": "Slurm is that of this machine's processor",
    "messages": "its launches are by mpirun, mpiexec and srun of this machine's processor",
    "network": "measures the network, which needs the true speed of a message",
    "placement": "the hosts of the emulated cluster do not have the emulator",
    "rails": "the hosts of the emulated cluster do not have the emulator",
    "users": "needs two users, and there is one inside scripts/emulate",
    "soak": "takes half an hour even without the emulator",
}


def enter(processor):
    """Runs this program again where programs for the processor run."""
    if os.environ.get(ENTERED) == processor:
        return
    emulate = os.path.join(stacks.ROOT, "scripts", "emulate")
    os.environ[ENTERED] = processor
    sys.stdout.flush()
    os.execv(emulate, [emulate, processor, sys.executable, "-B", *sys.argv])


def home(processor):
    return os.path.join(stacks.CACHE, processor)


def cargo_target(processor):
    """The folder in which cargo puts what it builds for the processor (use_processor_rust in scripts/processors.sh)."""
    return os.path.join(stacks.TARGET, processor, f"{processor}-unknown-linux-gnu")


def library(processor):
    return os.path.join(cargo_target(processor), "preload", "librankweave.so")


def command(processor):
    return os.path.join(cargo_target(processor), "release", "rankweave")


def all_stacks(processor):
    """The MPI libraries of the distribution for the processor."""
    return [on(processor, stacks.OpenMpi4), on(processor, stacks.Mpich4)]


def on(processor, stack):
    """An MPI library of the distribution, as it is on another processor. It keeps its name."""
    place = home(processor)
    tool = os.path.join(place, "bin")
    lib = os.path.join(place, "root", "usr", "lib", PROCESSORS[processor])

    class Emulated(stack):
        emulated = True
        c_compiler = f"{PROCESSORS[processor]}-gcc"
        compiler, fortran = os.path.join(tool, stack.compiler), os.path.join(tool, stack.fortran)
        launcher = os.path.join(place, "root", "usr", "bin", stack.launcher)

        def environment(self):
            return {**super().environment(), **(OPENMPI_SETTINGS if self.openmpi else MPICH_SETTINGS)}

        def without_mpi(self):
            """Programs that are not MPI programs, for the processor."""
            tools = os.path.join(place, "root", "usr", "bin")
            return [[self.launcher, "--version"], [os.path.join(tools, "hwloc-info"), "--version"],
                    [os.path.join(tools, "hwloc-calc"), "--no-such-option"], [os.path.join(tools, "m4"), "/etc/hostname"],
                    [os.path.join(tools, "m4"), "/nonexistent"], [command(processor), "--version"]]

        def available(self):
            return bool(shutil.which(self.c_compiler)) and all(map(shutil.which, (self.compiler, self.launcher)))

        def folder(self):
            return os.path.join(stacks.TARGET, "mpi-tests", processor, self.name)

        def libraries(self):
            return [os.path.join(lib, os.path.basename(path)) for path in super().libraries()]

    return Emulated()
