"""Compares what the library believes about each MPI with that MPI's own mpi.h.

Constants and widths of handles come from wrappers/src/mpi/abi.rs, prototypes from
wrappers/prototypes.tsv. A C program is made that says each of them to the compiler:
`_Static_assert` for numbers and types, comparisons at run time for addresses of predefined handles.
It is compiled with the compiler wrapper of the MPI and run without a launcher.
"""

import os
import re
import subprocess

from driver import stacks

ABI_OF = {"openmpi4": "OpenMpi", "openmpi5": "OpenMpi", "mpich4": "Mpich", "mpich5": "Mpich",
          "mpich5abi": "Standard"}

# Constants of abi.rs and their names in C.
CONSTANTS = {
    "PROC_NULL": "MPI_PROC_NULL", "ROOT": "MPI_ROOT", "UNDEFINED": "MPI_UNDEFINED",
    "COMM_TYPE_SHARED": "MPI_COMM_TYPE_SHARED", "COMBINER_NAMED": "MPI_COMBINER_NAMED",
    "ERR_OTHER": "MPI_ERR_OTHER",
}
# Functions of abi.rs that give a predefined handle.
HANDLES = {
    "comm_world": "MPI_COMM_WORLD", "comm_self": "MPI_COMM_SELF", "comm_null": "MPI_COMM_NULL",
    "byte": "MPI_BYTE", "datatype_null": "MPI_DATATYPE_NULL", "uint64": "MPI_UINT64_T",
    "op_max": "MPI_MAX", "op_null": "MPI_OP_NULL", "info_null": "MPI_INFO_NULL", "errors_return": "MPI_ERRORS_RETURN",
    "request_null": "MPI_REQUEST_NULL", "op_no_op": "MPI_NO_OP",
    "unweighted": "MPI_UNWEIGHTED", "weights_empty": "MPI_WEIGHTS_EMPTY",
}
TYPES = {"Comm": "MPI_Comm", "Datatype": "MPI_Datatype", "Request": "MPI_Request", "Win": "MPI_Win",
         "Op": "MPI_Op", "Info": "MPI_Info", "Group": "MPI_Group", "Errhandler": "MPI_Errhandler",
         "Message": "MPI_Message"}
WIDTHS = {"PointerHandle": 8, "IntHandle": 4}

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
LEAST_CONSTANTS = 16


def abi_facts(name):
    """What abi.rs says of one ABI: constants, handles, types, kinds of topology."""
    text = open(os.path.join(stacks.ROOT, "wrappers", "src", "mpi", "abi.rs"), encoding="utf-8").read()
    block = text[text.index(f"impl Abi for {name} {{"):]
    block = block[:block.index("\n}\n")]

    def number(value):
        value = value.strip().replace("_", "")
        return -1 if value == "usize::MAX" else int(value, 0)

    constants = {k: number(v) for k, v in
                 re.findall(r"const (\w+): (?:c_int|usize) = ([-\w:]+);", block)}
    types = dict(re.findall(r"type (\w+) = (\w+);", block))
    handles = {}
    for function, body in re.findall(r"fn (\w+)\(\) -> [\w:]+ \{\s*(.*?)\s*\}", block, re.S):
        symbol = re.search(r'c"(\w+)"', body)
        value = re.search(r"(0x[0-9a-fA-F_]+|^[0-9]+$)", body)
        if function == "comm_world" and name == "OpenMpi":
            handles[function] = ("symbol", "ompi_mpi_comm_world")
        elif symbol:
            kind = "variable" if body.startswith("pointer(") else "symbol"
            handles[function] = (kind, symbol.group(1))
        elif value:
            handles[function] = ("number", number(value.group(1)))
    kinds = re.search(r"topology_kind\(status, (\d+), (\d+), (\d+)\)", block)
    return constants, types, handles, [int(n) for n in kinds.groups()]


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
    constants, types, handles, kinds = abi_facts(ABI_OF[stack.name])
    out = ["#include <mpi.h>", "#include <stdint.h>", "#include <stdio.h>", ""]
    check = out.append
    for name, rust in types.items():
        check(f'_Static_assert(sizeof({TYPES[name]}) == {WIDTHS[rust]}, "width of {TYPES[name]}");')
    for name, value in constants.items():
        if name not in ("IN_PLACE", "FORTRAN_WORLD"):  # an address, and a matter of Fortran
            check(f'_Static_assert({CONSTANTS[name]} == {value}, "{CONSTANTS[name]}");')
    for c, value in zip(("MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH"), kinds):
        check(f'_Static_assert({c} == {value}, "{c}");')
    # Buffers of the library that hold an MPI_Status and a description of the MPI.
    check('_Static_assert(sizeof(MPI_Status) <= 128, "MPI_Status");')
    check('_Static_assert(MPI_MAX_LIBRARY_VERSION_STRING <= 16384, "version");')
    integers = {"MPI_Aint": 8, "MPI_Count": 8, "MPI_Offset": 8}
    if ABI_OF[stack.name] != "Standard":  # which leaves Fortran to a library of its own
        integers["MPI_Fint"] = 4
    for name, width in integers.items():
        check(f'_Static_assert(sizeof({name}) == {width}, "width of {name}");')
    known = declared(stack, work)
    compared = 0
    for name, parameters, version in prototypes():
        if name not in known or version.startswith("removed"):
            continue
        deviation = DEVIATIONS.get(stack.name, {}).get(name)
        compared += 1
        check(f"#undef {name}")
        check(f'_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), '
              f'{result_type(name)} (*)({deviation or parameters})), "prototype of {name}");')
    symbols = sorted({value for kind, value in handles.values() if kind != "number"})
    for symbol in symbols:
        # mpi.h declares them with types of its own; only the addresses matter.
        check(f'extern char symbol_{symbol} __asm__("{symbol}");')
    check("int main(void) {")
    check("    int bad = 0;")
    for function, (kind, value) in handles.items():
        wanted = {"symbol": lambda: f"(uintptr_t)&symbol_{value}",
                  "variable": lambda: f"*(uintptr_t *)(void *)&symbol_{value}",
                  "number": lambda: f"(uintptr_t){value:#x}"}[kind]()
        got = f"(uintptr_t){HANDLES[function]}"
        if types["Comm"] == "IntHandle" and "weight" not in function:
            got = f"(uintptr_t)(uint32_t){HANDLES[function]}"
        check(f'    if ({got} != {wanted}) {{ bad++; printf("FAIL {HANDLES[function]}\\n"); }}')
    check(f'    if ((intptr_t)MPI_IN_PLACE != {constants["IN_PLACE"]}) '
          '{ bad++; printf("FAIL MPI_IN_PLACE\\n"); }')
    check('    if (!bad) printf("ok\\n");')
    check("    return bad != 0;")
    check("}")
    return "\n".join(out) + "\n", compared, len(constants) + len(handles) + len(kinds)


def compare(results, stack, work):
    if stack.name not in ABI_OF:
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
        print(f"{stack.name}: {compared} prototypes, {constants} constants and 12 widths agree with "
              "mpi.h", flush=True)
