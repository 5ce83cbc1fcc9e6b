// SPDX-License-Identifier: BSD-3-Clause
// The tree of the ranks that meet, put together from the neighbours that each of them names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/check/abstract_run.h"

namespace tutti::check {

class MeetTree {
  public:
    // All who meet, in any order.
    explicit MeetTree(std::span<const Meeter> all);

    // What is wrong with it, and in whose view; empty: it is a tree, and both ends of each edge say
    // the same of it.
    [[nodiscard]] const std::string& fault() const { return fault_; }
    [[nodiscard]] const LiveOperation* faulty() const { return faulty_; }

    // Of a tree. Indices into `all`: each behind its parent, children in their order.
    [[nodiscard]] std::span<const uint32_t> downwards() const { return downwards_; }
    // The reverse.
    [[nodiscard]] std::vector<uint32_t> upwards() const {
        return {downwards_.rbegin(), downwards_.rend()};
    }
    [[nodiscard]] uint32_t top() const { return downwards_.front(); }
    // The top's is itself.
    [[nodiscard]] uint32_t parent(uint32_t index) const { return parent_[index]; }
    // Of one who meets.
    [[nodiscard]] uint32_t index_of(Rank rank) const { return index_of_[rank]; }

  private:
    void look(std::span<const Meeter> all);
    void look_at_edge(std::span<const Meeter> all, uint32_t index, const LiveOperation& with);
    void fault(const LiveOperation& live, const std::string& what);

    std::vector<uint32_t> index_of_;  // by rank
    std::vector<uint32_t> parent_;
    std::vector<uint32_t> downwards_;
    std::string fault_;
    const LiveOperation* faulty_ = nullptr;
};

// One of those who meet whose release comes in another way than the first one's, or by multicast
// where not all ranks meet; or who is fed otherwise than the middle feeds. Null: none.
[[nodiscard]] const LiveOperation* otherwise_told(std::span<const Meeter> all, const MeetTree& tree,
                                                  size_t ranks);

// Who feeds whom if all are there at once: the middle, then the others in its order, each with the
// index of who feeds it. Empty: what they say makes no tree.
struct Fed {
    uint32_t index = 0;  // into `all`
    uint32_t source = 0;
};
[[nodiscard]] std::vector<Fed> fed_at_once(std::span<const Meeter> all, const MeetTree& tree);

}  // namespace tutti::check
