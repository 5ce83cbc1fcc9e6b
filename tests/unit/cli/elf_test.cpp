// SPDX-License-Identifier: BSD-3-Clause
#include "cli/elf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/prng.h"

namespace tutti::cli {
namespace {

std::vector<std::byte> program_file() {
    std::ifstream file(TUTTI_TEST_DIRECT, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::byte> bytes(text.size());
    std::transform(text.begin(), text.end(), bytes.begin(),
                   [](char letter) { return static_cast<std::byte>(letter); });
    return bytes;
}

TEST(ElfNeeds, OfAProgram) {
    const auto needs = read_elf_file(TUTTI_TEST_DIRECT);
    ASSERT_TRUE(needs);
    EXPECT_NE(needs->interpreter.find("ld"), std::string::npos);
    EXPECT_EQ(std::count(needs->libraries.begin(), needs->libraries.end(), "libc.so.6"), 1);
    EXPECT_EQ(std::count(needs->libraries.begin(), needs->libraries.end(), "libmpi.so.12"), 1);
}

TEST(ElfNeeds, OfOtherFiles) {
    EXPECT_FALSE(read_elf_file("/nonexistent"));
    EXPECT_FALSE(read_elf_file("/etc/passwd"));
    EXPECT_FALSE(read_elf_file("/"));
    EXPECT_FALSE(read_elf_needs({}));
}

TEST(ElfNeeds, TruncatedFilesAreRefusedOrRead) {
    const auto bytes = program_file();
    ASSERT_GT(bytes.size(), 4096u);
    for (size_t length = 0; length < 4096; ++length) {
        // The segment headers lie in front; behind them something must be missing.
        EXPECT_FALSE(read_elf_needs(std::span(bytes).first(length))) << length;
    }
}

TEST(ElfNeeds, DamagedFilesAreRefusedOrRead) {
    auto bytes = program_file();
    const auto whole = read_elf_needs(bytes);
    ASSERT_TRUE(whole);
    Prng prng(7);
    for (int i = 0; i < 2000; ++i) {
        const size_t at = prng.below(1024);  // The headers.
        const std::byte former = bytes[at];
        bytes[at] = static_cast<std::byte>(prng.below(256));
        if (const auto needs = read_elf_needs(bytes)) {
            EXPECT_LE(needs->libraries.size(), 65536u);
        }
        bytes[at] = former;
    }
    EXPECT_EQ(read_elf_needs(bytes)->libraries, whole->libraries);
}

}  // namespace
}  // namespace tutti::cli
