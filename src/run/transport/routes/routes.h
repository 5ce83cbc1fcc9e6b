// SPDX-License-Identifier: BSD-3-Clause
// A team's transport to each of its peers. Both ends know which one it is, from what they said when
// the team was made.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "run/transport/transport.h"

namespace tutti::transport {

class Routes final : public Transport {
  public:
    static constexpr size_t kWaysMax = 4;

    // `plain` is way 0: messages that are always there, for every peer until use() says otherwise.
    explicit Routes(Transport& plain) : ways_{&plain} {}
    // For other ways, of a team of so many ranks. The only allocation.
    void reserve(Rank ranks) { way_of_peer_.resize(ranks, 0); }
    // Another way, after reserve(); it outlives this. Its number.
    uint8_t add(Transport& way);
    [[nodiscard]] bool is_plain(Rank peer) const { return way_of(peer) == 0; }
    // Messages between this rank and the peer go this way from now on. At both ends, while none is
    // under way between them.
    void use(Rank peer, uint8_t way);
    // The team's word is that of this way.
    void use_adders(uint8_t way) { adders_ = way; }

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override {
        ticket.way = way_of(peer);
        ways_[ticket.way]->send(peer, id, data, bytes, ticket);
        count(ticket);
    }
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override {
        ticket.way = way_of(peer);
        ways_[ticket.way]->recv(peer, id, data, bytes, ticket);
        count(ticket);
    }
    State test(Ticket& ticket) override;
    void cancel(Ticket& ticket) override {
        ways_[ticket.way]->cancel(ticket);
        discount(ticket);
    }
    [[nodiscard]] Rank adders() const override {
        return adders_ == 0 ? 0 : ways_[adders_]->adders();
    }
    void fetch_add(uint64_t amount, Ticket& ticket) override {
        ticket.way = adders_;
        ways_[adders_]->fetch_add(amount, ticket);
        count(ticket);
    }
    [[nodiscard]] bool can_withdraw_receives() const override;
    [[nodiscard]] State withdraw_receive(Rank peer, const MessageId& id, const std::byte* data,
                                         size_t bytes, Ticket& ticket) override {
        const State state = ways_[ticket.way]->withdraw_receive(peer, id, data, bytes, ticket);
        if (state != State::kPending) discount(ticket);
        return state;
    }
    void clear_disagreement() override;
    void poll() override;
    // That of the one way that has any, while no message is under way on another.
    [[nodiscard]] int wait_fd() override {
        return watched_ != 0 && elsewhere_ == 0 ? ways_[watched_]->wait_fd() : -1;
    }
    [[nodiscard]] bool arm() override { return watched_ != 0 && ways_[watched_]->arm(); }
    void expose(std::span<std::byte> memory, Memory kind) override;
    void conceal(std::span<std::byte> memory) override;
    // Those of the way that failed first.
    [[nodiscard]] std::string error() const override { return ways_[failed_]->error(); }
    [[nodiscard]] Disagreement disagreement() const override {
        return ways_[failed_]->disagreement();
    }

  private:
    [[nodiscard]] uint8_t way_of(Rank peer) const {
        return way_of_peer_.empty() ? 0 : way_of_peer_[peer];
    }

    void count(Ticket& ticket) {
        ticket.is_elsewhere = ticket.way != watched_ || watched_ == 0;
        ticket.is_elsewhere &= ticket.state == State::kPending;
        if (ticket.is_elsewhere) ++elsewhere_;
    }
    void discount(Ticket& ticket) {
        if (ticket.is_elsewhere) --elsewhere_;
        ticket.is_elsewhere = false;
    }

    std::array<Transport*, kWaysMax> ways_{};
    uint8_t count_ = 1;
    std::vector<uint8_t> way_of_peer_;  // empty: all by the plain one
    uint8_t adders_ = 0;                // the way of the team's word; 0: there is none
    uint8_t watched_ = 0;               // the way that one can sleep for; 0: none
    uint64_t elsewhere_ = 0;            // messages under way on others
    bool has_failed_ = false;
    uint8_t failed_ = 0;
};

}  // namespace tutti::transport
