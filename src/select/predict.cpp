// SPDX-License-Identifier: BSD-3-Clause
#include "select/predict.h"

#include <algorithm>
#include <vector>

#include "algo/plan.h"
#include "check/count.h"

namespace tutti::select {
namespace {

// The call as the nodes see it, cut to one lane of `lanes`.
struct Between {
    sched::Shape shape;
    topo::Placement placement;
    algo::Tuning tuning;
    uint64_t lanes = 1;
    uint64_t lanes_in_flight = 1;
};

// What a lane takes alone, and what each further one adds.
struct LaneTimes {
    uint64_t first_ns = 0;
    uint64_t next_ns = 0;
};

Between between_nodes(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning) {
    const uint32_t nodes = placement.nodes();
    Between result{shape, topo::Placement::blocks(nodes, nodes), tuning};
    result.shape.ranks = nodes;
    result.shape.root = placement.node_of(shape.root);
    if (has_blocks(shape.collective)) result.shape.bytes *= placement.members_max();
    result.tuning.leaders = 0;
    if (!algo::plan_obstacle(algorithm, result.shape, result.placement, result.tuning).empty()) {
        result.shape = shape;  // it runs among the ranks only
        result.placement = placement;
    }
    const auto plan = algo::make_plan(algorithm, result.shape, result.placement, result.shape.root,
                                      result.tuning);
    result.lanes = plan->extent().lanes;
    result.lanes_in_flight = plan->extent().lanes_in_flight;
    if (result.lanes == 1) return result;
    const uint64_t element = shape.element_bytes;
    const uint64_t elements = shape.bytes / element;
    result.shape.bytes = (elements + result.lanes - 1) / result.lanes * element;
    result.tuning.segment_bytes = result.shape.bytes;
    return result;
}

uint64_t transfer_ns(uint64_t bytes, const sched::Speed& speed) {
    constexpr uint64_t kNsPerByteAtOneMbit = 8000;
    return bytes * kNsPerByteAtOneMbit / std::max<uint64_t>(speed.mbit, 1);
}

// Of each participant, in a step or in the whole lane.
struct Load {
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t steps = 0;
    [[nodiscard]] uint64_t bytes() const { return std::max(sent_bytes, received_bytes); }
};

class LaneClock {
  public:
    explicit LaneClock(const Between& between) : between_(between), total_(between.shape.ranks) {}
    void add(const std::vector<check::Passage>& step);
    [[nodiscard]] LaneTimes times() const;

  private:
    const Between& between_;
    std::vector<Load> total_;
    uint64_t messages_ns_ = 0;
    uint64_t multicast_bytes_ = 0;
    bool has_multicasts_ = false;
};

void LaneClock::add(const std::vector<check::Passage>& step) {
    std::vector<Load> loads(total_.size());
    bool has_messages = false;
    for (const check::Passage& passage : step) {
        if (passage.is_multicast) {
            has_multicasts_ = true;
            multicast_bytes_ += passage.bytes;
            continue;
        }
        has_messages = true;
        for (const sched::Rank rank : {passage.sender, passage.receiver}) loads[rank].steps = 1;
        loads[passage.sender].sent_bytes += passage.bytes;
        loads[passage.receiver].received_bytes += passage.bytes;
    }
    if (!has_messages) return;
    uint64_t most = 0;
    for (size_t rank = 0; rank < loads.size(); ++rank) {
        most = std::max(most, loads[rank].bytes());
        total_[rank].sent_bytes += loads[rank].sent_bytes;
        total_[rank].received_bytes += loads[rank].received_bytes;
        total_[rank].steps += loads[rank].steps;
    }
    const sched::Speed& speed = between_.shape.message_speed;
    messages_ns_ += speed.latency_ns + transfer_ns(most, speed);
}

LaneTimes LaneClock::times() const {
    const sched::Speed& message = between_.shape.message_speed;
    const sched::Speed& multicast = between_.shape.multicast_speed;
    const uint64_t multicasts_ns = transfer_ns(multicast_bytes_, multicast);
    uint64_t bytes_max = 0;
    uint64_t steps_max = 0;
    for (const Load& load : total_) {
        bytes_max = std::max(bytes_max, load.bytes());
        steps_max = std::max(steps_max, load.steps);
    }
    const uint64_t latencies_ns = steps_max * message.latency_ns / between_.lanes_in_flight;
    return {messages_ns_ + multicasts_ns + (has_multicasts_ ? multicast.latency_ns : 0),
            std::max(transfer_ns(bytes_max, message), latencies_ns) + multicasts_ns};
}

LaneTimes follow(const algo::Algorithm& algorithm, const Between& between) {
    const algo::Programs programs =
        algo::make_plans(algorithm, between.shape, between.placement, between.tuning);
    LaneClock clock(between);
    for (const auto& step : check::steps(between.placement, programs)) clock.add(step);
    return clock.times();
}

LaneTimes estimate(const sched::Program& root, const sched::Shape& shape) {
    const check::Count count = check::count(root);
    const uint64_t bytes = std::max(count.bytes_sent, count.bytes_received);
    const uint64_t multicast_bytes = count.multicast_bytes_sent + count.multicast_bytes_received;
    const uint64_t moving_ns = transfer_ns(bytes, shape.message_speed) +
                               transfer_ns(multicast_bytes, shape.multicast_speed);
    const bool has_multicasts = root.extent().multicasts > 0;
    const uint64_t latency_ns = has_multicasts ? shape.multicast_speed.latency_ns
                                               : count.rounds * shape.message_speed.latency_ns;
    return {latency_ns + moving_ns, moving_ns};
}

}  // namespace

uint64_t predicted_ns(const algo::Algorithm& algorithm, const sched::Shape& shape,
                      const topo::Placement& placement, const algo::Tuning& tuning) {
    const Between between = between_nodes(algorithm, shape, placement, tuning);
    const auto root = algo::make_plan(algorithm, between.shape, between.placement,
                                      between.shape.root, between.tuning);
    const bool is_long = root->extent().rounds * between.shape.ranks > kFollowedMessagesMax;
    const LaneTimes times = is_long ? estimate(*root, between.shape) : follow(algorithm, between);
    return times.first_ns + (between.lanes - 1) * times.next_ns;
}

}  // namespace tutti::select
