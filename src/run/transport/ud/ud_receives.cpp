// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/ud_receives.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/assert.h"

namespace tutti::transport::ud {

using carrier::kBatchPackets;
using verbs::kGrhBytes;
using verbs::UdReceived;

UdReceives::UdReceives(verbs::UdEndpoint& end, uint32_t count)
    : end_(end), count_(count), packet_bytes_(end.card().port.mtu_bytes) {}

int UdReceives::post_held() {
    const int outcome = end_.post(std::span<const uint32_t>(held_).first(held_count_));
    held_count_ = 0;
    return outcome;
}

Result<Done> UdReceives::post_all() {
    for (uint32_t place = 0; place < count_;) {
        while (held_count_ < kBatchPackets && place < count_) held_[held_count_++] = place++;
        const int outcome = post_held();
        if (outcome == 0) continue;
        return Error{ErrorCode::kSystem,
                     std::string("multicast: no receive: ") + std::strerror(outcome)};
    }
    return Done{};
}

bool UdReceives::renew() {
    if (held_count_ > 0 && post_held() != 0) return false;
    if (!poll()) return false;
    // Only a queue pair that has failed says so of receives.
    return std::ranges::all_of(std::span(polled_).first(polled_count_),
                               [](const UdReceived& one) { return one.status == 0; });
}

bool UdReceives::poll() {
    if (polled_count_ > 0) return true;
    const int count = end_.poll(polled_);
    if (count < 0) return false;
    polled_count_ = static_cast<size_t>(count);
    TUTTI_ASSERT(polled_count_ <= polled_.size(), "at most a batch is polled");
    return true;
}

carrier::Batch UdReceives::take() {
    TUTTI_ASSERT(held_count_ == 0, "the last batch's buffers were posted again");
    const size_t polled_count = polled_count_;
    size_t count = 0;
    for (const UdReceived& one : std::span(polled_).first(polled_count)) {
        held_[held_count_++] = one.place;
        const std::span<std::byte> packet = buffer(one.place);
        if (one.bytes < kGrhBytes || one.bytes > packet.size()) continue;
        if (is_own(one, packet)) {
            ++own_;
            continue;
        }
        arrived_[count++] = {packet.subspan(kGrhBytes, one.bytes - kGrhBytes), 0};
    }
    polled_count_ = 0;
    return {std::span(arrived_).first(count), polled_count == kBatchPackets};
}

std::span<std::byte> UdReceives::buffer(uint32_t place) {
    TUTTI_ASSERT(place < count_, "a buffer that was posted");
    const size_t bytes = kGrhBytes + packet_bytes_;
    return end_.memory().subspan(place * bytes, bytes);
}

// What was sent to the group comes back to the queue pair that sent it. A global route header has
// the sender's address from 8 on; that of RoCE v2 over IPv4 is an IPv4 header at the end of the 40
// bytes, with it from 32 on.
bool UdReceives::is_own(const UdReceived& one, std::span<const std::byte> head) const {
    const verbs::UdCard& card = end_.card();
    if (!one.has_address || one.queue_pair != card.queue_pair) return false;
    const auto gid = std::as_bytes(std::span(card.port.gid));
    const bool is_mapped = std::memcmp(gid.data(), "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;
    return std::ranges::equal(head.subspan(8, 16), gid) ||
           (is_mapped && std::ranges::equal(head.subspan(32, 4), gid.subspan(12)));
}

}  // namespace tutti::transport::ud
