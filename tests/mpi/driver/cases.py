"""The cases of the MPI tests: programs with their arguments, their expected traffic, and the MPI libraries
with which they can run."""

from recording import expected


class Case:
    """One program with arguments.

    matrix: function of np giving the expected matrix, or None; `kind` is the traffic it covers.
    light: fewer launches (other cases cover the same code).
    code: the exit code, without and with the library; None if the two are only compared.
    noisy: the launcher prints messages at the end; only the program's lines of standard output are compared.
    needs: further sources to compile, which the program loads.
    reorders: False if no launch may reorder the ranks.
    fixed: task 0 must stay on its process (which has the standard input).
    full_only: takes much time or memory: not in the quick run.
    stable: the matrix is the same in each run (False where timing decides what is sent).
    """

    def __init__(self, source, *arguments, matrix=None, kind="p2p", light=False, code=0,
                 noisy=False, only=None, without=(), stdin=None, variables=None, stable=True,
                 sizes=(4, 7), records=True, timeout=60,
                 fixed=False, reorders=True, needs=(), full_only=False):
        self.source, self.arguments = source, [str(a) for a in arguments]
        self.matrix, self.kind, self.light, self.code = matrix, kind, light, code
        self.noisy, self.only, self.without, self.stdin = noisy, only, without, stdin
        self.variables, self.stable, self.sizes = variables or {}, stable, sizes
        self.records, self.timeout, self.fixed, self.reorders = records, timeout, fixed, reorders
        self.needs, self.full_only = needs, full_only

    @property
    def name(self):
        return " ".join([self.source.rsplit(".", 1)[0], *self.arguments])

    def runs_on(self, stack):
        if self.only and stack.name not in self.only:
            return False
        return stack.name not in self.without and self.source.rsplit(".", 1)[0] not in stack.unable


MPI4 = ("mpich4", "mpich43", "mpich5", "mpich5abi", "openmpi5")
OPENMPI = ("openmpi4", "openmpi5")
MPICH_ALL = ("mpich4", "mpich43", "mpich5", "mpich5abi")
INTEL = ("impi", "impiabi")


def cases():
    found = []
    ring_modes = ["send", "ssend", "bsend", "rsend", "isend", "issend", "ibsend", "irsend",
                  "isend_any", "send_init", "ssend_init", "bsend_init", "sendrecv",
                  "sendrecv_replace", "mprobe", "probe"]
    for mode in ring_modes:
        found.append(Case("ring.c", mode, matrix=expected.ring, light=mode not in ("send", "send_init")))
    found.append(Case("ring.c", "send_c", matrix=expected.ring, light=True, only=MPICH_ALL))
    found.append(Case("ring.c", "isendrecv", matrix=expected.ring, light=True, only=MPI4))
    found.append(Case("ring.c", "psend", light=True, only=MPI4))
    found.append(Case("ring.c", "isend", 100000, 3, light=True,
                      matrix=lambda np: expected.ring(np, 100000, 3)))
    found.append(Case("exceptions.cpp", sizes=(4,)))
    found.append(Case("subcomm.c", matrix=expected.subcomm))
    found.append(Case("cart.c", 0, matrix=expected.cart))
    found.append(Case("cart.c", 1, stable=False))
    found.append(Case("graph.c", 0))
    found.append(Case("graph.c", 1, stable=False))
    found.append(Case("weight_forms.c", stable=False, light=True))
    for kind in ["bcast", "reduce", "allreduce", "allgather", "alltoall", "alltoallv", "gather",
                 "scatter", "gatherv", "scatterv", "allgatherv", "scan", "reduce_scatter_block"]:
        found.append(Case("coll.c", kind, light=True, kind="all",
                          matrix=lambda np, kind=kind: expected.logical(kind, np),
                          variables={"RANKWEAVE_COLLECTIVES": "logical"}))
    # Every MPI sends one element by recursive doubling; Open MPI also sends 800 bytes in this way.
    found.append(Case("coll.c", "allreduce", 4, 5, kind="all", light=True,
                      matrix=lambda np: expected.recursive_doubling(np, 4, 5),
                      variables={"RANKWEAVE_COLLECTIVES": "model"}))
    found.append(Case("coll.c", "allreduce", 800, 5, kind="all", light=True, only=OPENMPI,
                      matrix=expected.recursive_doubling,
                      variables={"RANKWEAVE_COLLECTIVES": "model"}))
    found.append(Case("collectives.c"))
    found.append(Case("attributes.c"))
    found.append(Case("compare.c"))
    found.append(Case("errors.c"))
    found.append(Case("intercomm.c"))
    found.append(Case("communicators.c"))
    found.append(Case("rma.c", "put", matrix=expected.rma_put, kind="onesided"))
    found.append(Case("rma.c", "all", stable=False))
    found.append(Case("io.c", stable=False))
    # Open MPI uses ROMIO only if it is told to. Its nonblocking collective calls then crash, also without
    # the library.
    for mode in ("blocking", "nonblocking"):
        found.append(Case("io_inside.c", mode, kind="all", matrix=expected.io_inside, light=True,
                          without=OPENMPI if mode == "nonblocking" else (),
                          variables={"OMPI_MCA_io": "^ompio",
                                     "RANKWEAVE_COLLECTIVES": "model"}))
    found.append(Case("inside.c", matrix=lambda np: expected.ring(np, 100, 5), light=True,
                      needs=("mca_io_romio_inside.c",)))
    found.append(Case("helper.c", matrix=lambda np: expected.ring(np, 100, 5), light=True,
                      needs=("libmpi_helper.c",)))
    found.append(Case("looked_up.c", matrix=lambda np: expected.ring(np, 100, 10)))
    found.append(Case("looked_up.c", "late", matrix=lambda np: expected.ring(np, 100, 10), light=True))
    # Freed memory is overwritten, so that what is read from it is wrong.
    found.append(Case("null_handles.c", light=True, records=False, variables={"MALLOC_PERTURB_": "165"}))
    found.append(Case("unseen.c", "ring", matrix=lambda np: expected.ring(np, 100, 10),
                      reorders=False))
    found.append(Case("unseen.c", "partly", matrix=expected.pair, reorders=False, light=True))
    found.append(Case("sessions.c", matrix=expected.sessions, only=MPI4, reorders=False))
    found.append(Case("handles.c", sizes=(4,), timeout=120))
    found.append(Case("messages.c", stable=False))
    found.append(Case("f2c.c"))
    found.append(Case("tool_variables.c", sizes=(4,), stable=False))
    found.append(Case("launcher_rank.c"))
    found.append(Case("launcher_rank.c", "again", sizes=(4,), light=True))
    found.append(Case("threads.c", matrix=lambda np: expected.ring(np, 64, 200)))
    found.append(Case("thread_ends.c", sizes=(4,), light=True, matrix=expected.thread_ends))
    # Sixteen threads that spin: MPICH needs 16 ms for a round of calls on two processors.
    found.append(Case("sendrecv_threads.c", 200, sizes=(4,), light=True,
                      matrix=lambda np: expected.ring(np, 8, 4 * 200)))
    for when in ("before", "after"):
        # Open MPI and Intel MPI need keys themselves in MPI_Init.
        found.append(Case("no_keys.c", when, matrix=lambda np: expected.ring(np, 100, 10), sizes=(4,),
                          without=(*OPENMPI, *INTEL) if when == "before" else ()))
    found.append(Case("endings.c", "finalize", 0, matrix=lambda np: expected.ring(np, 100, 10)))
    found.append(Case("endings.c", "finalize", 3, code=3, noisy=True, light=True,
                      matrix=lambda np: expected.ring(np, 100, 10)))
    # With MPICH 5, most launches of this end with exit code 9, also without the library.
    found.append(Case("endings.c", "at_exit", light=True, matrix=lambda np: expected.ring(np, 100, 10),
                      without=("mpich5", "mpich5abi")))
    for what in ("traps", "flags"):
        found.append(Case("floating_point.c", what, sizes=(4,), stable=False))
    found.append(Case("endings.c", "abort", 42, code=42, noisy=True, records=False))
    # The exit code of MPICH's launcher depends on which rank it sees end first.
    found.append(Case("endings.c", "exit", code=None, noisy=True, light=True, records=False,
                      only=OPENMPI))
    # Intel's launcher reports how its own rank 0 ended (143 if that one got the signal, else 137).
    found.append(Case("endings.c", "signal", code=None, noisy=True, light=True, records=False, without=INTEL))
    found.append(Case("endings.c", "signal", code=None, noisy=True, light=True, records=False, only=INTEL,
                      fixed=True))
    found.append(Case("api.c", matrix=expected.api, sizes=(5,)))
    found.append(Case("silent.c", "stdin", stdin=b"hello\n", fixed=True))
    long = bytes(i % 251 for i in range(20000))
    found.append(Case("input.c", len(long), stdin=long))
    found.append(Case("spawn.c", sizes=(4,), records=False))
    found.append(Case("mpi4.c", only=MPI4, stable=False))
    found.append(Case("probes.c", sizes=(4,), light=True))
    for how in ("send", "send_c", "bcast"):
        found.append(Case("large.c", how, sizes=(2,), light=True, full_only=True, timeout=300,
                          only=MPI4 if how == "send_c" else None, matrix=expected.large,
                          kind="collective" if how == "bcast" else "p2p",
                          variables={"RANKWEAVE_COLLECTIVES": "logical"}))
    for source in ("ring_mpif.f", "ring_module.f90", "ring_f08.f90"):
        found.append(Case(source, matrix=expected.fortran_ring, only=("openmpi4", "mpich4")))
    found.append(Case("attributes_module.f90", only=("openmpi4", "mpich4")))
    # MPICH 4.0.2 gives this form a wrong communicator, also without the library.
    found.append(Case("window_pointer.f90", only=("openmpi4",)))
    return found
