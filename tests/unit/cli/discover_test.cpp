// SPDX-License-Identifier: BSD-3-Clause
// Asking a fabric, by a program that only pretends to.
#include "cli/discover.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tutti::cli {
namespace {

class Discovery : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = (std::filesystem::temp_directory_path() / "tutti-discover-XXXXXX").string();
        ASSERT_NE(mkdtemp(folder_.data()), nullptr);
        setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    }
    void TearDown() override {
        setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }
    // A fabric of one host on a switch; `more` are commands besides.
    void pretend(const std::string& more) const {
        const std::string file = folder_ + "/ibnetdiscover";
        std::ofstream(file) << "#!/bin/sh\ncat <<'EOF'\n"
                               "vendid=0x0\nSwitch\t8 \"S-0000000000000001\"\t\t# \"leaf\"\n"
                               "[1]\t\"H-0000000000000002\"[1](2) \t\t# \"n0\" lid 1 4xSDR\n\n"
                               "Ca\t1 \"H-0000000000000002\"\t\t# \"n0\"\n"
                               "[1](2) \t\"S-0000000000000001\"[1]\t\t# lid 1 4xSDR\nEOF\n"
                            << more << "\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    // "N hosts", or the error; then what was told on standard error.
    static std::string told() {
        testing::internal::CaptureStderr();
        const auto found = discover_fabric();
        const std::string aside = testing::internal::GetCapturedStderr();
        return (found ? std::to_string(found.value().hosts.size()) + " hosts"
                      : found.error().message) +
               "\n" + aside;
    }

    std::string path_ = getenv("PATH");
    std::string folder_;
};

TEST_F(Discovery, WhatTheToolComplainsOfIsOneLine) {
    pretend("");
    EXPECT_EQ(told(), "1 hosts\n");
    pretend("echo 'port 3 is silent' >&2");
    EXPECT_EQ(told(), "1 hosts\ntutti: ibnetdiscover complained: port 3 is silent\n");
    pretend("printf 'a\\nb\\n\\nc\\n' >&2");
    EXPECT_EQ(told(), "1 hosts\ntutti: ibnetdiscover complained in 3 lines, the last: c\n");
    pretend("printf 'a\\nb\\n' >&2; exit 3");
    EXPECT_EQ(told(), "--discover: " + folder_ + "/ibnetdiscover ended with status 3: b\n");
}

TEST(DiscoveryPlaces, AnEmptyPathIsNotThisFolder) {
    EXPECT_EQ(discovery_places("/a:/b"), "/a:/b:/usr/sbin:/sbin");
    EXPECT_EQ(discovery_places(""), "/usr/sbin:/sbin");
    EXPECT_EQ(discovery_places(nullptr), "/usr/sbin:/sbin");
}

}  // namespace
}  // namespace tutti::cli
