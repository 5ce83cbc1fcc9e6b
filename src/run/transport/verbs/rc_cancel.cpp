// SPDX-License-Identifier: BSD-3-Clause
// Messages that are cancelled, and receives that are withdrawn.
#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {

namespace {

// So long a team waits, in all, for the ends of what it called off.
constexpr uint64_t kCalledOffNs = 100'000'000;

}  // namespace

// Of a message that has come in part the rest is thrown away. Behind one that has been sent in part
// a piece says that it is none. The memory of the caller is touched no more, but that what is being
// written straight from there is read until it is complete.
void Rc::cancel(Ticket& ticket) {
    if (ticket.state != State::kPending) return;
    if (adder_.cancel(ticket) || counted_.cancel(ticket)) return;
    Pair& at = pairs_[ticket.number / kSlotsMax];
    const auto stream = static_cast<uint32_t>(ticket.number % kSlotsMax);
    Stream& of = at.streams[stream];
    Operation* operation = of.recvs.find(ticket);
    Line& line = operation ? of.recvs : of.sends;
    const bool is_recv = operation != nullptr;
    if (!operation) operation = of.sends.find(ticket);
    if (!operation) return;
    ticket.state = State::kFailed;
    operation->ticket = nullptr;
    operation->is_given_up = true;
    if (is_recv) {
        const bool is_offered = operation->is_registered() && (at.offering >> stream & 1) == 0;
        if (is_offered && awaits_end(*operation)) return;
        exposures_.give_back(operation->lease);
    }
    operation->source = nullptr;
    operation->target = nullptr;
    if (operation->is_begun) return;
    line.remove(operation);
    pool_.release(operation);
    if (!line.first) (&line == &of.recvs ? at.recving : at.sending) &= ~(1u << stream);
}

// The peer may write to what it was offered, and a write that finds no memory breaks the connection
// for all teams alike: where there are others it is waited for, for a while. True: the message is
// over.
bool Rc::awaits_end(const Operation& offered) {
    if (!links_->has_others(*this)) return false;
    Clock& clock = links_->clock();
    if (called_off_ns_ == 0) called_off_ns_ = clock.now_ns();
    while (offered.is_registered() && clock.now_ns() - called_off_ns_ < kCalledOffNs) poll();
    return !offered.is_registered();
}

bool Rc::take_kept(uint32_t pair, uint32_t stream, Operation& operation) {
    std::vector<Kept>& kept = pairs_[pair].streams[stream].kept;
    const Kept& first = kept.front();
    if (!agrees(pair, stream, operation, first.word, first.bytes.size())) return false;
    if (!first.bytes.empty()) {
        std::memcpy(operation.target, first.bytes.data(), first.bytes.size());
    }
    const uint64_t order = first.order;
    kept.erase(kept.begin());
    end_recv(pair, stream, State::kDone, order);
    return true;
}

State Rc::withdraw_receive(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                           Ticket& ticket) {
    const uint32_t pair = pair_of(peer);
    Pair& at = pairs_[pair];
    if (has_failed(pair)) return State::kFailed;
    // What does not fit its receive has stayed where it was.
    if (ticket.state == State::kFailed) return State::kDone;
    if (id.is_counted && is_counted(pair)) {
        return counted_.withdraw(ticket) ? State::kDone : State::kFailed;
    }
    Stream& stream = at.streams[id.slot];
    if (ticket.state == State::kPending) {
        Operation* operation = stream.recvs.find(ticket);
        if (operation->is_begun) {
            poll();
            return ticket.state == State::kFailed ? State::kFailed : State::kPending;
        }
        stream.recvs.remove(operation);
        pool_.release(operation);
        if (!stream.recvs.first) at.recving &= ~(1u << id.slot);
        return State::kDone;
    }
    // Receives may be withdrawn in any order, and one of what was kept before goes back there.
    try {
        Kept kept{ticket.number, id.word, {}};
        if (bytes > 0) kept.bytes.assign(data, data + bytes);
        const auto behind =
            std::ranges::upper_bound(stream.kept, kept.order, std::less<>{}, &Kept::order);
        stream.kept.insert(behind, std::move(kept));
    } catch (const std::bad_alloc&) {
        return State::kFailed;
    }
    return State::kDone;
}

}  // namespace tutti::transport::verbs
