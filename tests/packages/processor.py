"""The packages for another processor than that of this machine: what is in them, and two launches in the emulator.

pip, dpkg and rpm of this machine refuse packages for another processor. Therefore the contents of these packages are
read, and the tarball is installed and used, with the distribution's Open MPI for that processor (scripts/emulate).
"""

import os
import re
import shutil
import zipfile

# The name of the processor in .deb and .rpm, and in the output of readelf.
NAMES = {"aarch64": ("arm64", "aarch64", "AArch64")}
PARTS = ["scripts/rankweave", "data/lib/rankweave/librankweave.so", "data/include/rankweave.h", "data/include/rankweave.f90",
         "data/share/man/man1/rankweave.1", "data/share/bash-completion/completions/rankweave"]

# $tarball, $prefix and $tools are set. The launches follow.
TARBALL = r"""
set -e
folder=$(mktemp -d)
tar -C "$folder" -xf "$tarball"
"$folder"/rankweave-*/install.sh --prefix "$prefix" >/dev/null
rm -r "$folder"
export PATH=$prefix/bin:$PATH OMPI_MCA_btl_vader_single_copy_mechanism=none
mpicc=$tools/bin/mpicc.openmpi mpirun=$tools/root/usr/bin/mpirun.openmpi
"""


def check(verdicts, packages, cache, processor, tools):
    """What is in the packages. `tools` has functions and folders of tests/packages/run."""
    deb, rpm, elf = NAMES[processor]
    for name in ("bin/rankweave", "lib/rankweave/librankweave.so"):
        head = tools.machine(f"readelf -h {packages}/root/{name}").stdout
        verdicts.check(f"{name} is for {processor}", re.search(rf"Machine: +{elf}$", head, re.M) is not None, head)
    with open(os.path.join(packages, "root/share/rankweave/site/rankweave.sh"), encoding="utf-8") as file:
        loader = f"\n_rankweave_loader=/lib/ld-linux-{processor}.so.1\n"
        verdicts.check(f"the files of the site are for {processor}", loader in file.read())
    wheel = tools.one(packages, "*.whl")
    shown = " ".join(tools.machine(f"{cache}/packaging/bin/auditwheel show {wheel}").stdout.split())
    tag = re.search(rf"manylinux_\d+_\d+_{processor}", os.path.basename(wheel))
    verdicts.check("auditwheel confirms the tag of the wheel", tag is not None and f'"{tag[0]}"' in shown, shown)
    with zipfile.ZipFile(wheel) as archive:
        names = {name.split(".data/", 1)[-1] for name in archive.namelist()}
    verdicts.check("the wheel has all parts", names.issuperset(PARTS), str(set(PARTS) - names))
    for pattern, program, question, answer in (
            ("*.deb", "dpkg-deb", "dpkg-deb --field {} Architecture", deb),
            ("*.rpm", "rpm", "rpm --query --package --queryformat '%{{ARCH}}' {}", rpm)):
        if shutil.which(program):
            said = tools.machine(question.format(tools.one(packages, pattern)))
            verdicts.check(f"{pattern} is for {answer}", said.stdout.strip() == answer, said.stdout + said.stderr)
        else:
            print(f"skipped: {pattern} ({program} is missing)")


def launch(verdicts, packages, processor, work, tools):
    """The tarball, installed and used in the emulator."""
    emulate = os.path.join(tools.root, "scripts/emulate")
    ready = tools.machine(f"{emulate} {processor} true")
    if ready.returncode != 0:
        print(f"skipped: launches: {ready.stderr.strip()}")
        return
    script = os.path.join(work, "launches")
    prefix = os.path.join(work, "installed")
    with open(script, "w", encoding="utf-8") as file:
        file.write(TARBALL + tools.two_launches)
    place = f"tarball={tools.one(packages, '*.tar.gz')} prefix={prefix} tools={tools.cache}/{processor}"
    outcome = tools.machine(f"{place} {emulate} {processor} bash {script}")
    verdicts.launches(f"{processor} tarball in the emulator", outcome)
