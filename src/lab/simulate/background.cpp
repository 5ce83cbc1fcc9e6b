// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/background.h"

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
    std::vector<uint32_t> processes;
    for (const uint32_t host : load.hosts) {
        processes.push_back(first_process + static_cast<uint32_t>(processes.size()));
        switch_of_rank_.push_back(fabric.switch_of_host[host]);
        Rank& rank = ranks_.emplace_back();
        rank.send.state = rank.recv.state = State::kDone;
    }
    team_ = world_.add_team(processes);
    filling_ = ranks_.size();
}

void Background::start() {
    for (uint32_t number = 0; number < ranks_.size(); ++number) exchange(number);
}

Background::Partners Background::partners_of(uint32_t number, uint32_t turn) const {
    const auto count = static_cast<uint32_t>(ranks_.size());
    const auto apart = [&](uint32_t other) {
        return switch_of_rank_[other] != switch_of_rank_[number] ? other : kNobody;
    };
    return {apart((number + turn) % count), apart((number + count - turn) % count)};
}

void Background::exchange(uint32_t number) {
    Rank& rank = ranks_[number];
    Partners partners;
    // Everybody has a partner on another switch.
    while (partners.to == kNobody && partners.from == kNobody) {
        if (++rank.turn == ranks_.size()) {
            rank.turn = 1;
            ++rank.round;
        }
        partners = partners_of(number, rank.turn);
    }
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
