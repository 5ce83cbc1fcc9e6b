// SPDX-License-Identifier: BSD-3-Clause
// Why a pair has failed, and what becomes of what is under way with its peer.
#include <array>
#include <cstdio>

#include "transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

constexpr int kFlushed = 5;  // IBV_WC_WR_FLUSH_ERR

}  // namespace

// The first failure that is none of agreement is the one that is told. Without memory: there may be
// none, and that may be why.
void Rc::note(uint32_t pair, const char* why, const char* more) {
    if (failure_ == Failure::kPair) return;
    failure_ = Failure::kPair;
    disagreement_ = {};
    write_error(pair, why, more);
}

void Rc::write_error(uint32_t pair, const char* why, const char* more) {
    std::snprintf(pair_error_.data(), pair_error_.size(), "RDMA to rank %u failed: %s%s",
                  peers_[pair], why, more);
}

// The tickets of all that is under way with this peer fail. One that has said that it sends no more
// may be gone: that is none, and what it has sent lies in the slots.
void Rc::fail_pair(uint32_t pair, const char* why, const char* more) {
    Pair& at = pairs_[pair];
    if (at.has_failed) return;
    const bool is_adding = pair == kAdderPair && adding_.is_under_way;
    const bool is_lost =
        (at.sending | at.recving | at.counting) != 0 || is_adding || !at.is_left_by_peer;
    at.has_failed = true;
    drop_counts(pair);
    if (is_adding) end_addition(State::kFailed);
    for (Stream& stream : at.streams) {
        drop(stream.sends);
        drop(stream.recvs);
    }
    at.sending = at.recving = at.offering = 0;
    if (is_lost) note(pair, why, more);
}

void Rc::give_up_pair(uint32_t pair) {
    fail_pair(pair, "it was given up");
    failure_ = Failure::kNone;
    without_cause_ = kNoPair;
}

// All that the pair had posted is flushed: receives perhaps before the write that was the cause.
void Rc::fail_by(const Completion& completion) {
    const uint32_t pair = completion.pair;
    const bool is_cause = completion.status != kFlushed;
    const char* why = endpoint_->status_text(completion.status);
    std::array<char, 32> status;
    std::snprintf(status.data(), status.size(), " (status %d)", completion.status);
    if (!pairs_[pair].has_failed) {
        const bool was_told = failure_ == Failure::kPair;
        fail_pair(pair, why, status.data());
        if (!was_told && failure_ == Failure::kPair && !is_cause) without_cause_ = pair;
    } else if (pair == without_cause_ && is_cause) {
        write_error(pair, why, status.data());
        without_cause_ = kNoPair;
    }
}

// As far as the pair's own queues may have it behind what was flushed.
void Rc::look_for_cause() {
    for (uint32_t seen = 0; without_cause_ != kNoPair && seen < kSends + kRecvs;) {
        const int found = endpoint_->poll(completions_);
        if (found <= 0) return;
        for (int i = 0; i < found; ++i) complete(completions_[i]);
        seen += static_cast<uint32_t>(found);
    }
}

}  // namespace tutti::transport::verbs
