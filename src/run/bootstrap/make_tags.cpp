// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/make_tags.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "run/arena/process.h"

namespace tutti::bootstrap {
namespace {

// More than one or two are needed only when several threads make teams at once.
constexpr uint32_t kAttemptsMax = 1000;

// What a member says: which ranges of the window are free with it, and a number for chance.
struct Offer {
    uint64_t free = 0;
    uint64_t chance = 0;
};

enum class Got : uint32_t { kNothing, kAll, kNoMemory };

// Bit number n of those that are set, n from 0.
uint32_t nth_bit(uint64_t bits, uint64_t n) {
    for (; n > 0; --n) bits &= bits - 1;
    return static_cast<uint32_t>(std::countr_zero(bits));
}

}  // namespace

Result<transport::TagLease> agree_on_tags(transport::TagBook& book, const tutti_p2p& p2p,
                                          Circle& circle, uint32_t ranges) {
    const uint32_t limit = transport::tag_ranges(p2p);
    uint32_t first = 0;
    for (uint32_t attempt = 0; attempt < kAttemptsMax && first < limit;) {
        const Offer mine{book.free_ranges(p2p.user, first, limit), arena::random_token()};
        const auto offers = circle.exchange(mine);
        if (!offers) return offers.error();
        uint64_t free = ~uint64_t{0};
        for (const Offer& offer : offers.value()) free &= offer.free;
        const auto count = static_cast<uint32_t>(std::popcount(free));
        if (count < ranges) {
            first += transport::TagBook::kWindow;
            continue;
        }
        // Teams that are made at the same time may have looked at the same ranges, in another order
        // on each rank; from the second attempt on, chance keeps them apart.
        const uint64_t token = offers.value()[0].chance;
        const uint64_t chance = attempt == 0 ? 0 : token;
        std::optional<transport::TagLease> lease;
        const Report taken = guarded([&] {
            lease.emplace(book, p2p, ranges, token);
            for (uint32_t i = 0; i < ranges; ++i) {
                if (!lease->take(first + nth_bit(free, (chance + i) % count))) break;
            }
            return Report{};
        });
        Got outcome = Got::kNothing;
        if (taken.obstacle != Obstacle::kNone) {
            outcome = Got::kNoMemory;
        } else if (lease->ranges() == ranges) {
            outcome = Got::kAll;
        }
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
    if (ranges > 1) {
        return Error{ErrorCode::kNetwork, "no " + std::to_string(ranges) + " of " +
                                              std::to_string(limit) +
                                              " ranges of message tags are free side by side"};
    }
    return Error{ErrorCode::kNetwork, "all " + std::to_string(limit) +
                                          " ranges of message tags are in use by communicators "
                                          "that span hosts"};
}

}  // namespace tutti::bootstrap
