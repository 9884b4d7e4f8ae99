"""Makes every call fail, one at a time, that the library makes itself: to the C library and to MPI.

A first launch lists the sites that are reached: a function and the place where it is called. Then there is a launch
for each site, in which the first call of the site fails, and one for each function, in which all its calls fail. The
calls fail in all processes. Calls of the C library also fail in one process only. The output and the exit code of the
program must be those of a launch without the library. With `--full`, all sites and functions are tried in all modes.
Otherwise some of them are tried, and each mode tries other ones.

Limits:

- Some calls never fail here: those that allocate memory (`LIBC` says why), and three MPI functions (`KEPT`).
- Functions of the C library are replaced, not system calls. A system call that the library makes by itself does not
  fail.
- Without `--full`, each mode chooses 12 to 23 sites and functions (all if there are fewer), and each of them fails
  either in all processes or in one of the first two. MPI functions fail in all processes only. Those whose turn is one
  process are left out.
- The lines of the output are sorted before they are compared. The time is compared with a limit of 60 s only.
"""

import os
import re
import shlex
import shutil
import subprocess
import threading

from driver import stacks

NP = 4
PROGRAM = "everything.c"
TIMEOUT = 60
# MPICH's UCX prints this at its end if a function that receives failed every time: the message stays with it.
UNRECEIVED = re.compile(r"tag_match\.c:.*UCX +WARN +unexpected tag-receive descriptor .* was not matched")
# The number of sites that a run without --full tries in each mode.
PART = 12

# The functions of the C library and how each fails: (result, errno, names). Allocation is
# left out: Rust's standard library ends the process then.
LIBC = (
    ("MINUS_ONE", "ENOSPC", "write writev fallocate fsync sync_file_range"),
    ("MINUS_ONE", "EIO", "read fstat fstat64 lseek64 flock"),
    ("MINUS_ONE", "EACCES", "open open64 openat openat64 fstatat64 lstat lstat64 stat64 statx mkdir rename unlink "
                            "rmdir readlink statfs fstatfs statvfs"),
    ("MINUS_ONE", "EINVAL", "fcntl dup2 madvise mprotect munmap getrlimit gethostname ioctl sigaction timer_create "
                            "timer_settime timer_delete"),
    ("MINUS_ONE", "ENOSYS", "getrandom"),
    ("MINUS_ONE", "ENETDOWN", "socket bind connect listen accept4 poll send recv sendmsg recvmsg getsockname "
                              "getsockopt setsockopt getifaddrs"),
    ("CLOSED", "EIO", "close closedir"),
    ("NOTHING", "ENOENT", "dlopen opendir readdir64 getcwd realpath"),
    ("NO_MAPPING", "ENOMEM", "mmap mmap64"),
    ("ERROR_NUMBER", "EAGAIN", "pthread_create pthread_key_create pthread_setspecific pthread_attr_init "
                               "pthread_attr_setstacksize pthread_detach pthread_setname_np"),
)

# These never fail: a wait has to end, and the graph is made in place of the program's own call.
KEPT = ("MPI_Test", "MPI_Wait", "MPI_Dist_graph_create_adjacent")


def functions():
    """What is made to fail: name -> (result, errno)."""
    found = {name: (result, number) for result, number, names in LIBC for name in names.split()}
    with open(os.path.join(stacks.ROOT, "wrappers", "pmpi.txt"), encoding="utf-8") as file:
        for line in file:
            name = line.split("#")[0].strip().partition(" ")[0]
            if name and name not in KEPT:
                found["P" + name] = ("MPI_ERROR", "0")
    return found


def build(work, compiler):
    """Compiles the library that makes calls fail; it is the same for every MPI."""
    folder = os.path.join(work, "faults")
    target = os.path.join(folder, "libfault.so")
    with stacks.LOCKS.setdefault(target, threading.Lock()):
        compile_once(folder, target, compiler)
    return target


def compile_once(folder, target, compiler):
    """Compiles the library, if that was not done."""
    if not os.path.exists(target):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "faults.inc"), "w", encoding="utf-8") as file:
            for name, (result, number) in functions().items():
                file.write(f"FAULT({name}, {result}, {number})\n")
        subprocess.run([compiler, "-O1", "-w", "-fno-builtin", "-shared", "-fPIC", "-I", folder, "-o", target + ".new",
                        stacks.source("libfault.c")], check=True)
        os.replace(target + ".new", target)


class Faults:
    """The launches of the program on one MPI in one mode."""

    def __init__(self, tool, results, stack, work, mode):
        self.tool, self.results, self.stack, self.mode = tool, results, stack, mode
        self.directory = os.path.join(work, f"faults-{stack.name}-{mode}")
        self.kept = os.path.join(self.directory, "kept")
        self.library = build(work, stack.c_compiler)
        os.makedirs(self.directory)
        self.count = 0

    def launch(self, variables, timeout=TIMEOUT):
        store = os.path.join(self.directory, "store")
        shutil.rmtree(store, ignore_errors=True)
        if os.path.isdir(self.kept):
            shutil.copytree(self.kept, store)
        settings = {"LD_PRELOAD": f"{self.tool.library}:{self.library}", "RANKWEAVE_MODE": self.mode,
                    "RANKWEAVE_STORE": store, "RANKWEAVE_SPILL": self.directory, "RANKWEAVE_SEED": "3",
                    "RANKWEAVE_TOPOLOGY": "tree:2:2@1:10", "RANKWEAVE_SLOTS": "0,2,1,3",
                    "RANKWEAVE_MIN_GAIN": "0", **variables}
        if self.mode == "shuffle":
            for name in ("RANKWEAVE_TOPOLOGY", "RANKWEAVE_SLOTS", "RANKWEAVE_MIN_GAIN"):
                settings.pop(name)
        command = self.stack.launch(NP, settings, [self.stack.program(PROGRAM)])
        environment = self.stack.environment()
        environment["TMPDIR"] = self.directory
        outcome = stacks.execute(command, environment, timeout, cwd=self.directory)
        outcome.command = shlex.join(command)
        return outcome

    def prepare(self):
        """Without the library; then, for mode reorder, the record that it starts from. The sites."""
        plain = self.stack.launch(NP, {}, [self.stack.program(PROGRAM)])
        self.wanted = stacks.execute(plain, self.stack.environment(), TIMEOUT)
        if self.mode == "reorder":
            self.mode = "record"
            self.launch({})
            os.rename(os.path.join(self.directory, "store"), self.kept)
            self.mode = "reorder"
        log = os.path.join(self.directory, "log")
        os.makedirs(log)
        outcome = self.launch({"FAULT_LOG": log})
        self.check("nothing fails", outcome)
        sites = set()
        for name in os.listdir(log):
            with open(os.path.join(log, name), encoding="utf-8") as file:
                sites.update(":".join(line.split()) for line in file)
        return sorted(sites)

    def check(self, label, outcome):
        self.count += 1
        problems = []
        if outcome.timed_out:
            problems.append(f"did not end within {TIMEOUT} s")
        elif outcome.code != self.wanted.code:
            problems.append(f"exit code {outcome.code}, without the library {self.wanted.code}: "
                            f"{outcome.err[:300]!r}")
        lines = [line for line in outcome.out.splitlines() if not UNRECEIVED.search(line)]
        if sorted(lines) != sorted(self.wanted.out.splitlines()):
            problems.append(f"standard output {outcome.out[:200]!r}, without the library "
                            f"{self.wanted.out[:100]!r}")
        self.results.add(f"{self.stack.name} faults {self.mode} {label}", problems, outcome)

    def site(self, site, ranks):
        for rank in ranks:
            variables = {"FAULT_SITE": site}
            if ":" in site:
                variables["FAULT_ONCE"] = "1"
            if rank is not None:
                if site.startswith("PMPI_"):
                    continue
                variables["FAULT_RANK"] = str(rank)
            where = "all" if rank is None else f"rank {rank}"
            self.check(f"{site} {where}", self.launch(variables))


def run(tool, results, stack, work, full):
    problem = stack.build(PROGRAM)
    if problem:
        results.add(f"{stack.name} compiles {PROGRAM}", [problem])
        return
    for number, mode in enumerate(("record", "reorder", "shuffle")):
        faults = Faults(tool, results, stack, work, mode)
        sites = faults.prepare()
        chosen = sites + sorted({site.split(":")[0] for site in sites})
        ranks = (None, 0, 1)
        total = len(chosen)
        if not full:
            step = max(1, total // PART)
            chosen = chosen[number % step::step]
        for turn, site in enumerate(chosen):
            faults.site(site, ranks if full else (ranks[turn % 3],))
        print(f"{stack.name} {mode}: {len(sites)} sites, {total - len(sites)} functions, "
              f"{faults.count} launches")
        shutil.rmtree(faults.directory, ignore_errors=True)
