"""The MPI libraries that the tests run on, and how each compiles and launches."""

import os
import shutil
import signal
import subprocess
import threading
import time

from driver import own_failures, waiting

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PROGRAMS = os.path.join(ROOT, "tests", "programs")
# The folder of files that the test programs include.
INCLUDE = os.path.join(PROGRAMS, "include")
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
if os.environ.get("RANKWEAVE_CACHE"):
    CACHE = os.environ["RANKWEAVE_CACHE"]
elif os.environ.get("XDG_CACHE_HOME"):
    CACHE = os.path.join(os.environ["XDG_CACHE_HOME"], "rankweave")
else:
    CACHE = os.path.join(TARGET, "cache")

C_FLAGS = ["-O1", "-Wall", "-Wextra", "-Wno-stringop-overflow", "-Wno-stringop-overread"]


def sources():
    """The folders of tests/programs hold files of different names: name -> path."""
    found = {}
    for folder, _, names in os.walk(PROGRAMS):
        for name in names:
            if name in found:
                raise ValueError(f"two test programs are called {name}")
            found[name] = os.path.join(folder, name)
    return found


SOURCES = sources()
# One thread at a time compiles a program for an MPI.
LOCKS = {}


def source(name):
    """The path of a file under tests/programs, whatever its folder."""
    return SOURCES[name]


class Outcome:
    """How a command ended. If it did not end in time, `waiting` says where its processes waited."""

    def __init__(self, code, out, err, seconds, waiting=None):
        self.code, self.out, self.err = code, out, err
        self.seconds, self.waiting = seconds, waiting or []
        self.timed_out = waiting is not None


# The environment variable that distinguishes the processes of a launch from all others.
MARK = "TEST_LAUNCH"


def end_marked(mark):
    """Ends the processes that remain after the launcher has ended. Processes that a program started
    (MPI_Comm_spawn) wait for it in a busy loop."""
    for pid, _ in waiting.marked(f"{MARK}={mark}"):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


# How much longer each command may take than on this machine's own processor.
PATIENCE = 1


def execute(command, environment=None, timeout=60, stdin=None, cwd=None):
    """Runs a command, again if the MPI library itself failed."""
    for _ in range(5):
        outcome = execute_once(command, environment, timeout, stdin, cwd)
        reason = own_failures.reason(outcome)
        if reason is None:
            break
        own_failures.REPEATED[reason] += 1
    return outcome


def execute_once(command, environment, timeout, stdin, cwd):
    """Runs a command in a process group of its own; ends the group when time is up."""
    start = time.monotonic()
    mark = f"{os.getpid()}-{start}"
    environment = {**(os.environ if environment is None else environment), MARK: mark}
    process = subprocess.Popen(
        command, env=environment, cwd=cwd, start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL)
    account = None
    try:
        out, err = process.communicate(stdin, timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        account = waiting.account(f"{MARK}={mark}")
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
        end_marked(mark)
        if process.poll() is None:
            process.stdout.close()
            process.stderr.close()
    return Outcome(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                   time.monotonic() - start, account)


class Stack:
    """One MPI library. `environment` is that of the launcher; the ranks' variables go separately."""

    name = compiler = launcher = fortran = None
    # The compiler of what is not an MPI program.
    c_compiler = "gcc"
    openmpi = False
    # Whether its programs run in an emulator.
    emulated = False
    # Names of cases that this library cannot run, with the reason.
    unable = {}
    # Whether a world that MPI_Comm_spawn starts gets the variables of the one that starts it.
    spawned_worlds_inherit = True

    # The calls of program truth that this MPI library cannot make, even without the library under test:
    # (bindings or None, kinds of communicator or None, rows, form or None for all forms, reason).
    # "inter of 7" is the kind "inter" with seven ranks only.
    unable_truth = ()

    # Why this MPI library sometimes crashes without the library under test, or None.
    unsteady = None

    def available(self):
        return all(shutil.which(tool) for tool in (self.compiler, self.launcher))

    def unable_rows(self, kind, binding, np):
        """Rows that this MPI cannot run on a kind of communicator of `np` ranks: name -> the forms that
        it cannot run ("in_place", "null", "again"), or None if it can run no form."""
        found = {}
        for bindings, kinds, names, form, _ in self.unable_truth:
            if (bindings is None or binding in bindings) and (
                    kinds is None or kind in kinds or f"{kind} of {np}" in kinds):
                for name in names.split():
                    found.setdefault(name, []).append(form)
        return found

    def libraries(self):
        """Files of the MPI library: that of C, and those of Fortran."""
        raise NotImplementedError

    def compiler_command(self):
        return [self.compiler]

    def fortran_command(self):
        return [self.fortran]

    def bindings(self):
        """Bindings that programs can be built for here."""
        if self.fortran and shutil.which(self.fortran):
            return ("c", "mpif", "mpi", "f08")
        return ("c",)

    def environment(self):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("RANKWEAVE_", "OMPI_", "PMIX_", "PMI_", "LD_PRELOAD"))}
        # To run any of the tests with every call timed: RANKWEAVE_TIMES=all tests/mpi/run …
        if "RANKWEAVE_TIMES" in os.environ:
            clean["RANKWEAVE_TIMES"] = os.environ["RANKWEAVE_TIMES"]
        return clean

    def launch(self, np, variables, command):
        raise NotImplementedError

    def libmpi(self):
        """Path of the MPI library, for programs that load it by themselves."""
        return os.path.join(os.path.dirname(os.path.dirname(self.compiler)), "lib", self.soname)

    def program(self, source):
        name = os.path.splitext(source)[0]
        # What is named like a component of Open MPI, or a library, is loaded as one.
        suffix = ".so" if source.startswith(("mca_", "lib")) else ""
        return os.path.join(self.folder(), name + suffix)

    def folder(self):
        """The folder of the compiled programs."""
        return os.path.join(TARGET, "mpi-tests", self.name)

    def build(self, source):
        """Compiles a test program if it is older than its sources; returns an error or None. Several
        threads may ask for the same one."""
        with LOCKS.setdefault((self.name, source), threading.Lock()):
            return self.compile(source)

    def compile(self, source):
        path, target = SOURCES[source], self.program(source)
        included = [os.path.join(INCLUDE, name) for name in os.listdir(INCLUDE)]
        newest = max(map(os.path.getmtime, [path, *included]))
        if os.path.exists(target) and os.path.getmtime(target) > newest:
            return None
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if source.endswith((".c", ".cpp")):
            plus = source.endswith(".cpp")
            if plus and not shutil.which("g++"):
                return "no C++"
            shared = ["-shared", "-fPIC"] if target.endswith(".so") else ["-x", "c++"] if plus else []
            command = self.compiler_command() + C_FLAGS + shared + ["-o", target + ".new", path, "-lpthread", "-lm",
                       *(["-lstdc++"] if plus else []), "-I", INCLUDE, "-I", os.path.join(ROOT, "include")]
        else:
            if not (self.fortran and shutil.which(self.fortran)):
                return "no Fortran"
            # Module files are written beside the program, not into the working directory.
            command = self.fortran_command() + ["-O1", "-I", INCLUDE, "-J", os.path.dirname(target), "-o",
                                                 target + ".new", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr
        os.replace(target + ".new", target)
        return None


def debian(*names):
    """Files of libraries in the distribution's folder."""
    done = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=False)
    folder = os.path.join("/usr/lib", done.stdout.strip())
    return [os.path.join(folder, name) for name in names]


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
    """The usual choice of components on one machine: shared memory below ob1. With `every_component` it is left to
    Open MPI, which first asks all components for networks and takes a third longer to start."""

    every_component = False
    name, compiler, launcher, fortran = "openmpi4", "mpicc.openmpi", "mpirun.openmpi", "mpif90.openmpi"
    extra = ("--oversubscribe", "--bind-to", "none")
    unsteady = ("windows that disjoint communicators make at the same time share one file in Open MPI 4, "
                "without any tool, too")
    unable_truth = (
        (("mpif", "mpi", "f08"), None, "MPI_Ialltoallw MPI_Ineighbor_alltoallw", None,
         "crashes: the Fortran bindings free the arrays of types before the call is complete"),
    )

    def environment(self):
        clean = super().environment()
        if not self.every_component:
            clean.update(OMPI_MCA_pml="ob1", OMPI_MCA_osc="^ucx", OMPI_MCA_btl="self,vader,tcp")
        return clean

    def libraries(self):
        return debian("libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40")

    def libmpi(self):
        return self.soname


class OpenMpi5(OpenMpi):
    name = "openmpi5"
    # Its launcher gives the variables of -x to the first world only. So the library is not in a spawned world.
    spawned_worlds_inherit = False
    prefix = os.path.join(CACHE, "mpi", "openmpi5", "bin")
    compiler, launcher = os.path.join(prefix, "mpicc"), os.path.join(prefix, "mpirun")
    # Programs that a program starts are reached by tcp, on this machine only.
    extra = ("--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "osc", "^ucx",
             "--mca", "btl", "self,sm,tcp", "--mca", "btl_tcp_if_include", "lo")

    def libraries(self):
        return [os.path.join(self.prefix, "..", "lib", "libmpi.so.40")]


class Mpich(Stack):
    soname = "libmpi.so.12"
    on_ucx = True

    def launch(self, np, variables, command):
        passed = []
        for name, value in variables.items():
            passed += ["-genv", name, value]
        return [self.launcher, "-n", str(np), *passed, *command]

    def compiler_command(self):
        return [self.compiler, *self.waiting_object()]

    def fortran_command(self):
        return [self.fortran, *self.waiting_object()]

    def waiting_object(self):
        """The object file with which the processes of a program sleep while they wait, if this MPI is on UCX."""
        if not self.on_ucx:
            return []
        target = os.path.join(self.folder(), "waiting_ucx.o")
        with LOCKS.setdefault((self.name, "waiting_ucx.o"), threading.Lock()):
            path = source("waiting_ucx.c")
            if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(path):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                made = [*C_FLAGS, "-fPIC", "-c", "-o", target + ".new", path]
                if subprocess.run([self.c_compiler, *made], check=False).returncode != 0:
                    return []
                os.replace(target + ".new", target)
        return [target]


# The persistent collective calls.
PERSISTENT = " ".join(
    f"MPI_{name}_init MPI_{name}_init_c" for name in (
        "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv "
        "Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan "
        "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv "
        "Neighbor_alltoallw").split())


class Mpich4(Mpich):
    name, compiler, launcher, fortran = "mpich4", "mpicc.mpich", "mpiexec.mpich", "mpif90.mpich"
    unable = {"spawn": "MPI_Comm_spawn fails in this build of MPICH 4.0.2 without any tool"}
    soname = "libmpich.so.12"
    unable_truth = (
        (None, None, "MPI_Isendrecv MPI_Isendrecv_c", "null", "crashes"),
        (None, None, "MPI_Isendrecv_replace MPI_Isendrecv_replace_c", None, "crashes"),
        (None, None, PERSISTENT, "again", "fails with an invalid communicator, now and then"),
        (None, None, "MPI_Ialltoallw MPI_Ialltoallw_c MPI_Alltoallw_init MPI_Alltoallw_init_c",
         "in_place", "crashes or complains about a truncated message"),
        (None, None, "MPI_Reduce MPI_Reduce_c", "in_place", "crashes"),
        (("f08",), ("cart", "cart_sub", "graph"),
         "MPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c MPI_Ineighbor_alltoallw "
         "MPI_Ineighbor_alltoallw_c MPI_Neighbor_alltoallw_init MPI_Neighbor_alltoallw_init_c", None,
         "asks for the neighbours of a distributed graph, which the communicator is not"),
        (("f08",), ("inter of 7", "inter_dup of 7"),
         "MPI_Ibcast MPI_Ibcast_c MPI_Bcast_init MPI_Bcast_init_c MPI_Alltoallw MPI_Alltoallw_c "
         "MPI_Ialltoallw MPI_Ialltoallw_c MPI_Alltoallw_init MPI_Alltoallw_init_c", None,
         "takes the size of one group for that of the other, where they differ"),
    )

    def libraries(self):
        return debian("libmpich.so.12", "libmpichfort.so.12")

    def libmpi(self):
        return self.soname


class Mpich43(Mpich):
    """The newest MPICH 4. It works on several hosts, and that of Debian does not."""

    name = "mpich43"
    prefix = os.path.join(CACHE, "mpi", "mpich43", "bin")
    compiler, launcher = os.path.join(prefix, "mpicc"), os.path.join(prefix, "mpiexec")

    def libraries(self):
        return [os.path.join(self.prefix, "..", "lib", "libmpi.so.12")]


class Mpich5(Mpich):
    name = "mpich5"
    unable_truth = (
        # With MALLOC_TOP_PAD_=0 it crashes in every launch, also without the library under test.
        (None, None, "MPI_Isendrecv_replace MPI_Isendrecv_replace_c", None,
         "writes beyond the end of its own buffer if the datatype has gaps"),
    )
    prefix = os.path.join(CACHE, "mpi", "mpich5", "bin")
    compiler, launcher = os.path.join(prefix, "mpicc"), os.path.join(prefix, "mpiexec")

    def libraries(self):
        return [os.path.join(self.prefix, "..", "lib", "libmpi.so.12")]


class Mpich5Abi(Mpich5):
    """The same library through the ABI that MPI 5 standardizes."""

    name = "mpich5abi"
    unable = {"f2c": "this header has no conversions to and from Fortran's handles"}
    compiler = os.path.join(Mpich5.prefix, "mpicc_abi")
    soname = "libmpi_abi.so.1"

    def libraries(self):
        return [os.path.join(self.prefix, "..", "lib", "libmpi_abi.so.1")]


class IntelMpi(Mpich):
    """From PyPI: headers and Fortran modules, but no compiler of its own. The fabric is shared
    memory: nothing else is needed on one node."""

    name = "impi"
    unable = {"spawn": "the fabric of shared memory does not permit MPI_Comm_spawn"}
    on_ucx = False
    unsteady = "Intel MPI crashes now and then on topologies, without any tool, too"
    unable_truth = (
        (None, None, PERSISTENT, "again", "fails or crashes now and then"),
        (None, None, "MPI_Ialltoallw MPI_Ialltoallw_c MPI_Alltoallw_init MPI_Alltoallw_init_c",
         "in_place", "complains about a truncated message"),
    )
    prefix = os.path.join(CACHE, "mpi", "impi")
    compiler, fortran = "gcc", "gfortran"
    launcher = os.path.join(prefix, "bin", "mpiexec.hydra")

    def libmpi(self):
        return self.libraries()[0]

    def environment(self):
        clean = super().environment()
        clean.update(I_MPI_ROOT=self.prefix, I_MPI_FABRICS="shm", I_MPI_PIN="off",
                     # The processes outnumber the processors here: those that wait sleep.
                     I_MPI_THREAD_YIELD="3",
                     LD_LIBRARY_PATH=os.path.join(self.prefix, "lib"))
        return clean

    def libraries(self):
        folder = os.path.join(self.prefix, "lib")
        return [os.path.join(folder, "libmpi.so.12"), os.path.join(folder, "libmpifort.so.12")]

    def modules(self):
        """The folder with modules for this gfortran, or None."""
        folder = os.path.join(self.prefix, "include", "mpi", "gfortran")
        done = subprocess.run(["gfortran", "-dumpversion"], capture_output=True, text=True,
                              check=False)
        major = done.stdout.strip().split(".")[0]
        found = [d for d in sorted(os.listdir(folder)) if d.split(".")[0] == major]
        return os.path.join(folder, found[-1]) if found else None

    def compiler_command(self):
        return ["gcc", "-I", os.path.join(self.prefix, "include"), *self.link("mpi")]

    def fortran_command(self):
        # Intel's mpif.h declares MPI_UNWEIGHTED as a scalar: beside a call with a list of weights it is a mismatch.
        return ["gfortran", "-fallow-argument-mismatch", "-w", "-I", os.path.join(self.prefix, "include"),
                "-I", self.modules() or ".", *self.link("mpifort", "mpi")]

    def link(self, *names):
        return ["-L", os.path.join(self.prefix, "lib"), "-Wl,--no-as-needed",
                *(f"-l{name}" for name in names)]

    def bindings(self):
        # The module mpi_f08 is there for Intel's own compiler only.
        if shutil.which("gfortran") and self.modules():
            return ("c", "mpif", "mpi")
        return ("c",)


class IntelMpiAbi(IntelMpi):
    """The same library through the ABI that MPI 5 standardizes."""

    name = "impiabi"
    unable = IntelMpi.unable | {"f2c": "this header has no conversions to and from Fortran's handles"}

    def libraries(self):
        return [os.path.join(self.prefix, "lib", "libmpi_abi.so.1")]

    def compiler_command(self):
        return ["gcc", "-I", abi_header(self.prefix), *self.link("mpi_abi")]

    def bindings(self):
        return ("c",)


def abi_header(prefix):
    """A folder in which the header of the standard ABI is called mpi.h."""
    folder = os.path.join(TARGET, "mpi-tests", "impiabi", "include")
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(folder, "mpi.h")
    try:
        os.symlink(os.path.join(prefix, "include", "mpi_abi.h"), link)
    except FileExistsError:
        pass
    return folder


def all_stacks():
    return [OpenMpi4(), Mpich4(), Mpich43(), Mpich5(), Mpich5Abi(), OpenMpi5(), IntelMpi(), IntelMpiAbi()]


# These MPI libraries have one part of a run with --full, and everything only with --stack.
ONE_PART = {"mpich43": "placement"}
# The MPI libraries of a run without --full.
USUAL = ("openmpi4", "mpich4", "mpich5")
