// SPDX-License-Identifier: BSD-3-Clause
// The first part of a recovery (recovery.h): what all ranks must know, up a binomial tree and down
// again. Inside carrier/ only.
#pragma once

#include <cstdint>
#include <vector>

#include "run/mcast/packet.h"
#include "run/transport/carrier/recovery_messages.h"

namespace tutti::transport::carrier {

class RecoveryTree {
  public:
    RecoveryTree(RecoveryMessages& messages, Rank rank, Rank ranks);

    // What this rank knows by itself.
    struct Own {
        uint64_t calls_end = 0;  // it has begun calls below
        mcast::Member dead = 0;
        bool is_contradicted = false;
        bool holds = false;  // what others may miss
    };
    void begin(const Own& own);
    // False: a message must come first, or it is done.
    bool step();
    // What follows is the same on all ranks.
    [[nodiscard]] bool is_decided() const { return stage_ >= Stage::kToChildren; }
    // The children know it as well.
    [[nodiscard]] bool is_done() const { return stage_ == Stage::kDone; }

    [[nodiscard]] uint64_t calls_end() const { return known_[kCallsEnd]; }  // the highest
    // The member that rank 0 takes for the cause.
    [[nodiscard]] mcast::Member dead() const { return static_cast<mcast::Member>(known_[kDead]); }
    [[nodiscard]] bool is_contradicted() const { return known_[kContradicted] != 0; }
    [[nodiscard]] bool holds(Rank rank) const {
        return (known_[kHolders + rank / kWordBits] >> rank % kWordBits & 1) != 0;
    }

  private:
    // In the order in which they follow each other.
    enum class Stage : uint8_t { kIdle, kGather, kToParent, kFromParent, kToChildren, kDone };
    // Of known_; behind these words a bit for each rank that holds something.
    enum Word : size_t { kCallsEnd, kDead, kContradicted, kHolders };
    static constexpr uint32_t kWordBits = 64;

    bool gather();
    bool to_parent();
    bool from_parent();
    bool to_children();
    void merge();
    // The parent of a rank is the rank without its lowest bit, so its children are the rank with
    // one bit below that.
    [[nodiscard]] Rank parent() const { return rank_ & (rank_ - 1); }
    [[nodiscard]] size_t bytes() const { return known_.size() * sizeof(uint64_t); }

    RecoveryMessages& messages_;
    const Rank rank_;
    const Rank ranks_;
    Stage stage_ = Stage::kIdle;
    std::vector<uint64_t> known_;
    std::vector<uint64_t> heard_;  // of a child
    Rank child_bit_ = 1;
};

}  // namespace tutti::transport::carrier
