// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/rdma_facts.h"

namespace tutti::networks::rdma {

// The largest team speaks for all. Of equal teams, one that has registered memory speaks. Each
// reason has a row of its own.
FactRow facts_of(const RdmaStory& story, const Whose& whose) {
    constexpr uint64_t kIsUsed = uint64_t{1} << 40;
    if (!story.is_used) {
        FactRow row = row_about(whose, "verbs", "no messages by RDMA on {}");
        row.key = story.obstacle;
        row.weight = whose.ranks;
        row.add("state", "off");
        row.add("reason", story.obstacle).say(": {}");
        return row;
    }
    FactRow row = row_about(whose, "verbs", "messages by RDMA on {}");
    row.key = "on";
    row.weight = kIsUsed + uint64_t{2} * whose.ranks + (story.is_shared ? 0 : 1);
    row.add("sharing", uint64_t{story.is_shared ? 1u : 0u})
        .sum()
        .say(", {} by connections of others");
    row.add("state", "on");
    row.add("port", story.port).say(": its first rank by {}");
    row.add("peers", story.peers).say(" to {:rank}", 0);
    row.add("registered_bytes", story.memory_bytes).in(TUTTI_UNIT_BYTES).say(", {} registered", 0);
    row.add("polls_tails", story.polls_tails).say(", messages found by their ends");
    row.add("additions", story.additions).sum().say("; {:message} as additions to counters");
    row.add("long_messages", story.sent_straight).sum().say("; {:long message} without a copy");
    row.add("long_copied", story.sent_copied)
        .sum()
        .say("; {:long message} copied, as their memory could not be registered (ulimit -l)");
    return row;
}

}  // namespace tutti::networks::rdma
