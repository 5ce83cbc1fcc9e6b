// SPDX-License-Identifier: BSD-3-Clause
// Node algorithms that settings, rules and tutti_team_force() name: threads as ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "base/settings.h"
#include "run/node/node_algorithms.h"
#include "sim/script.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

Spec spec_of(tutti_collective collective, uint32_t ranks, size_t bytes) {
    Spec spec;
    spec.collective = collective;
    spec.bytes = has_data(collective) ? bytes : 0;
    spec.root = has_root(collective) ? ranks - 1 : 0;
    spec.fold = Fold::kXorU64;
    spec.seed = bytes;
    return spec;
}

tutti_call sum_of(std::vector<uint64_t>& values) {
    tutti_call call{};
    call.collective = TUTTI_ALLREDUCE;
    call.send = TUTTI_IN_PLACE;
    call.recv = values.data();
    call.bytes = values.size() * 8;
    call.dtype = TUTTI_UINT64;
    call.op = TUTTI_SUM;
    return call;
}

// Runs all sizes by the algorithm that `setting` names; what it cannot run is the call's error on
// all ranks, and the team goes on.
void run_named(const char* setting, const char* layout, tutti_collective collective,
               const node::Algorithm& named) {
    constexpr uint32_t kRanks = 4;
    // Ranks that share processors try single copy only where it is asked for.
    const ContextPtr context = make_context({setting, layout, "TUTTI_SINGLE_COPY=on"});
    std::vector<std::unique_ptr<Exchange>> calls;
    for (const size_t bytes : {8, 1024, 1032, 4096, 65536}) {
        calls.push_back(std::make_unique<Exchange>(spec_of(collective, kRanks, bytes), kRanks));
    }
    std::vector<uint32_t> runs(kRanks);
    EXPECT_TRUE(run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
        for (const auto& one : calls) {
            const tutti_call call = one->call(rank);
            const std::string name = tutti_algorithm(team, &call);
            const tutti_status status = tutti_run(team, &call);
            if (status == TUTTI_OK) {
                EXPECT_EQ(name, named.name);
                EXPECT_EQ(one->check(rank), "") << setting;
                ++runs[rank];
                continue;
            }
            EXPECT_EQ(status, TUTTI_ERR_ALGORITHM);
            EXPECT_EQ(name, "none");
            const std::string message = tutti_team_message(team);
            EXPECT_NE(message.find(std::string(setting) + ": cannot run this call: " + named.name),
                      std::string::npos)
                << message;
        }
        const tutti_call barrier{};
        EXPECT_EQ(tutti_run(team, &barrier),
                  collective == TUTTI_BARRIER && runs[rank] == 0 ? TUTTI_ERR_ALGORITHM : TUTTI_OK);
    }));
    const std::string name = named.name;
    const bool is_tree = name == "tree" || name == "turns";
    const bool has_tree = std::string(layout) == "TUTTI_LAYOUT=tree";
    EXPECT_EQ(std::count(runs.begin(), runs.end(), runs[0]), kRanks);
    EXPECT_EQ(runs[0] > 0, !is_tree || has_tree) << setting;
}

TEST(NodeNames, EveryAlgorithmOfEveryCollective) {
    for (int i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        for (const node::Algorithm* named : node::algorithms(collective)) {
            const std::string setting =
                std::string(forced_variable(collective)) + "=node:" + named->name;
            SCOPED_TRACE(setting);
            run_named(setting.c_str(), "TUTTI_LAYOUT=flat", collective, *named);
            run_named(setting.c_str(), "TUTTI_LAYOUT=tree", collective, *named);
        }
    }
}

// A rule whose algorithm cannot run a call is passed over, as one about messages.
TEST(NodeNames, ARuleNamesOne) {
    const ContextPtr context = make_context({R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "allreduce"
bytes = "..2K"
algorithm = "node:small"
[[rule]]
collective = "allreduce"
bytes = "64K.."
algorithm = "node:direct"
)",
                                             "TUTTI_CHUNK=64K",
                                             // What no rule names goes by what was measured.
                                             "TUTTI_SINGLE_COPY=off"});
    EXPECT_TRUE(run_crew(context.get(), 2, [&](uint32_t, tutti_team* team) {
        const struct {
            size_t bytes;
            const char* name;
        } cases[] = {{8, "small"},     {1024, "small"},   {2048, "direct"},
                     {32768, "split"}, {65536, "direct"}, {131072, "split"}};
        for (const auto& [bytes, name] : cases) {
            std::vector<uint64_t> values(bytes / 8, 3);
            const tutti_call call = sum_of(values);
            EXPECT_STREQ(tutti_algorithm(team, &call), name) << bytes;
            EXPECT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
            EXPECT_EQ(values, std::vector<uint64_t>(bytes / 8, 6));
        }
    }));
}

TEST(NodeNames, ATeamIsForced) {
    const ContextPtr context = make_context({});
    EXPECT_TRUE(run_crew(context.get(), 3, [&](uint32_t, tutti_team* team) {
        std::vector<uint64_t> values(64, 1);
        const tutti_call call = sum_of(values);
        char message[256] = "";
        const auto force = [&](const char* name) {
            return tutti_team_force(team, &call, name, message, sizeof(message));
        };
        const auto expect = [&](const char* name, uint64_t value) {
            EXPECT_STREQ(tutti_algorithm(team, &call), name);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_OK);
            EXPECT_EQ(values, std::vector<uint64_t>(64, value));
        };
        expect("small", 3);
        EXPECT_EQ(force("node:split"), TUTTI_OK) << message;
        expect("split", 9);
        EXPECT_EQ(force("node:tree"), TUTTI_ERR_ALGORITHM);
        EXPECT_STREQ(message,
                     "TUTTI_ALLREDUCE=node:tree: cannot run this call: tree needs a tree, and the "
                     "ranks meet all with all");
        EXPECT_EQ(force("ring"), TUTTI_ERR_ALGORITHM);
        expect("split", 27);
        EXPECT_EQ(force(nullptr), TUTTI_OK);
        expect("small", 81);
    }));
}

TEST(NodeNames, ATeamOfOneCopies) {
    const ContextPtr context = make_context({"TUTTI_ALLREDUCE=node:small"});
    EXPECT_TRUE(run_crew(context.get(), 1, [&](uint32_t, tutti_team* team) {
        std::vector<uint64_t> values(1024, 5);
        const std::vector<uint64_t> given(1024, 7);
        tutti_call call = sum_of(values);
        call.send = given.data();
        EXPECT_STREQ(tutti_algorithm(team, &call), "alone");
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK);
        EXPECT_EQ(values, given);
    }));
}

// Over several hosts such a name cannot run the call: nothing of it is heeded in silence.
TEST(NodeNames, AreForOneHost) {
    const ContextPtr context = make_context({"TUTTI_ALLREDUCE=node:small", "TUTTI_HOSTS=2"});
    run_hosts(context.get(), 4, [&](uint32_t, tutti_team* team) {
        std::vector<uint64_t> values(1, 1);
        const tutti_call call = sum_of(values);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_ALGORITHM);
        const std::string message = tutti_team_message(team);
        EXPECT_NE(message.find("TUTTI_ALLREDUCE=node:small: cannot run this call: node algorithms "
                               "run teams on one host, this one has more"),
                  std::string::npos)
            << message;
    });
}

}  // namespace
}  // namespace tutti::test
