/* Every way of giving the weights of a distributed graph: what MPI says of the graph afterwards.
 *
 * Each process has a vertex. Processes either give edges or none, with numbers, MPI_UNWEIGHTED,
 * MPI_WEIGHTS_EMPTY or a null pointer as weights, in the mixtures of the table. Both constructors, with and
 * without reorder. Prints, for each vertex, the answer of MPI_Dist_graph_neighbors_count and the sorted
 * neighbours, so that two runs of the program can be compared. A mixture that an MPI refuses prints
 * `refused`.
 */
#include "check.h"

typedef enum { NUMBERS, UNWEIGHTED, EMPTY, NOTHING } Form;

static const struct {
    const char *name;
    /* The form of processes with an even rank, and of the others; which of them give edges. */
    Form form[2];
    int edges[2];
} mixtures[] = {
    {"none, null", {NOTHING, NOTHING}, {0, 0}},
    {"none, unweighted", {UNWEIGHTED, UNWEIGHTED}, {0, 0}},
    {"none, empty", {EMPTY, EMPTY}, {0, 0}},
    {"none, empty and null", {EMPTY, NOTHING}, {0, 0}},
    {"none, unweighted and null", {UNWEIGHTED, NOTHING}, {0, 0}},
    {"none, unweighted and empty", {UNWEIGHTED, EMPTY}, {0, 0}},
    {"none, numbers", {NUMBERS, NUMBERS}, {0, 0}},
    {"numbers", {NUMBERS, NUMBERS}, {1, 1}},
    {"unweighted", {UNWEIGHTED, UNWEIGHTED}, {1, 1}},
    {"numbers, null", {NUMBERS, NOTHING}, {1, 0}},
    {"numbers, empty", {NUMBERS, EMPTY}, {1, 0}},
#ifndef OPEN_MPI /* which crashes, as it may: MPI forbids this mixture */
    {"unweighted, null", {UNWEIGHTED, NOTHING}, {1, 0}},
    {"unweighted, empty", {UNWEIGHTED, EMPTY}, {1, 0}},
#endif
    {"unweighted, unweighted without edges", {UNWEIGHTED, UNWEIGHTED}, {1, 0}},
};

enum { MIXTURES = sizeof mixtures / sizeof *mixtures, MOST = 16, LINE = 512 };

static int *weights_of(Form form, int *numbers)
{
    return form == NUMBERS ? numbers : form == UNWEIGHTED ? MPI_UNWEIGHTED :
           form == EMPTY ? MPI_WEIGHTS_EMPTY : NULL;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Task 0 prints the lines of all tasks: launchers mix those that several tasks print at once. */
static void print_all(const char *line)
{
    char *all = calloc((size_t)world_size, LINE);
    OK(MPI_Gather(line, LINE, MPI_CHAR, all, LINE, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int task = 0; world_rank == 0 && task < world_size; task++)
        printf("%s\n", all + (size_t)task * LINE);
    free(all);
}

static void tell(char *line, const char *what, int mixture, int reorder, MPI_Comm graph)
{
    int rank, in = -1, out = -1, weighted = -1, sources[MOST], ends[MOST];
    int in_weights[MOST] = {0}, out_weights[MOST] = {0};
    int length = snprintf(line, LINE, "%s %s%s: ", what, mixtures[mixture].name,
                          reorder ? ", reorder" : "");
    OK(MPI_Comm_rank(graph, &rank));
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    if (in <= MOST && out <= MOST && CHECK(in >= 0 && out >= 0, "%d %d", in, out)) {
        OK(MPI_Dist_graph_neighbors(graph, in, sources, weighted ? in_weights : MPI_UNWEIGHTED, out, ends,
                                    weighted ? out_weights : MPI_UNWEIGHTED));
        qsort(sources, (size_t)in, sizeof *sources, by_value);
        qsort(ends, (size_t)out, sizeof *ends, by_value);
        length += snprintf(line + length, LINE - (size_t)length, "rank %d weighted %d from", rank,
                           weighted);
        for (int i = 0; i < in; i++)
            length += snprintf(line + length, LINE - (size_t)length, " %d", sources[i]);
        length += snprintf(line + length, LINE - (size_t)length, " to");
        for (int i = 0; i < out; i++)
            length += snprintf(line + length, LINE - (size_t)length, " %d", ends[i]);
    }
}

static void make(int mixture, int reorder, int adjacent)
{
    MPI_Comm graph = MPI_COMM_NULL;
    const int kind = world_rank % 2, gives = mixtures[mixture].edges[kind];
    const Form form = mixtures[mixture].form[kind];
    const char *what = adjacent ? "adjacent" : "create";
    char line[LINE] = "";
    int code;
    if (adjacent) {
        /* Ring among the processes that give edges: even ones, or all. */
        const int step = mixtures[mixture].edges[1] ? 1 : 2;
        const int last = mixtures[mixture].edges[1] ? world_size - 1 : (world_size - 1) / 2 * 2;
        int from = world_rank == 0 ? last : world_rank - step;
        int to = world_rank == last ? 0 : world_rank + step;
        int numbers[1] = {3};
        int *weights = weights_of(form, numbers);
        code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, gives, &from, weights, gives, &to, weights,
                                              MPI_INFO_NULL, reorder, &graph);
    } else {
        int source = world_rank, degree = 2, numbers[2] = {3, 4};
        int ends[2] = {(world_rank + 1) % world_size, (world_rank + 2) % world_size};
        code = MPI_Dist_graph_create(MPI_COMM_WORLD, gives, &source, &degree, ends,
                                     weights_of(form, numbers), MPI_INFO_NULL, reorder, &graph);
    }
    if (code == MPI_SUCCESS && graph != MPI_COMM_NULL) {
        tell(line, what, mixture, reorder, graph);
        MPI_Comm_free(&graph);
    } else {
        snprintf(line, LINE, "%s %s%s: refused", what, mixtures[mixture].name, reorder ? ", reorder" : "");
    }
    print_all(line);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int mixture = 0; mixture < MIXTURES; mixture++)
        for (int adjacent = 0; adjacent < 2; adjacent++)
            for (int reorder = 0; reorder < 2; reorder++) {
                MPI_Barrier(MPI_COMM_WORLD);
                make(mixture, reorder, adjacent);
            }
    return verdict("weight_forms");
}
