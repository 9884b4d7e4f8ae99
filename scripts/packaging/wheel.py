#!/usr/bin/env python3
"""Makes the wheel for pip from the files of an installation.

    scripts/packaging/wheel.py ROOT VERSION MACHINE AUDITWHEEL FOLDER

The wheel has no Python code. pip puts the command into the environment's bin, and the other files under its prefix, so
that the command finds the library in ../lib/rankweave. MACHINE is the processor, as x86_64. The tag is the oldest manylinux tag that auditwheel permits.
"""

import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import zipfile

# Not for pip: module files and files of the site are for prefixes that administrators make, and nobody looks for a book in an
# environment.
LEFT_OUT = ("share/modulefiles/", "share/lmod/", "share/rankweave/site/", "share/doc/rankweave/docs/")
SUMMARY = "Records the traffic between the ranks of MPI programs and places ranks that exchange much data close together"


def files(root):
    """Each file below `root` with its place in the wheel, without the first folder."""
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            place = os.path.relpath(path, root)
            if place.startswith("bin/"):
                yield path, "scripts/" + place.removeprefix("bin/")
            elif not place.startswith(LEFT_OUT):
                yield path, "data/" + place


def metadata(root, version):
    """The file METADATA."""
    with open(os.path.join(root, "share/doc/rankweave/README.md"), encoding="utf-8") as file:
        description = file.read()
    return (f"Metadata-Version: 2.1\nName: rankweave\nVersion: {version}\nSummary: {SUMMARY}\n"
            "License: MIT OR Apache-2.0\nClassifier: Operating System :: POSIX :: Linux\n"
            "Classifier: Topic :: System :: Distributed Computing\nRequires-Python: >=3.6\n"
            f"Description-Content-Type: text/markdown\n\n{description}").encode()


def write(root, version, tag, path):
    """Writes the wheel with this platform tag."""
    record = []

    def add(archive, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.external_attr = (stat.S_IFREG | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")

    about = f"rankweave-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{part}\n" for part in tag.split("."))
    with zipfile.ZipFile(path, "w") as archive:
        for source, place in files(root):
            with open(source, "rb") as file:
                add(archive, f"rankweave-{version}.data/{place}", file.read(), os.stat(source).st_mode & 0o777)
        add(archive, f"{about}/METADATA", metadata(root, version))
        add(archive, f"{about}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: rankweave\nRoot-Is-Purelib: false\n{tags}".encode())
        record.append(f"{about}/RECORD,,\n")
        archive.writestr(zipfile.ZipInfo(f"{about}/RECORD", (1980, 1, 1, 0, 0, 0)), "".join(record))


def permitted(auditwheel, wheel):
    """The oldest manylinux tag that auditwheel permits for a wheel."""
    shown = subprocess.run([auditwheel, "show", wheel], capture_output=True, text=True, check=False)
    text = " ".join(shown.stdout.split())
    match = re.search(r'(?:consistent with the following platform tag|constrains the platform tag to): ?"(\S+)"', text)
    if shown.returncode != 0 or not match:
        sys.exit(f"wheel.py: auditwheel does not name a tag:\n{shown.stdout}{shown.stderr}")
    return match[1]


def main():
    """The command line."""
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    root, version, machine, auditwheel, folder = sys.argv[1:]
    first = os.path.join(folder, f"rankweave-{version}-py3-none-linux_{machine}.whl")
    write(root, version, f"linux_{machine}", first)
    tag = permitted(auditwheel, first)
    os.remove(first)
    if not tag.startswith("manylinux"):
        sys.exit(f"wheel.py: the wheel would only be a {tag}")
    # pip from before 2021 knows manylinux2014 and not manylinux_2_17. Both are the same.
    also = {"manylinux_2_17": ".manylinux2014", "manylinux_2_12": ".manylinux2010"}.get(tag.removesuffix(f"_{machine}"))
    tag += f"{also}_{machine}" if also else ""
    write(root, version, tag, os.path.join(folder, f"rankweave-{version}-py3-none-{tag}.whl"))


if __name__ == "__main__":
    main()
