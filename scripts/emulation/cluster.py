"""A running cluster, as its state directory records it, and how to get into its namespaces."""

import json
import os
import sys

EXIT_USAGE = 2  # wrong arguments, no cluster, or a step of building it failed
EXIT_NO_NAMESPACES = 3  # this machine does not permit namespaces


def fail(code, text):
    print(f"cluster: {text}", file=sys.stderr)
    sys.exit(code)


def state_directory(name):
    base = os.environ.get("XDG_RUNTIME_DIR")
    if not base or not os.access(base, os.W_OK):
        base = "/tmp"
    return os.path.join(base, f"rankweave-cluster-{os.getuid()}-{name}")


def start_time(pid):
    """When a process began, to tell it from a later one with the same id; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


class Cluster:
    """A running cluster, as recorded in its state directory."""

    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "cluster.json")) as f:
            self.__dict__.update(json.load(f))

    @staticmethod
    def find(name):
        try:
            cluster = Cluster(state_directory(name))
        except (OSError, ValueError):
            return None
        return cluster if start_time(cluster.base) == cluster.base_started else None

    def enter_base(self):
        """The command prefix that runs something inside the cluster's outer namespaces."""
        prefix = ["nsenter"]
        if self.rootless:
            prefix += ["-U", "--preserve-credentials"]
        return prefix + ["-t", str(self.base), "-n", "-m",
                         f"--pid=/proc/{self.base}/ns/pid_for_children", "--"]

    def enter_host(self, host):
        return self.enter_base() + enter_namespaces(self.host(host)["pid"])

    def host(self, name):
        for host in self.hosts:
            if host["name"] == name:
                return host
        names = " ".join(h["name"] for h in self.hosts)
        fail(EXIT_USAGE, f"there is no host {name}; the hosts are: {names}")


def enter_namespaces(pid):
    return ["nsenter", "-t", str(pid), "-n", "-u", "-i", "-m", "--"]
