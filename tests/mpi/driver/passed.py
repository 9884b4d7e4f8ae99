#!/usr/bin/env python3
"""Compares what passed on another processor with the list of what has to pass there.

    tests/mpi/driver/passed.py LIST PASSED             fails if a check of LIST is not in PASSED, and names new ones
    tests/mpi/driver/passed.py --write LIST PASSED     writes LIST anew

LIST is a file of the repository, tests/measured/PROCESSOR.txt. PASSED is what `tests/mpi/run --passed` wrote. A check that is
skipped, or that does not exist any more, is no failure of the run; this comparison finds it.
"""

import collections
import re
import sys

SKIPPED, NOT_RUN = "skipped, fails without the library: ", "not run: "
HEAD = """\
# The checks of tests/mpi that pass on {processor} in an emulator (qemu), for each MPI library of Debian 12.
# `scripts/test --arch {processor}` compares its own results with this list: a check that is here and does not pass is an
# error. What passes and is not here is named, and added by:
#
#     tests/mpi/driver/passed.py --write tests/measured/{processor}.txt target/{processor}/{processor}-unknown-linux-gnu/preload/librankweave.so.passed
#
# A heading names the MPI libraries with which the checks below it pass. At the end is what cannot run in the emulator, and why.
"""


# Parts of names that change with each build of the library, or with each new row of a table. Which of the library's own calls are
# made to fail, and at which address, belongs to the first kind.
CHANGING = [(r" (faults \w+) .*", r" \1"), (r" \(\d+ rows\)", ""), (r"\b\d+ (functions|extensions)", r"\1")]


def steady(name):
    """The name of a check without what changes.

    >>> steady("mpich4 faults record closedir:39e088 rank 1"), steady("mpich4 -n 2 truth C cart (183 rows)")
    ('mpich4 faults record', 'mpich4 -n 2 truth C cart')
    >>> steady("mpich4: all 621 functions and 14 extensions of the library are known")
    'mpich4: all functions and extensions of the library are known'
    """
    for changing, instead in CHANGING:
        name = re.sub(changing, instead, name)
    return name


def sorted_out(lines):
    """The names of what passed, of what was skipped, and what was not run with the reason.

    >>> sorted_out(["mpich4 -n 4 ring", "not run: soak: takes long", "skipped, fails without the library: mpich4 -n 2 x"])
    (['mpich4 -n 4 ring'], ['mpich4 -n 2 x'], ['soak: takes long'])
    """
    parts = {SKIPPED: [], NOT_RUN: [], "": []}
    for line in lines:
        kind = next(kind for kind in parts if line.startswith(kind))
        parts[kind].append(line.removeprefix(kind))
    return sorted(set(map(steady, parts[""]))), parts[SKIPPED], parts[NOT_RUN]


def by_stacks(names, stacks=("openmpi4", "mpich4")):
    """The checks without the names of the MPI libraries, under the libraries with which they pass.

    >>> by_stacks(["mpich4 -n 4 ring", "openmpi4 -n 4 ring", "mpich4: all 600 functions", "rows"])
    {'openmpi4, mpich4': [' -n 4 ring'], 'mpich4': [': all 600 functions'], 'no library': ['rows']}
    """
    found = collections.defaultdict(list)
    for name in names:
        stack = next((stack for stack in stacks if name.startswith(stack)), "no library")
        found[name.removeprefix(stack)].append(stack)
    groups = {}
    for name, having in sorted(found.items()):
        heading = ", ".join(stack for stack in (*stacks, "no library") if stack in having)
        groups.setdefault(heading, []).append(name)
    return dict(sorted(groups.items(), key=lambda group: (-group[0].count(","), group[0] == "no library")))


def written(processor, lines):
    """The text of a list.

    >>> print(written("arm", ["mpich4 -n 4 ring", "mpich4: names", "not run: soak: long"]).partition("why.")[2])
    <BLANKLINE>
    <BLANKLINE>
    == mpich4 ==
     -n 4 ring
    : names
    <BLANKLINE>
    == not run ==
    soak: long
    <BLANKLINE>
    """
    passed, skipped, not_run = sorted_out(lines)
    sections = [(heading, names) for heading, names in by_stacks(passed).items()]
    sections += [("fail without the library, too", sorted(skipped)), ("not run", not_run)]
    return HEAD.format(processor=processor) + "".join(
        f"\n== {heading} ==\n" + "".join(f"{name}\n" for name in names) for heading, names in sections if names)


def names_of(text):
    """The names of the checks that a list has.

    >>> sorted(names_of(written("arm", ["mpich4 -n 4 ring", "openmpi4 -n 4 ring", "rows", "not run: soak: long"])))
    ['mpich4 -n 4 ring', 'openmpi4 -n 4 ring', 'rows']
    """
    found, stacks = set(), []
    for line in text.splitlines():
        if line.startswith("== "):
            heading = line.strip("= ")
            stacks = [] if heading.startswith(("fail", "not run")) else heading.split(", ")
        elif line and not line.startswith("#"):
            found.update(("" if stack == "no library" else stack) + line for stack in stacks)
    return found


def main():
    """The command line."""
    write, paths = "--write" in sys.argv[1:2], sys.argv[1:]
    paths = paths[1:] if write else paths
    if len(paths) != 2:
        sys.exit(__doc__)
    processor = paths[0].rpartition("/")[2].partition(".")[0]
    with open(paths[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    if write:
        with open(paths[0], "w", encoding="utf-8") as file:
            file.write(written(processor, lines))
        return 0
    passed = set(sorted_out(lines)[0])
    try:
        with open(paths[0], encoding="utf-8") as file:
            wanted = names_of(file.read())
    except FileNotFoundError:
        wanted = set()
    gone, new = sorted(wanted - passed), sorted(passed - wanted)
    for name in gone:
        print(f"does not pass any more: {name}")
    for name in new[:20]:
        print(f"passes, and is not in the list: {name}")
    if new:
        print(f"{len(new)} checks are not in {paths[0]}; to add them: tests/mpi/driver/passed.py --write {' '.join(paths)}")
    print(f"{len(wanted) - len(gone)} of the {len(wanted)} checks of {paths[0]} pass")
    return 1 if gone or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
