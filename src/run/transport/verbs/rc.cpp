// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/rc.h"

#include <utility>

#include "base/assert.h"
#include "base/clock.h"

namespace tutti::transport::verbs {
namespace {

// So long a team waits, in all, for the ends of what it called off.
constexpr uint64_t kCalledOffNs = 100'000'000;

}  // namespace

Rc::Rc(std::shared_ptr<Links> links, uint32_t number, std::vector<Rank> peers,
       std::vector<uint32_t> link_of, size_t direct_bytes)
    : links_(std::move(links)),
      adder_(number),
      team_(*links_, number, std::move(peers), link_of, direct_bytes) {}

void Rc::send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes, Ticket& ticket) {
    team_.peer(peer).send(id, data, bytes, ticket);
}

void Rc::recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket) {
    team_.peer(peer).recv(id, data, bytes, ticket);
}

void Rc::poll() {
    links_->poll();
    if (links_->polls_tails()) {
        for (TeamPeer& peer : team_.peers()) peer.look_for_tails();
    }
    TeamShare& share = team_.share();
    if (share.counted.is_waiting()) share.take_counts();
}

void Rc::use_adders(Rank ranks) {
    TUTTI_ASSERT(is_counted_at(0), "all add to rank 0's word");
    TeamPeer& first = team_.peer(0);
    adder_.use(ranks, first.link());
    first.carry(adder_);
}

void Rc::fetch_add(uint64_t amount, Ticket& ticket) {
    TUTTI_ASSERT(adders() != 0, "all can add");
    ticket.state = State::kFailed;
    if (!team_.peer(0).refuses(true)) adder_.begin(amount, ticket);
}

void Rc::give_up_pair(uint32_t pair) {
    links_->give_up(team_.peers()[pair].link());
    team_.share().failure.forget();
}

// ---------------------------------------------------------------- messages that are called off

// The memory of the caller is touched no more, but that what is being written straight from there
// is read until it is complete.
void Rc::cancel(Ticket& ticket) {
    if (ticket.state != State::kPending) return;
    if (adder_.cancel(ticket) || team_.share().counted.cancel(ticket)) return;
    TeamPeer& peer = team_.peers()[ticket.number / kSlotsMax];
    const auto stream = static_cast<uint32_t>(ticket.number % kSlotsMax);
    PeerReceives& receives = peer.receives();
    Operation* receive = receives.call_off(stream, ticket);
    if (!receive) {
        peer.sends().cancel(stream, ticket);
    } else if (!receives.is_offered(stream, *receive) || !awaits_end(*receive)) {
        receives.give_up(stream, receive);
    }
}

// The peer may write to what it was offered, and a write that finds no memory breaks the connection
// for all teams alike: where there are others it is waited for, for a while. True: the message is
// over.
bool Rc::awaits_end(const Operation& offered) {
    if (!links_->has_others(team_)) return false;
    Clock& clock = links_->clock();
    if (called_off_ns_ == 0) called_off_ns_ = clock.now_ns();
    while (offered.is_registered() && clock.now_ns() - called_off_ns_ < kCalledOffNs) poll();
    return !offered.is_registered();
}

State Rc::withdraw_receive(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                           Ticket& ticket) {
    TeamPeer& from = team_.peer(peer);
    if (from.link().has_failed()) return State::kFailed;
    // What does not fit its receive has stayed where it was.
    if (ticket.state == State::kFailed) return State::kDone;
    if (id.is_counted && from.is_counted()) {
        return team_.share().counted.withdraw(ticket) ? State::kDone : State::kFailed;
    }
    PeerReceives& receives = from.receives();
    if (ticket.state == State::kDone) {
        const bool is_kept = receives.keep(id.slot, ticket.number, id.word, {data, bytes});
        return is_kept ? State::kDone : State::kFailed;
    }
    if (receives.withdraw(id.slot, ticket)) return State::kDone;
    poll();
    return ticket.state == State::kFailed ? State::kFailed : State::kPending;
}

std::string Rc::error() const {
    const std::string text = team_.share().failure.text();
    return text.empty() && team_.has_closed() ? "the team is gone" : text;
}

// ---------------------------------------------------------------- the end

bool Rc::has_left() {
    poll();
    return links_->teams().is_closing() ? links_->has_left() : team_.has_gone();
}

bool Rc::is_closed() {
    poll();
    return links_->teams().is_closing() ? links_->is_closed() : team_.has_parted();
}

}  // namespace tutti::transport::verbs
