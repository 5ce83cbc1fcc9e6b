// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/rdma_facts.h"

#include <sys/resource.h>

#include "run/transport/verbs/rc.h"

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

FactRow facts_of(const Result<std::shared_ptr<transport::verbs::Device>>& device) {
    FactRow row;
    row.subject = "verbs";
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) {
        row.add("locked_memory", "without limit");
    } else {
        row.add("locked_memory", uint64_t{limit.rlim_cur})
            .in(TUTTI_UNIT_BYTES)
            .say("{} (ulimit -l)", 0);
    }
    if (!device) {
        row.add("port", "none: " + device.error().message);
        return row;
    }
    transport::verbs::Device& port = *device.value();
    const transport::verbs::PortCard& card = port.port();
    row.add("port", port.name());
    row.add("link", card.is_ethernet != 0 ? "Ethernet" : "InfiniBand");
    row.add("packet_bytes", uint64_t{card.mtu_bytes}).in(TUTTI_UNIT_BYTES);
    const auto need = transport::verbs::need_of(1, card.mtu_bytes);
    if (const auto endpoint = port.make_endpoint(need)) {
        row.add("connection", uint64_t{need.pair_bytes}).in(TUTTI_UNIT_BYTES).say("{} each");
    } else {
        row.add("connection", "off: " + endpoint.error().message);
    }
    return row;
}

}  // namespace tutti::networks::rdma
