"""Builds and ends a cluster: its hosts, its switches and its links."""

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time

from emulation.cluster import (EXIT_NO_NAMESPACES, EXIT_USAGE, Cluster, enter_namespaces, fail, start_time,
                               state_directory)

# The command scripts/cluster, which runs once more inside the namespaces.
MAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "cluster")

# Process 1 of the cluster: collects the exit status of processes whose parent has ended.
INIT = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
while True:
    signal.sigwait({signal.SIGCHLD})
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""

# Runs inside the new namespaces of a host, and then sleeps as long as the cluster exists.
# $1 name, $2 directory of the host in the state directory, $3 file for /etc/ld.so.preload or ''
HOST = r"""
set -e
hostname "$1" 2>/dev/null || echo "$1" > /proc/sys/kernel/hostname
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
# A /sys for the host's own network; without it the interfaces of the machine would be visible.
mount -t sysfs sysfs /sys 2>/dev/null || echo "sysfs" >> "$2/refused"
# /etc becomes a folder of links to the files of the machine, so that a few files can differ.
mkdir -p "$2/etc-outside"
mount --bind /etc "$2/etc-outside"
mount -t tmpfs -o mode=755 tmpfs "$2/etc-inside"
for f in "$2/etc-outside"/* "$2/etc-outside"/.[!.]*; do
    [ -e "$f" ] || [ -L "$f" ] || continue
    ln -s "$f" "$2/etc-inside/${f##*/}"
done
rm -f "$2/etc-inside/hosts" "$2/etc-inside/hostname" "$2/etc-inside/ld.so.preload"
cp "$2/../../hosts.txt" "$2/etc-inside/hosts"
echo "$1" > "$2/etc-inside/hostname"
[ -z "$3" ] || echo "$3" > "$2/etc-inside/ld.so.preload"
mount --bind "$2/etc-inside" /etc
echo 1 > "$2/ready"
exec sleep infinity
"""


def parse_shape(text):
    try:
        shape = [int(part) for part in text.lower().split("x")]
    except ValueError:
        shape = []
    hosts = 1
    for part in shape:
        hosts *= part
    if not shape or min(shape) < 1 or hosts > 250:
        raise argparse.ArgumentTypeError(
            f"{text}: want the arity of each level from the root, such as 2x2, at most 250 hosts")
    return shape


def start_base(log):
    """Starts the process that holds the outer namespaces; returns (process, rootless)."""
    reasons = []
    for rootless in ([False, True] if os.getuid() == 0 else [True]):
        command = ["unshare"] + (["-U", "-r"] if rootless else [])
        command += ["-n", "-m", "-p", "-f", "--propagation", "private", "--mount-proc"]
        # Try it with a short process first, which reports errors; the process that stays does not.
        trial = subprocess.run(command + ["true"], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        if trial.returncode == 0:
            process = subprocess.Popen(
                command + ["--kill-child", sys.executable, "-S", "-c", INIT],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            return process, rootless
        reasons.append(trial.stderr.strip().splitlines()[-1] if trial.stderr.strip() else
                       f"exit code {trial.returncode}")
    fail(EXIT_NO_NAMESPACES,
         "this machine does not permit the namespaces that an emulated cluster needs "
         f"({'; '.join(dict.fromkeys(reasons))}); try: as root; in a container, start it with the right to make namespaces "
         "(docker run --privileged); as another user, outside of a chroot and where user namespaces are permitted (sysctl "
         "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces)")


def build_pacing(directory):
    """Compiles pacing.c, which lets idle ranks sleep; None if there is no compiler."""
    source = os.path.join(os.path.dirname(MAIN), "pacing.c")
    target = os.path.join(directory, "pacing.so")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        return None
    done = subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", target, source],
                          capture_output=True, text=True, check=False)
    return target if done.returncode == 0 else None


def up(args):
    for tool in ("unshare", "nsenter", "ip", "tc", "mount"):
        if not shutil.which(tool):
            # ip and tc live in /usr/sbin, which is not on every user's path.
            os.environ["PATH"] += ":/usr/sbin:/sbin"
            if not shutil.which(tool):
                fail(EXIT_USAGE, f"{tool} is missing; run scripts/setup")
    if Cluster.find(args.name):
        fail(EXIT_USAGE, f"the cluster {args.name} is up already; scripts/cluster down ends it")
    directory = state_directory(args.name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory, mode=0o700)
    finished = False

    def interrupted(number, _frame):
        sys.exit(128 + number)

    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for number in signals:
        signal.signal(number, interrupted)
    base = None
    try:
        with open(os.path.join(directory, "log"), "w") as log:
            base, rootless = start_base(log)
            started = None
            deadline = time.monotonic() + 20
            # The base is ready once process 1 of its namespace exists.
            while time.monotonic() < deadline:
                if base.poll() is not None:
                    fail(EXIT_USAGE, f"the base process ended at once, see {directory}/log")
                started = start_time(base.pid)
                try:
                    os.stat(f"/proc/{base.pid}/ns/pid_for_children")
                    break
                except OSError:
                    time.sleep(0.02)
            description = {
                "schema": 1, "name": args.name, "base": base.pid, "base_started": started,
                "rootless": rootless, "shape": args.shape, "rate": args.rate,
                "leaf_rate": args.leaf_rate, "scramble": args.scramble, "pacing": None,
                "switches": [], "hosts": [],
            }
            if args.pacing:
                description["pacing"] = build_pacing(directory)
                if not description["pacing"]:
                    print("cluster: no C compiler, so idle ranks will poll", file=sys.stderr)
            write_description(directory, description)
            build = subprocess.run(
                Cluster(directory).enter_base() + [
                    sys.executable, MAIN, "_build", directory],
                check=False, stdin=subprocess.DEVNULL)
            if build.returncode != 0:
                fail(EXIT_USAGE, "could not build the network")
        finished = True
    finally:
        if not finished:
            for number in signals:  # a second Ctrl-C must not interrupt the cleanup
                signal.signal(number, signal.SIG_IGN)
            if base is not None:
                base.kill()
                base.wait()
            shutil.rmtree(directory, ignore_errors=True)
    cluster = Cluster(directory)
    if args.verbose:
        status(args)
    else:
        names = f"{cluster.hosts[0]['name']} to {cluster.hosts[-1]['name']}"
        print(f"cluster: {len(cluster.hosts)} hosts ({names}) are up", file=sys.stderr)


def write_description(directory, description):
    path = os.path.join(directory, "cluster.json")
    with open(path + ".new", "w") as f:
        json.dump(description, f, indent=1)
    os.replace(path + ".new", path)


def place_hosts(shape, switches, seed):
    """The hosts with their names, addresses and switches. `switches` are those of the last level.

    With a seed, the hosts are dealt out to the switches in an order that only the seed knows. Then the addresses
    are in the order of the names, so that neither tells which hosts share a switch.
    """
    arity = shape[-1]
    positions = list(range(arity * len(switches)))
    if seed is not None:
        random.Random(seed).shuffle(positions)
    hosts = []
    for k, position in enumerate(positions):
        leaf, port = divmod(position, arity)
        address = f"10.77.{leaf + 1}.{port + 1}" if seed is None else f"10.77.1.{k + 1}"
        hosts.append({"name": f"n{k}", "switch": switches[leaf], "address": address})
    return hosts


def build(directory):
    """Runs inside the base namespaces: hosts, bridges, links. Errors end it with a message."""
    with open(os.path.join(directory, "cluster.json")) as f:
        description = json.load(f)
    shape = description["shape"]
    count = 1
    for arity in shape:
        count *= arity
    # The tree of switches: one entry per switch with its parent; hosts hang on the last level.
    switches = [("s0", None)]
    level = ["s0"]
    for arity in shape[:-1]:
        below = []
        for parent in level:
            for _ in range(arity):
                name = f"s{len(switches)}"
                switches.append((name, parent))
                below.append(name)
        level = below
    hosts = place_hosts(shape, level, description["scramble"])
    with open(os.path.join(directory, "hosts.txt"), "w") as f:
        f.write("127.0.0.1 localhost\n")
        f.writelines(f"{h['address']} {h['name']}\n" for h in hosts)

    for host in hosts:
        own = os.path.join(directory, "hosts", host["name"])
        os.makedirs(os.path.join(own, "etc-inside"))
        holder = subprocess.Popen(
            ["unshare", "-n", "-u", "-i", "-m", "--propagation", "private", "sh", "-c", HOST,
             "host", host["name"], own, description["pacing"] or ""],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(own, "log"), "w"), start_new_session=True)
        host["pid"] = holder.pid
        host["process"] = holder
    deadline = time.monotonic() + 30
    for host in hosts:
        own = os.path.join(directory, "hosts", host["name"])
        while not os.path.exists(os.path.join(own, "ready")):
            if host["process"].poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(own, "log")) as f:
                    fail(EXIT_USAGE, f"host {host['name']} did not start: {f.read().strip()}")
            time.sleep(0.02)
        del host["process"]

    def limit(device, rate):
        return ["tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate,
                "burst", "64kb", "limit", "64mb"]

    step(["ip", "link", "set", "lo", "up"])
    for name, parent in switches:
        step(["ip", "link", "add", name, "mtu", "9000", "type", "bridge"])
        step(["ip", "link", "set", name, "up"])
        if parent:
            step(["ip", "link", "add", f"{name}u", "mtu", "9000", "type", "veth",
                  "peer", "name", f"{name}d", "mtu", "9000"])
            step(["ip", "link", "set", f"{name}u", "master", name, "up"])
            step(["ip", "link", "set", f"{name}d", "master", parent, "up"])
            step(limit(f"{name}u", description["rate"]))
            step(limit(f"{name}d", description["rate"]))
    for host in hosts:
        inside = enter_namespaces(host["pid"])
        step(["ip", "link", "add", f"{host['name']}p", "mtu", "9000", "type", "veth",
              "peer", "name", "eth0", "mtu", "9000", "netns", str(host["pid"])])
        step(["ip", "link", "set", f"{host['name']}p", "master", host["switch"], "up"])
        step(limit(f"{host['name']}p", description["leaf_rate"]))
        step(inside + ["ip", "link", "set", "lo", "up"])
        step(inside + ["ip", "address", "add", f"{host['address']}/16", "dev", "eth0"])
        step(inside + ["ip", "link", "set", "eth0", "up"])
        step(inside + limit("eth0", description["leaf_rate"]))
        # Small socket buffers: large ones would act like a deep queue in front of the token bucket.
        for name, values in (("tcp_rmem", "4096 131072 1048576"),
                             ("tcp_wmem", "4096 65536 1048576")):
            subprocess.run(inside + ["sh", "-c", f"echo {values} > /proc/sys/net/ipv4/{name}"],
                           check=False, stderr=subprocess.DEVNULL)
    description["hosts"] = hosts
    description["switches"] = [{"name": name, "parent": parent} for name, parent in switches]
    write_agent(directory, hosts)
    write_description(directory, description)


def write_agent(directory, hosts):
    """The stand-in for ssh: `agent HOST COMMAND…` runs the command on the host.

    Like ssh it passes nothing of the environment on but what a login would set, so that a program
    only sees variables that its launcher sends along.
    """
    path = os.path.join(directory, "agent")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n# Stand-in for ssh inside the emulated cluster: agent HOST COMMAND...\n")
        f.write("while :; do case $1 in -*) shift ;; *) break ;; esac; done\n")
        f.write("case $1 in\n")
        f.writelines(f"{h['name']} | {h['address']}) pid={h['pid']} ;;\n" for h in hosts)
        f.write('*) echo "agent: no host $1" >&2; exit 255 ;;\nesac\nshift\n')
        f.write('exec nsenter -t "$pid" -n -u -i -m -- env -i PATH="$PATH" HOME="${HOME:-/}" '
                'USER="${USER:-root}" SHELL=/bin/sh TMPDIR=/tmp /bin/sh -c "$*"\n')
    os.chmod(path, 0o755)


def step(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(EXIT_USAGE, f"{shlex.join(command)}: {done.stderr.strip()}")


def down(args):
    directory = state_directory(args.name)
    cluster = Cluster.find(args.name)
    if cluster:
        # Ends the outer process; the kernel then ends everything inside its namespaces.
        os.kill(cluster.base, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while start_time(cluster.base) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
    shutil.rmtree(directory, ignore_errors=True)
    if os.path.exists(directory):
        fail(EXIT_USAGE, f"could not remove {directory}")
    if not cluster and args.verbose:
        print("cluster: nothing was up", file=sys.stderr)


def status(args):
    cluster = Cluster.find(args.name)
    if not cluster:
        print("cluster: down", file=sys.stderr)
        return 1
    if getattr(args, "json", False):
        shown = {k: v for k, v in cluster.__dict__.items() if k != "base_started"}
        print(json.dumps(shown))
        return 0
    shape = "x".join(map(str, cluster.shape))
    order = "" if cluster.scramble is None else f", hosts scrambled by seed {cluster.scramble}"
    print(f"shape {shape}{order}, links of hosts {cluster.leaf_rate}, links between switches "
          f"{cluster.rate}, {'without root' if cluster.rootless else 'as root'}")
    for host in cluster.hosts:
        print(f"{host['name']:6} {host['address']:12} on switch {host['switch']}")
    return 0
