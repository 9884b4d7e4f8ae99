"""A system whose C library is older than that of the machine on which the library was built.

The loader refuses a library that asks for a function which the C library lacks, and then the program does not start at all.
A small library that this machine compiles is the proof that the system is old enough to show this. With librankweave.so
every program has to start there, without a line; and if the file is not in the container at all, with one line of the
loader. The launches are made in three ways: by the command in the system, by LD_PRELOAD alone, and by this machine's
launcher, which starts the program in the system as in a container.
"""

import os
import re
import shutil
import subprocess

# pthread_create got a new version in glibc 2.34.
NEWER = """
#include <pthread.h>
static void *work(void *p) { return p; }
__attribute__((constructor)) static void begin(void)
{
    pthread_t t;
    if (pthread_create(&t, 0, work, 0) == 0)
        pthread_join(t, 0);
}
"""

# What starting /bin/true with a library gives: its messages and its exit code.
START = r"""
for library in %s; do
    echo "$library: $(LD_PRELOAD=$library /bin/true 2>&1 | wc -l) lines"
    LD_PRELOAD=$library /bin/true 2>&1
    echo "$library: code $?"
done
"""

# Two launches without the command, by environment variables alone.
ALONE = r"""
set -e
cd "$(mktemp -d)"
cat > app.c <<'TEXT'
%sTEXT
mpicc app.c -o app
export RANKWEAVE_STORE=$PWD/store RANKWEAVE_SPILL=$PWD/spill RANKWEAVE_TOPOLOGY=tree:2:2 RANKWEAVE_VERBOSE=1
mkdir spill
for number in 1 2; do
    echo "launch $number"
    mpirun -x LD_PRELOAD=$library -n 4 ./app 2>&1
done
echo records $(ls store/* | wc -l)
"""

# Two launches by this machine's launcher and command; the ranks run in the system.
FROM_OUTSIDE = r"""
set -e
cd %(place)s
cat > app.c <<'TEXT'
%(program)sTEXT
chroot "$root" mpicc %(place)s/app.c -o %(place)s/app
export RANKWEAVE_STORE=%(place)s/store RANKWEAVE_SPILL=%(place)s/spill RANKWEAVE_LIBRARY=%(place)s/librankweave.so
mkdir spill
for number in 1 2; do
    echo "launch $number"
    %(command)s run -v --topology tree:2:2 -- mpirun.openmpi -n 4 chroot "$root" %(place)s/app 2>&1
done
echo records $(%(command)s list --all 2>&1 | wc -l)
"""


def glibc(text):
    """The version in the first line of `ldd --version`."""
    found = re.search(r"(\d+)\.(\d+)\s*$", text.strip().splitlines()[0] if text.strip() else "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Older:
    """The checks in one old system."""

    def __init__(self, verdicts, system, work, scripts):
        self.verdicts, self.system, self.work = verdicts, system, work
        self.launches, self.strangers, self.program = scripts
        self.control()

    def control(self):
        """The system is old enough: a library that asks for newer functions keeps programs from starting."""
        here = glibc(subprocess.run(["ldd", "--version"], capture_output=True, text=True, check=False).stdout)
        place = os.path.join(self.work, "control")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "newer.c"), "w", encoding="utf-8") as file:
            file.write(NEWER)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{place}/newer.so", f"{place}/newer.c"], check=True)
        outcome = self.system.run(place, "ldd --version | head -n 1\n" + START % "/mnt/newer.so /mnt/none.so")
        there = glibc(outcome.stdout)
        text = outcome.stdout + outcome.stderr
        print(f"older system: glibc {there[0]}.{there[1]}, this machine: {here[0]}.{here[1]}")
        if there < (2, 34) <= here:
            self.verdicts.check("older system: a library that asks for newer functions keeps programs from starting",
                                "/mnt/newer.so: code 1" in text and "GLIBC_2.34' not found" in text, text)
        else:
            print("skipped: older system: this machine's glibc makes no library that the system refuses")
        self.verdicts.check("older system: a library that is not there gives one line, and the program runs",
                            "/mnt/none.so: code 0" in text and "/mnt/none.so: 1 lines" in text, text)

    def check(self, name, library, command, silent):
        """The checks of one build of the library."""
        place = os.path.join(self.work, name.replace(" ", "-"))
        os.makedirs(place)
        shutil.copy(library, f"{place}/librankweave.so")
        shutil.copy(command, f"{place}/rankweave")
        outcome = self.system.run(place, "library=/mnt/librankweave.so\n" + self.strangers)
        silent(outcome)
        outcome = self.system.run(place, "library=/mnt/librankweave.so\n" + ALONE % self.program)
        self.verdicts.launches(f"older system: {name}, LD_PRELOAD alone", outcome)
        outcome = self.system.run(place, "PATH=/mnt:$PATH\n" + self.launches)
        self.verdicts.launches(f"older system: {name}, command in the system", outcome)
        if not shutil.which("mpirun.openmpi"):
            print("skipped: older system: launches from outside (this machine has no mpirun.openmpi)")
            return
        words = {"place": place, "program": self.program, "command": f"{place}/rankweave"}
        self.verdicts.launches(f"older system: {name}, this machine's launcher and command",
                               self.system.beside(FROM_OUTSIDE % words))
