// SPDX-License-Identifier: BSD-3-Clause
// Prices against the simulator's time: the same network, but the engine's own code on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lab/simulate/simulate.h"
#include "plan/algo/plan.h"
#include "plan/select/predict.h"

namespace tutti {
namespace {

struct Bed {
    std::vector<uint32_t> leaves;
    uint64_t bits_per_s;
    uint64_t latency_ns;
    bool is_in_turn;  // hosts are dealt to the leaves

    [[nodiscard]] topo::Fabric fabric() const {
        topo::Fabric result = topo::Fabric::leaves(leaves);
        result.host_bits_per_s = result.trunk_bits_per_s = bits_per_s;
        result.latency_ns = latency_ns;
        const uint32_t first = result.switch_of_host[0];
        const auto count = static_cast<uint32_t>(leaves.size());
        for (uint32_t host = 0; is_in_turn && host < result.hosts(); ++host) {
            result.switch_of_host[host] = first + host % count;
        }
        return result;
    }
};

constexpr uint64_t kEager = 65536;
// Of a processor for a message: that part of a latency.
constexpr uint64_t kMessagePart = 8;

const std::vector<algo::Tuning> kTunings = {{},
                                            {.segment_bytes = 16u << 10, .lanes_in_flight = 8},
                                            {.segment_bytes = 64u << 10, .lanes_in_flight = 8}};

// How far the price is off, as a part of the simulated time.
double error_of(const algo::Algorithm& algorithm, const sched::Shape& shape,
                const topo::Placement& placement, const algo::Tuning& tuning,
                const topo::Fabric& fabric) {
    simulate::SimulationRequest request;
    request.algorithm = &algorithm;
    request.shape = shape;
    request.placement = &placement;
    request.tuning = tuning;
    request.cluster.fabric = fabric;
    request.cluster.overhead_ns = fabric.latency_ns / kMessagePart;
    request.cluster.eager_bytes_max = kEager;
    request.has_data = false;
    const auto simulated = simulate::run(request);
    EXPECT_TRUE(simulated) << algorithm.name << ": " << simulated.error().message;
    if (!simulated) return 1;
    select::Cluster cluster;
    cluster.network.fabric = fabric;
    cluster.network.message_ns = fabric.latency_ns / kMessagePart;
    cluster.network.eager_bytes_max = kEager;
    const uint64_t price_ns = select::predicted_ns(algorithm, shape, placement, tuning, cluster);
    return std::abs(static_cast<double>(price_ns) / static_cast<double>(simulated.value().time_ns) -
                    1);
}

std::vector<double> errors_on(const Bed& bed) {
    const topo::Fabric fabric = bed.fabric();
    const topo::Placement placement = topo::Placement::blocks(fabric.hosts(), fabric.hosts());
    std::vector<double> errors;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.has_multicast) continue;
        for (const uint64_t bytes : {8, 1024, 16384, 262144}) {
            sched::Shape shape;
            shape.collective = algorithm.collective;
            shape.ranks = placement.ranks();
            shape.bytes = has_data(shape.collective) ? bytes : 0;
            shape.element_bytes = shape.bytes == 0 ? 1 : 8;
            if (has_blocks(shape.collective) && bytes > 16384) continue;
            for (const algo::Tuning& tuning : kTunings) {
                const bool is_cut = is_vector(shape.collective) && tuning.segment_bytes < bytes;
                if (tuning.segment_bytes != 0 && !is_cut) continue;
                if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
                const double error = error_of(algorithm, shape, placement, tuning, fabric);
                // All come at the same time, and the root hears of one after the other.
                const bool is_fed = shape.collective == TUTTI_BCAST && algorithm.follows_arrival;
                EXPECT_LE(error, is_fed ? 0.5 : 0.4)
                    << collective_name(shape.collective) << ' ' << algorithm.name << ' ' << bytes
                    << ' ' << tuning.segment_bytes;
                errors.push_back(error);
            }
        }
    }
    return errors;
}

TEST(Price, IsNearTheSimulatedTime) {
    const std::array<Bed, 3> beds = {{{{8, 8}, 25'000'000, 60'000, false},
                                      {{4, 4, 4, 4}, 25'000'000, 60'000, true},
                                      {{8, 8}, 100'000'000'000, 1000, false}}};
    std::vector<double> errors;
    for (const Bed& bed : beds) {
        const std::vector<double> here = errors_on(bed);
        errors.insert(errors.end(), here.begin(), here.end());
    }
    std::sort(errors.begin(), errors.end());
    ASSERT_GT(errors.size(), 200u);
    EXPECT_LE(errors[errors.size() / 2], 0.01);
    EXPECT_LE(errors[errors.size() * 9 / 10], 0.2);
}

// Four ranks a host on fast links: one processor copies and folds for its node and has the
// messages.
TEST(Price, ALeadersMessagesAndCopiesAddUp) {
    const Bed bed{{4, 4, 4, 4}, 100'000'000'000, 1000, false};
    const topo::Fabric fabric = bed.fabric();
    const topo::Placement placement = topo::Placement::blocks(4 * fabric.hosts(), fabric.hosts());
    size_t cells = 0;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        const bool is_reduction =
            algorithm.collective == TUTTI_REDUCE || algorithm.collective == TUTTI_ALLREDUCE;
        if (algorithm.has_multicast || algorithm.follows_arrival) continue;
        if (!is_reduction && algorithm.collective != TUTTI_BCAST) continue;
        for (const algo::Tuning& tuning : kTunings) {
            sched::Shape shape;
            shape.collective = algorithm.collective;
            shape.ranks = placement.ranks();
            shape.bytes = 1 << 20;
            shape.element_bytes = 8;
            if (tuning.segment_bytes == 0) continue;
            if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
            EXPECT_LE(error_of(algorithm, shape, placement, tuning, fabric), 0.3)
                << collective_name(shape.collective) << ' ' << algorithm.name << ' '
                << tuning.segment_bytes;
            ++cells;
        }
    }
    EXPECT_GT(cells, 15u);
}

// ---- where a rank comes late ----

struct LateCell {
    const algo::Algorithm& algorithm;
    const sched::Shape& shape;
    const topo::Placement& placement;
    const topo::Fabric& fabric;
};

// By the simulator, of the same ranks late in turn the median, as the price is; 0: all at once.
uint64_t simulated_ns(const LateCell& cell, uint64_t skew_ns) {
    std::vector<uint64_t> all_ns;
    for (const sched::Rank late : select::late_participants(cell.placement.ranks())) {
        simulate::SimulationRequest request;
        request.algorithm = &cell.algorithm;
        request.shape = cell.shape;
        request.placement = &cell.placement;
        request.cluster.fabric = cell.fabric;
        request.cluster.overhead_ns = cell.fabric.latency_ns / kMessagePart;
        request.late_ns.assign(cell.placement.ranks(), 0);
        request.late_ns[late] = skew_ns;
        const auto simulated = simulate::run(request);
        EXPECT_TRUE(simulated) << cell.algorithm.name << ": " << simulated.error().message;
        if (!simulated) return 0;
        all_ns.push_back(simulated.value().delay_ns());
    }
    std::ranges::sort(all_ns);
    return all_ns[all_ns.size() / 2];
}

// A multicast takes two links and its way through a host's memory, and its sender's processor as a
// message does; that of who seeks it, too, when it has come.
select::Cluster cluster_like(const topo::Fabric& fabric, const algo::Algorithm& algorithm) {
    constexpr uint64_t kMemoryNs = 300;
    select::Cluster cluster;
    price::Network& network = cluster.network;
    network.fabric = fabric;
    network.message_ns = fabric.latency_ns / kMessagePart;
    const uint64_t works = algorithm.follows_arrival ? 2 : 1;
    network.multicast = {fabric.latency_ns + kMemoryNs + works * network.message_ns,
                         static_cast<uint32_t>(fabric.host_bits_per_s / 1'000'000)};
    return cluster;
}

TEST(Price, WhereARankComesLateIsTheSimulatedTime) {
    constexpr uint64_t kLong = 50'000'000;
    size_t cells = 0;
    for (const uint32_t hosts : {5u, 16u, 33u}) {
        topo::Fabric fabric = topo::Fabric::one_switch(hosts);
        fabric.host_bits_per_s = 100'000'000'000;
        fabric.latency_ns = 2000;
        const topo::Placement placement = topo::Placement::blocks(hosts, hosts);
        for (const algo::Algorithm& algorithm : algo::algorithms()) {
            sched::Shape shape;
            shape.collective = algorithm.collective;
            shape.ranks = hosts;
            shape.has_multicast = shape.gives_back = true;
            if (shape.collective == TUTTI_ALLREDUCE) shape.bytes = shape.element_bytes = 8;
            if (shape.bytes == 0 && shape.collective != TUTTI_BARRIER) continue;
            if (!algo::plan_obstacle(algorithm, shape, placement, {}).empty()) continue;
            const LateCell cell{algorithm, shape, placement, fabric};
            for (const uint64_t skew_ns : {uint64_t{0}, uint64_t{3000}, kLong}) {
                const auto price_ns = select::predicted_late_ns(
                    algorithm, shape, placement, {}, cluster_like(fabric, algorithm), skew_ns);
                ASSERT_TRUE(price_ns) << algorithm.name;
                const auto price = static_cast<double>(*price_ns);
                const auto simulated = static_cast<double>(simulated_ns(cell, skew_ns));
                const bool is_exact = shape.bytes == 0 && !algorithm.has_multicast;
                // All at once, a rank of the simulator looks at what has come before it has posted
                // its receives. A fold and a short multicast take some ns more or less.
                const bool is_late = skew_ns > 0 || !algorithm.has_multicast;
                EXPECT_NEAR(price, simulated, is_exact ? 0 : simulated / (is_late ? 400 : 20))
                    << collective_name(shape.collective) << ' ' << algorithm.name << ", " << hosts
                    << " hosts, " << skew_ns;
                ++cells;
            }
        }
    }
    EXPECT_GT(cells, 100u);
}

}  // namespace
}  // namespace tutti
