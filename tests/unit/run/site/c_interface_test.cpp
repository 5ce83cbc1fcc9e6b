// SPDX-License-Identifier: BSD-3-Clause
// What a program asks of the machine that it runs on: tutti_site_settings(), tutti_tuned_find().
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
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

TEST(TunedFind, OneThatIsNotThereIsAnError) {
    const auto find = [](const char* setting, std::vector<std::string>& entries) {
        std::array<char, 256> message{};
        const tutti_status status =
            tutti_tuned_find(&setting, 1, "MPI v1", keep, &entries, message.data(), message.size());
        return std::pair(status, std::string(message.data()));
    };
    std::vector<std::string> entries;
    EXPECT_EQ(find("TUTTI_TUNED=/none.toml", entries),
              std::pair(TUTTI_ERR_ARGUMENT,
                        std::string("tuned file /none.toml: No such file or directory")));
    EXPECT_EQ(find("TUTTI_TUNED=off", entries), std::pair(TUTTI_OK, std::string()));
    EXPECT_TRUE(entries.empty());
}

}  // namespace
