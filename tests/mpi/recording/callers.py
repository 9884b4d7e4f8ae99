"""Writes the callers of tests/programs/traffic/truth.c: one for each function that moves data, in C or Fortran.

They are made from the prototypes, so that a new line in calls.tbl needs no code here unless its
parameters have names of their own.
"""

# Where the arguments come from: parameter name -> member of struct args.
MEMBERS = {
    "buf": "send", "buffer": "send", "sendbuf": "send", "origin_addr": "send", "recvbuf": "recv",
    "result_addr": "recv", "compare_addr": "compare",
    "count": "count", "sendcount": "count", "origin_count": "count", "recvcount": "rcount",
    "result_count": "rcount", "target_count": "tcount",
    "datatype": "type", "sendtype": "type", "origin_datatype": "type", "recvtype": "rtype",
    "result_datatype": "rtype", "target_datatype": "ttype",
    "dest": "peer", "target_rank": "peer", "source": "source", "root": "root",
    "tag": "tag", "sendtag": "tag", "recvtag": "tag", "op": "op", "comm": "comm", "win": "win",
    "target_disp": "disp", "array_of_requests": "requests",
    "sendcounts": "scounts", "recvcounts": "rcounts", "sdispls": "sdispls", "rdispls": "rdispls",
    "sendtypes": "stypes", "recvtypes": "rtypes", "partitions": "partitions",
    "partition": "low", "partition_low": "low", "partition_high": "high", "length": "length",
    "array_of_partitions": "list",
}
VECTORS = {"int": "narrow", "MPI_Count": "wide", "MPI_Aint": "address"}
# mpi_f08: handles are derived types.
HANDLES = ("MPI_Comm", "MPI_Datatype", "MPI_Op", "MPI_Win", "MPI_Request")


def member(row, name):
    if name == "displs":
        # There is one array of displacements: of what the root sends, or of what arrives.
        return "sdispls" if "catter" in row.name else "rdispls"
    if name == "count" and row.family == "STARTALL":
        return "request_count"
    if name == "recvcount" and row.family == "REDUCE_SCATTER_BLOCK":
        return "rcount"
    return MEMBERS.get(name)


class Unknown(Exception):
    """A parameter that no argument is known for."""


def c_argument(row, ctype, name, array):
    if name == "info":
        return "MPI_INFO_NULL"
    if name == "status":
        return "MPI_STATUS_IGNORE"
    if name == "request":
        return "&a->request" if ctype.endswith("*") else "a->request"
    field = member(row, name)
    if field is None:
        raise Unknown(f"{row.name}: parameter {name}")
    bare = ctype.replace("const", "").strip()
    if array and bare in VECTORS and field.endswith(("counts", "displs")):
        return f"a->{field}.{VECTORS[bare]}"
    if name == "sendbuf":
        return "(a->send_in_place ? MPI_IN_PLACE : a->send)"
    if name == "recvbuf":
        return "(a->recv_in_place ? MPI_IN_PLACE : a->recv)"
    if bare in ("int", "MPI_Count", "MPI_Aint") and not array:
        return f"({bare})a->{field}"
    return f"a->{field}"


def parameters(row, prototypes):
    return [(t.replace("const", ""), n, a) for t, n, a in prototypes[row.name]]


HEAD = '#include "truth.h"\n\n'


def c_callers(rows, prototypes):
    text = [HEAD, 'const char binding[] = "C";\n',
            "int binding_init(int *argc, char ***argv) { return MPI_Init(argc, argv); }\n",
            "int binding_finalize(void) { return MPI_Finalize(); }\n\n"]
    for row in rows:
        arguments = ", ".join(c_argument(row, *p) for p in parameters(row, prototypes))
        text.append(f"static int call_{row.name}(struct args *a) {{ return {row.name}({arguments}); }}\n")
    text.append(c_table(rows))
    return "".join(text)


def c_table(rows):
    lines = [f'    {{"{r.name}", {r.index}, {r.family}, {r.flavour}, call_{r.name}}},\n' for r in rows]
    return ("\nconst struct row rows[] = {\n" + "".join(lines) + "};\n"
            "const int row_count = sizeof rows / sizeof rows[0];\n")


# ---- Fortran ------------------------------------------------------------------------------------


class Fortran:
    """One Fortran binding: the statement that makes it known, and whether its handles are derived types."""

    def __init__(self, name, use, typed):
        self.name, self.use, self.typed = name, use, typed

    @property
    def mpif(self):
        return not self.use


BINDINGS = {
    "mpif": Fortran("mpif.h", "", False),
    "mpi": Fortran("mpi", "use mpi", False),
    "f08": Fortran("mpi_f08", "use mpi_f08", True),
}


def shape(row, ctype, name, array):
    """The kind of argument that a parameter is in Fortran, and the member of struct args that it is taken from."""
    if name in ("info", "status"):
        return name, None
    if name == "request":
        return "request", None
    field = member(row, name)
    if field is None:
        raise Unknown(f"{row.name}: parameter {name}")
    bare = ctype.replace("const", "").strip().rstrip("*")
    if "void" in bare:
        return "buffer", field
    if field == "requests":
        return "requests", field
    if bare in HANDLES:
        return ("handles" if array else "handle"), field
    if array:
        return ("list" if field == "list" else f"vector {VECTORS[bare]}"), field
    return {"int": "integer", "MPI_Count": "count", "MPI_Aint": "address"}[bare], field


FORTRAN_TYPE = {
    "integer": "integer", "count": "integer(kind=MPI_COUNT_KIND)",
    "address": "integer(kind=MPI_ADDRESS_KIND)", "vector narrow": "integer",
    "vector wide": "integer(kind=MPI_COUNT_KIND)",
    "vector address": "integer(kind=MPI_ADDRESS_KIND)", "list": "integer",
}
C_TYPE = {"integer": "int", "count": "MPI_Count", "address": "MPI_Aint", "vector narrow": "int",
          "vector wide": "MPI_Count", "vector address": "MPI_Aint", "list": "int"}


CONTINUED = ", &\n      "


def fortran_name(row):
    return row.name[:-2] if row.large else row.name


def fortran_callers(binding, rows, prototypes):
    """The Fortran side: a bind(C) subroutine for each call, all arguments by reference."""
    b = BINDINGS[binding]
    use = f"  {b.use}\n" if b.use else ""
    include = "  include 'mpif.h'\n" if b.mpif else ""
    text = []
    for name, arguments in (("MPI_Init", ""), ("MPI_Finalize", "")):
        text.append(f"subroutine fortran_{name.lower()}(ierror) bind(C, name='fortran_{name}')\n{use}"
                    f"  implicit none\n{include}  integer :: ierror\n  call {name}(ierror)\n"
                    "end subroutine\n\n")
    for row in rows:
        # Open MPI has extensions in modules of their own.
        extension = f"{use}  {b.use}_ext\n" if row.name.startswith("MPIX") and b.use else use
        text.append(fortran_caller(b, row, prototypes, extension, include))
    return "".join(text)


def fortran_caller(b, row, prototypes, use, include):
    declarations, before, after, dummies, arguments = [], [], [], [], []
    in_place = None
    for position, p in enumerate(parameters(row, prototypes)):
        kind, _ = shape(row, *p)
        dummy = f"p{position}"
        if kind == "info":
            arguments.append("MPI_INFO_NULL")
            continue
        if kind == "status":
            arguments.append("MPI_STATUS_IGNORE")
            continue
        dummies.append(dummy)
        if kind == "buffer":
            declarations.append(f"  integer, intent(inout) :: {dummy}(*)")
            if p[1] in ("sendbuf", "recvbuf"):
                in_place = in_place or []
                dummies.append(f"{dummy}_in_place")
                declarations.append(f"  integer, intent(in) :: {dummy}_in_place")
                in_place.append(dummy)
            arguments.append(dummy)
        elif kind in ("handle", "request") and b.typed:
            ctype = "MPI_Request" if kind == "request" else p[0].rstrip("*")
            declarations.append(f"  integer :: {dummy}\n  type({ctype}) :: t{position}")
            before.append(f"  t{position}%MPI_VAL = {dummy}")
            after.append(f"  {dummy} = t{position}%MPI_VAL")
            arguments.append(f"t{position}")
        elif kind in ("handle", "request"):
            declarations.append(f"  integer :: {dummy}")
            arguments.append(dummy)
        elif kind in ("handles", "requests") and b.typed:
            ctype = "MPI_Request" if kind == "requests" else "MPI_Datatype"
            # They are read until a nonblocking call is complete.
            declarations.append(f"  integer :: {dummy}(16)\n  type({ctype}), save :: t{position}(16)")
            before.append(f"  t{position}%MPI_VAL = {dummy}")
            after.append(f"  {dummy} = t{position}%MPI_VAL")
            arguments.append(f"t{position}")
        elif kind in ("handles", "requests"):
            declarations.append(f"  integer :: {dummy}(16)")
            arguments.append(dummy)
        else:
            array = "(*)" if kind.startswith("vector") else "(4)" if kind == "list" else ""
            declarations.append(f"  {FORTRAN_TYPE[kind]}, intent(in) :: {dummy}{array}")
            arguments.append(dummy)

    def call(replaced):
        used = ["MPI_IN_PLACE" if x == replaced else x for x in arguments] + ["ierror"]
        return f"call {fortran_name(row)}({CONTINUED.join(used)})"

    body = []
    if in_place:
        word = "if"
        for dummy in in_place:
            body.append(f"  {word} ({dummy}_in_place /= 0) then\n    {call(dummy)}")
            word = "else if"
        body.append(f"  else\n    {call(None)}\n  end if")
    else:
        body.append(f"  {call(None)}")
    head = CONTINUED.join([*dummies, "ierror"])
    return (f"subroutine fortran_{row.name.lower()}({head}) &\n      bind(C, name='fortran_{row.name}')\n"
            f"{use}  implicit none\n{include}" + "\n".join(declarations)
            + "\n  integer, intent(out) :: ierror\n"
            + "".join(line + "\n" for line in before + body + after) + "end subroutine\n\n")


def fortran_glue(binding, rows, prototypes):
    """The C side: turns struct args into what the subroutines take."""
    b = BINDINGS[binding]
    text = [HEAD, f'const char binding[] = "{b.name}";\n',
            "void fortran_MPI_Init(int *), fortran_MPI_Finalize(int *);\n",
            "int binding_init(int *argc, char ***argv) {\n    int e;\n    (void)argc, (void)argv;\n"
            "    fortran_MPI_Init(&e);\n    return e;\n}\n",
            "int binding_finalize(void) { int e; fortran_MPI_Finalize(&e); return e; }\n\n"]
    for row in rows:
        declared, before, after, passed = [], ["int e = 0;"], [], []
        for position, p in enumerate(parameters(row, prototypes)):
            kind, field = shape(row, *p)
            v = f"v{position}"
            if kind in ("info", "status"):
                continue
            if kind == "buffer":
                declared.append("void *")
                passed.append(f"a->{field}")
                if p[1] in ("sendbuf", "recvbuf"):
                    declared.append("int *")
                    passed.append(f"&a->{field}_in_place")
            elif kind == "request":
                declared.append("int *")
                before.append(f"int {v} = a->request == MPI_REQUEST_NULL ? 0 : MPI_Request_c2f(a->request);")
                after.append(f"a->request = MPI_Request_f2c({v});")
                passed.append(f"&{v}")
            elif kind == "requests":
                declared.append("int *")
                before.append(f"int {v}[16]; for (int j = 0; j < a->request_count; j++) "
                              f"{v}[j] = MPI_Request_c2f(a->requests[j]);")
                passed.append(v)
            elif kind == "handle":
                prefix = {"MPI_Datatype": "MPI_Type"}.get(p[0].rstrip("*"), p[0].rstrip("*"))
                declared.append("int *")
                before.append(f"int {v} = {prefix}_c2f(a->{field});")
                passed.append(f"&{v}")
            elif kind == "handles":
                declared.append("int *")
                before.append(f"static int {v}[16]; for (int j = 0; j < 16; j++) "
                              f"{v}[j] = MPI_Type_c2f(a->{field}[j]);")
                passed.append(v)
            elif kind.startswith("vector"):
                declared.append(f"{C_TYPE[kind]} *")
                passed.append(f"a->{field}.{kind.split()[1]}")
            elif kind == "list":
                declared.append("int *")
                passed.append(f"a->{field}")
            else:
                declared.append(f"{C_TYPE[kind]} *")
                before.append(f"{C_TYPE[kind]} {v} = ({C_TYPE[kind]})a->{field};")
                passed.append(f"&{v}")
        declared.append("int *")
        passed.append("&e")
        text.append(f"void fortran_{row.name}({', '.join(declared)});\n"
                    f"static int call_{row.name}(struct args *a) {{\n    "
                    + "\n    ".join([*before, f"fortran_{row.name}({', '.join(passed)});", *after,
                                     "return e;"]) + "\n}\n")
    text.append(c_table(rows))
    return "".join(text)

