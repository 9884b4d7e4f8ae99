"""Bytes over the links of a cluster: the counters of the interfaces of its switches.

The counters count whole Ethernet frames, of everything that crosses a link: the messages of programs, the
acknowledgements of TCP, and what launchers and Slurm say to their daemons. They run as long as the cluster. A
reset keeps their present state in the cluster's directory, and later readings are the difference.
"""

import json
import os
import subprocess

from emulation.cluster import EXIT_USAGE, Cluster, fail

BASELINE = "traffic.json"


def counters(cluster):
    """The bytes that each interface of the switches has sent and received since it was made."""
    done = subprocess.run(cluster.enter_base() + ["ip", "-s", "-j", "link"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        fail(EXIT_USAGE, f"cannot read the counters of the links: {done.stderr.strip()}")
    return {link["ifname"]: {way: link["stats64"][way]["bytes"] for way in ("tx", "rx")}
            for link in json.loads(done.stdout)}


def links(cluster):
    """Each link with its bytes: up is towards the root of the tree, down is away from it."""
    now = counters(cluster)
    found = []
    for switch in cluster.switches:
        if switch["parent"]:
            # Each end sends into its own direction.
            found.append({"link": switch["name"], "kind": "uplink", "to": switch["parent"],
                          "up": now[f"{switch['name']}u"]["tx"], "down": now[f"{switch['name']}d"]["tx"]})
    for host in cluster.hosts:
        port = now[f"{host['name']}p"]
        found.append({"link": host["name"], "kind": "host", "to": host["switch"], "up": port["rx"],
                      "down": port["tx"]})
    return found


def since_reset(cluster):
    """The links with the bytes since the last reset, or since the cluster is up."""
    found = links(cluster)
    try:
        with open(os.path.join(cluster.directory, BASELINE)) as f:
            before = {link["link"]: link for link in json.load(f)}
    except (OSError, ValueError):
        before = {}
    for link in found:
        for way in ("up", "down"):
            link[way] -= before.get(link["link"], {way: 0})[way]
    return found


def reset(cluster):
    path = os.path.join(cluster.directory, BASELINE)
    with open(path + ".new", "w") as f:
        json.dump(links(cluster), f)
    os.replace(path + ".new", path)


def traffic(args):
    cluster = Cluster.find(args.name) or fail(EXIT_USAGE, "no cluster is up; try: scripts/cluster up")
    if args.reset:
        reset(cluster)
        return
    found = since_reset(cluster)
    sums = {kind: {way: sum(link[way] for link in found if link["kind"] == kind) for way in ("up", "down")}
            for kind in ("uplink", "host")}
    if args.json:
        print(json.dumps({"links": found, "uplinks": sums["uplink"], "hosts": sums["host"]}))
        return
    print(f"{'link':12} {'bytes up':>15} {'bytes down':>15}")
    for link in found:
        print(f"{link['link'] + ' - ' + link['to']:12} {link['up']:15} {link['down']:15}")
    for kind, name in (("uplink", "all uplinks"), ("host", "all hosts")):
        print(f"{name:12} {sums[kind]['up']:15} {sums[kind]['down']:15}")
