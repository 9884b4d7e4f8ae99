/* Tests the identity of communicators and groups: MPI_Comm_compare, groups, translation of ranks, names. */
#include "check.h"

static int compare(MPI_Comm a, MPI_Comm b)
{
    int result = -1;
    OK(MPI_Comm_compare(a, b, &result));
    return result;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm copy, same, reversed, part;
    SAME(compare(w, w), MPI_IDENT);
    OK(MPI_Comm_dup(w, &copy));
    SAME(compare(w, copy), MPI_CONGRUENT);
    SAME(compare(copy, w), MPI_CONGRUENT);
    SAME(compare(copy, copy), MPI_IDENT);
    OK(MPI_Comm_split(w, 0, world_rank, &same));
    SAME(compare(w, same), MPI_CONGRUENT);
    OK(MPI_Comm_split(w, 0, -world_rank, &reversed));
    SAME(compare(w, reversed), MPI_SIMILAR);
    SAME(compare(reversed, w), MPI_SIMILAR);
    OK(MPI_Comm_split(w, world_rank == 0, 0, &part));
    SAME(compare(w, part), MPI_UNEQUAL);
    SAME(compare(w, MPI_COMM_SELF), MPI_UNEQUAL);

    MPI_Group world, other, turned, none, sub;
    int rank, size, result;
    OK(MPI_Comm_group(w, &world));
    MPI_Group_rank(world, &rank);
    MPI_Group_size(world, &size);
    SAME(rank, world_rank);
    SAME(size, world_size);
    OK(MPI_Comm_group(copy, &other));
    OK(MPI_Group_compare(world, other, &result));
    SAME(result, MPI_IDENT);
    OK(MPI_Comm_group(reversed, &turned));
    OK(MPI_Group_compare(world, turned, &result));
    SAME(result, MPI_SIMILAR);
    int *from = malloc(sizeof(int) * (size_t)size), *to = malloc(sizeof(int) * (size_t)size);
    for (int i = 0; i < size; i++)
        from[i] = i;
    OK(MPI_Group_translate_ranks(world, size, from, turned, to));
    for (int i = 0; i < size; i++)
        SAME(to[i], size - 1 - i);
    OK(MPI_Group_translate_ranks(turned, size, from, world, to));
    for (int i = 0; i < size; i++)
        SAME(to[i], size - 1 - i);
    int nobody = MPI_PROC_NULL, translated;
    OK(MPI_Group_translate_ranks(world, 1, &nobody, turned, &translated));
    SAME(translated, MPI_PROC_NULL);

    int two[2] = {size - 1, 0}, range[1][3] = {{size - 1, 0, -1}};
    OK(MPI_Group_incl(world, 2, two, &sub));
    OK(MPI_Group_translate_ranks(sub, 2, from, world, to));
    SAME(to[0], size - 1);
    SAME(to[1], 0);
    OK(MPI_Group_free(&sub));
    OK(MPI_Group_range_incl(world, 1, range, &sub));
    OK(MPI_Group_compare(sub, turned, &result));
    SAME(result, MPI_IDENT);
    OK(MPI_Group_free(&sub));
    OK(MPI_Group_excl(world, 1, two, &sub));
    MPI_Group_size(sub, &size);
    SAME(size, world_size - 1);
    OK(MPI_Group_difference(world, sub, &none));
    MPI_Group_size(none, &size);
    SAME(size, 1);
    OK(MPI_Group_free(&none));
    OK(MPI_Group_intersection(world, sub, &none));
    OK(MPI_Group_compare(none, sub, &result));
    SAME(result, MPI_IDENT);
    OK(MPI_Group_free(&none));
    OK(MPI_Group_union(sub, world, &none));
    MPI_Group_size(none, &size);
    SAME(size, world_size);
    OK(MPI_Group_free(&none));
    OK(MPI_Group_free(&sub));
    OK(MPI_Group_difference(world, world, &none));
    SAME(none == MPI_GROUP_EMPTY, 1);

    /* Names. */
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Comm_get_name(w, name, &length));
    CHECK(!strcmp(name, "MPI_COMM_WORLD"), "the world is called '%s'", name);
    SAME(length, 14);
    OK(MPI_Comm_get_name(copy, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") != 0 || length == 14, "'%s'", name);
    OK(MPI_Comm_set_name(w, "everybody"));
    OK(MPI_Comm_get_name(w, name, &length));
    CHECK(!strcmp(name, "everybody"), "'%s'", name);
    OK(MPI_Comm_set_name(copy, "copy"));
    OK(MPI_Comm_get_name(copy, name, &length));
    CHECK(!strcmp(name, "copy"), "'%s'", name);
    OK(MPI_Comm_get_name(w, name, &length));
    CHECK(!strcmp(name, "everybody"), "'%s'", name);

    int inter = 1;
    OK(MPI_Comm_test_inter(w, &inter));
    SAME(inter, 0);

    free(from);
    free(to);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&other));
    OK(MPI_Group_free(&turned));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&same));
    OK(MPI_Comm_free(&reversed));
    OK(MPI_Comm_free(&part));
    return verdict("compare");
}
