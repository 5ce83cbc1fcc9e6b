// SPDX-License-Identifier: BSD-3-Clause
#include "base/faults.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Faults, Parsed) {
    const auto plan = parse_faults("drop:0.01,dup:0.001,reorder:8,fail:900,seed:7");
    ASSERT_TRUE(plan);
    EXPECT_EQ(*plan, (FaultPlan{10'000, 1'000, 8, 7, 900}));
    EXPECT_TRUE(plan->is_any());
    EXPECT_EQ(*parse_faults("reorder:64"), (FaultPlan{0, 0, 64, 1, 0}));
    EXPECT_TRUE(parse_faults("fail:1")->is_any());
    EXPECT_FALSE(parse_faults("seed:3")->is_any());
    EXPECT_EQ(parse_faults("drop:1")->drop_ppm, 1'000'000u);
}

TEST(Faults, Refused) {
    for (const char* text : {"", "drop", "drop:", "drop:2", "drop:-1", "drop:x", "lose:0.1",
                             "reorder:65", "reorder:1.5", "seed:-1", "drop:0.1,drop:0.2",
                             "drop:0.1,", "fail:x", ",drop:0.1", "drop:0.1;dup:0.1"}) {
        EXPECT_FALSE(parse_faults(text)) << text;
    }
}

}  // namespace
}  // namespace tutti
