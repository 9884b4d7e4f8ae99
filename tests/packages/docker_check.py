"""The commands of docs/recipes/containers.md in which the launcher is inside, with `docker` in place of `podman`.

A daemon of this test has its own folder and socket, and no network, and changes no setting of the network. It is installed if this is permitted.
"""

import os
import re
import shutil
import subprocess

# The programs that are needed, and the packages that have them. Some releases have the client in a package of its own.
TOOLS = {"dockerd": "docker.io", "docker": "docker-cli"}
# As the page says, for messages between the processes of Open MPI.
OPTIONS = "--cap-add=SYS_PTRACE"
# The daemon, which ends with the shell.
DAEMON = """
mkdir -p {top}/docker
dockerd --data-root {top}/docker/data --exec-root {top}/docker/exec --pidfile {top}/docker/pid -H unix://{top}/docker/socket \\
    --iptables=false --ip6tables=false --ip-forward=false --bridge=none > {top}/docker/log 2>&1 &
export DOCKER_HOST=unix://{top}/docker/socket
for attempt in $(seq 60); do docker info > /dev/null 2>&1 && break; sleep 1; done
docker info > /dev/null
"""


def tools():
    """Installs what is missing. Returns why this is not possible, or None."""
    for program, package in TOOLS.items():
        if not shutil.which(program) and shutil.which("apt-get"):
            subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", package], capture_output=True, check=False,
                           env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    missing = [program for program in TOOLS if not shutil.which(program)]
    return f"{', '.join(missing)} cannot be installed" if missing else None


def start(containers):
    """Starts the daemon and imports the image. Returns why this is not possible, or None."""
    problem = tools()
    if problem:
        return problem
    client = os.path.dirname(shutil.which("docker"))
    code, lines = containers.run(f"export PATH=$PATH:{client}\n" + DAEMON.format(top=containers.top), 120)
    if code != 0:
        return "dockerd does not start: " + " ".join(lines[-1:])
    archive = f"tar -C {containers.debian.folder} --exclude=./var/cache/apt/archives -cf - ."
    code, lines = containers.run(f"{archive} | docker import - mpi-image", 900)
    return None if code == 0 else "docker imports no image: " + " ".join(lines[-1:])


def is_inside(block):
    """Whether the launcher of a block is in the container, or no launcher is needed."""
    outside = re.compile(r"mpi(run|exec)\b.*\b(podman|ch-run)\b", re.DOTALL)
    return not any(outside.search(command.text) for command in block.commands)


def check(containers, recipes, blocks):
    """Runs the blocks that Docker can run."""
    problem = start(containers)
    if problem:
        print(f"skipped: Docker: {problem}")
        return
    for block in filter(is_inside, blocks):
        recipes.block(block, os.path.join(containers.top, "home/ann"))
    containers.run("docker rmi --force $(docker images --quiet)", 300)
