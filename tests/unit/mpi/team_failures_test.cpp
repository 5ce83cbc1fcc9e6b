// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/team_failures.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tutti::mpi {
namespace {

// As the front end has it: nothing of it is ever freed.
constinit TeamFailures kept, counted;

TEST(TeamFailures, KeepAReasonOnce) {
    std::string reason = "host: no memory";
    const char* const first = kept.keep(reason);
    const char* const other = kept.keep("host: no device");
    EXPECT_EQ(kept.keep("host: no memory"), first);
    reason = "host: gone";
    EXPECT_STREQ(first, "host: no memory");
    EXPECT_STREQ(other, "host: no device");
}

TEST(TeamFailures, BeyondABoundReasonsAreNotToldApart) {
    std::set<std::string> told;
    for (uint32_t number = 0; number < 2 * TeamFailures::kKeptMax; ++number) {
        told.insert(counted.keep("host: " + std::to_string(number) + " bytes are wanted"));
    }
    EXPECT_EQ(told.size(), TeamFailures::kKeptMax + 1);
    EXPECT_EQ(told.count("host: no team could be made"), 1u);
    EXPECT_STREQ(counted.keep("host: 0 bytes are wanted"), "host: 0 bytes are wanted");
}

TEST(TeamFailures, AreSaidOncePerKind) {
    TeamFailures failures;
    EXPECT_TRUE(failures.is_first(TUTTI_ERR_MEMORY));
    EXPECT_FALSE(failures.is_first(TUTTI_ERR_MEMORY));
    EXPECT_TRUE(failures.is_first(TUTTI_ERR_ARGUMENT));
    EXPECT_FALSE(failures.is_first(TUTTI_ERR_MEMORY));
}

}  // namespace
}  // namespace tutti::mpi
