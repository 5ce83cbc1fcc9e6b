// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/p2p/tags.h"

#include <algorithm>

#include "run/transport/p2p/p2p.h"

namespace tutti::transport {
namespace {

// Teams across nodes that one process can be in at a time.
constexpr uint32_t kRangesMax = 1u << 16;
// Teams that there shall be tags for, as far as there are enough; and kinds beyond which there is
// no need.
constexpr uint32_t kTeamsWanted = 2048;
constexpr uint32_t kKindsMax = 4096;
constexpr uint32_t tags_of_team(uint32_t kinds) { return transport::P2p::tags_of(kinds) + 1; }

}  // namespace

uint32_t tag_kinds(uint32_t tag_max) {
    const uint64_t tags = (uint64_t{tag_max} + 1) / kTeamsWanted;
    const uint64_t others = tags_of_team(0);
    const uint64_t kinds = tags > others ? (tags - others) / transport::kRecoverySlot : 0;
    return static_cast<uint32_t>(std::clamp<uint64_t>(kinds, 1, kKindsMax));
}

uint32_t tag_ranges(const tutti_p2p& p2p) {
    const uint64_t ranges = (uint64_t{p2p.tag_max} + 1) / tags_of_team(tag_kinds(p2p.tag_max));
    return static_cast<uint32_t>(std::min<uint64_t>(ranges, kRangesMax));
}

uint64_t TagBook::free_ranges(const void* endpoint, uint32_t first, uint32_t limit) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(endpoint);
    uint64_t free = 0;
    for (uint32_t i = 0; i < kWindow && first + i < limit; ++i) {
        const bool is_taken =
            found != taken_.end() && first + i < found->second.size() && found->second[first + i];
        free |= uint64_t{is_taken ? 0u : 1u} << i;
    }
    return free;
}

bool TagBook::take(const void* endpoint, uint32_t range) {
    const std::lock_guard lock(mutex_);
    std::vector<bool>& taken = taken_[endpoint];
    if (range >= taken.size()) taken.resize(range + 1);
    if (taken[range]) return false;
    taken[range] = true;
    return true;
}

void TagBook::give_back(const void* endpoint, uint32_t range) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(endpoint);
    if (found == taken_.end() || range >= found->second.size()) return;
    std::vector<bool>& taken = found->second;
    taken[range] = false;
    while (!taken.empty() && !taken.back()) taken.pop_back();
    if (taken.empty()) taken_.erase(found);
}

bool TagLease::take(uint32_t range) {
    if (!book_.take(endpoint_, range)) return false;
    ranges_.push_back(range);
    return true;
}

uint32_t TagLease::first_tag(uint32_t range) const { return ranges_[range] * tags_of_team(kinds_); }

uint32_t TagLease::note_tag(uint32_t range) const {
    return first_tag(range) + transport::P2p::tags_of(kinds_);
}

}  // namespace tutti::transport
