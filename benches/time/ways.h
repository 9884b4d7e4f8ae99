/* Networks where chance has a part in the ways of the flows, and the draws of this chance. For reach.c.
 *
 * A draw is one play of all chance, given by a number. How a draw chooses ways is the same as in networks.py: with the
 * same random numbers, both choose the same ones. Here it is fast enough for a search. A mapping is the slot of each
 * task.
 *
 * Limits: SLOTS tasks, one on each slot; no two flows with the same ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "max_min.h"

enum { SLOTS = 64, LINKS = 1024, FLOWS = 4096, PARTS = 8, HOPS = 16 };
/* How a network chooses: by a hash among all ways; the shortest way or a detour; one hop after another. */
enum { HASH, DETOURS, HOP_BY_HOP };
/* The choices of the hash, and how many detours a part looks at. */
enum { UPLINKS = 4, CORES = 2, SAMPLE = 4 };

typedef struct {
    int from, to;
    double bytes;
} Message;

/* The network. The ways from slot a to b are those from first[a * slots + b] on, and the entries of way w are
 * entry[start[w]] to entry[start[w + 1]]: its links, the first and last of them those of hosts. With HOP_BY_HOP a way
 * is one hop: a link, and the slot to which it leads. The links from `inner` on are those of hosts. */
static struct {
    int kind, slots, links, inner, parts;
    double width[LINKS];
    int at_switch[SLOTS], first[SLOTS * SLOTS + 1], *start, *entry;
} net;

static Message flow[FLOWS];
static int flows, mappings, (*mapping)[SLOTS];
/* For each task the flows that it sends or receives. */
static int incident[SLOTS][FLOWS], incidents[SLOTS];

static double load[LINKS], queue[LINKS];
/* What each part chose: a way, or the hops as digits of base 8. */
static int choice[FLOWS * PARTS];
static uint64_t state;

static int wrong(const char *what)
{
    fprintf(stderr, "reach: %s\n", what);
    exit(1);
}

static void *room(size_t count, size_t size)
{
    void *found = calloc(count + 1, size);
    if (!found)
        wrong("no memory");
    return found;
}

/* SplitMix64. */
static void seed_with(uint64_t seed) { state = seed * 0xd1342543de82ef95u + 1; }

static uint64_t next(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void) { return (double)(next() >> 11) * 0x1p-53; }

/* A number below n. */
static int below(int n) { return (int)(uniform() * n); }

static int ways(int pair) { return net.first[pair + 1] - net.first[pair]; }

static void put(int link, double bytes)
{
    load[link] += bytes;
    queue[link] = load[link] / net.width[link];
}

/* The longest queue of a way behind the link of the host. */
static double longest(int way)
{
    double most = 0;
    for (int k = net.start[way] + 1; k < net.start[way + 1] - 1; k++)
        if (queue[net.entry[k]] > most)
            most = queue[net.entry[k]];
    return most;
}

/* UGAL: a longer way where its queue times its length is smaller. */
static int by_queue(int pair)
{
    int best = net.first[pair], others = ways(pair) - 1, pool[SLOTS], other = -1;
    if (others == 0)
        return best;
    for (int k = 0; k < others; k++)
        pool[k] = best + 1 + k;
    double least = 0;
    for (int k = 0; k < SAMPLE && k < others; k++) {
        int j = k + below(others - k), way = pool[j];
        pool[j] = pool[k];
        double most = longest(way);
        if (other < 0 || most < least) {
            other = way;
            least = most;
        }
    }
    int short_hops = net.start[best + 1] - net.start[best] - 2, hops = net.start[other + 1] - net.start[other] - 2;
    return longest(best) * short_hops > least * hops ? other : best;
}

static int by_hash(int pair)
{
    if (ways(pair) == 1)
        return net.first[pair];
    int uplink = below(UPLINKS);
    return net.first[pair] + uplink * CORES + below(CORES);
}

/* The next hop with the least load, by chance among equals. Puts the bytes on the links; returns the hops as digits. */
static int hop_by_hop(int from, int to, double bytes)
{
    int digits = 0;
    for (int scale = 1; from != to; scale *= 8) {
        int pair = from * net.slots + to, best = 0;
        double least = 0, tie = 0;
        for (int k = 0; k < ways(pair); k++) {
            double there = load[net.entry[net.start[net.first[pair] + k]]], chance = uniform();
            if (k == 0 || there < least || (there == least && chance < tie)) {
                best = k;
                least = there;
                tie = chance;
            }
        }
        const int *hop = net.entry + net.start[net.first[pair] + best];
        put(hop[0], bytes);
        digits += scale * best;
        from = hop[1];
    }
    return digits;
}

/* Chooses the ways of all parts, in the draw `seed`. Returns the largest load of a link over its bandwidth. */
static double route(const int *place, uint64_t seed)
{
    static int order[FLOWS * PARTS];
    int count = flows * net.parts;
    seed_with(seed);
    for (int k = 0; k < count; k++)
        order[k] = k;
    for (int k = count - 1; k > 0; k--) {
        int j = below(k + 1), kept = order[k];
        order[k] = order[j];
        order[j] = kept;
    }
    memset(load, 0, sizeof load);
    memset(queue, 0, sizeof queue);
    for (int k = 0; k < count; k++) {
        const Message *m = flow + order[k] / net.parts;
        int from = place[m->from], to = place[m->to], pair = from * net.slots + to;
        double bytes = m->bytes / net.parts;
        if (net.kind == HOP_BY_HOP) {
            choice[order[k]] = hop_by_hop(from, to, bytes);
            continue;
        }
        int way = net.kind == HASH ? by_hash(pair) : by_queue(pair);
        choice[order[k]] = way;
        for (int e = net.start[way]; e < net.start[way + 1]; e++)
            put(net.entry[e], bytes);
    }
    double most = 0;
    for (int l = 0; l < net.links; l++)
        most = queue[l] > most ? queue[l] : most;
    return most;
}

/* The links of what a part of a flow chose; their number. */
static int chosen_links(int from, int to, int digits, int *links)
{
    int count = 0;
    if (net.kind != HOP_BY_HOP) {
        for (int e = net.start[digits]; e < net.start[digits + 1]; e++)
            links[count++] = net.entry[e];
        return count;
    }
    for (; from != to; digits /= 8) {
        const int *hop = net.entry + net.start[net.first[from * net.slots + to] + digits % 8];
        links[count++] = hop[0];
        from = hop[1];
    }
    return count;
}

/* The time with max-min fair rates in the draw `seed`; see `simulate` for `together`. Parts of a flow that take the
 * same way are one. */
static double time_of(const int *place, uint64_t seed, double together)
{
    static Flow part[FLOWS * PARTS];
    static int links[FLOWS * PARTS][HOPS];
    int parts = 0;
    route(place, seed);
    for (int f = 0; f < flows; f++) {
        const int *own = choice + f * net.parts;
        int of[PARTS];
        for (int k = 0; k < net.parts; k++) {
            int same = 0;
            while (own[same] != own[k])
                same++;
            if (same < k) {
                of[k] = of[same];
                part[of[k]].left += flow[f].bytes / net.parts;
                continue;
            }
            of[k] = parts++;
            int *own_links = links[of[k]];
            int count = chosen_links(place[flow[f].from], place[flow[f].to], own[k], own_links);
            part[of[k]] = (Flow){.left = flow[f].bytes / net.parts, .links = count, .link = own_links};
        }
    }
    return simulate(part, parts, net.width, net.links, together);
}

static int number(void)
{
    int n;
    if (scanf("%d", &n) != 1)
        wrong("a number is missing");
    return n;
}

/* Reads the network: its kind, slots, links, links that are not of hosts, and parts of a flow; the bandwidths; the
 * switch of each slot; for each pair of slots the number of ways, and of each way the number of its entries and the
 * entries. */
static void read_network(void)
{
    net.kind = number();
    net.slots = number();
    net.links = number();
    net.inner = number();
    net.parts = number();
    if (net.slots != SLOTS || net.links > LINKS || net.parts > PARTS)
        wrong("too large");
    for (int l = 0; l < net.links; l++)
        if (scanf("%lf", &net.width[l]) != 1)
            wrong("a bandwidth is missing");
    for (int s = 0; s < net.slots; s++)
        net.at_switch[s] = number();
    int most = SLOTS * SLOTS * HOPS;
    net.start = room(most, sizeof *net.start);
    net.entry = room((size_t)most * HOPS, sizeof *net.entry);
    int way = 0, entries = 0;
    for (int pair = 0; pair < net.slots * net.slots; pair++) {
        net.first[pair + 1] = net.first[pair] + number();
        for (; way < net.first[pair + 1]; way++) {
            int count = number();
            if (count > HOPS || way >= most)
                wrong("too many ways");
            for (int k = 0; k < count; k++)
                net.entry[entries++] = number();
            net.start[way + 1] = entries;
        }
    }
}

/* Reads the network, the flows (sender, receiver, bytes) and the mappings (the slots of all tasks), with their
 * numbers. */
static void read_all(void)
{
    read_network();
    flows = number();
    if (flows > FLOWS)
        wrong("too many flows");
    for (int f = 0; f < flows; f++) {
        flow[f].from = number();
        flow[f].to = number();
        flow[f].bytes = number();
        int ends[2] = {flow[f].from, flow[f].to};
        for (int k = 0; k < 2; k++)
            incident[ends[k]][incidents[ends[k]]++] = f;
    }
    mappings = number();
    mapping = room(mappings, sizeof *mapping);
    for (int m = 0; m < mappings; m++)
        for (int t = 0; t < net.slots; t++)
            mapping[m][t] = number();
}
