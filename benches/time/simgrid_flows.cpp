/* As max_min.c, but SimGrid judges: its flow model of TCP (LV08), which gives flows over many links a smaller share.
 *
 * The input is that of max_min.c, one case. Each flow has two hosts of its own, so that it has a route of its own. The
 * result is in the unit of max_min.c. SimGrid takes about 3 % longer, because 3 % of the bandwidth are for headers.
 * judges.py compiles this file where SimGrid is installed.
 */
#include <iostream>
#include <string>
#include <vector>
#include <simgrid/s4u.hpp>

namespace s4u = simgrid::s4u;

/* Bytes per second of a link of bandwidth 1, and the latency of a link in seconds. */
static const double BANDWIDTH = 1e9, LATENCY = 1e-7;
/* Bytes of a byte of the input: messages are long, so that latencies do not decide. */
static const double SCALE = 1e5;

struct Flow {
    double bytes;
    s4u::Host *from, *to;
};

static void send_all(const std::vector<Flow> *flows)
{
    std::vector<s4u::CommPtr> all;
    for (const Flow &flow : *flows)
        all.push_back(s4u::Comm::sendto_async(flow.from, flow.to, static_cast<uint64_t>(flow.bytes * SCALE)));
    s4u::Comm::wait_all(all);
}

int main(int argc, char **argv)
{
    s4u::Engine engine(&argc, argv);
    auto *zone = s4u::create_full_zone("network");
    int links, count;
    std::cin >> links;
    std::vector<s4u::Link *> link;
    for (int l = 0; l < links; l++) {
        double width;
        std::cin >> width;
        link.push_back(zone->create_link("l" + std::to_string(l), width * BANDWIDTH)->set_latency(LATENCY)->seal());
    }
    std::cin >> count;
    std::vector<Flow> flows;
    for (int f = 0; f < count; f++) {
        Flow flow;
        int length, number;
        std::cin >> flow.bytes >> length;
        flow.from = zone->create_host("a" + std::to_string(f), 1e9)->seal();
        flow.to = zone->create_host("b" + std::to_string(f), 1e9)->seal();
        std::vector<s4u::LinkInRoute> route;
        for (int k = 0; k < length; k++) {
            std::cin >> number;
            route.emplace_back(link.at(number));
        }
        zone->add_route(flow.from->get_netpoint(), flow.to->get_netpoint(), nullptr, nullptr, route, false);
        flows.push_back(flow);
    }
    if (!std::cin)
        return 1;
    zone->seal();
    if (count > 0) {
        s4u::Actor::create("sender", flows.front().from, send_all, &flows);
        engine.run();
    }
    std::cout << s4u::Engine::get_clock() * BANDWIDTH / SCALE << std::endl;
    return 0;
}
