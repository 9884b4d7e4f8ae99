"""Runs commands on the hosts, and MPI programs with Open MPI's launcher."""

import os
import random
import shlex
import sys

from emulation.cluster import EXIT_USAGE, Cluster, fail


def placement(cluster, args):
    """The host of each rank."""
    names = [h["name"] for h in cluster.hosts]
    per_host = args.per_host or -(-args.n // len(names))
    if args.by == "slot":
        order = [names[rank // per_host % len(names)] for rank in range(args.n)]
    elif args.by == "node":
        order = [names[rank % len(names)] for rank in range(args.n)]
    elif args.by == "random":
        order = [names[slot // per_host % len(names)] for slot in range(args.n)]
        random.Random(args.seed).shuffle(order)
    else:
        try:
            with open(args.by) as f:
                order = [line.split()[0] for line in f if line.split()]
        except OSError as error:
            fail(EXIT_USAGE, f"--by {args.by}: want slot, node, random or a file with the host of "
                             f"each rank, one a line ({error.strerror})")
        if len(order) < args.n:
            fail(EXIT_USAGE, f"{args.by} has {len(order)} lines for {args.n} ranks")
        order = order[:args.n]
        for name in order:
            cluster.host(name)
    return order


def inside(cluster, host, command):
    """Replaces this process by the command on the host, in the current working directory."""
    environment = dict(os.environ, HOSTNAME=host)
    whole = cluster.enter_host(host) + [
        "sh", "-c", 'cd "$1" 2>/dev/null || cd /; shift; exec "$@"', "sh", os.getcwd()] + command
    try:
        os.execvpe(whole[0], whole, environment)
    except OSError as error:
        fail(EXIT_USAGE, f"{whole[0]}: {error.strerror}")


def run(args):
    cluster = Cluster.find(args.name) or fail(EXIT_USAGE, "no cluster is up; try: scripts/cluster up")
    if args.n < 1:
        fail(EXIT_USAGE, "-n must be at least 1")
    if not args.command:
        fail(EXIT_USAGE, "no program given; write it after --")
    order = placement(cluster, args)
    hostfile = os.path.join(cluster.directory, f"ranks.{os.getpid()}")
    with open(hostfile, "w") as f:
        f.writelines(f"{name}\n" for name in order)
    sessions = os.path.join(cluster.directory, "tmp")
    os.makedirs(sessions, exist_ok=True)
    mca = {
        "plm_rsh_agent": os.path.join(cluster.directory, "agent"),
        "rmaps": "seq", "rmaps_base_oversubscribe": "1", "mpi_yield_when_idle": "1",
        "pml": "ob1", "btl": "tcp,vader,self",
        "btl_tcp_if_include": "10.77.0.0/16", "oob_tcp_if_include": "10.77.0.0/16",
        "orte_tmpdir_base": sessions,
    }
    launch = shlex.split(args.prefix) if args.prefix else []
    launch += [args.launcher]
    if os.getuid() == 0 or cluster.rootless:
        launch.append("--allow-run-as-root")
    for name, value in mca.items():
        launch += ["--mca", name, value]
    launch += ["--bind-to", "none", "--hostfile", hostfile, "-np", str(args.n)]
    for variable in args.export:
        launch += ["-x", variable]
    launch += args.command
    if args.verbose:
        print(shlex.join(launch), file=sys.stderr)
    inside(cluster, cluster.hosts[0]["name"], launch)


def execute(args):
    cluster = Cluster.find(args.name) or fail(EXIT_USAGE, "no cluster is up; try: scripts/cluster up")
    if not args.command:
        fail(EXIT_USAGE, "no command given; write it after --")
    cluster.host(args.host)
    inside(cluster, args.host, args.command)
