// SPDX-License-Identifier: BSD-3-Clause
// tutti_call.buffers_later: what runs a call is chosen before its buffers are ready.
#include <gtest/gtest.h>

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

// An allreduce whose buffers are made when it is chosen.
tutti_call allreduce_of(size_t words) {
    tutti_call call{};
    call.collective = TUTTI_ALLREDUCE;
    call.bytes = words * sizeof(uint32_t);
    call.dtype = TUTTI_UINT32;
    call.buffers_later = 1;
    return call;
}

class BuffersLater : public ::testing::TestWithParam<const char*> {};

TEST_P(BuffersLater, ACallThatRunsHereIsChosenFirst) {
    const ContextPtr context = make_context({kRules, GetParam(), "TUTTI_MCAST=off"});
    run_hosts(context.get(), kRanks, [](uint32_t rank, tutti_team* team) {
        for (const size_t words : {size_t{1}, size_t{5000}}) {
            const tutti_call call = allreduce_of(words);
            ASSERT_EQ(tutti_run(team, &call), TUTTI_CHOSEN) << tutti_team_message(team);
            const std::vector<uint32_t> in(words, rank + 1);
            std::vector<uint32_t> out(words);
            ASSERT_EQ(tutti_resume(team, in.data(), out.data()), TUTTI_OK)
                << tutti_team_message(team);
            EXPECT_EQ(out, std::vector<uint32_t>(words, 10));
            EXPECT_EQ(tutti_resume(team, in.data(), out.data()), TUTTI_ERR_ARGUMENT);
        }
        const tutti_call nothing = allreduce_of(0);
        EXPECT_EQ(tutti_run(team, &nothing), TUTTI_OK);
        EXPECT_EQ(tutti_resume(team, nullptr, nullptr), TUTTI_ERR_ARGUMENT);
        tutti_request request;
        const tutti_call call = allreduce_of(1);
        EXPECT_EQ(tutti_request_init(&request, team, &call), TUTTI_ERR_ARGUMENT);
    });
}

// No exchange is right in place, which the caller says when it gives the buffers. The call waits
// for better ones.
TEST_P(BuffersLater, AnExchangeIsNotInPlace) {
    const ContextPtr context = make_context({kRules, GetParam(), "TUTTI_MCAST=off"});
    run_hosts(context.get(), kRanks, [](uint32_t rank, tutti_team* team) {
        tutti_call call{};
        call.collective = TUTTI_ALLTOALL;
        call.bytes = sizeof(uint32_t);
        call.buffers_later = 1;
        ASSERT_EQ(tutti_run(team, &call), TUTTI_CHOSEN) << tutti_team_message(team);
        std::vector<uint32_t> in(kRanks), out(kRanks, 99);
        for (uint32_t to = 0; to < kRanks; ++to) in[to] = 10 * rank + to;
        EXPECT_EQ(tutti_resume(team, TUTTI_IN_PLACE, out.data()), TUTTI_ERR_ARGUMENT);
        EXPECT_EQ(out, std::vector<uint32_t>(kRanks, 99));
        ASSERT_EQ(tutti_resume(team, in.data(), out.data()), TUTTI_OK) << tutti_team_message(team);
        for (uint32_t from = 0; from < kRanks; ++from) EXPECT_EQ(out[from], 10 * from + rank);
    });
}

// Not for one that is left to the host, which takes it as it is.
TEST_P(BuffersLater, NotForTheHost) {
    const ContextPtr context = make_context(
        {kRules, GetParam(), "TUTTI_MCAST=off", "TUTTI_ALLREDUCE=host"}, nullptr, "mpich");
    run_hosts(context.get(), kRanks, [](uint32_t, tutti_team* team) {
        tutti_call call = allreduce_of(16);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_HOST);
        EXPECT_STREQ(tutti_team_ran(team), "host");
        EXPECT_EQ(tutti_resume(team, nullptr, nullptr), TUTTI_ERR_ARGUMENT);
        call.buffers_later = 0;
        tutti_request requests[2];
        for (tutti_request& request : requests) {
            ASSERT_EQ(tutti_request_init(&request, team, &call), TUTTI_OK);
            ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
        }
        for (tutti_request& request : requests) {
            EXPECT_EQ(tutti_request_wait(&request), TUTTI_HOST);
        }
        const tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier), TUTTI_OK) << tutti_team_message(team);
    });
}

// One member cannot: all others hear of it.
TEST_P(BuffersLater, AMemberThatCannotEndsTheCallsOfAll) {
    const ContextPtr context = make_context({kRules, GetParam(), "TUTTI_MCAST=off"});
    Hosts hosts{kRanks};
    run_hosts_that_fail(context.get(), hosts, [](uint32_t rank, tutti_team* team) {
        const tutti_call call = allreduce_of(16);
        ASSERT_EQ(tutti_run(team, &call), TUTTI_CHOSEN);
        if (rank == kWhoCannot) tutti_team_give_up(team, "no room for a copy");
        const std::vector<uint32_t> in(16, rank + 1);
        std::vector<uint32_t> out(16);
        EXPECT_EQ(tutti_resume(team, in.data(), out.data()), TUTTI_ERR_MEMORY);
        EXPECT_EQ(std::string(tutti_team_message(team)), "the hosts: rank 2: no room for a copy");
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MEMORY);
    });
}

INSTANTIATE_TEST_SUITE_P(Engine, BuffersLater,
                         ::testing::Values("TUTTI_HOSTS=1", "TUTTI_HOSTS=2", "TUTTI_CHECK=1",
                                           "TUTTI_TUNE=live"));

}  // namespace
}  // namespace tutti::test
