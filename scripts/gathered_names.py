"""Private names: finds them in the files of scripts/gather-machine, and replaces them, the same one always by the same.

A name is replaced in its runs of letters; its numbers stay, so that lists such as cn[1-4] remain lists.
"""

import re

# Words that files have without being private: of their formats, of hardware and its vendors. A name such as leaf-1 or
# node7 is replaced where it is a name, and not looked for in descriptions of machines, which have such words everywhere.
USUAL_WORDS = set(
    """slurm topology addr pattern switchname blockname ringname blocksizes linkspeed switch switches node nodes block blocks
    ring rings torus toruses tori tree flat dims regions region anchor placements cluster default children name names true
    false null none yes no base enhanced port ports lid lmc chassis guid vendid devid sysimgguid switchguid caguid hca
    rtguid system cpu cpus pci gpu gpus net nic core cores package die numa cache machine bridge group object info index
    devices device bus class vendor local list level type shared thread core siblings online physfn drivers infiniband
    leaf leaves spine root top rack racks host hosts compute login mellanox technologies connectx infinihost aggregation
    value version type size depth cpuset nodeset complete allowed subtype encoding hwloc xml doctype distances support page
    count quantum nvidia intel amd mlx eth enp ens ibp hsn cxi hfi ib lo the and for not was lines replaced org com edu gov example local localdomain""".split()
)
# What may follow the short name of a host.
DOMAIN = r"(?:\.[A-Za-z][\w-]*)*"
# A run of letters of any alphabet.
LETTERS = re.compile(r"[^\W\d_]+")
# The usual names of devices: disks, interfaces, adapters of fabrics, GPUs.
USUAL = re.compile(
    r"(lo|eth|en[ops]|ib|hsn|wl[ops]|ww|usb|docker|veth|virbr|br|bond|em|p\d+p|sd|nvme|vd|sr|dm-|md|pmem|dax|mem|mlx\d_|hfi\d_|cxi|bxi|"
    r"qib|efa_|rdmap|roce|irdma|bnxt_re|mlx5_bond_|cuda|nvml|rsmi|ze|opencl|card|renderD|controlD|dma\d|:)[\w.:-]{0,16}"
)


def letters(number):
    """na, nb, …, nz, nba, nbb, …"""
    text = ""
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return "n" + text


def parts(name):
    """The parts of a name that may identify somebody."""
    return {part for part in (found.lower() for found in re.findall(LETTERS, name)) if len(part) > 2 and part not in USUAL_WORDS}


def is_private(name):
    """Whether a name is more than usual words with numbers."""
    return len(name) > 2 and any(part.lower() not in USUAL_WORDS for part in re.findall(LETTERS, name))


class Names:
    """Replaces private names, the same one always by the same."""

    def __init__(self):
        # `taken` are parts of private names, which no new name may be; `seen` are the names that were replaced, `stems`
        # what stands before a list of numbers.
        self.known, self.counts, self.hosts, self.taken, self.seen, self.stems = {}, {}, set(), set(), set(), set()

    def new(self, kind, old, form):
        key = (kind, old.lower())
        if key not in self.known:
            number = self.counts.get(kind, 0) + 1
            while form(number) in self.taken:
                number += 1
            self.counts[kind] = number
            self.known[key] = form(number)
        return self.known[key]

    def named(self, text):
        """Names of hosts or switches, also lists such as `cn[1-4],io1`: letters are replaced, numbers stay, so that
        the same host has the same name in all files. Names that are coordinates (x1000c0s0b0n0) stay."""

        def word(found):
            if re.fullmatch(r"x\d+c\d+[srh]?\d*\w*|c\d+-\d+c\d+s\d+\w*|ALL|\d+", found[0]):
                return found[0]
            self.seen.add(found[0].lower())
            if text[found.end():].startswith("["):
                self.stems.add(found[0].lower())
            return re.sub(LETTERS, lambda part: self.new("parts of names", part[0], letters), found[0])

        return re.sub(r"\w[^,\[\]\s]*", word, text)

    def host(self, name):
        """The short name; the domain is left out, and its parts are private as well."""
        short, _, domain = name.partition(".")
        self.named(domain)
        return self.named(short)

    def private(self):
        """Patterns of the names that were replaced: whole, before numbers, and in parts."""
        whole = sorted({name for name in self.seen if is_private(name)}, key=len, reverse=True)
        stems = {name for name in self.stems if is_private(name + "0")}
        inner = {part for name in whole + list(stems) for part in parts(name)}
        return (
            [rf"(?<![^\W_]){re.escape(name)}(?![^\W_]){DOMAIN}" for name in whole]
            + [rf"(?<![^\W_]){re.escape(name)}\d+(?![^\W_]){DOMAIN}" for name in sorted(stems)]
            + [rf"(?<![^\W\d_]){re.escape(part)}(?![^\W\d_])" for part in sorted(inner)]
        )

    def clean(self, text):
        """The text without names and numbers that identify a machine or a person."""
        for pattern in self.private():
            text = re.sub(pattern, lambda found: self.host(found[0]), text, flags=re.I)
        for host in sorted(self.hosts, key=len, reverse=True):
            text = re.sub(rf"(?<![^\W_]){re.escape(host)}(\.[A-Za-z0-9.-]+)?(?![^\W_])", lambda found: self.host(host), text, flags=re.I)
        text = re.sub(r"\benx[0-9a-f]{12}\b", lambda found: self.new("hardware addresses", found[0], lambda n: f"enx02000000{n:04x}"), text)
        uuid = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
        text = re.sub(uuid, lambda found: self.new("UUIDs", found[0], lambda n: f"00000000-0000-0000-0000-{n:012d}"), text)
        # An Infiniband GID or IPv6 address, a GUID with colons, a MAC address: pairs or fours of digits.
        fours = r"\b(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4}\b"
        text = re.sub(fours, lambda found: self.new("GIDs", found[0], lambda n: f"fe80:0000:0000:0000:0000:0000:0000:{n:04x}"), text)
        guid = r"\b(?:[0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4}\b"
        text = re.sub(guid, lambda found: self.new("GUIDs", found[0].replace(":", ""), lambda n: f"0000:0000:0000:{n:04x}"), text)
        mac = r"\b(?:[0-9a-fA-F]{2}[:-]){5,19}[0-9a-fA-F]{2}\b"
        text = re.sub(mac, lambda found: self.new("hardware addresses", found[0], lambda n: f"02:00:00:00:{n >> 8:02x}:{n & 255:02x}"), text)
        address = r"\b(?:\d{1,3}\.){3}\d{1,3}\b"
        text = re.sub(address, lambda found: self.new("IP addresses", found[0], lambda n: f"192.0.2.{n % 256}"), text)
        ipv6 = r"(?<![0-9a-zA-Z:.])(?:[0-9a-fA-F]{1,4}:)+:(?:[0-9a-fA-F]{1,4}:)*[0-9a-fA-F]{1,4}(?![0-9a-zA-Z:])"
        text = re.sub(ipv6, lambda found: self.new("IP addresses", found[0], lambda n: f"2001:db8::{n:x}"), text)
        # GUIDs of fabrics: 16 digits after 0x, after S-, H-, R-, or in words such as switchguid.
        plain = r"(?<![0-9a-fA-F])(0x|[SHR]-)?([0-9a-fA-F]{16})(?![0-9a-fA-F])"
        text = re.sub(plain, lambda found: (found[1] or "") + self.new("GUIDs", found[2], lambda n: f"{n:016x}"), text)
        port = r"\(([0-9a-fA-F]{9,15})\)"
        text = re.sub(port, lambda found: "(" + self.new("GUIDs", found[1].rjust(16, "0"), lambda n: f"{n:016x}") + ")", text)
        return re.sub(r"(?<![0-9a-fA-F])0x([0-9a-fA-F]{9,15})(?![0-9a-fA-F])", lambda found: "0x" + self.new("GUIDs", found[1].rjust(16, "0"), lambda n: f"{n:016x}"), text)
