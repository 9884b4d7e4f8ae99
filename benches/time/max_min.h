/* The time of flows that share links with max-min fair rates, all started at once. For max_min.c and reach.c.
 *
 * The rates come from progressive filling: all rates grow alike until a link is full, then the flows of this link keep
 * theirs. They are computed anew whenever a flow has ended. A byte may take more than one byte of a link: so the end of
 * a flow pays for messages. Limits: no latency, no buffers.
 */
#include <stdlib.h>

/* `taken` is what a byte takes of each link; without it, one byte of each. */
typedef struct {
    double left, rate, *taken;
    int links, *link, open;
} Flow;

/* Links whose fair share is above the least one by no more than this part are full together with it. */
static double alike = 1e-12;

static double taken(const Flow *flow, int k) { return flow->taken ? flow->taken[k] : 1; }

/* The rates of all flows with bytes left. `wanted` is what all users of a link take of it at a rate of 1. */
static void fill(Flow *flow, int flows, const double *width, int links, double *room, int *users, double *wanted)
{
    int open = 0;
    for (int l = 0; l < links; l++) {
        room[l] = width[l];
        wanted[l] = users[l] = 0;
    }
    for (int f = 0; f < flows; f++) {
        flow[f].open = flow[f].left > 0;
        open += flow[f].open;
        for (int k = 0; flow[f].open && k < flow[f].links; k++) {
            users[flow[f].link[k]]++;
            wanted[flow[f].link[k]] += taken(&flow[f], k);
        }
    }
    while (open > 0) {
        double fair = -1;
        for (int l = 0; l < links; l++)
            if (users[l] > 0 && (fair < 0 || room[l] / wanted[l] < fair))
                fair = room[l] / wanted[l];
        int before = open;
        for (int f = 0; f < flows; f++) {
            int full = 0;
            for (int k = 0; flow[f].open && k < flow[f].links; k++) {
                int l = flow[f].link[k];
                full |= room[l] <= fair * wanted[l] * (1 + alike);
            }
            if (!full)
                continue;
            flow[f].open = 0;
            flow[f].rate = fair;
            open--;
            for (int k = 0; k < flow[f].links; k++) {
                int l = flow[f].link[k];
                double used = fair * taken(&flow[f], k);
                room[l] = room[l] > used ? room[l] - used : 0;
                users[l]--;
                wanted[l] -= taken(&flow[f], k);
            }
        }
        if (open == before)
            break;
    }
}

/* The time at which the last flow ends. Nothing is left of the flows then. Flows that would end within the part
 * `together` of the time since the start end with those that end now: 1e-9 for rounding only, more for speed. */
static double simulate(Flow *flow, int flows, const double *width, int links, double together)
{
    double now = 0, *room = malloc(sizeof *room * (links + 1)), *wanted = malloc(sizeof *wanted * (links + 1));
    int *users = malloc(sizeof *users * (links + 1));
    if (!room || !users || !wanted)
        exit(1);
    for (int left = flows; left > 0;) {
        fill(flow, flows, width, links, room, users, wanted);
        double step = -1;
        for (int f = 0; f < flows; f++)
            if (flow[f].left > 0 && (step < 0 || flow[f].left / flow[f].rate < step))
                step = flow[f].left / flow[f].rate;
        now += step;
        left = 0;
        for (int f = 0; f < flows; f++) {
            if (flow[f].left <= 0)
                continue;
            flow[f].left -= flow[f].rate * step;
            if (flow[f].left <= together * flow[f].rate * now)
                flow[f].left = 0;
            left += flow[f].left > 0;
        }
    }
    free(room);
    free(wanted);
    free(users);
    return now;
}
