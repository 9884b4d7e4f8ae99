"""Compares what the library believes about each MPI with that MPI's own mpi.h.

Constants and widths of handles come from wrappers/handles.tsv, prototypes from wrappers/prototypes.tsv: the
library is generated from both. A C program is made that says each of them to the compiler:
`_Static_assert` for numbers and types, comparisons at run time for addresses of predefined handles.
It is compiled with the compiler wrapper of the MPI and run without a launcher.
"""

import os
import re
import subprocess

from driver import stacks

# The column of handles.tsv that is for a stack.
COLUMNS = {"openmpi4": "Open MPI", "openmpi5": "Open MPI", "mpich4": "MPICH", "mpich43": "MPICH", "mpich5": "MPICH",
           "mpich5abi": "standard ABI"}
WIDTHS = {"pointer": 8, "int": 4}

# Result types other than int.
RESULTS = {"MPI_Wtime": "double", "MPI_Wtick": "double", "MPI_Aint_add": "MPI_Aint",
           "MPI_Aint_diff": "MPI_Aint"}

# Where an mpi.h deviates from the standard: stack → function → what it has instead.
DEVIATIONS = {
    # The array is not const in these.
    "mpich4": {"MPI_Pready_list": "int length, int array_of_partitions[], MPI_Request request"},
    "openmpi5": {"MPI_Pready_list": "int length, int array_of_partitions[], MPI_Request request"},
}

# Least number of functions that must have been compared: all of MPI 3.1 but those of MPI_T.
LEAST = 350
LEAST_CONSTANTS = 22


def table():
    """The rows of handles.tsv: kind, type, name in Rust, name in C, and the values by family."""
    path = os.path.join(stacks.ROOT, "wrappers", "handles.tsv")
    for line in open(path, encoding="utf-8"):
        if not line.startswith("#") and line.strip():
            kind, rust_type, name, in_c, *values = line.rstrip("\n").split("\t")
            yield kind, rust_type, name, in_c, dict(zip(("Open MPI", "MPICH", "standard ABI"), values))


def address(value):
    """A value of handles.tsv as an expression in C, and the symbol that it needs."""
    if value[0] in "&*":
        symbol = value[1:]
        form = "(uintptr_t)&symbol_{}" if value[0] == "&" else "*(uintptr_t *)(void *)&symbol_{}"
        return form.format(symbol), symbol
    return f"(uintptr_t){value}", None


def prototypes():
    path = os.path.join(stacks.ROOT, "wrappers", "prototypes.tsv")
    for line in open(path, encoding="utf-8"):
        if not line.startswith("#"):
            name, parameters, version = line.rstrip("\n").split("\t")
            yield name, parameters, version


def declared(stack, work):
    """Names of the functions that this mpi.h declares."""
    source = os.path.join(work, f"oracle-{stack.name}-declared.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <mpi.h>\n")
    done = subprocess.run([stack.compiler, "-E", source], capture_output=True, text=True, check=True)
    return set(re.findall(r"\b(MPI_\w+)\s*\(", done.stdout))


def result_type(name):
    if name in RESULTS:
        return RESULTS[name]
    match = re.match(r"MPI_(\w+?)_(f2c|fromint)$", name)
    if match and match.group(1) != "Status":
        return {"Type": "MPI_Datatype", "File": "MPI_File"}.get(match.group(1),
                                                                f"MPI_{match.group(1)}")
    if name.endswith("_c2f") and not name.startswith("MPI_Status"):
        return "MPI_Fint"
    return "int"


def program(stack, work):
    """The text of the C program, and how many prototypes it compares."""
    family = COLUMNS[stack.name]
    known = declared(stack, work)
    out = ["#include <mpi.h>", "#include <stdint.h>", "#include <stdio.h>", ""]
    check = out.append
    narrow = set()
    addresses = []
    constants = 0
    for kind, rust_type, name, in_c, values in table():
        value = values[family]
        if in_c == "-" or kind == "type" and in_c == "MPI_Session" and "MPI_Session_init" not in known:
            continue
        constants += kind != "type"
        if kind == "type":
            check(f'_Static_assert(sizeof({in_c}) == {WIDTHS[value]}, "width of {in_c}");')
            narrow |= {name} if value == "int" else set()
        elif kind == "number" and rust_type == "c_int":
            check(f'_Static_assert({in_c} == {value}, "{in_c}");')
        else:
            addresses.append((in_c, *address(value), rust_type in narrow))
    # Buffers of the library that hold an MPI_Status and a description of the MPI.
    check('_Static_assert(sizeof(MPI_Status) <= 128, "MPI_Status");')
    check('_Static_assert(MPI_MAX_LIBRARY_VERSION_STRING <= 16384, "version");')
    integers = {"MPI_Aint": 8, "MPI_Count": 8, "MPI_Offset": 8}
    if family != "standard ABI":  # which leaves Fortran to a library of its own
        integers["MPI_Fint"] = 4
    for name, width in integers.items():
        check(f'_Static_assert(sizeof({name}) == {width}, "width of {name}");')
    compared = 0
    for name, parameters, version in prototypes():
        if name not in known or version.startswith("removed"):
            continue
        deviation = DEVIATIONS.get(stack.name, {}).get(name)
        compared += 1
        check(f"#undef {name}")
        check(f'_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), '
              f'{result_type(name)} (*)({deviation or parameters})), "prototype of {name}");')
    for symbol in sorted({symbol for _, _, symbol, _ in addresses if symbol}):
        # mpi.h declares them with types of its own; only the addresses matter.
        check(f'extern char symbol_{symbol} __asm__("{symbol}");')
    check("int main(void) {")
    check("    int bad = 0;")
    for in_c, wanted, _, is_int in addresses:
        got = f"(uintptr_t)(uint32_t){in_c}" if is_int else f"(uintptr_t){in_c}"
        check(f'    if ({got} != {wanted}) {{ bad++; printf("FAIL {in_c}\\n"); }}')
    check('    if (!bad) printf("ok\\n");')
    check("    return bad != 0;")
    check("}")
    return "\n".join(out) + "\n", compared, constants


def compare(results, stack, work):
    if stack.name not in COLUMNS:
        return
    name = f"{stack.name} mpi.h agrees with the library"
    try:
        text, compared, constants = program(stack, work)
    except (subprocess.CalledProcessError, ValueError, KeyError) as error:
        results.add(name, [f"the program could not be made: {error!r}"])
        return
    problems = [] if constants >= LEAST_CONSTANTS else [f"only {constants} constants were found"]
    if compared < LEAST:
        problems.append(f"only {compared} prototypes were compared")
    source = os.path.join(work, f"oracle-{stack.name}.c")
    target = os.path.join(work, f"oracle-{stack.name}")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([stack.compiler, "-w", "-fmax-errors=0", "-o", target, source],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        wrong = re.findall(r"error: (.*)", done.stderr)
        problems += wrong[:60] or [done.stderr[-500:]]
    else:
        ran = stacks.execute([target], stack.environment())
        if ran.out != "ok\n":
            problems.append(f"{ran.out.strip()} {ran.err.strip()[:300]}")
    results.add(name, problems)
    if not problems:
        print(f"{stack.name}: {compared} prototypes, {constants} constants and the widths of handles agree with "
              "mpi.h", flush=True)
