"""Where the commands of a page run: a folder that looks like the home of a user, and an installation of rankweave.

The folder of a run has `opt/rankweave`, the installation that was built, and for each page an empty `home/ann`. The
pages show these paths as /opt/rankweave and /home/ann, the name of this machine as `node1`, and the user as `ann`.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from pages import ROOT, Wrong

sys.path.insert(0, os.path.join(ROOT, "tests", "mpi"))

from driver import stacks  # noqa: E402

CLUSTER = os.path.join(ROOT, "scripts", "cluster")
PACKAGES = os.path.join(ROOT, "target", "package")
# The programs of an MPI library of the distribution, under the names that a user has in PATH.
PROGRAMS = ("mpicc", "mpirun", "mpiexec", "mpifort")
# Intel MPI from PyPI has no compiler.
INTEL_COMPILER = """#!/bin/sh
exec gcc -I "{prefix}/include" "$@" -L "{prefix}/lib" -Wl,--no-as-needed -lmpi
"""


def installation(top, command, library):
    """An installation as the packages make it."""
    prefix = os.path.join(top, "opt", "rankweave")
    for folder in ("bin", "lib/rankweave", "share/rankweave", "include"):
        os.makedirs(os.path.join(prefix, folder))
    shutil.copy(command, os.path.join(prefix, "bin", "rankweave"))
    shutil.copy(library, os.path.join(prefix, "lib", "rankweave", "librankweave.so"))
    shutil.copy(os.path.join(ROOT, "scripts/packaging/epilog"), os.path.join(prefix, "share/rankweave"))
    for header in ("rankweave.h", "rankweave.f90"):
        shutil.copy(os.path.join(ROOT, "include", header), os.path.join(prefix, "include"))
    return prefix


def programs_of(stack, top):
    """A folder for PATH with the programs of an MPI library under their usual names."""
    folder = os.path.join(top, "stacks", stack.name)
    if os.path.isdir(folder):
        return folder
    os.makedirs(folder)
    if stack.name == "mpich4":
        # mpiexec looks for it beside itself.
        os.symlink(shutil.which("hydra_pmi_proxy") or "/usr/bin/hydra_pmi_proxy", os.path.join(folder, "hydra_pmi_proxy"))
    for name in PROGRAMS:
        if stack.name in ("openmpi4", "mpich4"):
            found = shutil.which(f"{name}.{'openmpi' if stack.name == 'openmpi4' else 'mpich'}")
            if found:
                os.symlink(found, os.path.join(folder, name))
        elif stack.name == "impi" and name == "mpicc":
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(INTEL_COMPILER.format(prefix=stack.prefix))
            os.chmod(os.path.join(folder, name), 0o755)
    return folder


# A shell in namespaces of its own: it has an empty /dev/shm and its own processes, so that the pages see nothing of other
# jobs on this machine and do nothing to them, and it ends with all that it started. $1 the folder of the run.
OWN_MACHINE = """
set -e
mount -t tmpfs tmpfs /dev/shm
hostname node1
mount --bind "$1/hosts" /etc/hosts
exec bash --norc --noprofile
"""


class Places:
    """The installation and the homes of a run, and what the blocks may need."""

    def __init__(self, command, library):
        self.top = tempfile.mkdtemp(prefix="rankweave-documents-")
        os.chmod(self.top, 0o755)
        self.prefix = installation(self.top, command, library)
        self.command = os.path.join(self.prefix, "bin", "rankweave")
        self.stacks = {stack.name: stack for stack in stacks.all_stacks()}
        self.cluster = None
        self.no_cluster = None
        with open(os.path.join(self.top, "hosts"), "w", encoding="utf-8") as f:
            f.write("127.0.0.1 localhost node1\n")
        self.unshare = self.namespaces()

    def namespaces(self):
        """The command that makes namespaces for a shell; none if the machine does not permit them."""
        command = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.getuid() != 0:
            command += ["--user", "--map-root-user"]
        ways = [command]
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            # In a folder that chroot made the root, the root is no mount, and its propagation cannot be changed. It need not
            # be if nothing that is mounted here is seen elsewhere.
            if " shared:" not in f.read():
                ways.append([*command, "--propagation", "unchanged"])
        for way in ways:
            tried = subprocess.run([*way, "sh", "-c", OWN_MACHINE.replace("exec bash", "exec true"), "sh", self.top],
                                   capture_output=True, text=True, check=False)
            if tried.returncode == 0:
                return way
        print(f"no namespaces for the pages ({tried.stderr.strip()}): they see the /dev/shm of this machine")
        return None

    def remove(self):
        if self.cluster:
            subprocess.run([CLUSTER, "down", "--name", self.cluster], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def lacking(self, need):
        """Why there is not what a block needs; None if there is."""
        if need in self.stacks:
            return None if self.stacks[need].available() else f"{need} is not installed"
        if need == "slurm":
            return self.start_cluster()
        if need == "mpi4py":
            return None if os.path.exists(os.path.join(stacks.CACHE, "mpi4py/bin/python")) else "mpi4py is not installed"
        if need == "packages":
            made = os.path.isdir(PACKAGES) and any(name.endswith(".whl") for name in os.listdir(PACKAGES))
            return None if made else "scripts/package was not called"
        raise Wrong(f"nothing is known of `needs: {need}`")

    def start_cluster(self):
        """Starts emulated hosts with Slurm; gives the reason if this does not work."""
        if self.cluster or self.no_cluster:
            return self.no_cluster
        name = f"documents-{os.getpid()}"
        for action in (["up", "--shape", "2x2"], ["slurm", "--cpus", "4", "--mpi", "pmix"]):
            done = subprocess.run([CLUSTER, action[0], "--name", name, *action[1:]],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                subprocess.run([CLUSTER, "down", "--name", name], capture_output=True, check=False)
                self.no_cluster = f"scripts/cluster {action[0]}: {done.stderr.strip()}"
                return self.no_cluster
        self.cluster = name
        return None

    def home(self):
        """An empty home."""
        home = os.path.join(self.top, "home", "ann")
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        return home

    def prepare(self, need, home):
        """Puts files into the home that the reader has to have."""
        if need == "packages":
            for name in os.listdir(PACKAGES):
                if name.endswith((".whl", ".tar.gz")):
                    shutil.copy(os.path.join(PACKAGES, name), home)

    def environment(self, home, need=None):
        """The variables of the shell of a user who has one MPI library."""
        stack = self.stacks.get(need) or self.stacks["openmpi4"]
        clean = {k: v for k, v in stack.environment().items() if not k.startswith(("XDG_", "SLURM_"))}
        for name in ("NO_COLOR", "COLUMNS", "PYTHONDONTWRITEBYTECODE"):
            clean.pop(name, None)
        path = [os.path.join(self.prefix, "bin"), programs_of(stack, self.top)]
        if stack.name not in ("openmpi4", "mpich4"):
            path.append(os.path.join(stack.prefix, "bin") if stack.name == "impi" else stack.prefix)
        if need == "mpi4py":
            path.append(os.path.join(stacks.CACHE, "mpi4py", "bin"))
        path += ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        clean.update(HOME=home, USER="ann", LOGNAME="ann", PATH=":".join(path), LANG="C.UTF-8", LC_ALL="C.UTF-8",
                     OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                     OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl_base_warn_component_unused="0",
                     PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if need == "slurm":
            # With another fence of Slurm's PMIx, Open MPI crashes more often in MPI_Init, with and without the library.
            clean["SLURM_PMIX_FENCE"] = "ring"
        return clean

    def shell(self, need):
        """The command of a shell: on this machine, or on the first host of the cluster."""
        if need == "slurm":
            return [CLUSTER, "exec", "--name", self.cluster, "n0", "--", "bash", "--norc", "--noprofile"]
        if self.unshare:
            return [*self.unshare, "sh", "-c", OWN_MACHINE, "sh", self.top]
        return ["bash", "--norc", "--noprofile"]

    def as_run(self, text):
        """A command with the paths of this run."""
        return re.sub(r"(?<![\w.-])/(opt/rankweave|home/ann)\b", rf"{self.top}/\1", text)

    def as_shown(self, line):
        """A printed line with the names that the pages use."""
        line = re.sub(rf"{self.top}/stacks/\w+", "/usr/bin", line).replace(self.top, "")
        host = re.escape(platform.node())
        return re.sub(rf"(?<![\w.-]){host}(?![\w-])", "node1", line)
