// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti {
namespace {

TEST(ParseBytes, TakesUnitsOfPowersOfTwo) {
    EXPECT_EQ(parse_bytes("0"), 0u);
    EXPECT_EQ(parse_bytes("8"), 8u);
    EXPECT_EQ(parse_bytes("64K"), 65536u);
    EXPECT_EQ(parse_bytes("64KiB"), 65536u);
    EXPECT_EQ(parse_bytes("1M"), 1048576u);
    EXPECT_EQ(parse_bytes("2G"), 2147483648u);
    EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
}

TEST(ParseBytes, RefusesEverythingElse) {
    for (const char* text : {"", "K", "-1", "+1", " 1", "1 ", "1.5K", "1KB5", "0x10", "1KK", "nan",
                             "18446744073709551616", "18446744073709551615K", "17179869184G"}) {
        EXPECT_FALSE(parse_bytes(text)) << text;
    }
}

TEST(ParseCount, TakesDigitsOnly) {
    EXPECT_EQ(parse_count("0"), 0u);
    EXPECT_EQ(parse_count("1000"), 1000u);
    for (const char* text : {"", "1K", "-1", "1.0", " 1"}) EXPECT_FALSE(parse_count(text)) << text;
}

TEST(ParseDecimal, TakesFractionsButNoSign) {
    EXPECT_EQ(parse_decimal("2"), 2.0);
    EXPECT_EQ(parse_decimal("0.5"), 0.5);
    for (const char* text : {"", "-1", "+1", "nan", "inf", "1e3", "1,5", "1s", "1e400"}) {
        EXPECT_FALSE(parse_decimal(text)) << text;
    }
}

TEST(FormatBytes, IsExact) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1000), "1000 B");
    EXPECT_EQ(format_bytes(65536), "64 KiB");
    EXPECT_EQ(format_bytes(65537), "65537 B");
    EXPECT_EQ(format_bytes(16u << 20), "16 MiB");
}

TEST(Printable, IsOneLineAndNotEndless) {
    EXPECT_EQ(printable("plain \xc3\xa4"), "plain \xc3\xa4");
    EXPECT_EQ(printable("a\nb\x1b\x7f"), "a\\x0ab\\x1b\\x7f");
    EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
    EXPECT_EQ(printable(std::string(201, 'x')), std::string(200, 'x') + "...");
}

TEST(Split, KeepsEmptyParts) {
    const std::vector<std::string_view> expected = {"a", "", "b", ""};
    EXPECT_EQ(split("a,,b,", ','), expected);
    EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
}

TEST(Nearest, IsForTypingErrorsOnly) {
    constexpr std::array<std::string_view, 3> kWords = {"TUTTI_CHUNK", "TUTTI_CHECK", "TUTTI_SPIN"};
    EXPECT_EQ(nearest("TUTTI_CHUNCK", kWords), "TUTTI_CHUNK");
    EXPECT_EQ(nearest("TUTTI_CHEK", kWords), "TUTTI_CHECK");
    EXPECT_FALSE(nearest("PATH_TO_NOWHERE", kWords));
    EXPECT_FALSE(nearest("word", std::span<const std::string_view>{}));
}

}  // namespace
}  // namespace tutti
