"""The MPI libraries that the tests run on, and how each compiles and launches."""

import os
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(ROOT, "tests", "programs")
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
if os.environ.get("RANKWEAVE_CACHE"):
    CACHE = os.environ["RANKWEAVE_CACHE"]
elif os.environ.get("XDG_CACHE_HOME"):
    CACHE = os.path.join(os.environ["XDG_CACHE_HOME"], "rankweave")
else:
    CACHE = os.path.join(TARGET, "cache")

C_FLAGS = ["-O1", "-Wall", "-Wextra", "-Wno-stringop-overflow", "-Wno-stringop-overread"]


class Outcome:
    """How a command ended."""

    def __init__(self, code, out, err, timed_out, seconds):
        self.code, self.out, self.err = code, out, err
        self.timed_out, self.seconds = timed_out, seconds


def execute(command, environment=None, timeout=60, stdin=None, cwd=None):
    """Runs a command in a process group of its own; ends the group when time is up."""
    start = time.monotonic()
    process = subprocess.Popen(
        command, env=environment, cwd=cwd, start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL)
    timed_out = False
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        # The launcher gets a moment to end its ranks, which may be in groups of their own.
        for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 10)):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
            try:
                out, err = process.communicate(timeout=patience)
                break
            except subprocess.TimeoutExpired:
                out, err = b"", b""
        if process.poll() is None:
            process.stdout.close()
            process.stderr.close()
    return Outcome(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                   timed_out, time.monotonic() - start)


class Stack:
    """One MPI library. `environment` is that of the launcher; the ranks' variables go separately."""

    name = compiler = launcher = fortran = None
    openmpi = False
    # Names of cases that this library cannot run, with the reason.
    unable = {}

    def available(self):
        return all(shutil.which(tool) for tool in (self.compiler, self.launcher))

    def environment(self):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("RANKWEAVE_", "OMPI_", "PMIX_", "PMI_", "LD_PRELOAD"))}
        return clean

    def launch(self, np, variables, command):
        raise NotImplementedError

    def libmpi(self):
        """Path of the MPI library, for programs that load it by themselves."""
        return os.path.join(os.path.dirname(os.path.dirname(self.compiler)), "lib", self.soname)

    def program(self, source):
        name = os.path.splitext(source)[0]
        # What is named like a component of Open MPI is loaded as one.
        suffix = ".so" if source.startswith("mca_") else ""
        return os.path.join(TARGET, "mpi-tests", self.name, name + suffix)

    def build(self, source):
        """Compiles a test program if it is older than its sources; returns an error or None."""
        path, target = os.path.join(PROGRAMS, source), self.program(source)
        newest = max(os.path.getmtime(path), os.path.getmtime(os.path.join(PROGRAMS, "check.h")))
        if os.path.exists(target) and os.path.getmtime(target) > newest:
            return None
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if source.endswith(".c"):
            shared = ["-shared", "-fPIC"] if target.endswith(".so") else []
            command = [self.compiler] + C_FLAGS + shared + ["-o", target + ".new", path, "-lpthread",
                       "-I", os.path.join(ROOT, "include")]
        else:
            if not (self.fortran and shutil.which(self.fortran)):
                return "no Fortran"
            # Modules go beside the program, not into the working directory.
            command = [self.fortran, "-O1", "-J", os.path.dirname(target), "-o", target + ".new",
                       path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr
        os.replace(target + ".new", target)
        return None


class OpenMpi(Stack):
    openmpi = True
    soname = "libmpi.so.40"
    extra = ()

    def environment(self):
        clean = super().environment()
        clean.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                     PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                     OMPI_MCA_mpi_yield_when_idle="1")
        return clean

    def launch(self, np, variables, command):
        passed = []
        for name, value in variables.items():
            passed += ["-x", f"{name}={value}"]
        return [self.launcher, *self.extra, "-np", str(np), *passed, *command]


class OpenMpi4(OpenMpi):
    name, compiler, launcher, fortran = "openmpi4", "mpicc.openmpi", "mpirun.openmpi", "mpif90.openmpi"
    extra = ("--oversubscribe", "--bind-to", "none")

    def libmpi(self):
        return self.soname


class OpenMpi5(OpenMpi):
    name = "openmpi5"
    prefix = os.path.join(CACHE, "mpi", "openmpi5", "bin")
    compiler, launcher = os.path.join(prefix, "mpicc"), os.path.join(prefix, "mpirun")
    extra = ("--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "osc", "^ucx",
             "--mca", "btl", "self,sm")


class Mpich(Stack):
    soname = "libmpi.so.12"

    def launch(self, np, variables, command):
        passed = []
        for name, value in variables.items():
            passed += ["-genv", name, value]
        return [self.launcher, "-n", str(np), *passed, *command]


class Mpich4(Mpich):
    name, compiler, launcher, fortran = "mpich4", "mpicc.mpich", "mpiexec.mpich", "mpif90.mpich"
    unable = {"spawn": "MPI_Comm_spawn fails in this build of MPICH 4.0.2 without any tool"}
    soname = "libmpich.so.12"

    def libmpi(self):
        return self.soname


class Mpich5(Mpich):
    name = "mpich5"
    prefix = os.path.join(CACHE, "mpi", "mpich5", "bin")
    compiler, launcher = os.path.join(prefix, "mpicc"), os.path.join(prefix, "mpiexec")


class Mpich5Abi(Mpich5):
    """The same library through the ABI that MPI 5 standardizes."""

    name = "mpich5abi"
    compiler = os.path.join(Mpich5.prefix, "mpicc_abi")
    soname = "libmpi_abi.so.1"


def all_stacks():
    return [OpenMpi4(), Mpich4(), Mpich5(), Mpich5Abi(), OpenMpi5()]
