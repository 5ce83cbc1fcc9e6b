// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/watch_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mpi/report_table.h"

namespace tutti::mpi {
namespace {

std::string text_of(const CheckTotals& check, uint32_t ranks = 16) {
    return watch_text({.ranks = ranks, .check = check});
}
std::string text_of(const VerifyTotals& verify) {
    return watch_text({.ranks = 16, .verify = verify});
}
std::string text_of(const StallTotals& stall) { return watch_text({.ranks = 16, .stall = stall}); }

nlohmann::json report_of(const WatchTotals& watches) {
    ReportHead head{"MPI X", 16, ""};
    head.watches = watches;
    return nlohmann::json::parse(report_json(head, {}));
}

TEST(WatchTable, NothingOfWhatIsOff) {
    EXPECT_EQ(watch_text({.ranks = 16}), "");
    const auto json = report_of({.ranks = 16});
    for (const char* name : {"check", "verify", "stall"}) EXPECT_FALSE(json.contains(name));
}

TEST(WatchTable, WhatTheCheckFound) {
    EXPECT_EQ(text_of(CheckTotals{true, 1204, 0}),
              "tutti: check: 1,204 calls compared on 16 ranks, all alike\n");
    EXPECT_EQ(text_of(CheckTotals{true, 1234567, 1}),
              "tutti: check: 1,234,567 calls compared on 16 ranks, 1 not alike\n");
    EXPECT_EQ(text_of(CheckTotals{true, 1, 0}, 2),
              "tutti: check: 1 call compared on 2 ranks, all alike\n");
    EXPECT_EQ(text_of(CheckTotals{true, 0, 0}, 1),
              "tutti: check: no call was compared on 1 rank\n");
    const auto json = report_of({.check = {true, 9, 2}})["check"];
    EXPECT_EQ(json["compared"], 9);
    EXPECT_EQ(json["different"], 2);
}

TEST(WatchTable, WhatWasVerified) {
    EXPECT_EQ(text_of(VerifyTotals{.share = 0.01, .seed = 7, .calls = 1000, .equal = 11}),
              "tutti: verify: 11 of 1,000 calls compared with your MPI (share 0.01, seed 7): "
              "all right\n");
    EXPECT_EQ(text_of(VerifyTotals{.share = 1, .seed = 7, .calls = 5}),
              "tutti: verify: 0 of 5 calls compared with your MPI (share 1, seed 7): 0 wrong, 0 "
              "right\n");
    VerifyTotals verify{.share = 0.01, .seed = 7, .calls = 1000, .equal = 9, .different = 2};
    EXPECT_EQ(text_of(verify),
              "tutti: verify: 11 of 1,000 calls compared with your MPI (share 0.01, seed 7): 2 "
              "wrong, 9 right\n");
    verify.undecided = 3;
    verify.skipped = 4;
    verify.failed = 5;
    EXPECT_NE(
        text_of(verify).find(": 2 wrong, 9 right, 3 with other bits that may be right; 4 could "
                             "not be compared; 5 ended with an error\n"),
        std::string::npos);
    const auto json = report_of({.verify = verify})["verify"];
    EXPECT_EQ(json["compared"], 14);
    EXPECT_EQ(json["wrong"], 2);
    EXPECT_EQ(json["not_compared"], 4);
    EXPECT_EQ(json["seed"], 7);
}

TEST(WatchTable, WhatWasWatched) {
    EXPECT_EQ(
        text_of(StallTotals{60, 1204, 0, 250'000'000}),
        "tutti: stall: 1,204 calls watched on 16 ranks, no rank was 60 s or longer in one (at "
        "most 250.00 ms)\n");
    EXPECT_EQ(
        text_of(StallTotals{0.5, 2, 3, 2'500'000'000}),
        "tutti: stall: 2 calls watched on 16 ranks; 3 times a rank was 0.5 s or longer in one "
        "(at most 2.50 s)\n");
    EXPECT_EQ(text_of(StallTotals{60, 0, 0, 0}), "tutti: stall: 0 calls watched on 16 ranks\n");
    const auto json = report_of({.stall = {0.5, 2, 3, 2'500'000'000}})["stall"];
    EXPECT_EQ(json["stalls"], 3);
    EXPECT_DOUBLE_EQ(json["longest_s"], 2.5);
}

}  // namespace
}  // namespace tutti::mpi
