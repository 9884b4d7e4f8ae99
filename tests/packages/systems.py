"""Other systems in folders: Debian releases that debootstrap makes, and commands that run in them.

A system is made once and kept in the cache. Each test works on a copy of its own, which an overlay makes: what the test
changes is gone when its last command has ended. The packages come from the mirror of this machine.
"""

import glob
import os
import re
import subprocess

# What a system needs to compile and run an MPI program, the program that its users load modules with, and the program that
# installs an .rpm. EasyBuild needs Python. The files of the site are read by several shells, and its users also have MPICH
# (site_check.py); the commands without ending stay those of Open MPI.
PACKAGES = ["gcc", "libc6-dev", "openmpi-bin", "libopenmpi-dev"]
RELEASES = {"bullseye": ["environment-modules", "rpm"],
            "bookworm": ["lmod", "python3", "file", "rpm", "dnf", "tcsh", "csh", "zsh", "ksh93u+m", "mksh", "mpich", "libmpich-dev"]}
DONE = ".rankweave-packages"

# With these, Open MPI starts as root, and with more ranks than cores.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_btl_base_warn_component_unused": "0"}


def mirror():
    """The address of Debian's packages in the configuration of apt; None on other systems."""
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*.sources"),
                 *glob.glob("/etc/apt/sources.list.d/*.list")]:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        match = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?)\s*(\S+/debian)/?(?:\s|$)", text, re.MULTILINE)
        if match:
            return match[1]
    return None


# Packages that only Debian's unstable release has. Nothing else is taken from it.
UNSTABLE = """
echo "deb {address} sid main" > /etc/apt/sources.list.d/sid.list
printf 'Package: *\\nPin: release n=sid\\nPin-Priority: -10\\n\\nPackage: {names}\\nPin: release n=sid\\nPin-Priority: 500\\n' \
    > /etc/apt/preferences.d/sid
# A mirror that was frozen some time ago has an old list.
apt-get -o Acquire::Check-Valid-Until=false update
"""


class System:
    """A Debian release in a folder of the cache. `packages` and those of the unstable release are installed beside those that every
    system has."""

    def __init__(self, cache, release, packages=None, unstable=()):
        self.release, self.unstable = release, list(unstable)
        self.packages = PACKAGES + (RELEASES[release] if packages is None else packages) + self.unstable
        self.folder = os.path.join(cache, "systems", release)
        self.layers = os.path.join(cache, "systems", f"{release}.layers")

    def make(self):
        """Makes the system if it is not there yet. Returns why this is not possible, or None."""
        packages = self.packages
        done = os.path.join(self.folder, DONE)
        if os.path.exists(done):
            with open(done, encoding="utf-8") as file:
                if file.read().split() == packages:
                    return None
        address = mirror()
        if address is None:
            return "the configuration of apt names no mirror of Debian"
        if not os.path.exists(os.path.join(self.folder, "usr/bin/apt-get")):
            os.makedirs(self.folder, exist_ok=True)
            made = subprocess.run(["debootstrap", "--variant=minbase", self.release, self.folder, address],
                                  capture_output=True, text=True, check=False)
            if made.returncode != 0:
                return f"debootstrap failed: {made.stdout.strip().splitlines()[-1:]}"
        if self.unstable:
            listed = self.enter(["sh", "-ec", UNSTABLE.format(address=address, names=" ".join(self.unstable))], self.folder, limit=900)
            if listed.returncode != 0:
                return f"no list of the packages of Debian's unstable release: {listed.stderr.strip().splitlines()[-1:]}"
        install = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes",
                   "--no-install-recommends", *packages]
        installed = self.enter(install, self.folder, limit=1800)
        if installed.returncode != 0:
            return f"apt-get failed: {installed.stderr.strip().splitlines()[-1:]}"
        with open(done, "w", encoding="utf-8") as file:
            file.write(" ".join(packages))
        return None

    @staticmethod
    def enter(command, folder, limit=300, mounts=""):
        """Runs a command with `folder` as its root, in a mount and process namespace of its own."""
        script = (f"{mounts} mount --rbind /dev {folder}/dev && mount --rbind /sys {folder}/sys && "
                  f"mount -t tmpfs tmpfs {folder}/tmp && "
                  f"mount -t proc proc {folder}/proc && exec chroot {folder} \"$@\"")
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", **ENVIRONMENT}
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", *command],
            capture_output=True, text=True, errors="replace", env=environment, timeout=limit, check=False)

    def copy(self):
        """The folder of a copy of the system, and the shell commands that mount it."""
        over = self.layers
        os.makedirs(over, exist_ok=True)
        return f"{over}/root", (
            f"mount -t tmpfs tmpfs {over} && mkdir {over}/up {over}/work {over}/root && "
            f"mount -t overlay overlay -o lowerdir={self.folder},upperdir={over}/up,workdir={over}/work {over}/root && ")

    def run(self, files, script, limit=300):
        """Runs a shell script in a copy of the system that has the folder `files` as /mnt."""
        root, mounts = self.copy()
        mounts += f"mount --bind {files} {root}/mnt && "
        return self.enter(["bash", "-c", script], root, limit, mounts)

    def beside(self, script, limit=300):
        """Runs a shell script on this machine, beside a copy of the system in the folder $root, which has this machine's
        /tmp and /dev, as a container does that a launcher starts."""
        root, mounts = self.copy()
        mounts += (f"mount --rbind /dev {root}/dev && mount --rbind /sys {root}/sys && mount --bind /tmp {root}/tmp && "
                   f"mount -t proc proc {root}/proc && exec bash -c \"$1\"")
        environment = {**os.environ, **ENVIRONMENT, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "root": root}
        return subprocess.run(["unshare", "--mount", "sh", "-c", mounts, "sh", script], capture_output=True, text=True,
                              errors="replace", env=environment, timeout=limit, check=False)
