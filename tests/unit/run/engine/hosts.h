// SPDX-License-Identifier: BSD-3-Clause
// Threads as the ranks of a team across pretended hosts, whose messages go through a mailbox.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/mailbox.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/exchanges.h"

namespace tutti::test {

struct Hosts {
    uint32_t ranks;
    Meeting meeting{ranks};
    Mailbox mailbox{ranks};
    Made make(tutti_context* context, uint32_t rank, uint32_t requests = 1) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        return make_team(context, meeting, rank, "the hosts", &p2p, requests);
    }
};

using HostsBody = std::function<void(uint32_t, tutti_team*)>;

// Messages of calls that fail may stay in the mailbox.
inline void run_hosts_that_fail(tutti_context* context, Hosts& hosts, const HostsBody& body) {
    run_threads(hosts.ranks, [&](uint32_t rank) {
        const Made made = hosts.make(context, rank);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        body(rank, made.team.get());
    });
}

inline void run_hosts(tutti_context* context, uint32_t ranks, const HostsBody& body) {
    Hosts hosts{ranks};
    run_hosts_that_fail(context, hosts, body);
    EXPECT_EQ(hosts.mailbox.under_way(), 0u);
}

inline Exchanges draw_exchanges(Prng& prng, uint32_t ranks, uint32_t count) {
    // Algorithms across hosts may put the operands of a commutative operator in any order.
    const Limits limits{ranks, std::max<size_t>(1024, 64 * ranks), 12'000, false};
    Exchanges exchanges;
    for (uint32_t i = 0; i < count; ++i) {
        exchanges.push_back(std::make_unique<Exchange>(draw_spec(prng, limits), ranks));
    }
    return exchanges;
}

inline void run_exchanges(tutti_context* context, uint32_t ranks, const Exchanges& exchanges,
                          const std::string& hint = "") {
    run_hosts(context, ranks,
              [&](uint32_t rank, tutti_team* team) { run_all(exchanges, rank, team, hint); });
}

}  // namespace tutti::test
