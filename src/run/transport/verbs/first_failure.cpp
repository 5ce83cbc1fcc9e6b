// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/first_failure.h"

#include <cstdio>

namespace tutti::transport::verbs {

void FirstFailure::note_pair(Rank peer, const char* why, const char* more) {
    if (is_pair()) return;
    kind_ = Kind::kPair;
    disagreement_ = {};
    pair_ = peer;
    write(peer, why, more);
}

void FirstFailure::tell_cause(Rank peer, const char* why, const char* more) {
    if (is_pair() && pair_ == peer) write(peer, why, more);
}

void FirstFailure::write(Rank peer, const char* why, const char* more) {
    std::snprintf(pair_text_.data(), pair_text_.size(), "RDMA to rank %u failed: %s%s", peer, why,
                  more);
}

void FirstFailure::note_size(Rank peer, size_t sent, size_t wanted) {
    if (kind_ != Kind::kNone) return;
    kind_ = Kind::kSize;
    disagreement_ = {true, false, peer, {}, sent < wanted};
    sent_bytes_ = sent;
    wanted_bytes_ = wanted;
}

void FirstFailure::note_word(Rank peer, const CallWord& word) {
    if (kind_ != Kind::kNone) return;
    kind_ = Kind::kWord;
    disagreement_ = {true, true, peer, {}, false};
    disagreement_.word = {word.call, word.before, 0};
}

void FirstFailure::note_count() {
    if (kind_ != Kind::kNone) return;
    kind_ = Kind::kCount;
    disagreement_ = {};
    disagreement_.is_there = disagreement_.is_counted = true;
}

void FirstFailure::forget() {
    kind_ = Kind::kNone;
    disagreement_ = {};
}

std::string FirstFailure::text() const {
    const std::string peer = "rank " + std::to_string(disagreement_.peer);
    switch (kind_) {
        case Kind::kSize:
            return peer + " sent " + std::to_string(sent_bytes_) + " bytes, not " +
                   std::to_string(wanted_bytes_);
        case Kind::kWord:
            return peer + " runs another call";
        case Kind::kPair:
            return pair_text_.data();
        case Kind::kCount:
            return "a rank that was counted runs another call";
        case Kind::kNone:
            break;
    }
    return "";
}

}  // namespace tutti::transport::verbs
