// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/latency_groups.h"

#include <algorithm>
#include <numeric>

#include "lab/survey/experiment.h"

namespace tutti::survey {
namespace {

// Medians of fifteen round trips that vary by 20 % agree within 6 %.
constexpr double kGapMin = 1.15;
// Thresholds that are tried: a network has few levels.
constexpr size_t kGapsMax = 6;
// Of the pairs within groups so many may be far, of the hosts so many without a group.
constexpr double kOddPairsMax = 0.02;
constexpr double kLonersMax = 0.1;
// With fewer, chance makes groups.
constexpr uint32_t kHostsMin = 4;

struct Pair {
    double distance;
    uint32_t one;
    uint32_t other;
};

double symmetric(std::span<const uint64_t> times_ns, uint32_t hosts, uint32_t one, uint32_t other) {
    const uint64_t there = times_ns[uint64_t{one} * hosts + other];
    const uint64_t back = times_ns[uint64_t{other} * hosts + one];
    const uint64_t best = std::min(there, back);
    return best == kMissingNs ? kNoSpeed : static_cast<double>(best);
}

// Pairs by what their round trips take beyond what either host takes with its nearest: a host that
// is slow by itself is as far from all.
std::vector<Pair> by_distance(uint32_t hosts, std::span<const uint64_t> times_ns) {
    std::vector<double> nearest;
    std::vector<uint32_t> known;
    std::vector<double> least(hosts, kNoSpeed);
    for (uint32_t one = 0; one < hosts; ++one) {
        for (uint32_t other = 0; other < hosts; ++other) {
            const double time = one == other ? kNoSpeed : symmetric(times_ns, hosts, one, other);
            if (time > 0 && (least[one] < 0 || time < least[one])) least[one] = time;
        }
        if (least[one] > 0) nearest.push_back(least[one]);
    }
    std::vector<Pair> pairs;
    if (nearest.empty()) return pairs;
    const double usual = median(nearest);
    for (uint32_t one = 0; one < hosts; ++one) {
        for (uint32_t other = one + 1; other < hosts; ++other) {
            const double time = symmetric(times_ns, hosts, one, other);
            if (time <= 0) continue;
            const double slow =
                std::max(0.0, least[one] - usual) + std::max(0.0, least[other] - usual);
            pairs.push_back({std::max(time - slow, usual / 2), one, other});
        }
    }
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair& a, const Pair& b) { return a.distance < b.distance; });
    return pairs;
}

uint32_t find_top(std::vector<uint32_t>& above, uint32_t host) {
    while (above[host] != host) host = above[host] = above[above[host]];
    return host;
}

// Groups by their first hosts; a host by itself has none.
Partition numbered(std::vector<uint32_t>& above) {
    const auto hosts = static_cast<uint32_t>(above.size());
    std::vector<uint32_t> size(hosts);
    for (uint32_t host = 0; host < hosts; ++host) ++size[find_top(above, host)];
    std::vector<uint32_t> number(hosts, kNoGroup);
    Partition group(hosts, kNoGroup);
    uint32_t next = 0;
    for (uint32_t host = 0; host < hosts; ++host) {
        const uint32_t top = find_top(above, host);
        if (size[top] < 2) continue;
        if (number[top] == kNoGroup) number[top] = next++;
        group[host] = number[top];
    }
    return group;
}

// L2 and L3, the first `near` pairs being near; empty where they do not hold.
Partition believed(uint32_t hosts, const std::vector<Pair>& pairs, size_t near) {
    std::vector<uint32_t> above(hosts);
    std::iota(above.begin(), above.end(), 0u);
    for (size_t i = 0; i < near; ++i) {
        above[find_top(above, pairs[i].one)] = find_top(above, pairs[i].other);
    }
    Partition group = numbered(above);
    uint32_t groups = 0;
    uint32_t loners = 0;
    for (const uint32_t at : group) {
        if (at == kNoGroup) {
            ++loners;
        } else {
            groups = std::max(groups, at + 1);
        }
    }
    size_t within = 0;
    for (const Pair& pair : pairs) {
        if (group[pair.one] != kNoGroup && group[pair.one] == group[pair.other]) ++within;
    }
    const bool holds =
        groups >= 2 && loners <= kLonersMax * hosts &&
        static_cast<double>(within - near) <= kOddPairsMax * static_cast<double>(near);
    return holds ? group : Partition();
}

// L1 to L3 of one pass.
std::vector<Partition> of_pass(uint32_t hosts, std::span<const uint64_t> times_ns) {
    const std::vector<Pair> pairs = by_distance(hosts, times_ns);
    std::vector<size_t> gaps;
    for (size_t i = 1; i < pairs.size(); ++i) {
        if (pairs[i].distance > kGapMin * pairs[i - 1].distance) gaps.push_back(i);
    }
    std::sort(gaps.begin(), gaps.end(), [&](size_t a, size_t b) {
        return pairs[a].distance * pairs[b - 1].distance >
               pairs[b].distance * pairs[a - 1].distance;
    });
    gaps.resize(std::min(gaps.size(), kGapsMax));
    std::sort(gaps.rbegin(), gaps.rend());
    std::vector<Partition> found;
    for (const size_t near : gaps) {
        Partition group = believed(hosts, pairs, near);
        if (!group.empty()) found.push_back(std::move(group));
    }
    return found;
}

}  // namespace

std::vector<Partition> latency_groups(uint32_t hosts, std::span<const uint64_t> first_ns,
                                      std::span<const uint64_t> second_ns) {
    if (hosts < kHostsMin) return {};
    std::vector<Partition> found = of_pass(hosts, first_ns);
    const std::vector<Partition> again = of_pass(hosts, second_ns);
    std::erase_if(found, [&](const Partition& group) {  // L4
        return std::find(again.begin(), again.end(), group) == again.end();
    });
    return found;
}

}  // namespace tutti::survey
