// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/p2p/tags.h"

#include <gtest/gtest.h>

#include <set>

#include "run/notes/call_log.h"

namespace tutti::transport {
namespace {

// As kinds are names of few tags.
TEST(Tags, KindsOfOneCall) {
    const uint32_t kinds = tag_kinds((1u << 20) - 1);
    std::set<uint32_t> seen;
    for (int collective = 0; collective < TUTTI_COLLECTIVE_COUNT; ++collective) {
        seen.insert(notes::CallLog().add(static_cast<tutti_collective>(collective), 0, 1000).kind %
                    kinds);
    }
    EXPECT_EQ(seen.size(), size_t{TUTTI_COLLECTIVE_COUNT});
    for (uint32_t root = 1; root < kinds; ++root) {
        EXPECT_NE(notes::CallLog().add(TUTTI_BCAST, 0, 1000).kind % kinds,
                  notes::CallLog().add(TUTTI_BCAST, root, 1000).kind % kinds);
    }
    EXPECT_NE(notes::CallLog().add(TUTTI_BCAST, 0, 1u << 20).kind,
              notes::CallLog().add(TUTTI_BCAST, 0, 2u << 20).kind);
}

TEST(Tags, KindsByWhatThereIs) {
    EXPECT_EQ(tag_kinds(32767), 1u);
    EXPECT_EQ(tag_kinds((1u << 20) - 1), 30u);
    EXPECT_EQ(tag_kinds((1u << 28) - 1), 4096u);
    EXPECT_EQ(tag_kinds(UINT32_MAX >> 1), 4096u);
}

}  // namespace
}  // namespace tutti::transport
