// SPDX-License-Identifier: BSD-3-Clause
// Why a pair has failed, and what becomes of what is under way with its peer.
#include <cstdio>

#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
// The first failure that is none of agreement is the one that is told. Without memory: there may be
// none, and that may be why.
void Rc::note(uint32_t pair, const char* why, const char* more) {
    if (failure_ == Failure::kPair) return;
    failure_ = Failure::kPair;
    disagreement_ = {};
    failed_pair_ = pair;
    write_error(pair, why, more);
}

void Rc::write_error(uint32_t pair, const char* why, const char* more) {
    std::snprintf(pair_error_.data(), pair_error_.size(), "RDMA to rank %u failed: %s%s",
                  peers_[pair], why, more);
}

// The tickets of all that is under way with this peer fail. One that has said that it sends no more
// may be gone: that is none, and what it has sent lies in the slots.
bool Rc::fail(uint32_t link, const char* why, const char* more) {
    const uint32_t pair = pair_of_link_[link];
    Pair& at = pairs_[pair];
    const bool is_adding_there = pair == kAdderPair && is_adding();
    const bool is_lost =
        (at.sending | at.recving | at.counting) != 0 || is_adding_there || !is_done_there(pair);
    drop_counts(pair);
    if (is_adding_there) end_addition(State::kFailed);
    for (Stream& stream : at.streams) {
        drop(stream.sends);
        drop(stream.recvs);
    }
    at.sending = at.recving = at.offering = 0;
    const bool is_first = failure_ != Failure::kPair;
    if (is_lost) note(pair, why, more);
    return is_lost && is_first;
}

void Rc::tell_cause(uint32_t link, const char* why, const char* more) {
    const uint32_t pair = pair_of_link_[link];
    if (failure_ == Failure::kPair && failed_pair_ == pair) write_error(pair, why, more);
}

void Rc::give_up_pair(uint32_t pair) {
    links_->give_up(pairs_[pair].link);
    failure_ = Failure::kNone;
}

}  // namespace tutti::transport::verbs
