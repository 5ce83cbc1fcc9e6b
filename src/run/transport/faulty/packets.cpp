// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/faulty/packets.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/assert.h"

namespace tutti::transport {

PacketFaults::PacketFaults(const FaultPlan& plan, uint64_t member, size_t packet_bytes_max)
    : plan_(plan),
      prng_(Prng(plan.seed).next() ^ Prng(member).next()),
      packet_bytes_max_(packet_bytes_max),
      held_(plan.reorder),
      memory_(plan.reorder * packet_bytes_max) {}

bool PacketFaults::hold(uint64_t now_ns, std::span<const std::byte> packet) {
    // Every second one, so that there are some that overtake.
    if (held_.empty() || prng_.below(2) == 0) return false;
    const auto free =
        std::find_if(held_.begin(), held_.end(), [](const Held& held) { return held.left == 0; });
    if (free == held_.end()) return false;
    const auto index = static_cast<size_t>(free - held_.begin());
    TUTTI_ASSERT(packet.size() <= packet_bytes_max_, "packets have the agreed length at most");
    *free = {2 + static_cast<uint32_t>(prng_.below(plan_.reorder)), now_ns + kHoldNs,
             packet.size()};
    std::memcpy(memory_.data() + index * packet_bytes_max_, packet.data(), packet.size());
    ++held_back_;
    return true;
}

void PacketFaults::give(size_t index, const Sink& sink) {
    held_[index].left = 0;
    sink({memory_.data() + index * packet_bytes_max_, held_[index].bytes});
}

void PacketFaults::pass(uint64_t now_ns, std::span<const std::byte> packet, const Sink& sink) {
    // Whatever comes of this packet, it has overtaken those that are held back.
    for (Held& held : held_) held.left -= held.left > 1 ? 1 : 0;
    if (happens(plan_.drop_ppm)) {
        ++dropped_;
        return;
    }
    const bool is_doubled = happens(plan_.dup_ppm);
    doubled_ += is_doubled ? 1 : 0;
    const bool is_held = hold(now_ns, packet);
    if (!is_held) sink(packet);
    if (is_doubled) sink(packet);
    for (size_t i = 0; i < held_.size(); ++i) {
        if (held_[i].left == 1) give(i, sink);
    }
}

void PacketFaults::release(uint64_t now_ns, const Sink& sink) {
    for (size_t i = 0; i < held_.size(); ++i) {
        if (held_[i].left != 0 && held_[i].until_ns <= now_ns) give(i, sink);
    }
}

uint64_t PacketFaults::next_ns() const {
    uint64_t next = std::numeric_limits<uint64_t>::max();
    for (const Held& held : held_) {
        if (held.left != 0) next = std::min(next, held.until_ns);
    }
    return next;
}

}  // namespace tutti::transport
