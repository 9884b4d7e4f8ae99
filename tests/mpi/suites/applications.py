#!/usr/bin/env python3
"""Runs real programs plain, recorded and with permuted ranks, and compares what they compute.

Programs of the distribution: LAMMPS (C++), HPC Challenge (C), Quantum ESPRESSO and ScaLAPACK's tests
(Fortran) on Open MPI, NWChem and ScaLAPACK's tests on MPICH. Their output has times and rates in it;
what is compared are the lines that hold results. The library must say nothing on standard error, and
the record must hold traffic between all ranks that communicate. The last line is `N passed, N failed`.

A program that is not installed is skipped, unless `--install` is given (apt-get, as root).
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from driver import stacks  # noqa: E402
from driver.checks import Results, Tool, own_lines  # noqa: E402

PACKAGES = ("lammps", "hpcc", "quantum-espresso", "quantum-espresso-data", "scalapack-mpi-test",
            "nwchem-mpich", "nwchem-data", "fenicsx-performance-tests")
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack"

MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
run 100
"""

SILICON = """&control
 calculation = 'scf', prefix = 'si', pseudo_dir = '{pseudo}', outdir = '{out}'
/
&system
 ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12.0
/
&electrons
 conv_thr = 1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 {file}
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 2 2 2 1 1 1
"""

WATER = """start water
memory 400 mb
geometry units angstroms noautoz
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library 6-31g
end
task scf energy
"""


class Application:
    """A program, how it is started and which of its lines hold results.

    prepare: makes the input in a directory and gives the command, or None if something is missing.
    keep: pattern of the lines that are compared; drop: part of a line that is taken out of it.
    output: file with the results; None for standard output.
    variables: added to the environment of every launch.
    """

    def __init__(self, name, stack, np, prepare, keep, drop=None, output=None, least=1,
                 timeout=300, variables=None):
        self.name, self.stack, self.np, self.prepare = name, stack, np, prepare
        self.keep, self.drop, self.output, self.least = keep, drop, output, least
        self.timeout, self.variables = timeout, variables or {}

    def results(self, directory, outcome):
        text = outcome.out
        if self.output:
            path = os.path.join(directory, self.output)
            text = open(path, encoding="utf-8", errors="replace").read() if (
                os.path.exists(path)) else ""
        lines = [line for line in text.splitlines() if re.search(self.keep, line)]
        lines = [re.sub(self.drop, "", line) if self.drop else line for line in lines]
        return [" ".join(line.split()) for line in lines]


def found(*programs):
    return all(os.path.exists(p) or shutil.which(p) for p in programs)


def lammps(directory):
    with open(os.path.join(directory, "in.melt"), "w", encoding="utf-8") as file:
        file.write(MELT)
    return ["lmp", "-in", "in.melt", "-log", "none"] if found("lmp") else None


def hpcc(directory):
    example = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
    if not found("hpcc", example):
        return None
    lines = open(example, encoding="utf-8").read().splitlines()
    # Problem size, block size and grid of processes, as in HPL.dat.
    changed = {5: "1            # of problems sizes (N)", 6: "200          Ns",
               7: "1            # of NBs", 8: "40           NBs",
               10: "1            # of process grids (P x Q)", 11: "2            Ps",
               12: "2            Qs"}
    for number, text in changed.items():
        lines[number - 1] = text
    with open(os.path.join(directory, "hpccinf.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return ["hpcc"]


def espresso(directory):
    pseudo = "/usr/share/espresso/pseudo"
    for place, _, files in os.walk("/usr/share"):
        if any(f.startswith("Si") and f.upper().endswith(".UPF") for f in files):
            pseudo = place
            break
    names = sorted(f for f in os.listdir(pseudo) if f.startswith("Si")) if (
        os.path.isdir(pseudo)) else []
    if not names or not found("pw.x"):
        return None
    with open(os.path.join(directory, "si.in"), "w", encoding="utf-8") as file:
        file.write(SILICON.format(pseudo=pseudo, out=directory, file=names[0]))
    return ["pw.x", "-in", "si.in"]


def nwchem(directory):
    with open(os.path.join(directory, "water.nw"), "w", encoding="utf-8") as file:
        file.write(WATER)
    return ["nwchem.mpich", "water.nw"] if found("nwchem.mpich") else None


# Iterative refinement is left out: pdgerfs hands pdlacon an estimate that it has set on one process only,
# and what happens to be on the stacks of the others decides whether they go on together. Any wrapper of
# MPI_Send and MPI_Allreduce that writes to its stack makes xdlu hang or crash; valgrind shows it without one.
REFINEMENT = re.compile(r"^T(?=\s.*Iter\. Ref\.)", re.MULTILINE)


def scalapack(mpi, program, data):
    def prepare(directory):
        tests = os.path.join(SCALAPACK, f"{mpi}-tests")
        if not found(os.path.join(tests, program)):
            return None
        with open(os.path.join(tests, data), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(directory, data), "w", encoding="utf-8") as file:
            file.write(REFINEMENT.sub("F", text))
        return [os.path.join(tests, program)]
    return prepare


def fenicsx(directory):
    """Meshes over MPI_Dist_graph communicators and their neighbourhood collectives."""
    return ["dolfinx-scaling-test", "--problem_type", "poisson", "--scaling_type", "strong",
            "--ndofs", "20000", "-ksp_type", "cg", "-pc_type", "jacobi", "-ksp_rtol",
            "1e-8"] if found("dolfinx-scaling-test") else None


def applications():
    number = r"^\s*\d+\s+-?\d+\.\d+"
    # Threshold lines end in times and rates; what was solved and whether it passed is before.
    solved = r"PASSED|FAILED|tests completed|skipped|Finished|out of"
    return [
        Application("LAMMPS melt", "openmpi4", 4, lammps, number + "|^Created", least=4),
        Application("HPC Challenge", "openmpi4", 4, hpcc, r"PASSED|FAILED|Success=|_n=|CommWorldProcs",
                    drop=r"\d+\.\d+(e-\d+)?", output="hpccoutf.txt", least=5),
        Application("Quantum ESPRESSO silicon", "openmpi4", 4, espresso,
                    r"^!|total energy  |highest occupied|convergence has been", least=2),
        # PT-Scotch, which divides the mesh, calls MPI from several threads of its own, although the program asked for no
        # such thing. Without the library, 5 of 40 launches hung or failed; with one thread of PT-Scotch, 0 of 60.
        Application("FEniCSx Poisson", "openmpi4", 4, fenicsx,
                    r"Krylov iterations|Solution norm|Num |degrees of freedom", least=5,
                    variables={"SCOTCH_PTHREAD_NUMBER": "1"}),
        Application("ScaLAPACK LU (Open MPI)", "openmpi4", 4, scalapack("openmpi", "xdlu", "LU.dat"),
                    solved, drop=r"\d+\.\d+", least=3),
        Application("ScaLAPACK QR (Open MPI)", "openmpi4", 4, scalapack("openmpi", "xdqr", "QR.dat"),
                    solved, drop=r"\d+\.\d+", least=3),
        Application("ScaLAPACK tridiagonal (Open MPI)", "openmpi4", 4,
                    scalapack("openmpi", "xdtrd", "TRD.dat"), solved, drop=r"\d+\.\d+",
                    least=3),
        Application("ScaLAPACK LU (MPICH)", "mpich4", 4, scalapack("mpich", "xdlu", "LU.dat"),
                    solved, drop=r"\d+\.\d+", least=3),
        Application("ScaLAPACK Cholesky (MPICH)", "mpich4", 4,
                    scalapack("mpich", "xdllt", "LLT.dat"), solved, drop=r"\d+\.\d+", least=3),
        # In windows that MPICH 4.0.2 allocates, the energy comes out wrong on two ranks, and ARMCI-MPI
        # names this variable as the remedy; with it it is that of one rank.
        Application("NWChem water", "mpich4", 4, nwchem, r"Total SCF energy = *-75\.98397|Nuclear repulsion",
                    least=2, variables={"ARMCI_USE_WIN_ALLOCATE": "0"}),
    ]


def launch(tool, stack, application, work, name, options):
    """One launch in a directory of its own; gives its directory and outcome."""
    directory = os.path.join(work, name)
    os.makedirs(directory)
    program = application.prepare(directory)
    command = stack.launch(application.np, {}, program)
    environment = dict(stack.environment(), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                       **application.variables)
    if options is not None:
        environment["RANKWEAVE_LIBRARY"] = tool.library
        command = [tool.command, "run", "--store", os.path.join(work, "store-" + name), *options,
                   "--", *command]
    outcome = stacks.execute(command, environment, application.timeout, cwd=directory)
    outcome.command = shlex.join(command)
    return directory, outcome


def check(tool, results, application, work):
    stack = next(s for s in stacks.all_stacks() if s.name == application.stack)
    probe = os.path.join(work, "probe")
    os.makedirs(probe)
    if not stack.available() or application.prepare(probe) is None:
        results.skip(application.name, "not installed (--install installs it)")
        return
    directory, plain = launch(tool, stack, application, work, "plain", None)
    wanted = application.results(directory, plain)
    if plain.code != 0 or len(wanted) < application.least:
        results.skip(application.name, f"fails without the library: code {plain.code}, "
                     f"{len(wanted)} lines of results, {plain.err.strip()[:300]!r}")
        return
    for mode, options in (("record", ["--mode", "record"]),
                          ("shuffle", ["--mode", "shuffle", "--seed", "3", "--fix", "none"])):
        directory, outcome = launch(tool, stack, application, work, mode, options)
        problems = []
        if outcome.timed_out:
            problems.append(f"did not end within {application.timeout} s")
        elif outcome.code != plain.code:
            problems.append(f"exit code {outcome.code}")
        got = application.results(directory, outcome)
        if got != wanted:
            pairs = [(a, b) for a, b in zip(wanted, got) if a != b]
            problems.append(f"{len(got)} lines of results instead of {len(wanted)}; first: "
                            f"{pairs[:1] or 'none differs'}")
        own = own_lines(outcome.err)
        problems += [f"standard error: {line}" for line in own[:3]]
        path = tool.stored(os.path.join(work, "store-" + mode))
        if path is None:
            problems.append("nothing was stored")
        else:
            kinds = {kind: tool.matrix(path, kind) for kind in ("p2p", "collective", "onesided")}
            totals = {kind: sum(entry[0] for entry in matrix.values())
                      for kind, matrix in kinds.items()}
            talking = {task for matrix in kinds.values() for pair in matrix for task in pair}
            if talking != set(range(application.np)):
                problems.append(f"only tasks {sorted(talking)} have traffic")
            print(f"  {application.name} {mode}: {len(got)} lines of results, "
                  + ", ".join(f"{kind} {total / 1e6:.2f} MB" for kind, total in totals.items())
                  + f", {outcome.seconds:.1f} s ({plain.seconds:.1f} s without)", file=sys.stderr,
                  flush=True)
        results.add(f"{application.name} {mode}", problems, outcome)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install what is missing (apt-get)")
    parser.add_argument("--only", action="append", help="only programs whose name begins so")
    parser.add_argument("--keep", action="store_true", help="keep the working directory")
    parser.add_argument("--library", help="librankweave.so [default: that of the build]")
    parser.add_argument("--command", help="rankweave [default: that of the build]")
    args = parser.parse_args()
    tool = Tool(args.library, args.command)
    if tool.missing():
        print(f"tests/mpi/suites/applications.py: {tool.missing()} is missing; scripts/test builds it",
              file=sys.stderr)
        return 2
    if args.install:
        command = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-y", "-qq",
                   "--no-install-recommends", *PACKAGES]
        done = subprocess.run(command if os.getuid() == 0 else ["sudo", *command],
                              stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            print("tests/mpi/suites/applications.py: apt-get could not install everything",
                  file=sys.stderr)
    results = Results(time.monotonic())
    work = tempfile.mkdtemp(prefix="rankweave-applications-")
    try:
        for index, application in enumerate(applications()):
            if not args.only or any(application.name.startswith(name) for name in args.only):
                place = os.path.join(work, str(index))
                os.makedirs(place)
                check(tool, results, application, place)
    finally:
        if args.keep:
            print(f"kept {work}", file=sys.stderr)
        else:
            shutil.rmtree(work, ignore_errors=True)
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
