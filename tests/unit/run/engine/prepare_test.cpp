// SPDX-License-Identifier: BSD-3-Clause
// tutti_call.prepare: asked for when it is known that a call runs here, and only then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

constexpr uint32_t kRanks = 4;
constexpr uint32_t kWhoCannot = 2;
constexpr const char* kRules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "allreduce"
algorithm = "ring"
[[rule]]
collective = "barrier"
algorithm = "dissemination"
)";

// An allreduce whose buffers are made when they are asked for.
struct Packed {
    explicit Packed(uint32_t own_rank) : rank(own_rank) {}

    uint32_t rank;
    uint32_t asked = 0;
    const char* why = nullptr;
    std::vector<uint32_t> in, out;

    tutti_call call(size_t words) {
        in.assign(words, 0);
        out.assign(words, 0);
        tutti_call call{};
        call.collective = TUTTI_ALLREDUCE;
        call.bytes = words * sizeof(uint32_t);
        call.dtype = TUTTI_UINT32;
        call.prepare = prepare;
        call.prepare_user = this;
        return call;
    }
    static const char* prepare(void* user, const void** send, void** recv) {
        auto& packed = *static_cast<Packed*>(user);
        ++packed.asked;
        packed.in.assign(packed.in.size(), packed.rank + 1);
        *send = packed.in.data();
        *recv = packed.out.data();
        return packed.why;
    }
    [[nodiscard]] bool is_right() const {
        return std::all_of(out.begin(), out.end(), [](uint32_t one) { return one == 10; });
    }
};

class Prepare : public ::testing::TestWithParam<const char*> {};

TEST_P(Prepare, OnceForACallThatRunsHere) {
    const ContextPtr context = make_context({kRules, GetParam(), "TUTTI_MCAST=off"});
    run_hosts(context.get(), kRanks, [](uint32_t rank, tutti_team* team) {
        for (const size_t words : {size_t{1}, size_t{5000}}) {
            Packed packed{rank};
            const tutti_call call = packed.call(words);
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
            EXPECT_EQ(packed.asked, 1u);
            EXPECT_TRUE(packed.is_right());
            Packed later{rank};
            const tutti_call requested = later.call(words);
            tutti_request request;
            ASSERT_EQ(tutti_request_init(&request, team, &requested), TUTTI_OK);
            EXPECT_EQ(later.asked, 0u);
            for (uint32_t turn = 1; turn <= 2; ++turn) {
                ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
                ASSERT_EQ(tutti_request_wait(&request), TUTTI_OK);
                EXPECT_EQ(later.asked, turn);
                EXPECT_TRUE(later.is_right());
            }
        }
        Packed nothing{rank};
        const tutti_call call = nothing.call(0);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK);
        EXPECT_EQ(nothing.asked, 0u);
    });
}

// Not for one that is left to the host, which takes it as it is.
TEST_P(Prepare, NotForTheHost) {
    const ContextPtr context = make_context(
        {kRules, GetParam(), "TUTTI_MCAST=off", "TUTTI_ALLREDUCE=host"}, nullptr, "mpich");
    run_hosts(context.get(), kRanks, [](uint32_t rank, tutti_team* team) {
        Packed packed{rank};
        const tutti_call call = packed.call(16);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_HOST);
        EXPECT_STREQ(tutti_team_ran(team), "host");
        tutti_request requests[2];
        for (tutti_request& request : requests) {
            ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
        }
        for (tutti_request& request : requests) {
            EXPECT_EQ(tutti_request_wait(&request), TUTTI_HOST);
        }
        EXPECT_EQ(packed.asked, 0u);
        const tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK) << tutti_team_message(team);
    });
}

// One member cannot: all others hear of it.
TEST_P(Prepare, AMemberThatCannotEndsTheCallsOfAll) {
    const ContextPtr context = make_context({kRules, GetParam(), "TUTTI_MCAST=off"});
    Hosts hosts{kRanks};
    run_hosts_that_fail(context.get(), hosts, [](uint32_t rank, tutti_team* team) {
        Packed packed{rank};
        if (rank == kWhoCannot) packed.why = "no room for a copy";
        const tutti_call call = packed.call(16);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MEMORY);
        EXPECT_EQ(std::string(tutti_team_message(team)), "the hosts: rank 2: no room for a copy");
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MEMORY);
        EXPECT_LE(packed.asked, 1u);
    });
}

INSTANTIATE_TEST_SUITE_P(Engine, Prepare, ::testing::Values("TUTTI_HOSTS=1", "TUTTI_HOSTS=2"));

}  // namespace
}  // namespace tutti::test
