// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include "run/arena/arena.h"

namespace tutti::arena {
namespace {

// mmap takes no other offsets. The same test is built for pages of 64 KiB.
TEST(Pages, EverythingLiesOnWholePages) {
    auto made = Arena::create(1);
    ASSERT_TRUE(made);
    for (const uint32_t ranks : {1u, 2u, 7u}) {
        const auto geometry = node::Geometry::make(ranks, 100);
        EXPECT_EQ(geometry.rank_bytes % node::kPageBytes, 0u);
        EXPECT_EQ(geometry.slice_bytes % node::kPageBytes, 0u);
        EXPECT_GE(geometry.slice_bytes, node::kPageBytes + ranks * geometry.rank_bytes);
        const auto taken = made.value()->take(geometry.slice_bytes, ranks);
        ASSERT_TRUE(taken);
        EXPECT_EQ(static_cast<size_t>(taken.value().offset) % node::kPageBytes, 0u);
        const node::Slice slice{taken.value().mapping->base(), geometry};
        for (node::Rank rank = 0; rank < ranks; ++rank) {
            const std::byte* end =
                slice.chunk(rank, geometry.chunk_count - 1) + geometry.chunk_bytes;
            EXPECT_EQ(static_cast<size_t>(slice.area(rank) - slice.base()) % node::kPageBytes, 0u);
            EXPECT_LE(end, slice.area(rank) + geometry.rank_bytes);
        }
    }
#ifdef TUTTI_PAGE_BYTES
    EXPECT_EQ(node::kPageBytes, size_t{TUTTI_PAGE_BYTES});
#endif
}

TEST(Pages, LargerPagesThanItWasBuiltForAreToldInALine) {
    EXPECT_TRUE(check_page_size(node::kPageBytes));
    EXPECT_TRUE(check_page_size(static_cast<size_t>(sysconf(_SC_PAGESIZE))));
    EXPECT_TRUE(check_page_size(4096));
    const auto larger = check_page_size(2 * node::kPageBytes);
    ASSERT_FALSE(larger);
    EXPECT_EQ(larger.error().code, ErrorCode::kSystem);
    EXPECT_NE(larger.error().message.find("this system's pages have"), std::string::npos);
    EXPECT_FALSE(check_page_size(0));
}

}  // namespace
}  // namespace tutti::arena
