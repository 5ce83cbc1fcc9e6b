// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/set_splits.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::survey {

SetSplits::SetSplits(std::vector<uint32_t> hosts, Prng& random) {
    TUTTI_ASSERT(hosts.size() >= 2, "there is something to split");
    sets_.push_back({.hosts = std::move(hosts), .children = {}});
    begin_split(0, random);
}

void SetSplits::begin_split(uint32_t set, Prng& random) {
    splits_.push_back({set, Splitter(sets_[set].hosts, random.next())});
}

std::vector<Transfer> SetSplits::ask(Prng& random) {
    while (!splits_.empty()) {
        std::vector<Transfer> transfers;
        for (Split& split : splits_) {
            split.asked = 0;
            if (split.splitter.is_done()) continue;
            const std::vector<Transfer> some = split.splitter.ask();
            split.asked = some.size();
            transfers.insert(transfers.end(), some.begin(), some.end());
        }
        if (!transfers.empty()) return transfers;
        // All of a level are done, and what they found is split in turn.
        const std::vector<Split> ended = std::exchange(splits_, {});
        for (const Split& split : ended) end_split(split, random);
    }
    return {};
}

uint32_t SetSplits::trials() const {
    uint32_t trials = 1;
    for (const Split& split : splits_) {
        if (!split.splitter.is_done()) trials = std::max(trials, split.splitter.trials());
    }
    return trials;
}

void SetSplits::take(std::span<const double> speeds, double spread) {
    size_t first = 0;
    for (Split& split : splits_) {
        if (split.asked == 0) continue;
        TUTTI_ASSERT(first + split.asked <= speeds.size(), "each transfer has a speed");
        split.splitter.take(speeds.subspan(first, split.asked), spread);
        first += split.asked;
    }
    TUTTI_ASSERT(first == speeds.size(), "each speed is of a transfer");
}

void SetSplits::end_split(const Split& split, Prng& random) {
    is_doubtful_ |= split.splitter.is_doubtful();
    const uint32_t parent = split.set;
    if (split.splitter.groups().empty()) {
        // Hosts that are slow with all others are not of the group; without them there may be more
        // to see.
        const std::vector<uint32_t>& loners = split.splitter.loners();
        if (loners.empty() || is_doubtful_) return;
        std::vector<uint32_t>& hosts = sets_[parent].hosts;
        for (const uint32_t loner : loners) std::erase(hosts, loner);
        if (!hosts.empty()) begin_split(parent, random);
        return;
    }
    for (const std::vector<uint32_t>& group : split.splitter.groups()) {
        const auto number = static_cast<uint32_t>(sets_.size());
        sets_[parent].children.push_back(number);
        sets_.push_back({.parent = parent, .hosts = group, .children = {}, .is_by_load = true});
        begin_split(number, random);
    }
}

}  // namespace tutti::survey
