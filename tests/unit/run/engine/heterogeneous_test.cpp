// SPDX-License-Identifier: BSD-3-Clause
// Hosts that do not compute alike: a user's operator adds what only its own rank adds, so results
// differ between hosts wherever more than one of them computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "plan/algo/registry.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

void add_and_round(void* own, const void* left, void* inout, size_t count) {
    const auto* from = static_cast<const uint64_t*>(left);
    auto* into = static_cast<uint64_t*>(inout);
    for (size_t i = 0; i < count; ++i) into[i] += from[i] + *static_cast<uint64_t*>(own);
}

// Of an allreduce of so many elements, what each rank has.
std::vector<std::vector<uint64_t>> results_of(tutti_context* context, uint32_t ranks,
                                              size_t elements) {
    std::vector<std::vector<uint64_t>> results(ranks, std::vector<uint64_t>(elements));
    run_hosts(context, ranks, [&](uint32_t rank, tutti_team* team) {
        uint64_t own = uint64_t{1} << (4 * rank);
        std::iota(results[rank].begin(), results[rank].end(), rank);
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = TUTTI_IN_PLACE;
        call.recv = results[rank].data();
        call.bytes = elements * sizeof(uint64_t);
        call.op = TUTTI_OP_USER;
        call.commutes = 1;
        call.element_bytes = sizeof(uint64_t);
        call.reduce = add_and_round;
        call.reduce_user = &own;
        ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
    });
    return results;
}

bool are_equal(const std::vector<std::vector<uint64_t>>& results) {
    return std::ranges::all_of(results, [&](const auto& one) { return one == results.front(); });
}

std::vector<const algo::Algorithm*> by_messages() {
    std::vector<const algo::Algorithm*> found;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (one.collective == TUTTI_ALLREDUCE && !one.has_multicast) found.push_back(&one);
    }
    return found;
}

TEST(Heterogeneous, WhoComputesOftenIsKnown) {
    for (const algo::Algorithm* one : by_messages()) {
        const std::string name = "TUTTI_ALLREDUCE=" + std::string(one->name);
        for (const uint32_t ranks : {5u, 8u}) {
            const std::string hosts = "TUTTI_HOSTS=" + std::to_string(ranks);
            const ContextPtr context =
                make_context({name.c_str(), hosts.c_str(), "TUTTI_MCAST=off"});
            const bool equal = are_equal(results_of(context.get(), ranks, 40));
            // What meets computes in one place unless parts cross.
            if (one->follows_arrival) continue;
            EXPECT_EQ(equal, !one->computes_often) << one->name << ", " << ranks;
        }
    }
}

TEST(Heterogeneous, AllHaveWhatOneHostComputed) {
    for (const char* hosts : {"TUTTI_HOSTS=7", "TUTTI_HOSTS=3", "TUTTI_HOSTS=4:round-robin"}) {
        const ContextPtr context =
            make_context({"TUTTI_HETEROGENEOUS=1", hosts, "TUTTI_MCAST=off"});
        for (const size_t elements : {1u, 30u, 500u, 5'000u, 100'000u}) {
            const auto results = results_of(context.get(), 7, elements);
            // Of the ranks of one host each computes for itself.
            EXPECT_TRUE(are_equal(results)) << hosts << ", " << elements;
        }
    }
}

TEST(Heterogeneous, WhatIsNamedAndComputesOftenIsAnError) {
    const ContextPtr context = make_context(
        {"TUTTI_HETEROGENEOUS=1", "TUTTI_HOSTS=2", "TUTTI_ALLREDUCE=pairwise", "TUTTI_MCAST=off"});
    run_hosts(context.get(), 2, [&](uint32_t, tutti_team* team) {
        uint32_t value = 1;
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.send = TUTTI_IN_PLACE;
        call.recv = &value;
        call.bytes = sizeof value;
        call.dtype = TUTTI_UINT32;
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_ALGORITHM);
        EXPECT_NE(std::string(tutti_team_message(team)).find("TUTTI_HETEROGENEOUS"),
                  std::string::npos)
            << tutti_team_message(team);
    });
}

}  // namespace
}  // namespace tutti::test
