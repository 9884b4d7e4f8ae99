"""Slurm on the hosts of a cluster: Debian's slurmctld on n0, and slurmd and munged on every host.

Everything lies in the cluster's directory. Each host sees its own folder `hosts/NAME/own` under the same path
`own`, with the socket of munged, the spool directory and the logs. /etc/slurm is on every host a link to the
folder `slurm`, with slurm.conf, topology.conf and the state of slurmctld. `scripts/cluster down` ends the daemons
with the other processes, and removes the directory.

Limits: the daemons run as root, and jobs run as root. A cluster that was made without root cannot have Slurm.
Control groups are not used, so processes are found by their parents, and tasks are not bound to cores. There is no
accounting.
"""

import os
import secrets
import shutil
import subprocess
import time

from emulation.cluster import EXIT_NO_NAMESPACES, EXIT_USAGE, Cluster, fail
from emulation.launch import inside

# The commands of users that scripts/cluster runs on n0.
CLIENTS = ("srun", "sbatch", "salloc", "scancel", "squeue", "sinfo", "scontrol", "sattach")
DAEMONS = ("munged", "slurmctld", "slurmd")
# How long all hosts may take to report to slurmctld.
PATIENCE = 60

CONFIGURATION = """\
ClusterName=emulated
SlurmctldHost=n0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/own/munge.socket
StateSaveLocation={directory}/slurm/state
SlurmctldPidFile={directory}/own/slurmctld.pid
SlurmctldLogFile={directory}/own/slurmctld.log
SlurmdSpoolDir={directory}/own/spool
SlurmdPidFile={directory}/own/slurmd.pid
SlurmdLogFile={directory}/own/slurmd.log
# No control groups, no accounting, no binding: the hosts share one kernel and its processors.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault={mpi}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000,bf_interval=1,sched_interval=2
TopologyPlugin=topology/{plugin}
# All hosts share a few processors: a slow answer is no failure.
MessageTimeout=60
SlurmdTimeout=0
SlurmctldTimeout=300
InactiveLimit=0
KillWait=5
WaitTime=0
ReturnToService=2
PropagateResourceLimits=NONE
# More processors than the machine has are wanted here.
SlurmdParameters=config_overrides
NodeName={nodes} CPUs={cpus} RealMemory=4096 State=UNKNOWN
PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP
"""

# slurmd loads a plugin for control groups though nothing uses it. Left to choose, it looks for /sys/fs/cgroup,
# which the hosts do not have.
CONTROL_GROUPS = "CgroupPlugin=cgroup/v1\n"

# The temporary files of PMIx. The hosts share /tmp, and two hosts may not use the same file.
PMIX = "PMIxCliTmpDirBase={directory}/own\n"

# Starts the daemons of a host. $1 directory of the cluster, $2 name of the host, $3 the host of slurmctld
START = r"""
set -e
PATH="$PATH:/usr/sbin:/sbin"
own="$1/own"
mkdir -p "$1/hosts/$2/own/spool"
mount --bind "$1/hosts/$2/own" "$own"
rm -f /etc/slurm
ln -s "$1/slurm" /etc/slurm
umask 022
# munged wants every user to reach its socket; the cluster's directory is private.
munged --force --num-threads=2 --socket="$own/munge.socket" --key-file="$1/munge.key" \
    --pid-file="$own/munged.pid" --log-file="$own/munged.log" --seed-file="$own/munged.seed" > "$own/munged.out" 2>&1
[ "$2" != "$3" ] || slurmctld > "$own/slurmctld.out" 2>&1
slurmd > "$own/slurmd.out" 2>&1
"""


def topology(cluster):
    """topology.conf with the switches of the cluster."""
    lines = ["# The switches of the emulated cluster."]
    for switch in cluster.switches:
        name = switch["name"]
        below = [other["name"] for other in cluster.switches if other["parent"] == name]
        nodes = [host["name"] for host in cluster.hosts if host["switch"] == name]
        members = f"Switches={','.join(below)}" if below else f"Nodes={','.join(nodes)}"
        lines.append(f"SwitchName={name} {members}")
    return "\n".join(lines) + "\n"


def write_files(cluster, args):
    folder = os.path.join(cluster.directory, "slurm")
    os.makedirs(os.path.join(folder, "state"))
    os.makedirs(os.path.join(cluster.directory, "own"))
    last = len(cluster.hosts) - 1
    values = {"directory": cluster.directory, "mpi": args.mpi, "cpus": args.cpus, "plugin": args.topology,
              "nodes": f"n[0-{last}]" if last else "n0"}
    for name, text in (("slurm.conf", CONFIGURATION.format(**values)), ("topology.conf", topology(cluster)),
                       ("cgroup.conf", CONTROL_GROUPS), ("mpi.conf", PMIX.format(**values))):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    with open(os.open(os.path.join(cluster.directory, "munge.key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as f:
        f.write(secrets.token_bytes(128))


def said(cluster, host):
    """The last lines of the daemons of a host, for a message."""
    own = os.path.join(cluster.directory, "hosts", host, "own")
    found = []
    for daemon in DAEMONS:
        for ending in ("out", "log"):
            try:
                with open(os.path.join(own, f"{daemon}.{ending}"), errors="replace") as f:
                    found += [f"{daemon}: {line.strip()}" for line in f.read().splitlines()[-2:]]
            except OSError:
                pass
    return "; ".join(found) or "no daemon wrote anything"


def start(args):
    cluster = Cluster.find(args.name) or fail(EXIT_USAGE, "no cluster is up; try: scripts/cluster up")
    if cluster.rootless:
        fail(EXIT_NO_NAMESPACES, "Slurm's daemons set the groups of a user, which namespaces without root do not "
                                 "permit; try: scripts/cluster up as root")
    missing = [tool for tool in (*DAEMONS, "srun", "sinfo") if not find(tool)]
    if missing:
        fail(EXIT_USAGE, f"{', '.join(missing)} not found; try: scripts/setup --slurm")
    if os.path.exists(os.path.join(cluster.directory, "slurm")):
        fail(EXIT_USAGE, "Slurm was started already; scripts/cluster down ends the cluster and Slurm")
    write_files(cluster, args)
    first = cluster.hosts[0]["name"]
    started = []
    for host in cluster.hosts:
        script = ["sh", "-c", START, "slurm", cluster.directory, host["name"], first]
        command = cluster.enter_host(host["name"]) + script
        started.append((host["name"], subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True)))
    for name, process in started:
        _, err = process.communicate()
        if process.returncode != 0:
            fail(EXIT_USAGE, f"Slurm did not start on {name}: {err.strip()} {said(cluster, name)}")
    wait_for_hosts(cluster)


def find(tool):
    return shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")


def wait_for_hosts(cluster):
    """Waits until slurmctld can give out every host."""
    first = cluster.hosts[0]["name"]
    command = cluster.enter_host(first) + ["sinfo", "-h", "-N", "-o", "%N %T"]
    deadline = time.monotonic() + PATIENCE
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        states = dict(line.split()[:2] for line in done.stdout.splitlines() if line.split()[1:])
        waiting = [host["name"] for host in cluster.hosts if states.get(host["name"]) != "idle"]
        if done.returncode == 0 and not waiting:
            return
        if time.monotonic() > deadline:
            name = (waiting or [first])[0]
            fail(EXIT_USAGE, f"after {PATIENCE} s, these hosts are not ready: {' '.join(waiting)} "
                             f"({states or done.stderr.strip()}). The logs are in {cluster.directory}/hosts/*/own. "
                             f"{name}: {said(cluster, name)}")
        time.sleep(0.2)


def client(args):
    """Runs a command of Slurm's users on the first host."""
    cluster = Cluster.find(args.name) or fail(EXIT_USAGE, "no cluster is up; try: scripts/cluster up")
    if not os.path.exists(os.path.join(cluster.directory, "slurm")):
        fail(EXIT_USAGE, "Slurm is not started; try: scripts/cluster slurm")
    inside(cluster, cluster.hosts[0]["name"], [args.action, *args.command])
