// SPDX-License-Identifier: BSD-3-Clause
#include "engine/peer_gather.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace tutti::engine {
namespace {

// What the messages read and write. It outlives a failure, since then nobody knows which messages
// are still under way.
struct Messages {
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    std::vector<transport::Ticket> tickets;
};

void post(const PeerGather& gather, Messages& messages) {
    const size_t bytes = messages.out.size();
    size_t next = 0;
    for (uint32_t i = 0; i < gather.members.size(); ++i) {
        if (i == gather.index) continue;
        gather.network->recv(gather.members[i], {}, messages.in.data() + i * bytes, bytes,
                             messages.tickets[next++]);
    }
    for (uint32_t i = 0; i < gather.members.size(); ++i) {
        if (i == gather.index) continue;
        gather.network->send(gather.members[i], {}, messages.out.data(), bytes,
                             messages.tickets[next++]);
    }
}

// False where a message failed.
bool complete(transport::Transport& network, std::vector<transport::Ticket>& tickets) {
    size_t pending = tickets.size();
    while (pending > 0) {
        const size_t before = pending;
        pending = 0;
        for (transport::Ticket& ticket : tickets) {
            const transport::State state = network.test(ticket);
            if (state == transport::State::kFailed) return false;
            pending += state == transport::State::kPending ? 1 : 0;
        }
        if (pending == before) sched_yield();
    }
    return true;
}

}  // namespace

int PeerGather::allgather(void* self, const void* in, void* out, size_t bytes) {
    const auto& gather = *static_cast<const PeerGather*>(self);
    const size_t size = gather.members.size();
    const auto* mine = static_cast<const std::byte*>(in);
    auto messages = std::make_unique<Messages>();
    messages->out.assign(mine, mine + bytes);
    messages->in.resize(size * bytes);
    messages->tickets.resize(2 * (size - 1));
    post(gather, *messages);
    if (!complete(*gather.network, messages->tickets)) {
        static_cast<void>(messages.release());
        return 1;
    }
    std::memcpy(messages->in.data() + gather.index * bytes, in, bytes);
    std::memcpy(out, messages->in.data(), size * bytes);
    return 0;
}

}  // namespace tutti::engine
