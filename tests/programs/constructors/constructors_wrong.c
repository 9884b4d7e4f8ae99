/* Calls constructors of topologies with arguments that MPI refuses, or that differ between processes. Prints the
 * class of every error as `rank NAME class`. With the argument `odd` it also makes calls in which some
 * processes ask for new ranks and others do not.
 */
#include "check.h"

static MPI_Comm made;

static void told(const char *name, int code)
{
    int class;
    MPI_Error_class(code, &class);
    printf("%d %s %d %s\n", world_rank, name, class,
           code == MPI_SUCCESS && made != MPI_COMM_NULL ? "made" : "");
    if (code == MPI_SUCCESS && made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    made = MPI_COMM_NULL;
}

static void cart(const char *name, int ndims, int first, int second)
{
    const int dims[2] = {first, second}, periods[2] = {0, 1};
    told(name, MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 1, &made));
}

static void graph(const char *name, int nodes, int first, int second, int edge)
{
    const int ends[2] = {first, second}, edges[2] = {edge, 0};
    told(name, MPI_Graph_create(MPI_COMM_WORLD, nodes, ends, edges, 1, &made));
}

static void adjacent(const char *name, int indegree, int source, int outdegree, int target)
{
    told(name, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, &source, MPI_UNWEIGHTED,
                                              outdegree, &target, MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                                              &made));
}

static void dist(const char *name, int count, int source, int degree, int target)
{
    told(name, MPI_Dist_graph_create(MPI_COMM_WORLD, count, &source, &degree, &target,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    made = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    cart("cart too large", 2, world_size, 2);
    cart("cart negative", 2, -1, 2);
    cart("cart dimensions", -1, 1, 1);
    graph("graph too large", world_size + 1, 1, 2, 1);
    graph("graph negative", -1, 1, 2, 1);
    adjacent("adjacent negative", -1, 0, 1, 0);
    dist("dist negative", -1, 0, 1, 0);

    /* Wrong communicators. */
    const int one[1] = {1}, zero = 0;
    told("cart null", MPI_Cart_create(MPI_COMM_NULL, 1, one, one, 1, &made));
    told("graph null", MPI_Graph_create(MPI_COMM_NULL, 1, one, &zero, 1, &made));
    told("dist null", MPI_Dist_graph_create(MPI_COMM_NULL, 0, one, one, one, MPI_UNWEIGHTED,
                                            MPI_INFO_NULL, 1, &made));
    MPI_Comm half, inter;
    OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 5, &inter));
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    told("cart inter", MPI_Cart_create(inter, 1, one, one, 1, &made));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));

    /* A process by itself. */
    told("cart self", MPI_Cart_create(MPI_COMM_SELF, 1, one, one, 1, &made));

    /* Not all processes ask for new ranks: this is no error, and no process waits for the others. MPICH does wait. */
    if (argc < 2 || strcmp(argv[1], "odd")) {
        MPI_Finalize();
        return failures != 0;
    }
    int dims[2] = {1, world_size};
    const int periods[2] = {0, 0}, ring = (world_rank + 1) % world_size;
    const int back = (world_rank + world_size - 1) % world_size;
    told("cart odd", MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, world_rank % 2, &made));
    told("adjacent odd",
         MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &back, MPI_UNWEIGHTED, 1, &ring,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, world_rank % 2, &made));
    MPI_Finalize();
    return failures != 0;
}
