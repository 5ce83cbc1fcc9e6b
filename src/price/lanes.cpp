// SPDX-License-Identifier: BSD-3-Clause
#include "price/lanes.h"

#include <algorithm>
#include <vector>

#include "check/count.h"

namespace tutti::price {
namespace {

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
    LaneClock(const sched::Shape& shape, uint64_t lanes_in_flight)
        : shape_(shape), lanes_in_flight_(lanes_in_flight), total_(shape.ranks) {}
    void add(const std::vector<check::Passage>& step);
    [[nodiscard]] LaneTimes times() const;

  private:
    const sched::Shape& shape_;
    uint64_t lanes_in_flight_;
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
    const sched::Speed& speed = shape_.message_speed;
    messages_ns_ += speed.latency_ns + transfer_ns(most, speed);
}

LaneTimes LaneClock::times() const {
    const sched::Speed& message = shape_.message_speed;
    const sched::Speed& multicast = shape_.multicast_speed;
    const uint64_t multicasts_ns = transfer_ns(multicast_bytes_, multicast);
    uint64_t bytes_max = 0;
    uint64_t steps_max = 0;
    for (const Load& load : total_) {
        bytes_max = std::max(bytes_max, load.bytes());
        steps_max = std::max(steps_max, load.steps);
    }
    const uint64_t latencies_ns = steps_max * message.latency_ns / lanes_in_flight_;
    return {messages_ns_ + multicasts_ns + (has_multicasts_ ? multicast.latency_ns : 0),
            std::max(transfer_ns(bytes_max, message), latencies_ns) + multicasts_ns};
}

}  // namespace

LaneTimes followed_lane(const sched::Shape& shape, const topo::Placement& placement,
                        std::span<const std::unique_ptr<sched::Program>> programs,
                        uint64_t lanes_in_flight) {
    LaneClock clock(shape, lanes_in_flight);
    for (const auto& step : check::steps(placement, programs)) clock.add(step);
    return clock.times();
}

LaneTimes estimated_lane(const sched::Shape& shape, const sched::Program& program) {
    const check::Count count = check::count(program);
    const uint64_t bytes = std::max(count.bytes_sent, count.bytes_received);
    const uint64_t multicast_bytes = count.multicast_bytes_sent + count.multicast_bytes_received;
    const uint64_t moving_ns = transfer_ns(bytes, shape.message_speed) +
                               transfer_ns(multicast_bytes, shape.multicast_speed);
    const bool has_multicasts = program.extent().multicasts > 0;
    const uint64_t latency_ns = has_multicasts ? shape.multicast_speed.latency_ns
                                               : count.rounds * shape.message_speed.latency_ns;
    return {latency_ns + moving_ns, moving_ns};
}

}  // namespace tutti::price
