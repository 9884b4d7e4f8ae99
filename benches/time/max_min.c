/* Simulates flows that share links with max-min fair rates, all started at once (max_min.h).
 *
 * An argument is what `simulate` takes together, and the difference up to which links are full together. Without it,
 * both are as little as rounding needs.
 *
 * Input, any number of cases one after another: the number of links and their bandwidths; the number of flows, and of
 * each its bytes, the number of its links, and each link with what a byte takes of it. Output: the time at which the
 * last flow of each case ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "max_min.h"

int main(int count, char **arguments)
{
    double together = 1e-9;
    if (count > 1)
        together = alike = atof(arguments[1]);
    int links, flows;
    while (scanf("%d", &links) == 1) {
        double *width = malloc(sizeof *width * (links + 1));
        for (int l = 0; width && l < links; l++)
            if (scanf("%lf", &width[l]) != 1)
                return 1;
        if (!width || scanf("%d", &flows) != 1)
            return 1;
        Flow *flow = calloc(flows + 1, sizeof *flow);
        for (int f = 0; flow && f < flows; f++) {
            if (scanf("%lf %d", &flow[f].left, &flow[f].links) != 2)
                return 1;
            flow[f].link = malloc(sizeof *flow[f].link * (flow[f].links + 1));
            flow[f].taken = malloc(sizeof *flow[f].taken * (flow[f].links + 1));
            if (!flow[f].link || !flow[f].taken)
                return 1;
            for (int k = 0; k < flow[f].links; k++) {
                if (scanf("%d %lf", &flow[f].link[k], &flow[f].taken[k]) != 2)
                    return 1;
                if (flow[f].link[k] < 0 || flow[f].link[k] >= links || !(flow[f].taken[k] > 0))
                    return 1;
            }
        }
        if (!flow)
            return 1;
        printf("%.9g\n", simulate(flow, flows, width, links, together));
        fflush(stdout);
        for (int f = 0; f < flows; f++) {
            free(flow[f].link);
            free(flow[f].taken);
        }
        free(flow);
        free(width);
    }
    return 0;
}
