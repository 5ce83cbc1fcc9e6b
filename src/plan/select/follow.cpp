// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/follow.h"

#include <algorithm>

namespace tutti::select {
namespace {

// As many as the first comparison of a team has. A verdict is by medians: one call in which a
// processor did something else says nothing.
constexpr uint32_t kSamplesMin = 4;
// Who is last releases all by one multicast, at best. Less than twice that is not worth a try.
constexpr uint64_t kMulticasts = 2;
// By so much, in per cent, it has to be faster.
constexpr uint64_t kMargin = 5;
constexpr uint32_t kPatienceMax = 64;

uint64_t median(const std::array<uint64_t, Follow::Choice::kSamplesMax>& all, uint32_t count) {
    auto sorted = all;
    std::sort(sorted.begin(), sorted.begin() + count);
    return sorted[(count - 1) / 2];
}

// Late enough for a try, and for what was kept to stay.
bool is_late_enough(uint64_t spread_ns, uint64_t delay_ns, std::optional<uint64_t> by_price_ns) {
    return by_price_ns ? spread_ns >= *by_price_ns : spread_ns > delay_ns;
}

// Back to what the rules say. True: calls run otherwise.
bool give_up(Follow::Choice& choice) {
    choice.wait = choice.patience;
    choice.follows = choice.is_kept = false;
    return true;
}

}  // namespace

bool Follow::may_follow(const CallKind& kind) {
    if (kind.collective == TUTTI_BARRIER) return true;
    const bool is_short = kind.bytes > 0 && kind.bytes <= kBytesMax;
    return kind.collective == TUTTI_ALLREDUCE && kind.is_exact && is_short;
}

void Follow::sampled(tutti_collective collective, uint64_t spread_ns, uint64_t delay_ns) {
    Choice& choice = choices_[index_of(collective)];
    if (choice.samples == Choice::kSamplesMax) return;
    choice.spread_ns[choice.samples] = spread_ns;
    choice.delay_ns[choice.samples] = delay_ns;
    ++choice.samples;
}

bool Follow::heard(uint64_t multicast_ns, uint64_t calls) {
    bool has_changed = false;
    for (Choice& choice : choices_) {
        if (choice.samples < kSamplesMin) continue;
        const bool changes = judge(choice, multicast_ns);
        choice.samples = 0;
        choice.pays_from_ns.reset();
        if (changes) choice.since = calls;
        has_changed |= changes;
    }
    return has_changed;
}

bool Follow::asks_price(tutti_collective collective, uint64_t multicast_ns) const {
    const Choice& choice = of(collective);
    if (choice.follows || choice.wait > 0 || choice.samples < kSamplesMin) return false;
    return multicast_ns > 0 && median(choice.spread_ns, choice.samples) > multicast_ns;
}

// True where it follows from now on, or no more.
bool Follow::judge(Choice& choice, uint64_t multicast_ns) {
    const uint64_t delay_ns = median(choice.delay_ns, choice.samples);
    const uint64_t spread_ns = median(choice.spread_ns, choice.samples);
    if (!choice.follows) {
        if (choice.wait > 0) {
            --choice.wait;
            return false;
        }
        if (multicast_ns == 0) return false;
        const bool is_long = choice.pays_from_ns || delay_ns >= kMulticasts * multicast_ns;
        if (!is_long || !is_late_enough(spread_ns, delay_ns, choice.pays_from_ns)) return false;
        choice.before_ns = delay_ns;
        choice.follows_from_ns = choice.pays_from_ns;
        return choice.follows = true;
    }
    if (multicast_ns == 0) return give_up(choice);
    if (choice.is_kept) {
        const bool stays = is_late_enough(spread_ns, delay_ns, choice.follows_from_ns);
        return (!stays || delay_ns > choice.before_ns) && give_up(choice);
    }
    if (delay_ns * 100 <= choice.before_ns * (100 - kMargin)) {
        choice.patience = 1;
        choice.is_kept = true;
        return false;
    }
    const bool changes = give_up(choice);
    choice.patience = std::min(2 * choice.patience, kPatienceMax);
    return changes;
}

}  // namespace tutti::select
