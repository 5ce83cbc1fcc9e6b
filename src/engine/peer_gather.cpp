// SPDX-License-Identifier: BSD-3-Clause
#include "engine/peer_gather.h"

#include <sched.h>

#include <cstring>
#include <memory>
#include <vector>

namespace tutti::engine {

// What the messages read and write. It outlives a failure, since then nobody knows which messages
// are still under way.
struct PeerGather::Messages {
    explicit Messages(size_t members)
        : out(kBytesMax), in(members * kBytesMax), tickets(2 * (members - 1)) {}
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    std::vector<transport::Ticket> tickets;
};

PeerGather::PeerGather(transport::Transport& network, std::span<const uint32_t> members,
                       uint32_t index)
    : network_(network),
      members_(members),
      index_(index),
      messages_(std::make_unique<Messages>(members.size())) {}

PeerGather::~PeerGather() = default;

void PeerGather::post(size_t bytes) {
    size_t next = 0;
    for (uint32_t i = 0; i < members_.size(); ++i) {
        if (i == index_) continue;
        network_.recv(members_[i], {}, messages_->in.data() + i * bytes, bytes,
                      messages_->tickets[next++]);
    }
    for (uint32_t i = 0; i < members_.size(); ++i) {
        if (i == index_) continue;
        network_.send(members_[i], {}, messages_->out.data(), bytes, messages_->tickets[next++]);
    }
}

// False where a message failed.
bool PeerGather::complete() {
    size_t pending = messages_->tickets.size();
    while (pending > 0) {
        const size_t before = pending;
        pending = 0;
        for (transport::Ticket& ticket : messages_->tickets) {
            const transport::State state = network_.test(ticket);
            if (state == transport::State::kFailed) return false;
            pending += state == transport::State::kPending ? 1 : 0;
        }
        if (pending == before) sched_yield();
    }
    return true;
}

int PeerGather::gather(const void* in, void* out, size_t bytes) {
    if (!messages_ || bytes > kBytesMax) return 1;
    std::memcpy(messages_->out.data(), in, bytes);
    post(bytes);
    if (!complete()) {
        static_cast<void>(messages_.release());
        return 1;
    }
    std::memcpy(messages_->in.data() + index_ * bytes, in, bytes);
    std::memcpy(out, messages_->in.data(), members_.size() * bytes);
    return 0;
}

int PeerGather::allgather(void* self, const void* in, void* out, size_t bytes) {
    return static_cast<PeerGather*>(self)->gather(in, out, bytes);
}

}  // namespace tutti::engine
