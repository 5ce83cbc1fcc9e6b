// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/environment.h"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

using Texts = std::vector<std::string>;

TEST(Environment, TakesTuttiVariablesOnlySortedWithoutTheMark) {
    const char* const environment[] = {
        "TUTTI_WARMUP=3",           "HOME=/",        "TUTTI=on", "TUTTIX=1",
        "TUTTI_REPORT_MARK=/tmp/m", "TUTTI_CHECK=1", nullptr};
    EXPECT_EQ(tutti_variables(environment), (Texts{"TUTTI=on", "TUTTI_CHECK=1", "TUTTI_WARMUP=3"}));
    EXPECT_TRUE(tutti_variables(nullptr).empty());
}

TEST(Environment, AnEmptyVariableIsUnset) {
    const char* const environment[] = {
        "TUTTI=", "TUTTI_REPORT=", "TUTTI_REPORT_MARK=", "TUTTI_CHECK=1", nullptr};
    EXPECT_EQ(tutti_variables(environment), Texts{"TUTTI_CHECK=1"});
}

TEST(Environment, NamesWhatDiffersOnce) {
    const Texts mine = {"TUTTI_A=1", "TUTTI_B=2"};
    EXPECT_EQ(differing_names(mine, mine), "");
    EXPECT_EQ(differing_names(mine, Texts{"TUTTI_A=2", "TUTTI_B=2"}), "TUTTI_A");
    EXPECT_EQ(differing_names(mine, Texts{"TUTTI_B=3", "TUTTI_C=1"}), "TUTTI_A, TUTTI_B, TUTTI_C");
    EXPECT_EQ(differing_names(mine, {}), "TUTTI_A, TUTTI_B");
}

TEST(Environment, DevicesAreEachProcesssOwn) {
    Texts held = {"TUTTI_CHECK=1", "TUTTI_VERBS=on", "TUTTI_VERBS_DEVICE=a:1", "TUTTI_WARMUP=0"};
    put_own_first(held, Texts{"TUTTI_CHECK=0", "TUTTI_VERBS=off"});
    EXPECT_EQ(held, (Texts{"TUTTI_CHECK=1", "TUTTI_VERBS=on", "TUTTI_VERBS_DEVICE=a:1",
                           "TUTTI_WARMUP=0"}));
    put_own_first(held, Texts{"TUTTI_VERBS_DEVICE=b", "TUTTI_VERBS_GID=3"});
    EXPECT_EQ(held, (Texts{"TUTTI_CHECK=1", "TUTTI_VERBS=on", "TUTTI_VERBS_DEVICE=b",
                           "TUTTI_VERBS_GID=3", "TUTTI_WARMUP=0"}));
    Texts none;
    put_own_first(none, Texts{"TUTTI_VERBS_DEVICE=b"});
    EXPECT_EQ(none, Texts{"TUTTI_VERBS_DEVICE=b"});
}

TEST(Environment, DescribesRanksByWhatDiffers) {
    EXPECT_EQ(describe_differences(Texts{"", "", ""}), "");
    EXPECT_EQ(describe_differences(Texts{"", "TUTTI_CHUNK", "", "TUTTI_CHUNK"}),
              "ranks 1, 3: TUTTI_CHUNK differs; rank 0's value holds");
    EXPECT_EQ(describe_differences(Texts{"", "A", "A, B"}),
              "rank 1: A differs; rank 2: A, B differ; rank 0's value holds");
    Texts many(12, "A");
    many[0].clear();
    EXPECT_EQ(describe_differences(many),
              "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more: A differs; rank 0's value holds");
}

TEST(Environment, EntriesSurviveTheJourney) {
    const Texts entries = {"TUTTI=on", "TUTTI_REPORT=a b=c", "TUTTI_X="};
    EXPECT_EQ(split_entries(join_entries(entries)), entries);
    EXPECT_TRUE(split_entries("").empty());
}

}  // namespace
}  // namespace tutti::mpi
