"""The commands of docs/recipes/containers.md, with Podman and Charliecloud, and with Docker where the page says that it works alike
(docker_check.py). Those of Apptainer are in another test (apptainer_check.py).

The page is read, and each of its commands is run word by word, in a shell that sees /opt/rankweave and a home of its own. The image
is a Debian of this test with Open MPI (systems.py), which no registry has to give: it is imported as an archive. A second image
has MPICH. rankweave is installed from the tarball on the host, and in an image that is built. What a command prints has to
be what the page shows. Then the same launch is made in other ways: without rankweave, which has to give the same output; with a
topology, in which the order has to change; with a program that ends with an exit code, which has to come back; and with a program
that is killed, whose counters have to be found.

A machine may refuse what containers usually get: an overlay, limits of resources, control groups. The test tries what Podman can
do without, and says what was needed. Podman and Charliecloud are installed if this is permitted.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "documents"))

import compare  # noqa: E402
import docker_check  # noqa: E402
import pages  # noqa: E402
from shell import Shell, Stuck  # noqa: E402

PAGE = "recipes/containers.md"
MARK = "tests/packages/run --only containers"
APPTAINER = "tests/packages/run --only apptainer"
# The programs that the recipes need, and the packages that have them.
TOOLS = {"podman": "podman", "runc": "runc", "ch-run": "charliecloud", "mpirun.openmpi": "openmpi-bin", "mpiexec.mpich": "mpich"}
LIMIT = 120
# How the program of the tutorial is changed: it ends with an exit code, or is killed.
ENDS = {"leave": ("return 0;", "return 3;"), "killed": ("MPI_Finalize();", "raise(SIGKILL);")}

# Settings of Podman, the simplest first. A machine without CAP_SYS_RESOURCE keeps its limits, and crun does not start where both
# versions of control groups are mounted.
LIMITS = 'default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
WAYS = [("", "", ""), ("limits of resources as they are", LIMITS, ""),
        ("limits as they are, and runc", LIMITS, 'runtime = "runc"\n'),
        ("limits as they are, and no control groups", LIMITS + 'cgroups = "disabled"\n', 'runtime = "crun"\n')]

# A machine of its own: what is mounted here is not seen elsewhere, and everything that was started ends with it. Podman has its
# sockets in /run, because a long path of theirs makes each container wait for 20 seconds at its end. $1 is the folder of the test,
# $2 the system for Charliecloud.
OWN_MACHINE = """
set -e
mount --bind "$1/opt" /opt
mount --bind "$1/home" /home
mount --bind "$1/hosts" /etc/hosts
mount -t tmpfs tmpfs /dev/shm
mkdir -p /run/libpod /run/containers
mount -t tmpfs tmpfs /run/libpod
mount -t tmpfs tmpfs /run/containers
hostname node1
mkdir -p "$1/layers" && mount -t tmpfs tmpfs "$1/layers" && mkdir "$1/layers/up" "$1/layers/work"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/layers/up,workdir=$1/layers/work" /home/ann/mpi-image
cd /home/ann
exec bash --norc --noprofile
"""

# The system has Debian's two MPI libraries. In this image, the names without ending are those of MPICH.
MPICH = """FROM mpi-image
RUN update-alternatives --set mpi /usr/bin/mpicc.mpich && update-alternatives --set mpirun /usr/bin/mpirun.mpich
"""


def tools():
    """Installs what is missing. Returns why this is not possible, or None."""
    if os.getuid() != 0:
        return "containers of this test need root"
    missing = [program for program in TOOLS if not shutil.which(program)]
    if missing and shutil.which("apt-get"):
        install = ["apt-get", "install", "--yes", "--no-install-recommends", *(TOOLS[program] for program in missing)]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update"], install):
            subprocess.run(command, capture_output=True, check=False, env=environment)
        missing = [program for program in TOOLS if not shutil.which(program)]
    return f"{', '.join(missing)} cannot be installed" if missing else None


class Containers:
    """A shell on a machine of its own, Podman with images of its own, and the home of a user."""

    def __init__(self, debian, top):
        self.debian, self.top = debian, top
        for folder in ("opt", "home/ann/mpi-image", "build", "bin/openmpi", "bin/mpich"):
            os.makedirs(os.path.join(top, folder))
        for stack, programs in (("openmpi", ["mpirun"]), ("mpich", ["mpiexec"])):
            for name in programs:
                os.symlink(f"/usr/bin/{name}.{stack}", os.path.join(top, "bin", stack, name))
        # mpiexec looks for it beside itself.
        os.symlink("/usr/bin/hydra_pmi_proxy", os.path.join(top, "bin/mpich/hydra_pmi_proxy"))
        self.write("hosts", "127.0.0.1 localhost node1\n")
        self.write("build/Dockerfile", MPICH)
        environment = {"CONTAINERS_CONF": os.path.join(top, "containers.conf"), "USER": "ann", "LANG": "C.UTF-8",
                       "CONTAINERS_STORAGE_CONF": os.path.join(top, "storage.conf"), "HOME": "/home/ann",
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                       "PATH": f"/opt/rankweave/bin:{top}/bin/openmpi:{top}/bin/mpich:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.shell = Shell(["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", OWN_MACHINE,
                            "sh", top, debian.folder], environment, "/")

    def write(self, name, text):
        """Writes a file of the test."""
        with open(os.path.join(self.top, name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, text, limit=LIMIT):
        """Exit code and lines of a command."""
        try:
            return self.shell.run(text, limit)
        except Stuck as stuck:
            sys.exit(f"containers: $ {text}\n{stuck}")

    def configure(self, driver, way):
        """Writes the settings of Podman. Containers have no network, unless they get that of the host: the network of this
        machine stays as it is."""
        _, containers, engine = way
        self.write("containers.conf", f'[containers]\nnetns = "none"\n{containers}[engine]\n{engine}')
        self.write("storage.conf", f'[storage]\ndriver = "{driver}"\ngraphroot = "{self.top}/storage.{driver}"\n'
                   f'runroot = "/run/containers/{driver}"\n')

    def images(self):
        """Makes the images. Returns why this is not possible, or None."""
        problem = "podman imports no image"
        archive = f"tar -C {self.debian.folder} --exclude=./var/cache/apt/archives -cf - ."
        for driver in ("overlay", "vfs"):
            self.configure(driver, WAYS[0])
            code, lines = self.run(f"rm -rf /run/libpod/*; {archive} | podman import - mpi-image", 900)
            if code != 0:
                problem = " ".join(lines[-2:])
                continue
            for way in WAYS:
                self.configure(driver, way)
                code, lines = self.run("podman run --rm mpi-image true")
                if code == 0:
                    print(f"containers: Podman with the storage driver {driver}" + (f"; it needs {way[0]}" if way[0] else ""))
                    code, lines = self.run(f"podman build -t mpich-image {self.top}/build", 900)
                    return None if code == 0 else f"no image with MPICH: {' '.join(lines[-2:])}"
                problem = " ".join(lines[-2:])
        return f"podman starts no container: {problem}"

    def close(self):
        """Ends the machine, and removes the images."""
        self.run("podman rmi --all --force", 900)
        self.shell.close()


def without_messages(lines):
    """What the launch itself printed."""
    return sorted(line for line in lines if line.strip() and not line.startswith("rankweave: "))


class Recipes:
    """The commands of the page, in a shell that `run` gives a command to. `runtime` takes the place of Podman, and `options` are behind
    its command `run`."""

    def __init__(self, verdicts, run, tarball, runtime="podman", options=""):
        self.verdicts, self.run, self.runtime, self.options = verdicts, run, runtime, options
        self.version = re.search(r"rankweave-(.*)-x86_64", os.path.basename(tarball))[1]

    def block(self, block, home):
        """Runs the commands of a block."""
        if block.language == "dockerfile":
            with open(os.path.join(home, "Dockerfile"), "w", encoding="utf-8") as file:
                file.write("\n".join(block.lines).replace("VERSION", self.version) + "\n")
            return
        self.run("rm -rf ~/.local/share/rankweave")
        if self.runtime in ("podman", "docker"):
            self.run(f"{self.runtime} volume rm --force rankweave")
        for command in block.commands:
            text = re.sub(r"\bpodman( run)?\b", lambda m: self.runtime + (f"{m[1]} {self.options}".rstrip() if m[1] else ""), command.text)
            code, lines = self.run(text)
            said = compare.difference(command.expected, lines) if command.expected else None
            name = f"{block.place}: {text.splitlines()[0][:60]}"
            if self.verdicts.check(name, code == 0 and said is None, f"exit code {code}\n{said}\n" + "\n".join(lines)) and \
                    "rankweave run -v -- " in text:
                self.launch(f"{block.place}: {self.kind(text)}", text, lines)

    @staticmethod
    def kind(text):
        """What a launch is called in the results."""
        container = re.search(r"ch-run|apptainer|docker|podman", text)[0]
        launcher = "mpiexec" if "mpiexec" in text else "mpirun"
        inside = re.search(rf"{container} .*{launcher}", text, re.DOTALL)
        return f"{container} {'around' if inside else 'behind'} {launcher}"

    def launch(self, name, text, lines):
        """Makes the launch of a command in other ways."""
        plain = re.sub(r"\S*rankweave run -v -- ", "", text)
        code, without = self.run(plain)
        self.verdicts.check(f"{name}: the output is that of the launch without rankweave",
                            code == 0 and without_messages(lines) == without_messages(without), "\n".join(without))
        code, again = self.run(text.replace("rankweave run -v", "rankweave run -v --topology tree:4:2"))
        self.verdicts.check(f"{name}: the next launch reorders",
                            code == 0 and any("ranks reordered" in line for line in again)
                            and without_messages(again) == without_messages(without), "\n".join(again))
        if "behind" in name:
            code, said = self.run(text.replace("rankweave run -v -- ", "rankweave doctor -- "))
            self.verdicts.check(f"{name}: rankweave doctor finds the library in the container",
                                code == 0 and any("its options give the library" in line for line in said), "\n".join(said))
        codes = [self.run(re.sub(r"\./pairs\S*", r"\g<0>-leave", command))[0] for command in (plain, text)]
        self.verdicts.check(f"{name}: the exit code is that of the launch without rankweave", codes == [3, 3], str(codes))
        self.killed(name, re.sub(r"\./pairs\S*", r"\g<0>-killed", text))

    def killed(self, name, text):
        """A launch that is killed leaves its counters where the host finds them."""
        code, lines = self.run(text)
        found, recovered = self.run("rankweave recover --store recovered")
        self.run("rm -rf recovered")
        self.verdicts.check(f"{name}: rankweave recover finds the counters of a killed launch",
                            code != 0 and found == 0 and any("-killed" in line for line in recovered),
                            f"exit codes {code}, {found}\n" + "\n".join(lines + recovered))


def programs(home):
    """Saves the program of the tutorial, and two that end in other ways."""
    for block in pages.read("tutorial.md"):
        if block.one("file") == "pairs.c":
            text = "\n".join(block.lines) + "\n"
    for name, (before, after) in (("pairs", ("return 0;", "return 0;")), *((f"pairs-{end}", ENDS[end]) for end in ENDS)):
        with open(os.path.join(home, f"{name}.c"), "w", encoding="utf-8") as file:
            file.write("#include <signal.h>\n" + text.replace(before, after))


def check(verdicts, debian, tarball, top):
    """All commands of the page."""
    problem = tools()
    if problem:
        print(f"skipped: containers: {problem}")
        return
    containers = Containers(debian, top)
    try:
        problem = containers.images()
        if problem:
            print(f"skipped: containers: {problem}")
            return
        page(verdicts, containers, tarball)
    finally:
        containers.close()


def page(verdicts, containers, tarball):
    """Installs rankweave, and runs the blocks of the page that are for Podman, Charliecloud and Docker."""
    home = os.path.join(containers.top, "home/ann")
    programs(home)
    shutil.copy(tarball, home)
    recipes = Recipes(verdicts, containers.run, tarball)
    code, lines = recipes.run("tar -C /opt -xf rankweave-*.tar.gz && /opt/rankweave-*-linux/install.sh --prefix /opt/rankweave && "
                              "rm -r /opt/rankweave-*-linux")
    verdicts.check("containers: the tarball is installed on the host", code == 0, "\n".join(lines))
    for image, program in (("mpi-image", "pairs"), ("mpich-image", "pairs-mpich")):
        compiled = " && ".join(f"mpicc -o {program}-{end} pairs-{end}.c" for end in ENDS)
        code, lines = recipes.run(f"podman run --rm -v $PWD:$PWD -w $PWD {image} sh -c '{compiled}'")
        verdicts.check(f"containers: {image} compiles", code == 0, "\n".join(lines))
    marked = {block.place: block.one("not run") or "" for block in pages.read(PAGE)}
    blocks = [block for block in pages.read(PAGE) if MARK in marked[block.place]]
    for block in blocks:
        recipes.block(block, home)
    left = [place for place, reason in marked.items() if MARK not in reason and APPTAINER not in reason]
    verdicts.check("containers: every block of the page is run by a test", not left, str(left))
    docker_check.check(containers, Recipes(verdicts, containers.run, tarball, "docker", docker_check.OPTIONS), blocks)
