"""The rows of wrappers/calls.tbl that move data, and the C prototypes of MPI."""

import os
import re

from driver import stacks

WRAPPERS = os.path.join(stacks.ROOT, "wrappers")


def prototypes():
    """name -> list of (C type, parameter name, is an array)."""
    found = {}
    with open(os.path.join(WRAPPERS, "prototypes.tsv"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            name, parameters, _ = line.rstrip("\n").split("\t")
            found[name] = [] if parameters == "void" else [split(p) for p in parameters.split(",")]
    return found


def split(text):
    match = re.match(r"(.*?)(\w+)\s*(\[[^]]*\])*$", text.strip())
    if not match:
        return text.strip(), "", False
    return match.group(1).replace(" ", ""), match.group(2), bool(match.group(3))


class Row:
    """One function that moves data. `index` is its place among them, which decides sizes and peers."""

    def __init__(self, name, index):
        self.name, self.index = name, index
        # Forms of the call that are left out: any of ":in_place", ":null" and ":again".
        self.without = ""
        self.large = name.endswith("_c")
        base = name[:-2] if self.large else name
        self.flavour = "BLOCKING"
        word = re.sub(r"^MPIX?_", "", base)
        if word.endswith("_init") and not word.startswith("Psend"):
            word, self.flavour = word[:-5], "PERSISTENT"
        elif word not in FAMILIES and word[0] in "IR" and word[1:].capitalize() in FAMILIES:
            word, self.flavour = word[1:].capitalize(), "NONBLOCKING"
        # A name that is not known here has no family: the coverage check then fails.
        self.family = FAMILIES.get(word)


SENDS = "Send Bsend Ssend Rsend".split()
FAMILIES = {
    **{name: "SEND" for name in SENDS},
    "Sendrecv": "SENDRECV", "Sendrecv_replace": "SENDRECV",
    "Psend_init": "PSEND", "Pready": "PREADY", "Pready_range": "PREADY_RANGE",
    "Pready_list": "PREADY_LIST", "Start": "START", "Startall": "STARTALL",
    **{name: name.upper() for name in (
        "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv "
        "Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan "
        "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv "
        "Neighbor_alltoallw Put Get Accumulate Get_accumulate Fetch_and_op "
        "Compare_and_swap").split()},
    "Put_notify": "PUT", "Get_notify": "GET", "Stream_send": "SEND", "Stream_isend": "SEND",
    "Send_enqueue": "SEND", "Isend_enqueue": "SEND", "Allreduce_enqueue": "ALLREDUCE",
}

# Rows that no test program can call, with the reason.
NOT_CALLED = {
    **{name: "needs a communicator of GPU streams" for base in (
        "MPIX_Send_enqueue", "MPIX_Isend_enqueue", "MPIX_Allreduce_enqueue")
       for name in (base, base + "_c")},
    **{name: "needs a communicator of several streams" for base in (
        "MPIX_Stream_send", "MPIX_Stream_isend") for name in (base, base + "_c")},
    **{name: "needs notifications set up on the window" for base in (
        "MPIX_Put_notify", "MPIX_Get_notify") for name in (base, base + "_c")},
}


def table():
    """All rows that move data, in the order of calls.tbl, each followed by its large-count twin."""
    known = prototypes()
    rows = []
    with open(os.path.join(WRAPPERS, "calls.tbl"), encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split(None, 1)
            if len(words) == 2 and moves_data(words[1].strip()):
                for name in (words[0], words[0] + "_c"):
                    if name in known:
                        rows.append(Row(name, len(rows)))
    return rows


def moves_data(action):
    """A recorder is called, or a function written by hand records (`+name`)."""
    return action.endswith(")") or action.startswith("+")
