"""The commands of docs/recipes/containers.md that need Apptainer, as a user who is not root.

Only the unstable release of Debian has Apptainer. It runs in Debian 13 with Debian's MPI libraries, and the image is made of the same
system. rankweave is installed from the tarball into /opt/rankweave. The launches and their checks are those of containers.py.

This Apptainer has no program with setuid. It makes a user namespace for each container, so the kernel has to permit these to
ordinary users.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "documents"))

import containers  # noqa: E402
import pages  # noqa: E402
from shell import Shell, Stuck  # noqa: E402
from systems import System  # noqa: E402

PACKAGES = ["mpich", "libmpich-dev", "ca-certificates", "squashfuse", "fuse3", "fuse2fs", "gocryptfs"]
USER = 1000
LIMIT = 120

# A machine of its own, whose root is a copy of the system: user namespaces are refused behind chroot. $root is the copy, $1 the folder
# of the test, $2 the system. The device for file systems in processes belongs to root outside, and is not changed there.
OWN_MACHINE = """
mount --rbind /dev $root/dev && mount --rbind /sys $root/sys && mount -t proc proc $root/proc
mount --bind /tmp $root/tmp && mount -t tmpfs tmpfs $root/dev/shm && chmod 1777 $root/dev/shm
mkdir -p $root/home/ann $root/outside
mount --bind "$1/home" $root/home/ann
mount --bind "$2" $root/mnt
[ ! -e /dev/fuse ] || { mount -t tmpfs tmpfs "$1/device" && mknod "$1/device/fuse" c 10 229 && chmod 666 "$1/device/fuse" &&
    mount --bind "$1/device/fuse" $root/dev/fuse; }
hostname node1
echo 127.0.0.1 localhost node1 > $root/etc/hosts
chroot $root useradd --uid USER --no-create-home ann
cd $root && pivot_root . outside && cd /home/ann && umount -l /outside
""".replace("USER", str(USER))

INSTALL = """
tar -C /opt -xf /home/ann/rankweave-*.tar.gz && /opt/rankweave-*-linux/install.sh --prefix /opt/rankweave > /dev/null
rm -r /opt/rankweave-*-linux
"""

ENVIRONMENT = {"HOME": "/home/ann", "USER": "ann", "LANG": "C.UTF-8", "OMPI_MCA_mpi_yield_when_idle": "1",
               "PATH": "/opt/rankweave/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Machine:
    """The system with Apptainer, and the home of a user."""

    def __init__(self, system, top):
        root, mounts = system.copy()
        self.script = f"set -e\nroot={root}\n{mounts}true\n" + OWN_MACHINE
        self.words = [top, system.folder]
        os.makedirs(os.path.join(top, "home"))
        os.makedirs(os.path.join(top, "device"))

    def command(self, more):
        """The words that run a shell script on the machine."""
        return ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", self.script + more, "sh",
                *self.words]

    def image(self):
        """Makes the image, as root. Returns why this is not possible, or None."""
        more = "apptainer build --force mpi-image.sif /mnt && chown -R ann:ann /home/ann"
        made = subprocess.run(self.command(more), capture_output=True, text=True, errors="replace", timeout=1800, check=False,
                              env=ENVIRONMENT)
        return None if made.returncode == 0 else " ".join((made.stdout + made.stderr).strip().splitlines()[-2:])

    def shell(self):
        """A shell of the user."""
        user = f"exec setpriv --reuid {USER} --regid {USER} --clear-groups bash --norc --noprofile"
        return Shell(self.command(INSTALL + user), ENVIRONMENT, "/")


def check(verdicts, cache, tarball, top):
    """All commands of the page that need Apptainer."""
    if os.getuid() != 0:
        print("skipped: Apptainer: this test needs root")
        return
    system = System(cache, "trixie", PACKAGES, ["apptainer"])
    machine = Machine(system, top)
    home = os.path.join(top, "home")
    containers.programs(home)
    shutil.copy(tarball, home)
    problem = system.make() or machine.image()
    if problem:
        print(f"skipped: Apptainer: {problem}")
        return
    shell = machine.shell()

    def run(text, limit=LIMIT):
        """Exit code and lines of a command."""
        try:
            return shell.run(text, limit)
        except Stuck as stuck:
            sys.exit(f"apptainer: $ {text}\n{stuck}")

    try:
        code, lines = run("apptainer exec mpi-image.sif true")
        if code != 0:
            print(f"skipped: Apptainer starts no container: {' '.join(lines[-1:])}")
            return
        page(verdicts, containers.Recipes(verdicts, run, tarball, "apptainer"), home)
    finally:
        shell.close()


def page(verdicts, recipes, home):
    """Compiles the programs, and runs the blocks of the page."""
    print(f"apptainer: {' '.join(recipes.run('apptainer --version')[1])}")
    for end in containers.ENDS:
        code, lines = recipes.run(f"apptainer exec mpi-image.sif mpicc -o pairs-{end} pairs-{end}.c")
        verdicts.check(f"apptainer: pairs-{end} is compiled", code == 0, "\n".join(lines))
    for block in pages.read(containers.PAGE):
        if containers.APPTAINER in (block.one("not run") or ""):
            recipes.block(block, home)
