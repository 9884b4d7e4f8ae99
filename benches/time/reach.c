/* Searches for the mapping with the shortest simulated time, where chance has a part in the ways of the flows.
 *
 *     reach judge FIRST DRAWS        the time of each mapping in each of the draws FIRST, FIRST + 1 and so on
 *     reach loads FIRST DRAWS        the same for the largest load of a link over its bandwidth
 *     reach search PROPOSALS DRAWS   the best mapping found from those given, on one line
 *
 * Input (benches/time/reach.py writes it): the network, the flows, and mappings, as `read_all` in ways.h reads them.
 *
 * The search is simulated annealing by exchanges of two tasks. It minimises the mean over DRAWS draws of the largest
 * load of a link over its bandwidth. This is a lower bound of the simulated time, and mostly close to it. Where it is
 * not, the search anneals once more by the time. Each of the ROUNDS rounds has draws of its own, so that the search
 * does not fit the chance of some of them. Under a hash, an exchange changes the loads of the moved flows only. Other
 * networks choose all ways anew. Last, the best states of all rounds are judged by draws that the search has not seen.
 *
 * Limits: those of ways.h; bytes are whole numbers under a hash; the answer is not proved best.
 */
#include <math.h>

#include "ways.h"

/* Rounds of an annealing; states that are kept; proposals after which the search looks for the slowest links again;
 * most draws of a round; and simulations of each state in the last choice. */
enum { ROUNDS = 12, KEPT = 512, REFRESH = 8, DRAWS = 1024, CHECKS = 12 };
/* Two ways to anneal: what is accepted in the first round, as a part of the mean, and how much the mean load of all
 * links counts then beside the largest one. The first stays close to short ways, the second leaves them. */
static const double HEAT[] = {0.003, 0.03}, LITTLE[] = {3, 0.2};
enum { COLD = 2 };
/* What is left of the heat in the last round, and how much the mean load counts there. */
static const double COOLING = 0.05, LEAST = 0.1;
/* Behind the kinds of networks. */
enum { TIMED = HOP_BY_HOP + 1 };
/* A proposal is given up if it is worse than allowed by this part of the mean and the square root of the draws seen:
 * about two standard deviations of what an exchange changes in a draw. By the kind of network; last for the time. */
static const double SLACK[] = {0.25, 0.06, 0.06, 0.02};
/* What `simulate` takes together: as little as the bench does, and enough to be fast. */
static const double EXACT = 1e-9, ROUGH = 0.005;
/* First draws of the search, of the choice among its answers, and of the last choice. Judges use smaller numbers. */
static const uint64_t TRAINING = 1000000000, CHOICE = 2000000000, LAST = 3000000000u;

/* The state of the search: a mapping, the worth of each draw, and under a hash the ways and the loads. The mean
 * load of all links counts `little` times beside the largest one. */
static struct {
    int place[SLOTS], draws, timed;
    uint64_t first;
    double limit, little, largest, mean, worth[DRAWS], proposed[DRAWS];
    unsigned char *chance;
    int *bytes;
} now;

/* A flow that an exchange moves, and its pairs of slots before and after. */
typedef struct {
    int flow, before, after;
} Move;

static Move move[FLOWS];
static int moves;

static int pair_of(int f) { return now.place[flow[f].from] * net.slots + now.place[flow[f].to]; }

/* Exchanges two tasks and lists the flows that move. */
static void exchange(int i, int j)
{
    moves = 0;
    for (int k = 0; k < incidents[i]; k++)
        move[moves++].flow = incident[i][k];
    for (int k = 0; k < incidents[j]; k++) {
        int f = incident[j][k];
        if (flow[f].from != i && flow[f].to != i)
            move[moves++].flow = f;
    }
    for (int m = 0; m < moves; m++)
        move[m].before = pair_of(move[m].flow);
    int kept = now.place[i];
    now.place[i] = now.place[j];
    now.place[j] = kept;
    for (int m = 0; m < moves; m++)
        move[m].after = pair_of(move[m].flow);
}

/* Under a hash: adds a flow between a pair of slots to the loads of a draw, or takes it off. What the hash gives to a
 * flow stays the same wherever its ends are. */
static void add_hashed(int draw, int f, int pair, int bytes)
{
    int way = net.first[pair] + (ways(pair) > 1 ? now.chance[draw * flows + f] : 0);
    for (int e = net.start[way] + 1; e < net.start[way + 1] - 1; e++)
        now.bytes[draw * net.inner + net.entry[e]] += bytes;
}

/* What a draw is worth after the flows have moved: the largest load, and a little of all loads, because many
 * exchanges do not change the largest one. All inner links have bandwidth 1 under a hash. */
static double draw_worth(int draw)
{
    double most = now.limit, sum = 0;
    if (net.kind != HASH) {
        double found = route(now.place, now.first + draw);
        /* The time is never below the largest load, which is known much earlier. */
        if (now.timed && found <= now.worth[draw] * (1 + SLACK[TIMED]))
            found = time_of(now.place, now.first + draw, ROUGH);
        for (int l = 0; l < net.inner; l++)
            sum += queue[l];
        now.largest = found > most ? found : most;
        return now.largest + now.little * sum / net.inner;
    }
    for (int m = 0; m < moves; m++) {
        int f = move[m].flow, bytes = (int)flow[f].bytes;
        add_hashed(draw, f, move[m].before, -bytes);
        add_hashed(draw, f, move[m].after, bytes);
    }
    const int *own = now.bytes + draw * net.inner;
    for (int l = 0; l < net.inner; l++) {
        most = own[l] > most ? own[l] : most;
        sum += own[l];
    }
    now.largest = most;
    return most + now.little * sum / net.inner;
}

/* Exchanges two tasks if the mean grows by no more than `heat`. Gives up as soon as the first draws are clearly
 * worse. */
static void propose(int i, int j, double heat)
{
    exchange(i, j);
    double change = 0;
    int done = 0;
    for (int going = 1; going && done < now.draws;) {
        now.proposed[done] = draw_worth(done);
        change += now.proposed[done] - now.worth[done];
        done++;
        going = change <= done * heat + SLACK[now.timed ? TIMED : net.kind] * now.mean * sqrt(done);
    }
    if (done == now.draws && change <= done * heat) {
        memcpy(now.worth, now.proposed, sizeof now.worth);
        now.mean += change / done;
        return;
    }
    exchange(j, i);
    for (int d = 0; net.kind == HASH && d < done; d++)
        for (int m = 0; m < moves; m++) {
            int f = move[m].flow, bytes = (int)flow[f].bytes;
            add_hashed(d, f, move[m].before, -bytes);
            add_hashed(d, f, move[m].after, bytes);
        }
}

/* Begins a round from a mapping, with draws of its own. Returns whether any mapping can be better. */
static int begin(const int *place, int draws, uint64_t first)
{
    memcpy(now.place, place, sizeof now.place);
    now.draws = draws;
    now.first = first;
    if (net.kind == HASH) {
        free(now.chance);
        free(now.bytes);
        now.chance = room((size_t)draws * flows, 1);
        now.bytes = room((size_t)draws * net.inner, sizeof *now.bytes);
        seed_with(first);
        for (int d = 0; d < draws; d++)
            for (int f = 0; f < flows; f++) {
                now.chance[d * flows + f] = (unsigned char)below(UPLINKS * CORES);
                add_hashed(d, f, pair_of(f), (int)flow[f].bytes);
            }
    }
    moves = 0;
    now.mean = 0;
    double most = 0;
    for (int d = 0; d < draws; d++) {
        now.worth[d] = INFINITY;
        now.worth[d] = draw_worth(d);
        now.mean += now.worth[d] / draws;
        most = now.largest > most ? now.largest : most;
    }
    return most > now.limit;
}

static int hashed_most(int draw)
{
    const int *own = now.bytes + draw * net.inner;
    int most = 0;
    for (int l = 0; l < net.inner; l++)
        most = own[l] > most ? own[l] : most;
    return most;
}

/* The tasks with flows over the most loaded links of a draw; their number. */
static int hot_tasks(int draw, int *tasks)
{
    int links[HOPS], hot[SLOTS] = {0}, count = 0;
    double most = 0.97 * (net.kind == HASH ? hashed_most(draw) : route(now.place, now.first + draw));
    for (int f = 0; f < flows; f++)
        for (int k = 0; k < net.parts; k++) {
            int pair = pair_of(f);
            int chosen = net.kind != HASH ? choice[f * net.parts + k]
                                          : net.first[pair] + (ways(pair) > 1 ? now.chance[draw * flows + f] : 0);
            int used = chosen_links(now.place[flow[f].from], now.place[flow[f].to], chosen, links);
            for (int l = 0; l < used; l++) {
                if (links[l] >= net.inner)
                    continue;
                if ((net.kind == HASH ? now.bytes[draw * net.inner + links[l]] : queue[links[l]]) >= most)
                    hot[flow[f].from] = hot[flow[f].to] = 1;
            }
        }
    for (int t = 0; t < net.slots; t++)
        if (hot[t])
            tasks[count++] = t;
    return count;
}

/* What no mapping can lower: the bytes of the busiest host over its link. With HOP_BY_HOP it is spread over all
 * links. */
static double host_limit(void)
{
    double sent[SLOTS] = {0}, received[SLOTS] = {0}, most = 0;
    for (int f = 0; f < flows; f++) {
        sent[flow[f].from] += flow[f].bytes;
        received[flow[f].to] += flow[f].bytes;
    }
    for (int t = 0; t < net.slots; t++) {
        most = sent[t] > most ? sent[t] : most;
        most = received[t] > most ? received[t] : most;
    }
    return net.kind == HOP_BY_HOP ? most * net.slots / net.links : most;
}

/* Good states, for the choice at the end. */
typedef struct {
    int place[SLOTS];
    double load;
} Kept;

static Kept kept[KEPT];
static int keeps;

static void keep(const int *place)
{
    for (int k = 0; k < keeps; k++)
        if (!memcmp(kept[k].place, place, sizeof kept[k].place))
            return;
    if (keeps == KEPT)
        wrong("too many states");
    memcpy(kept[keeps++].place, place, sizeof kept[0].place);
}

/* One round of exchanges from the state of `begin`; a third of them begins at any task, the others at one of a link
 * with most load. Keeps the best and the last state. */
static void round_of(long proposals, double heat, uint64_t *luck)
{
    double best = now.mean;
    int best_place[SLOTS], hot[SLOTS], hots = 0;
    memcpy(best_place, now.place, sizeof best_place);
    for (long k = 0; k < proposals; k++) {
        /* The draws set the state of the generator; the search has its own. */
        state = *luck;
        int i = below(net.slots), j = below(net.slots), guided = below(3) > 0, at = below(net.slots);
        double chance = 1 - uniform();
        int draw = below(now.draws);
        *luck = state;
        if (k % REFRESH == 0)
            hots = hot_tasks(draw, hot);
        if (guided && hots > 0)
            i = hot[at % hots];
        if (net.at_switch[now.place[i]] == net.at_switch[now.place[j]])
            continue;
        propose(i, j, -heat * now.mean * log(chance));
        if (now.mean < best) {
            best = now.mean;
            memcpy(best_place, now.place, sizeof best_place);
        }
    }
    keep(best_place);
    keep(now.place);
}

/* Judges what was kept by many draws and sorts it, the best first. Keeps no more than `most`. */
static void choose(int most, int draws, uint64_t first)
{
    for (int k = 0; k < keeps; k++) {
        kept[k].load = 0;
        for (int d = 0; d < draws; d++)
            kept[k].load += route(kept[k].place, first + d) / draws;
        for (int j = k; j > 0 && kept[j].load < kept[j - 1].load; j--) {
            Kept other = kept[j];
            kept[j] = kept[j - 1];
            kept[j - 1] = other;
        }
    }
    keeps = keeps < most ? keeps : most;
}

/* The simulated time of a mapping over its largest load, which hardly varies from draw to draw. */
static double above_load(const int *place)
{
    double times = 0, loads = 0;
    for (int d = 0; d < CHECKS; d++) {
        times += time_of(place, LAST + d, ROUGH);
        loads += route(place, LAST + d);
    }
    return times / loads;
}

/* Corrects the loads of what was kept to simulated times and puts the best first. Does nothing and returns 0 where the
 * time is the largest load. */
static int choose_by_time(void)
{
    if (time_of(kept[0].place, LAST, ROUGH) < 1.005 * route(kept[0].place, LAST))
        return 0;
    for (int k = 0; k < keeps; k++) {
        kept[k].load *= above_load(kept[k].place);
        if (kept[k].load < kept[0].load) {
            Kept other = kept[0];
            kept[0] = kept[k];
            kept[k] = other;
        }
    }
    return 1;
}

/* Anneals from a mapping in one of the two ways: `proposals` in all, with `draws` in each round. The last way is cold,
 * for what is good. */
static void anneal(const int *from, long proposals, int draws, int way)
{
    static uint64_t luck = 1, first = TRAINING;
    int place[SLOTS], cold = way == COLD;
    memcpy(place, from, sizeof place);
    keep(place);
    for (int r = 0; r < ROUNDS; r++, first += (uint64_t)draws) {
        double part = (double)r / (ROUNDS - 1);
        now.little = cold ? LEAST : LITTLE[way] * pow(LEAST / LITTLE[way], part);
        if (!begin(place, draws, first))
            break;
        round_of(proposals / ROUNDS, (cold ? HEAT[0] / 2 : HEAT[way]) * pow(COOLING, part), &luck);
        memcpy(place, now.place, sizeof place);
    }
}

/* Anneals from each mapping, and from the best state again, colder and with more draws. Where ways adapt, the time
 * differs from the largest load by a few per cent, so it anneals once more by the time. Prints the best state. */
static void search(long proposals, int draws)
{
    now.limit = host_limit();
    for (int m = 0; m < mappings; m++)
        for (int way = 0; way < COLD; way++)
            anneal(mapping[m], proposals / COLD, draws, way);
    choose(12, 4 * draws, CHOICE);
    anneal(kept[0].place, proposals / 2, 4 * draws, COLD);
    if (net.kind != HASH) {
        choose(24, 12 * draws, CHOICE);
        /* What was given may have a larger load and yet a shorter time. */
        for (int m = 0; m < mappings; m++)
            keep(mapping[m]);
        choose(KEPT, 12 * draws, CHOICE);
        now.timed = choose_by_time();
    }
    if (now.timed)
        anneal(kept[0].place, proposals / 3, 2 * draws, COLD);
    choose(net.kind == HASH ? 12 : KEPT, 25 * draws, LAST);
    choose_by_time();
    for (int t = 0; t < net.slots; t++)
        printf("%d ", kept[0].place[t]);
    printf("\n");
}

int main(int count, char **arguments)
{
    if (count != 4)
        return wrong("see the head of reach.c");
    long first = atol(arguments[2]), draws = atol(arguments[3]);
    read_all();
    if (!strcmp(arguments[1], "search") && 4 * draws <= DRAWS) {
        search(first, (int)draws);
        return 0;
    }
    int loads = !strcmp(arguments[1], "loads");
    for (int m = 0; m < mappings; m++)
        for (long d = 0; d < draws; d++) {
            uint64_t draw = (uint64_t)(first + d);
            double found = loads ? route(mapping[m], draw) : time_of(mapping[m], draw, EXACT);
            printf("%.9g%c", found, d + 1 < draws ? ' ' : '\n');
        }
    return 0;
}
