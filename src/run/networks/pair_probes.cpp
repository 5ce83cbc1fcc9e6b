// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/pair_probes.h"

#include <sched.h>

namespace tutti::networks {

namespace {

using transport::State;

// What a rank sends.
std::byte byte_of(transport::Rank rank) { return static_cast<std::byte>(rank + 1); }

}  // namespace

void PairProbes::prepare(transport::Rank own, std::span<const transport::Rank> peers,
                         size_t bytes) {
    probes_.resize(peers.size());
    for (size_t i = 0; i < peers.size(); ++i) {
        probes_[i].peer = peers[i];
        probes_[i].out.resize(bytes, byte_of(own));
        probes_[i].in.resize(bytes);
    }
}

void PairProbes::run(Process& process, transport::Transport& messages, uint64_t ns_max) {
    for (Probe& one : probes_) {
        if (one.is_left_out) continue;
        messages.recv(one.peer, {}, one.in.data(), one.in.size(), one.received);
        messages.send(one.peer, {}, one.out.data(), one.out.size(), one.sent);
    }
    // Each is looked at in each turn: a fabric may move those alone that are tested.
    const auto are_over = [&] {
        messages.poll();
        bool all = true;
        for (Probe& one : probes_) {
            if (one.is_left_out) continue;
            all &= messages.test(one.sent) != State::kPending;
            all &= messages.test(one.received) != State::kPending;
        }
        return all;
    };
    const uint64_t end_ns = process.clock().now_ns() + ns_max;
    while (!are_over() && process.clock().now_ns() < end_ns) {
        process.progress();
        sched_yield();
    }
    for (Probe& one : probes_) {
        if (one.is_left_out) continue;
        one.is_good = one.sent.state == State::kDone && one.received.state == State::kDone &&
                      one.in.front() == byte_of(one.peer) && one.in.back() == byte_of(one.peer);
        messages.cancel(one.sent);
        messages.cancel(one.received);
    }
}

std::optional<transport::Rank> PairProbes::first_bad(size_t from) const {
    for (size_t i = from; i < probes_.size(); ++i) {
        if (!probes_[i].is_good) return probes_[i].peer;
    }
    return std::nullopt;
}

}  // namespace tutti::networks
