/* Simulates a torus 4x4x4 packet by packet, with adaptive routing that sees only the queues of its own router.
 *
 * Input, any number of cases: the number of flows, and of each the sender, the receiver and its packets. Output: the
 * cycle in which the last packet of each case arrives. In a cycle each link carries one packet. A packet goes to the
 * shortest queue of those that bring it closer. A node sends the packets of its flows in turn, as long as the queue has
 * fewer than WINDOW packets. Limits: queues have no end (so nothing deadlocks), and no link tells another that it is
 * full.
 */
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 4, NODES = 64, LINKS = 6 * NODES, WINDOW = 6, ROOM = 1 << 16 };

typedef struct {
    int *to, *fresh, first, count;
} Queue;

typedef struct {
    int from, to, left;
} Flow;

static Queue queue[LINKS];
static const int stride[3] = {16, 4, 1};
static unsigned long long state = 88172645463325252ull;

static unsigned draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11);
}

static int coordinate(int node, int k) { return node / stride[k] % SIDE; }

static int neighbour(int node, int k, int up)
{
    int x = coordinate(node, k);
    return node + ((x + (up ? 1 : SIDE - 1)) % SIDE - x) * stride[k];
}

/* The shortest queue of a node that brings a packet closer; of equal ones, any. */
static int choose(int node, int to)
{
    int way[6], ways = 0, best = -1;
    for (int k = 0; k < 3; k++) {
        int up = (coordinate(to, k) - coordinate(node, k) + SIDE) % SIDE;
        if (up && 2 * up <= SIDE)
            way[ways++] = 6 * node + 2 * k + 1;
        if (up && 2 * up >= SIDE)
            way[ways++] = 6 * node + 2 * k;
    }
    unsigned turn = draw();
    for (int i = 0; i < ways; i++) {
        int link = way[(i + turn) % ways];
        if (best < 0 || queue[link].count < queue[best].count)
            best = link;
    }
    return best;
}

static void push(int link, int to, int fresh)
{
    Queue *q = &queue[link];
    int at = (q->first + q->count++) % ROOM;
    if (q->count > ROOM)
        exit(1);
    q->to[at] = to;
    q->fresh[at] = fresh;
}

/* One cycle of all links, in random order: the packets that arrive. A packet moves once in a cycle. */
static long forward(int now)
{
    long arrived = 0;
    unsigned offset = draw();
    for (unsigned i = 0; i < LINKS; i++) {
        int link = (5 * i + offset) % LINKS, k = link % 6 / 2;
        Queue *q = &queue[link];
        if (q->count == 0 || q->fresh[q->first] == now)
            continue;
        int to = q->to[q->first], node = neighbour(link / 6, k, link % 2);
        q->first = (q->first + 1) % ROOM;
        q->count--;
        if (node == to)
            arrived++;
        else
            push(choose(node, to), to, now);
    }
    return arrived;
}

static int simulate(Flow *flow, int flows, long packets)
{
    int now = 0;
    for (long arrived = 0; arrived < packets;) {
        arrived += forward(++now);
        /* Flows with packets left, each at most two of them, beginning with another one in each cycle. */
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < flows; i++) {
                Flow *f = &flow[(i + now) % flows];
                int link = f->left > 0 ? choose(f->from, f->to) : -1;
                if (link >= 0 && queue[link].count < WINDOW) {
                    push(link, f->to, now);
                    f->left--;
                }
            }
    }
    return now;
}

int main(void)
{
    int flows;
    for (int link = 0; link < LINKS; link++) {
        queue[link].to = malloc(ROOM * sizeof(int));
        queue[link].fresh = malloc(ROOM * sizeof(int));
        if (!queue[link].to || !queue[link].fresh)
            return 1;
    }
    while (scanf("%d", &flows) == 1) {
        Flow *flow = calloc(flows + 1, sizeof *flow);
        long packets = 0;
        for (int f = 0; flow && f < flows; f++) {
            Flow *one = &flow[f];
            if (scanf("%d %d %d", &one->from, &one->to, &one->left) != 3)
                return 1;
            if (one->from < 0 || one->from >= NODES || one->to < 0 || one->to >= NODES)
                return 1;
            if (one->from == one->to)
                one->left = 0;
            packets += one->left;
        }
        if (!flow)
            return 1;
        printf("%d\n", simulate(flow, flows, packets));
        fflush(stdout);
        free(flow);
    }
    return 0;
}
