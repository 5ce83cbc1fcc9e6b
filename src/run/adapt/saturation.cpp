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

void Saturation::check() const {
    TUTTI_ASSERT(heard_count_ <= heard_.size(), "more neighbours are heard than there are");
    TUTTI_ASSERT(!sent_to_ || has_arrived_, "a part is sent before its member arrived");
    TUTTI_ASSERT(!sent_to_ || heard_count_ + 1 >= heard_.size(), "a part is sent too soon");
    TUTTI_ASSERT_SLOW(std::ranges::count(heard_, true) == heard_count_,
                      "neighbours are miscounted");
}

Saturation::Verdict Saturation::arrive() {
    TUTTI_ASSERT(!has_arrived_, "a member arrives once");
    has_arrived_ = true;
    const Verdict verdict = next();
    check();
    return verdict;
}

Saturation::Verdict Saturation::hear(uint32_t neighbour) {
    TUTTI_ASSERT(neighbour < heard_.size() && !heard_[neighbour], "a neighbour tells once");
    heard_[neighbour] = true;
    ++heard_count_;
    const Verdict verdict = next();
    check();
    return verdict;
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
