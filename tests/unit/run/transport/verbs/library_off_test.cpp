// SPDX-License-Identifier: BSD-3-Clause
// The source that builds without infiniband/verbs.h have in the place of library.cpp; no build has
// both, so it is linked here by itself.
#include <gtest/gtest.h>

#include "run/transport/verbs/library.h"

namespace tutti::transport::verbs {
namespace {

TEST(LibraryOff, SaysWhyThereIsNoDevice) {
    const auto opened = open_library(VerbsSettings{});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message,
              "this build uses no RDMA devices: it had no infiniband/verbs.h");
}

}  // namespace
}  // namespace tutti::transport::verbs
