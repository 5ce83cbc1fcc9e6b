// SPDX-License-Identifier: BSD-3-Clause
// What a member of a group owes to others, in the order in which it came up: each kind at most once
// a member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "run/mcast/packet.h"

namespace tutti::mcast {

// kBeat and kTell answer a member that asks on the detour: up to where the own stream reaches, and
// how far this member has come.
enum class Work : uint8_t { kAck, kNak, kAsk, kBeat, kTell };

class GroupWork {
  public:
    struct Item {
        Work work;
        Member member;
    };

    explicit GroupWork(uint32_t members)
        : members_(members), items_(size_t{kKinds} * members), is_queued_(items_.size()) {}

    [[nodiscard]] bool is_empty() const { return count_ == 0; }
    [[nodiscard]] bool is_queued(Work work, Member member) const {
        return is_queued_[index_of({work, member})];
    }
    // False if it is queued already, or nobody needs it any more.
    bool add(Work work, Member member) {
        const size_t index = index_of({work, member});
        if (is_queued_[index] || (is_ended_ && work != Work::kTell)) return false;
        is_queued_[index] = true;
        TUTTI_ASSERT(count_ < items_.size(), "work is queued twice");
        items_[(first_ + count_) % items_.size()] = {work, member};
        ++count_;
        return true;
    }
    Item pop() {
        TUTTI_ASSERT(count_ > 0, "there is work");
        const Item item = items_[first_];
        first_ = (first_ + 1) % static_cast<uint32_t>(items_.size());
        --count_;
        is_queued_[index_of(item)] = false;
        return item;
    }
    // The group has failed: from now on others are only told so.
    void end() {
        count_ = 0;
        is_queued_.assign(is_queued_.size(), false);
        is_ended_ = true;
    }
    [[nodiscard]] bool is_ended() const { return is_ended_; }

  private:
    static constexpr uint32_t kKinds = 5;

    [[nodiscard]] size_t index_of(const Item& item) const {
        return static_cast<size_t>(item.work) * members_ + item.member;
    }

    const uint32_t members_;
    std::vector<Item> items_;  // a ring
    uint32_t first_ = 0;
    uint32_t count_ = 0;
    std::vector<bool> is_queued_;
    bool is_ended_ = false;
};

}  // namespace tutti::mcast
