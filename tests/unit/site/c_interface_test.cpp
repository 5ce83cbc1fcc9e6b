// SPDX-License-Identifier: BSD-3-Clause
// What a program without MPI asks: tutti_site_settings().
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace {

void keep(void* user, const char* entry) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(entry);
}

TEST(SiteSettings, WithoutASiteTheOwnEntriesComeBackInTheirOrder) {
    if (access("/etc/tutti/settings.toml", F_OK) == 0) GTEST_SKIP() << "this machine has a site";
    const std::array<const char*, 2> own{"TUTTI_STALL=5", "TUTTI_CHECK=1"};
    std::vector<std::string> entries;
    std::array<char, 256> message{};
    EXPECT_EQ(
        tutti_site_settings(own.data(), own.size(), keep, &entries, message.data(), message.size()),
        TUTTI_OK)
        << message.data();
    EXPECT_EQ(entries, (std::vector<std::string>{"TUTTI_STALL=5", "TUTTI_CHECK=1"}));
    entries.clear();
    EXPECT_EQ(tutti_site_settings(nullptr, 0, keep, &entries, nullptr, 0), TUTTI_OK);
    EXPECT_TRUE(entries.empty());
}

}  // namespace
