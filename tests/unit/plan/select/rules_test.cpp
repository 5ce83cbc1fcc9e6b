// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/rules.h"

#include <gtest/gtest.h>

#include <limits>

namespace tutti::select {
namespace {

constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

std::optional<Range> range(uint64_t low, uint64_t high) { return Range{low, high}; }

TEST(Range, HasBothItsEnds) {
    EXPECT_EQ(parse_range("4", false), range(4, 4));
    EXPECT_EQ(parse_range("2..16", false), range(2, 16));
    EXPECT_EQ(parse_range("..4K", true), range(0, 4096));
    EXPECT_EQ(parse_range("64K..", true), range(65536, kEndless));
    EXPECT_TRUE(range(2, 4)->contains(4));
    EXPECT_TRUE(range(2, 4)->contains(2));
    EXPECT_FALSE(range(2, 4)->contains(1));
    EXPECT_FALSE(range(2, 4)->contains(5));
}

TEST(Range, RefusesWhatIsNone) {
    for (const char* text : {"", "..", "4..2", "a", "1..b", "-1", "1...2", "1 ..2", "4K"}) {
        EXPECT_FALSE(parse_range(text, false)) << text;
    }
    EXPECT_FALSE(parse_range("4Q..", true));
}

TEST(Forced, TakesOptions) {
    const auto plain = parse_forced(TUTTI_BARRIER, "dissemination");
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain.value().algorithm, "dissemination");
    EXPECT_FALSE(plain.value().tuning.flat);
    const auto flat = parse_forced(TUTTI_BARRIER, "dissemination:flat");
    ASSERT_TRUE(flat) << flat.error().message;
    EXPECT_TRUE(flat.value().tuning.flat);
    EXPECT_TRUE(parse_forced(TUTTI_ALLREDUCE, "host"));
}

TEST(Forced, TakesWhatAPaperCallsIt) {
    const auto forced = parse_forced(TUTTI_BARRIER, "rgm:fan_in=15");
    ASSERT_TRUE(forced);
    EXPECT_EQ(forced.value(), parse_forced(TUTTI_BARRIER, "gather_multicast:fan_in=15").value());
    const auto elsewhere = parse_forced(TUTTI_BCAST, "rds");
    ASSERT_FALSE(elsewhere);
    EXPECT_TRUE(elsewhere.error().message.starts_with("bcast has no algorithm dissemination"));
}

TEST(Forced, SaysWhatIsWrong) {
    const auto complaint = [](tutti_collective collective, const char* text) {
        const auto forced = parse_forced(collective, text);
        return forced ? std::string("(accepted)") : forced.error().message;
    };
    EXPECT_EQ(complaint(TUTTI_BARRIER, "disemination"),
              "unknown algorithm disemination of barrier; did you mean dissemination?");
    EXPECT_EQ(complaint(TUTTI_BCAST, "hots"),
              "unknown algorithm hots of bcast; did you mean host?");
    EXPECT_EQ(complaint(TUTTI_BARRIER, "dissemination:lane=2"),
              "unknown option lane; did you mean lanes?");
    EXPECT_EQ(complaint(TUTTI_BARRIER, "dissemination:lanes=99"),
              "lanes=99: expected a number from 1 to 16");
    EXPECT_EQ(complaint(TUTTI_ALLREDUCE, "ring:leaders=1024"), "(accepted)");
    for (const char* number : {"0", "1025"}) {
        EXPECT_EQ(complaint(TUTTI_ALLREDUCE, ("ring:leaders=" + std::string(number)).c_str()),
                  "leaders=" + std::string(number) + ": expected a number from 1 to 1024");
    }
    EXPECT_EQ(complaint(TUTTI_BARRIER, "dissemination:segment=64"),
              "segment=64: expected bytes from 256 B to 1 GiB");
    EXPECT_EQ(complaint(TUTTI_BARRIER, "dissemination:lanes"), "lanes: a value is missing");
    EXPECT_EQ(complaint(TUTTI_BARRIER, "dissemination:lanes=2"),
              "barrier moves whole blocks: segment, lanes and leaders are for bcast, reduce and "
              "allreduce, segment for allgather ring and multicast, alltoall linear and pairwise");
    EXPECT_EQ(complaint(TUTTI_ALLTOALL, "linear:segment=16K,fan_in=2"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLTOALL, "pairwise:segment=16K,order=ranks"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLTOALL, "pairwise:lanes=2"),
              "alltoall moves whole blocks: segment, lanes and leaders are for bcast, reduce and "
              "allreduce, segment for allgather ring and multicast, alltoall linear and pairwise");
    EXPECT_EQ(complaint(TUTTI_ALLTOALL, "bruck:fan_in=33"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLTOALL, "bruck:fan_in=34"),
              "fan_in=34: alltoall bruck has at most 33");
    EXPECT_EQ(complaint(TUTTI_ALLTOALL, "linear:fan_in=31"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLTOALLV, "linear:fan_in=32"),
              "fan_in=32: alltoallv linear has at most 31");
    EXPECT_EQ(complaint(TUTTI_REDUCE_SCATTER_BLOCK, "direct:fan_in=32"),
              "fan_in=32: reduce_scatter_block direct has at most 31");
    EXPECT_EQ(complaint(TUTTI_SCAN, "doubling:segment=16K,lanes=4"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_SCAN, "doubling:leaders=2"),
              "leaders: in scan doubling the last rank of a host leads");
    EXPECT_EQ(complaint(TUTTI_BCAST, "multicast:segment=16K,lanes=4"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_BCAST, "multicast:segment=17K"),
              "segment=17408: bcast multicast has segments up to 16 KiB");
    EXPECT_EQ(complaint(TUTTI_ALLREDUCE, "gather_multicast:fan_in=64,flat"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLGATHER, "multicast:segment=8K,fan_in=32"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLGATHER, "multicast:fan_in=33"),
              "fan_in=33: allgather multicast has at most 32");
    EXPECT_EQ(complaint(TUTTI_BCAST, "multicast:leaders=2"),
              "leaders: in bcast multicast every rank is its own");
    EXPECT_EQ(complaint(TUTTI_BCAST, "chain:order=ranks"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_BCAST, "chain:flat,order=ranks"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_ALLREDUCE, "chain:order=ranks"),
              "order: allreduce chain has that of ranks anyway");
    EXPECT_EQ(complaint(TUTTI_BCAST, "chain:order=hosts"),
              "order=hosts: expected ranks or switches");
    EXPECT_EQ(complaint(TUTTI_BCAST, "host:flat"), "host takes no options");
    EXPECT_EQ(complaint(TUTTI_BCAST, "node"), "(accepted)");
    EXPECT_EQ(complaint(TUTTI_BCAST, "node:"),
              "node: which of its algorithms? node:small, node:tree, node:pipeline, "
              "node:single");
}

}  // namespace
}  // namespace tutti::select
