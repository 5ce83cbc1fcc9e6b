// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/saturation.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::adapt {

void Saturation::restart(uint32_t neighbours) {
    heard_.assign(neighbours, false);
    heard_count_ = 0;
    has_arrived_ = false;
    sent_to_.reset();
}

Saturation::Verdict Saturation::arrive() {
    TUTTI_ASSERT(!has_arrived_, "a member arrives once");
    has_arrived_ = true;
    return next();
}

Saturation::Verdict Saturation::hear(uint32_t neighbour) {
    TUTTI_ASSERT(neighbour < heard_.size() && !heard_[neighbour], "a neighbour tells once");
    heard_[neighbour] = true;
    ++heard_count_;
    return next();
}

Saturation::Verdict Saturation::next() {
    if (!has_arrived_) return {};
    const auto missing = static_cast<uint32_t>(heard_.size()) - heard_count_;
    if (missing == 0) {
        if (!sent_to_) return {.then = Then::kRelease};
        return {.then = Then::kReleaseSide, .neighbour = *sent_to_};
    }
    if (missing > 1) return {};
    // Of two that are missing one, only one more comes: so this is reached once.
    TUTTI_ASSERT(!sent_to_, "a part is sent once");
    const auto last = std::ranges::find(heard_, false);
    sent_to_ = static_cast<uint32_t>(last - heard_.begin());
    return {.then = Then::kSend, .neighbour = *sent_to_};
}

}  // namespace tutti::adapt
