// SPDX-License-Identifier: BSD-3-Clause
#include "unit/lab/survey/fluid_network.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tutti::survey {
namespace {

double uniform(Prng& random) { return static_cast<double>(random.below(1u << 20)) / (1u << 20); }

double noisy(const Network& network, double ns, Prng& random) {
    ns *= 1 + network.noise * uniform(random);
    return uniform(random) < network.outliers ? 3 * ns : ns;
}

// Links are numbered: hosts' up and down, then switches'.
std::vector<uint32_t> links_of(const Network& network, const Transfer& who) {
    std::vector<uint32_t> links{2 * who.from, 2 * who.to + 1};
    uint32_t up = network.switch_of[who.from];
    std::vector<uint32_t> above_from;
    for (uint32_t at = up; at != Network::kNone; at = network.parent[at]) above_from.push_back(at);
    std::vector<uint32_t> above_to;
    for (uint32_t at = network.switch_of[who.to]; at != Network::kNone; at = network.parent[at]) {
        above_to.push_back(at);
    }
    while (!above_from.empty() && !above_to.empty() && above_from.back() == above_to.back()) {
        above_from.pop_back();
        above_to.pop_back();
    }
    for (const uint32_t at : above_from) links.push_back(2 * (network.hosts() + at));
    for (const uint32_t at : above_to) links.push_back(2 * (network.hosts() + at) + 1);
    return links;
}

double capacity(const Network& network, uint32_t link) {
    const uint32_t number = link / 2;
    return number < network.hosts() ? network.host_speed[number]
                                    : network.up_speed[number - network.hosts()];
}

// Raises all rates alike until a link is full, whose transfers then stand; and so on.
std::vector<double> rates(const Network& network, const std::vector<std::vector<uint32_t>>& links,
                          const std::vector<bool>& is_running) {
    std::vector<double> rate(links.size(), 0);
    std::vector<bool> is_fixed(links.size(), false);
    std::map<uint32_t, double> used;
    for (;;) {
        std::map<uint32_t, uint32_t> rising;
        for (size_t i = 0; i < links.size(); ++i) {
            if (!is_running[i] || is_fixed[i]) continue;
            for (const uint32_t link : links[i]) ++rising[link];
        }
        if (rising.empty()) return rate;
        double step = 1e300;
        for (const auto& [link, count] : rising) {
            step = std::min(step, (capacity(network, link) - used[link]) / count);
        }
        for (const auto& [link, count] : rising) used[link] += step * count;
        for (size_t i = 0; i < links.size(); ++i) {
            if (!is_running[i] || is_fixed[i]) continue;
            rate[i] += step;
            for (const uint32_t link : links[i]) {
                if (used[link] >= capacity(network, link) * (1 - 1e-9)) is_fixed[i] = true;
            }
        }
    }
}

std::vector<uint64_t> flow(const Network& network, const Experiment& experiment, Prng& random) {
    const size_t count = experiment.transfers.size();
    std::vector<std::vector<uint32_t>> links;
    std::vector<bool> is_running;
    for (const Transfer& who : experiment.transfers) {
        links.push_back(links_of(network, who));
        is_running.push_back(!network.is_dead[who.from] && !network.is_dead[who.to]);
    }
    std::vector<double> left(count, static_cast<double>(experiment.bytes));
    std::vector<uint64_t> times(count, kMissingNs);
    double now = 0;
    while (std::find(is_running.begin(), is_running.end(), true) != is_running.end()) {
        const std::vector<double> rate = rates(network, links, is_running);
        double step = 1e300;
        for (size_t i = 0; i < count; ++i) {
            if (is_running[i]) step = std::min(step, left[i] / rate[i]);
        }
        now += step;
        for (size_t i = 0; i < count; ++i) {
            if (!is_running[i]) continue;
            left[i] -= step * rate[i];
            if (left[i] > 1e-6 * static_cast<double>(experiment.bytes)) continue;
            is_running[i] = false;
            const double whole =
                now + network.overhead_ns + static_cast<double>(links[i].size()) * network.hop_ns;
            times[i] = static_cast<uint64_t>(noisy(network, whole, random));
        }
    }
    return times;
}

}  // namespace

uint32_t Network::add_switch(uint32_t above, double speed) {
    parent.push_back(above);
    up_speed.push_back(speed);
    return static_cast<uint32_t>(parent.size()) - 1;
}

void Network::add_hosts(uint32_t at, uint32_t count, double speed) {
    switch_of.insert(switch_of.end(), count, at);
    host_speed.insert(host_speed.end(), count, speed);
    is_dead.insert(is_dead.end(), count, false);
}

void Network::shuffle_hosts(Prng& random) {
    for (size_t i = switch_of.size(); i > 1; --i) {
        const size_t other = random.below(i);
        std::swap(switch_of[i - 1], switch_of[other]);
        std::swap(host_speed[i - 1], host_speed[other]);
    }
}

std::vector<uint32_t> Network::way(uint32_t one, uint32_t other) const {
    std::vector<uint32_t> switches;
    for (const uint32_t link : links_of(*this, {one, other})) {
        if (link / 2 >= hosts()) switches.push_back(link / 2 - hosts());
    }
    return switches;
}

double Network::crowding(uint32_t at) const {
    double below = 0;
    double others = 0;
    for (uint32_t host = 0; host < hosts(); ++host) {
        uint32_t above = switch_of[host];
        while (above != kNone && above != at) above = parent[above];
        (above == at ? below : others) += host_speed[host];
    }
    return std::min(below, others) / up_speed[at];
}

std::vector<uint64_t> run(const Network& network, const Experiment& experiment, Prng& random) {
    if (experiment.kind == Experiment::Kind::kStreams) return flow(network, experiment, random);
    std::vector<uint64_t> times;
    for (const Transfer& who : experiment.transfers) {
        if (network.is_dead[who.from] || network.is_dead[who.to]) {
            times.push_back(kMissingNs);
            continue;
        }
        const double hops = static_cast<double>(links_of(network, who).size());
        std::vector<double> trips;
        for (uint32_t i = 0; i < experiment.round_trips; ++i) {
            trips.push_back(
                noisy(network, 2 * (network.overhead_ns + hops * network.hop_ns), random));
        }
        times.push_back(static_cast<uint64_t>(median(trips)));
    }
    return times;
}

}  // namespace tutti::survey
