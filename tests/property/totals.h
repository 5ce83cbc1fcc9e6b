// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of an algorithm do together, counted.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "lab/check/count.h"
#include "property/shapes.h"

namespace tutti::algo {

// Of all ranks' programs.
struct Totals {
    uint64_t steps = 0;           // longest chain of dependent messages
    uint64_t rounds = 0;          // the most of one rank
    uint64_t messages = 0;        // of all ranks together
    uint64_t bytes = 0;           // sent by all ranks together
    uint64_t messages_sent = 0;   // the most by one rank
    uint64_t bytes_sent = 0;      // the most by one rank
    uint64_t bytes_received = 0;  // the most by one rank
    uint64_t reduced_bytes = 0;   // of all ranks together
    // Sent, which is once a multicast; and received by the rank that receives most.
    uint64_t multicasts = 0;
    uint64_t multicast_bytes = 0;
    uint64_t multicasts_sent = 0;  // the most by one rank
    uint64_t multicast_bytes_received = 0;
    bool operator==(const Totals&) const = default;
};

inline Totals totals(const Algorithm& algorithm, const Shape& shape, const Tuning& tuning = {}) {
    const auto programs = make_all(algorithm, shape, tuning);
    Totals all;
    std::vector<check::Count> counts;
    for (const auto& program : programs) {
        counts.push_back(check::count(*program));
        all.messages += counts.back().messages_sent;
        all.bytes += counts.back().bytes_sent;
        all.reduced_bytes += counts.back().reduced_bytes;
        all.multicasts += counts.back().multicasts_sent;
        all.multicast_bytes += counts.back().multicast_bytes_sent;
    }
    const check::Count most = check::maximum(counts);
    all.rounds = most.rounds;
    all.messages_sent = most.messages_sent;
    all.bytes_sent = most.bytes_sent;
    all.bytes_received = most.bytes_received;
    all.multicasts_sent = most.multicasts_sent;
    all.multicast_bytes_received = most.multicast_bytes_received;
    const topo::Placement apart = topo::Placement::blocks(shape.ranks, shape.ranks);
    all.steps = check::critical_rounds(apart, programs);
    return all;
}

inline uint64_t floor_log2(uint64_t p) { return static_cast<uint64_t>(std::bit_width(p)) - 1; }
inline uint64_t ceil_log2(uint64_t p) { return static_cast<uint64_t>(std::bit_width(p - 1)); }

// Calls check(shape, totals) for every p > 1 and every root (some, beyond 64 ranks); n is a
// multiple of 8 p.
template <class Check>
void for_every_p(tutti_collective collective, const char* name, Check check) {
    const Algorithm& algorithm = *find(collective, name);
    for (const Rank p : rank_counts()) {
        if (p == 1) continue;
        for (const Rank root : every_root(collective, p)) {
            const Shape shape = {.collective = collective,
                                 .ranks = p,
                                 .root = root,
                                 .bytes = uint64_t{24} * p,
                                 .element_bytes = 8,
                                 .has_multicast = true};
            SCOPED_TRACE(testing::Message() << name << ", " << p << " ranks, root " << root);
            check(shape, totals(algorithm, shape));
            if (testing::Test::HasFailure()) return;
        }
    }
}

}  // namespace tutti::algo
