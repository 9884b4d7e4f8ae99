/* The time of flows that share links with max-min fair rates, all started at once. For max_min.c and reach.c.
 *
 * The rates come from progressive filling: all rates grow alike until a link is full, then the flows of this link keep
 * theirs. They are computed anew whenever a flow has ended. Limits: no latency, no messages, no buffers.
 */
#include <stdlib.h>

typedef struct {
    double left, rate;
    int links, *link, open;
} Flow;

/* The rates of all flows with bytes left. */
static void fill(Flow *flow, int flows, const double *width, int links, double *room, int *users)
{
    int open = 0;
    for (int l = 0; l < links; l++) {
        room[l] = width[l];
        users[l] = 0;
    }
    for (int f = 0; f < flows; f++) {
        flow[f].open = flow[f].left > 0;
        open += flow[f].open;
        for (int k = 0; flow[f].open && k < flow[f].links; k++)
            users[flow[f].link[k]]++;
    }
    while (open > 0) {
        double fair = -1;
        for (int l = 0; l < links; l++)
            if (users[l] > 0 && (fair < 0 || room[l] / users[l] < fair))
                fair = room[l] / users[l];
        /* Links whose fair share is this one, up to rounding, are full. */
        int before = open;
        for (int f = 0; f < flows; f++) {
            int full = 0;
            for (int k = 0; flow[f].open && k < flow[f].links; k++) {
                int l = flow[f].link[k];
                full |= room[l] <= fair * users[l] * (1 + 1e-12);
            }
            if (!full)
                continue;
            flow[f].open = 0;
            flow[f].rate = fair;
            open--;
            for (int k = 0; k < flow[f].links; k++) {
                int l = flow[f].link[k];
                room[l] = room[l] > fair ? room[l] - fair : 0;
                users[l]--;
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
    double now = 0, *room = malloc(sizeof *room * (links + 1));
    int *users = malloc(sizeof *users * (links + 1));
    if (!room || !users)
        exit(1);
    for (int left = flows; left > 0;) {
        fill(flow, flows, width, links, room, users);
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
    free(users);
    return now;
}
