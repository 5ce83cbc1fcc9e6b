// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/ud_sends.h"

#include "base/assert.h"

namespace tutti::transport::ud {

using carrier::kBatchPackets;

UdSends::UdSends(verbs::UdEndpoint& end, std::span<std::byte> memory) : end_(end), memory_(memory) {
    TUTTI_ASSERT(memory.size() % kSends == 0, "buffers are equally long");
}

std::span<std::byte> UdSends::space() const {
    if (waiting_count_ == kBatchPackets) return {};
    const size_t bytes = memory_.size() / kSends;
    return memory_.subspan(added_ % kSends * bytes, bytes);
}

void UdSends::add(const verbs::UdRoute& route, size_t bytes, bool is_urgent) {
    TUTTI_ASSERT(waiting_count_ < kBatchPackets, "there was space");
    const auto place = static_cast<uint32_t>(added_++ % kSends);
    waiting_[waiting_count_++] = {place, static_cast<uint32_t>(bytes), route, is_urgent};
}

bool UdSends::flush() {
    if (waiting_count_ > 0) {
        if (end_.post(std::span<const verbs::UdSend>(waiting_).first(waiting_count_)) != 0) {
            return false;
        }
        waiting_count_ = 0;
    }
    return poll();
}

bool UdSends::poll() {
    const int64_t complete = end_.poll_complete();
    if (complete < 0) return false;
    const auto now = static_cast<uint64_t>(complete);
    TUTTI_ASSERT(now >= complete_, "what is complete stays so");
    TUTTI_ASSERT(now + waiting_count_ <= added_, "only what was posted is complete");
    complete_ = now;
    return true;
}

void UdSends::drop() {
    lost_ += waiting_count_;
    waiting_count_ = 0;
}

}  // namespace tutti::transport::ud
