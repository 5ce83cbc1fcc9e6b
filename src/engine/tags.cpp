// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tags.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "arena/process.h"
#include "transport/p2p/p2p.h"

namespace tutti::engine {
namespace {

// Teams across nodes that one process can be in at a time.
constexpr uint32_t kRangesMax = 1u << 16;
// Teams that there shall be tags for, as far as there are enough; and kinds beyond which there is
// no need.
constexpr uint32_t kTeamsWanted = 2048;
constexpr uint32_t kKindsMax = 4096;
// Ranges that members compare at a time.
constexpr uint32_t kWindow = 64;
// More than one or two are needed only when several threads make teams at once.
constexpr uint32_t kAttemptsMax = 1000;

// What a member says: which ranges of the window are free with it, and a number for chance.
struct Offer {
    uint64_t free = 0;
    uint64_t chance = 0;
};

enum class Got : uint32_t { kNothing, kRange, kNoMemory };

// Bit number n of those that are set, n from 0.
uint32_t nth_bit(uint64_t bits, uint64_t n) {
    for (; n > 0; --n) bits &= bits - 1;
    return static_cast<uint32_t>(std::countr_zero(bits));
}

constexpr uint32_t tags_of_team(uint32_t kinds) { return transport::P2p::tags_of(kinds) + 1; }

uint32_t ranges_of(const tutti_p2p& p2p) {
    const uint64_t ranges = (uint64_t{p2p.tag_max} + 1) / tags_of_team(tag_kinds(p2p.tag_max));
    return static_cast<uint32_t>(std::min<uint64_t>(ranges, kRangesMax));
}

}  // namespace

uint32_t tag_kinds(uint32_t tag_max) {
    const uint64_t tags = (uint64_t{tag_max} + 1) / kTeamsWanted;
    const uint64_t others = tags_of_team(0);
    const uint64_t kinds = tags > others ? (tags - others) / transport::kRecoverySlot : 0;
    return static_cast<uint32_t>(std::clamp<uint64_t>(kinds, 1, kKindsMax));
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

uint32_t TagLease::first_tag() const { return range_ * tags_of_team(kinds_); }
uint32_t TagLease::note_tag() const { return first_tag() + transport::P2p::tags_of(kinds_); }

Result<TagLease> agree_on_tags(TagBook& book, const tutti_p2p& p2p, Circle& circle) {
    const uint32_t limit = ranges_of(p2p);
    uint32_t first = 0;
    for (uint32_t attempt = 0; attempt < kAttemptsMax && first < limit;) {
        const Offer mine{book.free_ranges(p2p.user, first, limit), arena::random_token()};
        const auto offers = circle.exchange(mine);
        if (!offers) return offers.error();
        uint64_t free = ~uint64_t{0};
        for (const Offer& offer : offers.value()) free &= offer.free;
        if (free == 0) {
            first += kWindow;
            continue;
        }
        // Teams that are made at the same time may have looked at the same ranges, in another order
        // on each rank; from the second attempt on, chance keeps them apart.
        const uint64_t token = offers.value()[0].chance;
        const uint64_t chance = attempt == 0 ? 0 : token;
        const uint32_t range =
            first + nth_bit(free, chance % static_cast<uint64_t>(std::popcount(free)));
        std::optional<TagLease> lease;
        Got outcome = Got::kNothing;
        const Report taken = guarded([&] {
            if (!book.take(p2p.user, range)) return Report{};
            lease.emplace(book, p2p, range, token);
            outcome = Got::kRange;
            return Report{};
        });
        if (taken.obstacle != Obstacle::kNone) outcome = Got::kNoMemory;
        const auto got = circle.exchange(outcome);
        if (!got) return got.error();
        const auto all = got.value();
        if (std::find(all.begin(), all.end(), Got::kNoMemory) != all.end()) {
            return Error{ErrorCode::kMemory, "out of memory"};
        }
        if (std::find(all.begin(), all.end(), Got::kNothing) == all.end()) {
            return std::move(*lease);
        }
        ++attempt;
    }
    return Error{ErrorCode::kNetwork, "all " + std::to_string(limit) +
                                          " ranges of message tags are in use by communicators "
                                          "that span hosts"};
}

}  // namespace tutti::engine
