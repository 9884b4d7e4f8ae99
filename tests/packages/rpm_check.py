"""The .rpm, installed by rpm and by dnf: what they accept and refuse, what is there afterwards, and what a removal leaves.

The systems are of Debian (systems.py), which has both programs. Their C library is no package of rpm, and the .rpm asks for one.
So a package `glibc` without files, with the version of the system's C library, is installed first. Thus the dependency is checked
as on RHEL, and no option switches it off. dnf has no repositories there, and needs none.
"""

import os
import shutil
import subprocess
import tempfile

# A package without files that stands for the C library.
GLIBC = """name: glibc
arch: all
platform: linux
version: "{version}"
release: "1"
maintainer: The tests <tests@localhost>
description: Stands for the C library of this system.
license: none
"""

# A list of all files, but for what rpm and dnf note for themselves. Debian's rpm has its database in the home of root.
FILES = r"""
all_files() {
    find / -xdev \( -path /mnt -o -path /tmp -o -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /root \
        -o -path /var/lib/rpm -o -path /var/lib/dnf -o -path /var/cache -o -path /var/log \) -prune -o -print | sort
}
quietly() { "$@" 2>&1 | grep -v 'use Alien instead\|you know what you are doing'; return "${PIPESTATUS[0]}"; }
cd /mnt
all_files >/tmp/before
"""

REFUSED = FILES + r"""
quietly rpm -i rankweave-*.rpm && echo installed
rpm -i old/glibc-*.rpm 2>/dev/null
quietly rpm -i rankweave-*.rpm && echo installed
ls /usr/bin/rankweave
"""

INSTALL = FILES + r"""
rpm -i glibc-*.rpm 2>/dev/null
$install || echo the installation failed
echo "verify: $(rpm -V rankweave) $?"
cd /usr && ls $places >/dev/null || echo files are missing
library=/usr/lib64/rankweave/librankweave.so
grep -q "^_rankweave_library='$library'$" /usr/share/rankweave/site/rankweave.sh || echo wrong library in the file of the site
"""

REMOVE = r"""
cd /
$remove || echo the removal failed
rpm -q rankweave
all_files >/tmp/after
diff /tmp/before /tmp/after && echo nothing is left
"""

RPM = ("rpm", "quietly rpm -i /mnt/rankweave-*.rpm", "quietly rpm -e rankweave")
DNF = ("dnf", "dnf -q -y --disablerepo='*' --releasever=9 install /mnt/rankweave-*.rpm",
       "dnf -q -y --disablerepo='*' --releasever=9 remove rankweave")


def stand_in(nfpm, folder, version):
    """Makes the package `glibc` in a folder."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "glibc.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(GLIBC.format(version=version))
    subprocess.run([nfpm, "package", "--config", path, "--packager", "rpm", "--target",
                    os.path.join(folder, f"glibc-{version}.rpm")], check=True, capture_output=True)


def check(verdicts, debian, package, nfpm, tools):
    """The .rpm in a system. `tools` has the launches and places of tests/packages/run."""
    version = debian.run(os.path.dirname(package), "ldd --version | head -n 1").stdout.split()[-1]
    with tempfile.TemporaryDirectory(prefix="rankweave-rpm-") as files:
        shutil.copy(package, files)
        stand_in(nfpm, files, version)
        stand_in(nfpm, os.path.join(files, "old"), "2.16")
        name = f"{debian.release} .rpm"
        outcome = debian.run(files, REFUSED)
        refusals = outcome.stdout.count("glibc >= 2.17 is needed by rankweave")
        verdicts.check(f"{name}: rpm refuses it without glibc 2.17", refusals == 2 and "installed" not in outcome.stdout
                       and "/usr/bin/rankweave" not in outcome.stdout, outcome.stdout + outcome.stderr)
        for program, install, remove in (RPM, DNF):
            if debian.run(files, f"command -v {program}").returncode != 0:
                # Of Debian 11, only rpm is installed.
                continue
            begin = INSTALL.replace("$install", install).replace("$places", " ".join(tools.places))
            outcome = debian.run(files, begin + "( " + tools.two_launches + ")\n" + tools.strangers)
            verdicts.launches(f"{name} by {program}", outcome)
            verdicts.check(f"{name} by {program}: every file is in its place, and as it was packed",
                           "verify:  0" in outcome.stdout and "failed" not in outcome.stdout
                           and "are missing" not in outcome.stdout and "wrong library" not in outcome.stdout,
                           outcome.stdout + outcome.stderr)
            tools.silent(verdicts, f"{name} by {program}", outcome)
            outcome = debian.run(files, begin + REMOVE.replace("$remove", remove))
            verdicts.check(f"{name}: {program} removes it, and nothing is left", "verify:  0" in outcome.stdout
                           and "package rankweave is not installed\nnothing is left\n" in outcome.stdout
                           and "failed" not in outcome.stdout, outcome.stdout + outcome.stderr)
