"""Tests what a launch learns about the network between its nodes, on an emulated cluster of four hosts.

The network comes from the file of the site, or is measured. A site file that cannot be used must not disturb the
launch. Where this machine permits no namespaces, nothing is tested, and the test says so.
"""

import json
import os
import subprocess

from driver import stacks
from reordering.placement import CLUSTER, checksum, site_of

# A survey on a busy machine may take the network for flat. It has so many attempts to find the switches.
ATTEMPTS = 8


def run(tool, results, stack, work):
    with site_of(tool, results, stack, work) as site:
        if not site:
            return
        plain = site.run(["--mode", "record", "--measure", "off", "--network", "off"])
        described(site, results, plain)
        measured(site, results, plain)


def site_file(site):
    """A site file that names Slurm's description of the switches of the cluster."""
    status = json.loads(subprocess.run([CLUSTER, "status", "--name", site.name, "--json"], capture_output=True,
                                       text=True, check=True).stdout)
    below = {}
    for host in status["hosts"]:
        below.setdefault(host["switch"], []).append(host["name"])
    conf, path = os.path.join(site.work, "topology.conf"), os.path.join(site.work, "site.toml")
    with open(conf, "w", encoding="utf-8") as file:
        file.writelines(f"SwitchName={switch} Nodes={','.join(hosts)}\n" for switch, hosts in below.items())
        file.write(f"SwitchName=top Switches={','.join(below)}\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write('[[cluster]]\ntopology = "topology.conf"\n')
    return path


def same(outcome, plain):
    """What is wrong with a launch that should compute the same."""
    if outcome.code or checksum(outcome) != checksum(plain):
        return [f"code {outcome.code}, {checksum(outcome)}: {outcome.err[-300:]}"]
    return []


def described(site, results, plain):
    """The site file gives the switches; a damaged one is reported, and the launch goes on."""
    label = f"{site.stack.name} network of the site file"
    path = site_file(site)
    outcome = site.run(["-vv", "--site", path, "--measure", "off"])
    problems = same(outcome, plain)
    if f"network: {path}: 4 nodes below 2 switches" not in outcome.err:
        problems.append(f"the switches are not known: {outcome.err[-600:]}")
    results.add(label, problems, outcome)

    large = os.path.join(site.work, "large.toml")
    with open(os.path.join(site.work, "topology.conf"), encoding="utf-8") as file:
        text = file.read() + "# other switches of a large cluster\n" * 2000
    with open(os.path.join(site.work, "large.conf"), "w", encoding="utf-8") as file:
        file.write(text)
    # Answers are kept only of files that were not changed just now.
    os.utime(file.name, (1e9, 1e9))
    with open(large, "w", encoding="utf-8") as file:
        file.write('[[cluster]]\ntopology = "large.conf"\n')
    problems, answers = [], os.path.join(site.work, "store", "fabrics")
    for seed in ("4", "5"):
        outcome = site.run(["-vv", "--site", large, "--measure", "off", "--seed", seed])
        problems += same(outcome, plain)
        if f"network: {large}: 4 nodes below 2 switches" not in outcome.err:
            problems.append(f"the switches are not known: {outcome.err[-600:]}")
        if not os.path.isdir(answers) or len(os.listdir(answers)) != 1:
            problems.append("there is not one kept answer")
        # Only the kept answer has the switches now. Size and time of the file are the same.
        with open(os.path.join(site.work, "large.conf"), "r+", encoding="utf-8") as file:
            file.write("?" * 10)
        os.utime(file.name, (1e9, 1e9))
    results.add(f"{label}: a large one, kept", problems, outcome)

    broken = os.path.join(site.work, "broken.toml")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("[[cluster]]\nnodes = 3\n")
    outcome = site.run(["--site", broken, "--measure", "off", "--seed", "2"])
    problems = same(outcome, plain)
    # The times of earlier launches of this test may give another message.
    said = [line for line in outcome.err.splitlines() if line.startswith("rankweave: a description of the network")]
    if len(said) != 1 or broken not in said[0] or "this launch asks the next source" not in said[0]:
        problems.append(f"messages {said}")
    results.add(f"{label}: a damaged one", problems, outcome)

    asked = subprocess.run([CLUSTER, "exec", "--name", site.name, "n0", "--", site.tool.command, "topo", "--json", "--",
                            *site.launch()], capture_output=True, text=True, check=False, timeout=120,
                           env=dict(os.environ, **site.stack.environment(), RANKWEAVE_LIBRARY=site.tool.library,
                                    RANKWEAVE_SITE=path, RANKWEAVE_STORE=os.path.join(site.work, "store")))
    problems = []
    try:
        answer = json.loads(asked.stdout)
        used = [source["source"] for source in answer["sources"] if source["used"]]
        switches = [tuple(node["switches"]) for node in answer["nodes"]]
        if used != ["site"] or len(set(switches)) != 2 or asked.returncode:
            problems.append(f"used {used}, switches {switches}, code {asked.returncode}")
    except (ValueError, KeyError, TypeError) as error:
        problems.append(f"{error}: code {asked.returncode}, {asked.stdout[-200:]} {asked.stderr[-300:]}")
    results.add(f"{label}: rankweave topo -- LAUNCHER", problems)


def measured(site, results, plain):
    """A survey does not disturb the launch, is kept, and finds the two switches in one of a few attempts."""
    label = f"{site.stack.name} measured network"
    networks = os.path.join(site.work, "store", "networks")
    problems, said = [], ""
    for _ in range(ATTEMPTS):
        outcome = site.run(["-v", "--measure", "on", "--mode", "record"])
        problems = same(outcome, plain)
        said = next((line for line in outcome.err.splitlines() if "rounds" in line), "")
        if not said:
            problems.append(f"no survey: {outcome.err[-300:]}")
        if problems or "2 switches" in said:
            break
    if not os.path.isdir(networks) or not os.listdir(networks):
        problems.append("the survey is not kept")
    if not problems and "2 switches" not in said:
        problems.append(f"the switches are not found: {said}")
    results.add(f"{label}: {said.split(': ')[-1]}", problems, outcome)
    if problems:
        return
    outcome = site.run(["-vv", "--seed", "3"])
    problems = same(outcome, plain)
    if "network: measured: 4 nodes below 2 switches" not in outcome.err or "rounds" in outcome.err:
        problems.append(f"the kept survey is not used: {outcome.err[-600:]}")
    results.add(f"{label}: kept", problems, outcome)
