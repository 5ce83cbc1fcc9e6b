// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/recovery_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::transport::carrier {

RecoveryTree::RecoveryTree(RecoveryMessages& messages, Rank rank, Rank ranks)
    : messages_(messages),
      rank_(rank),
      ranks_(ranks),
      known_(kHolders + (ranks + kWordBits - 1) / kWordBits),
      heard_(known_.size()) {}

void RecoveryTree::begin(const Own& own) {
    TUTTI_ASSERT(stage_ == Stage::kIdle, "a recovery begins once");
    known_[kCallsEnd] = own.calls_end;
    known_[kDead] = own.dead;
    known_[kContradicted] = own.is_contradicted ? 1 : 0;
    if (own.holds) known_[kHolders + rank_ / kWordBits] |= uint64_t{1} << rank_ % kWordBits;
    stage_ = Stage::kGather;
}

bool RecoveryTree::step() {
    switch (stage_) {
        case Stage::kGather:
            return gather();
        case Stage::kToParent:
            return to_parent();
        case Stage::kFromParent:
            return from_parent();
        case Stage::kToChildren:
            return to_children();
        case Stage::kIdle:
        case Stage::kDone:
            break;
    }
    return false;
}

void RecoveryTree::merge() {
    known_[kCallsEnd] = std::max(known_[kCallsEnd], heard_[kCallsEnd]);
    known_[kContradicted] |= heard_[kContradicted];
    for (size_t i = kHolders; i < known_.size(); ++i) known_[i] |= heard_[i];
}

bool RecoveryTree::gather() {
    if (messages_.is_posted()) {
        if (!messages_.has_arrived()) return false;
        merge();
        child_bit_ *= 2;
    }
    const bool is_below = child_bit_ < ranks_ && (rank_ & child_bit_) == 0;
    if (!is_below) {
        stage_ = rank_ == 0 ? Stage::kToChildren : Stage::kToParent;
        return true;
    }
    if (rank_ + child_bit_ >= ranks_) {
        child_bit_ *= 2;
        return true;
    }
    messages_.recv(rank_ + child_bit_, RecoveryWay::kUp, 0, heard_.data(), bytes());
    return true;
}

bool RecoveryTree::to_parent() {
    if (!messages_.is_posted()) {
        messages_.send(parent(), RecoveryWay::kUp, 0, known_.data(), bytes());
    }
    if (!messages_.has_arrived()) return false;
    stage_ = Stage::kFromParent;
    return true;
}

bool RecoveryTree::from_parent() {
    if (!messages_.is_posted()) {
        messages_.recv(parent(), RecoveryWay::kDown, 0, known_.data(), bytes());
    }
    if (!messages_.has_arrived()) return false;
    stage_ = Stage::kToChildren;
    return true;
}

bool RecoveryTree::to_children() {
    if (messages_.is_posted() && !messages_.has_arrived()) return false;
    while (child_bit_ > 1) {
        child_bit_ /= 2;
        const Rank child = rank_ + child_bit_;
        if (child >= ranks_) continue;
        messages_.send(child, RecoveryWay::kDown, 0, known_.data(), bytes());
        return true;
    }
    stage_ = Stage::kDone;
    return false;
}

}  // namespace tutti::transport::carrier
