#!/usr/bin/env python3
"""Checks that programs and libraries run on old systems: needs no function newer than a version of glibc.

    scripts/packaging/symbols.py [--newest 2.17] [--needed NAME,…] FILE…

Reads the dynamic symbols and the libraries that each file needs, with readelf. Prints one line for each file, and one
for each symbol that is too new. With --needed, the file may need these libraries only. The exit code is 1 if a file
fails, and 2 if one cannot be read.
"""

import argparse
import re
import subprocess
import sys

NEWEST = "2.17"
# The libraries of glibc 2.17; all later versions have them as well.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
         "ld-linux-aarch64.so.1"}


def readelf(option, path):
    """The lines that readelf prints."""
    done = subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=False)
    if done.returncode != 0 or "Error:" in done.stderr or not done.stdout.strip():
        raise OSError(done.stderr.strip() or f"{path} has no dynamic symbols")
    return done.stdout.splitlines()


def number(version):
    """
    >>> number("2.17") < number("2.2.5")
    False
    """
    return tuple(int(part) for part in version.split("."))


def versions(path):
    """The newest version of glibc that the file asks for, by name of the symbol."""
    found = {}
    for line in readelf("--dyn-syms", path):
        match = re.search(r" UND (\S+?)@+(GLIBC_(\S+))", line)
        if match:
            found[match[1]] = match[3]
    # A version without a symbol is refused by the loader as well.
    for line in readelf("-V", path):
        match = re.search(r"Name: GLIBC_(\S+)", line)
        if match:
            found.setdefault(f"(version {match[1]})", match[1])
    return found


def needed(path):
    """The libraries that the loader loads with the file."""
    return {m[1] for m in (re.search(r"\(NEEDED\).*\[(.*)\]", line) for line in readelf("-d", path)) if m}


def check(path, newest=NEWEST, allowed=frozenset(GLIBC)):
    """Prints what the file needs; returns the problems."""
    problems = []
    asked = versions(path)
    for symbol, version in sorted(asked.items()):
        if not version[0].isdigit() or number(version) > number(newest):
            problems.append(f"{symbol} needs GLIBC_{version}")
    for library in sorted(needed(path) - set(allowed)):
        problems.append(f"{library} is needed")
    most = max((v for v in asked.values() if v[0].isdigit()), key=number, default="none")
    print(f"{path}: newest GLIBC_{most}; needs {', '.join(sorted(needed(path))) or 'nothing'}")
    for problem in problems:
        print(f"{path}: {problem}")
    return problems


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--newest", default=NEWEST, metavar="VERSION")
    parser.add_argument("--needed", default=",".join(sorted(GLIBC)), metavar="NAME,…")
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    try:
        failed = [p for path in options.file for p in check(path, options.newest, options.needed.split(","))]
    except OSError as error:
        print(f"symbols.py: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
