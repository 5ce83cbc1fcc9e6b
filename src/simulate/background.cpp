// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/background.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::simulate {

using transport::State;

namespace {

constexpr uint64_t kFillingExchanges = 2;

}  // namespace

bool crosses_switches(const topo::Fabric& fabric, const BackgroundLoad& load) {
    return std::any_of(load.hosts.begin(), load.hosts.end(), [&](uint32_t host) {
        return fabric.switch_of_host[host] != fabric.switch_of_host[load.hosts.front()];
    });
}

Background::Background(transport::sim::World& world, const topo::Fabric& fabric,
                       const BackgroundLoad& load, uint32_t first_process)
    : world_(world), first_process_(first_process), source_(load.bytes), target_(load.bytes) {
    TUTTI_ASSERT(crosses_switches(fabric, load), "each has a partner");
    const auto count = static_cast<uint32_t>(load.hosts.size());
    std::vector<uint32_t> processes;
    const auto is_apart = [&](uint32_t one, uint32_t other) {
        return fabric.switch_of_host[load.hosts[one]] != fabric.switch_of_host[load.hosts[other]];
    };
    for (uint32_t number = 0; number < count; ++number) {
        processes.push_back(first_process + number);
        Rank& rank = ranks_.emplace_back();
        for (uint32_t k = 1; k < count; ++k) {
            const uint32_t to = (number + k) % count;
            const uint32_t from = (number + count - k) % count;
            const Partners partners{is_apart(number, to) ? to : kNobody,
                                    is_apart(number, from) ? from : kNobody};
            if (partners.to != kNobody || partners.from != kNobody) rank.turns.push_back(partners);
        }
        rank.send.state = rank.recv.state = State::kDone;
    }
    team_ = world_.add_team(processes);
    filling_ = count;
}

void Background::start() {
    for (uint32_t number = 0; number < ranks_.size(); ++number) exchange(number);
}

void Background::exchange(uint32_t number) {
    Rank& rank = ranks_[number];
    const Partners partners = rank.turns[rank.turn];
    transport::Transport& end = world_.endpoint(team_, number);
    // Both ends have gone through their partners as often when they come to each other.
    transport::MessageId id;
    id.call = rank.round;
    if (partners.from != kNobody) {
        end.recv(partners.from, id, target_.data(), target_.size(), rank.recv);
    }
    if (partners.to != kNobody) {
        end.send(partners.to, id, source_.data(), source_.size(), rank.send);
    }
}

void Background::step(uint32_t process) {
    const uint32_t number = process - first_process_;
    Rank& rank = ranks_[number];
    // No exchange is complete at once: each takes some way between hosts.
    if (rank.send.state == State::kPending || rank.recv.state == State::kPending) return;
    if (++rank.exchanges == kFillingExchanges) --filling_;
    if (++rank.turn == rank.turns.size()) {
        rank.turn = 0;
        ++rank.round;
    }
    exchange(number);
}

transport::sim::Traffic Background::sent() const {
    transport::sim::Traffic sum;
    for (uint32_t number = 0; number < ranks_.size(); ++number) {
        const auto& own = world_.sent(team_, number);
        sum.messages += own.messages;
        sum.bytes += own.bytes;
    }
    return sum;
}

}  // namespace tutti::simulate
