// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace tutti {
namespace {

TEST(ParseBytes, UnitsArePowersOfTwo) {
    EXPECT_EQ(parse_bytes("0"), 0u);
    EXPECT_EQ(parse_bytes("8"), 8u);
    EXPECT_EQ(parse_bytes("8B"), 8u);
    EXPECT_EQ(parse_bytes("64K"), 65'536u);
    EXPECT_EQ(parse_bytes("64k"), 65'536u);
    EXPECT_EQ(parse_bytes("64KiB"), 65'536u);
    EXPECT_EQ(parse_bytes("3M"), 3u << 20);
    EXPECT_EQ(parse_bytes("3MiB"), 3u << 20);
    EXPECT_EQ(parse_bytes("2G"), 2ull << 30);
    EXPECT_EQ(parse_bytes("2GiB"), 2ull << 30);
    EXPECT_EQ(parse_bytes("007"), 7u);
}

TEST(ParseBytes, UnitsAreWrittenInManyWays) {
    for (const char* text : {"3M", "3MB", "3MiB", "3m", "3mb", "3mib", "3Mb"}) {
        EXPECT_EQ(parse_bytes(text), 3u << 20) << text;
    }
    for (const char* text : {"2T", "2TB", "2tib", "2048G", "2048gb"}) {
        EXPECT_EQ(parse_bytes(text), 2ull << 40) << text;
    }
    EXPECT_EQ(parse_bytes("1KB"), 1024u);
    EXPECT_EQ(parse_bytes("7b"), 7u);
}

TEST(ParseBytes, NothingElse) {
    for (const char* text : {"", " ", "K", "-1", "+1", " 1", "1 ", "1 K", "1.5K", "1P", "1Ki",
                             "0x10", "1K1", "1KiBB", "1BB", "1iB", "one", "1e3"}) {
        EXPECT_EQ(parse_bytes(text), std::nullopt) << '"' << text << '"';
    }
}

TEST(ParseBytes, DoesNotOverflow) {
    EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(parse_bytes("18446744073709551616"), std::nullopt);
    EXPECT_EQ(parse_bytes("17179869183G"), 17'179'869'183ull << 30);
    EXPECT_EQ(parse_bytes("17179869184G"), std::nullopt);
    EXPECT_EQ(parse_bytes("18014398509481983K"), 18'014'398'509'481'983ull << 10);
    EXPECT_EQ(parse_bytes("18014398509481984K"), std::nullopt);
}

TEST(ParseCount, WholeNumbersOnly) {
    EXPECT_EQ(parse_count("0"), 0u);
    EXPECT_EQ(parse_count("18446744073709551615"), UINT64_MAX);
    for (const char* text : {"", "-0", "+1", "1K", "1.0", " 1", "1 ", "18446744073709551616"}) {
        EXPECT_EQ(parse_count(text), std::nullopt) << '"' << text << '"';
    }
    // What is not ended by a zero byte is not read beyond its end.
    EXPECT_EQ(parse_count(std::string_view("123456").substr(0, 3)), 123u);
}

TEST(Text, HexWordsAreReadAndShown) {
    EXPECT_EQ(parse_hex("0x8001"), 0x8001u);
    EXPECT_EQ(parse_hex("0xFFff"), 0xffffu);
    for (const char* text : {"", "0x", "8001", "0X1", "0x-1", "0x1g", "0x 1", "0x0x1"}) {
        EXPECT_EQ(parse_hex(text), std::nullopt) << '"' << text << '"';
    }
    EXPECT_EQ(hex_word(1), "0x0001");
    EXPECT_EQ(hex_word(0x8001), "0x8001");
    EXPECT_EQ(hex_word(0x12345), "0x12345");
}

TEST(ParseDecimal, NonNegativeAndFinite) {
    EXPECT_EQ(parse_decimal("2"), 2.0);
    EXPECT_EQ(parse_decimal("0.5"), 0.5);
    EXPECT_EQ(parse_decimal("0"), 0.0);
    EXPECT_EQ(parse_decimal("1000000000000"), 1e12);
    for (const char* text : {"", "-1", "+1", "-0", "nan", "inf", "infinity", "1e3", "0x1p3", "1,5",
                             "1000000000001", "1s", " 1", "1 ", "."}) {
        EXPECT_EQ(parse_decimal(text), std::nullopt) << '"' << text << '"';
    }
}

TEST(FormatBytes, IsExactAndCanBeReadAgain) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1000), "1000 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(1536), "1536 B");
    EXPECT_EQ(format_bytes(65'536), "64 KiB");
    EXPECT_EQ(format_bytes(1 << 20), "1 MiB");
    EXPECT_EQ(format_bytes(5ull << 40), "5120 GiB");
    Prng prng(3);
    for (int i = 0; i < 1000; ++i) {
        const uint64_t bytes = prng.next() >> prng.below(64) << prng.below(40);
        std::string text = format_bytes(bytes);
        text.erase(text.find(' '), 1);
        EXPECT_EQ(parse_bytes(text), bytes) << text;
    }
}

TEST(Printable, IsOneShortLine) {
    EXPECT_EQ(printable("plain text"), "plain text");
    EXPECT_EQ(printable(std::string_view("a\nb\t\0\x7f\x1b[31m", 11)),
              "a\\x0ab\\x09\\x00\\x7f\\x1b[31m");
    EXPECT_EQ(printable("Grüße"), "Grüße");
    const std::string exact(200, 'x');
    EXPECT_EQ(printable(exact), exact);
    EXPECT_EQ(printable(exact + "y"), exact + "...");
}

TEST(Split, KeepsEmptyParts) {
    using Parts = std::vector<std::string_view>;
    EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
    EXPECT_EQ(split("", ','), (Parts{""}));
    EXPECT_EQ(split(",", ','), (Parts{"", ""}));
    EXPECT_EQ(split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
}

TEST(Nearest, OnlyWhatMayBeATypingError) {
    const std::string_view words[] = {"barrier", "bcast", "reduce", "allreduce"};
    EXPECT_EQ(nearest("barier", words), "barrier");
    EXPECT_EQ(nearest("bcats", words), "bcast");
    EXPECT_EQ(nearest("reduce", words), "reduce");
    EXPECT_EQ(nearest("alreduce", words), "allreduce");
    EXPECT_EQ(nearest("gather", words), std::nullopt);
    EXPECT_EQ(nearest("", words), std::nullopt);
    EXPECT_EQ(nearest("x", {}), std::nullopt);
    // The first of equally near ones.
    const std::string_view twins[] = {"cat", "bat"};
    EXPECT_EQ(nearest("hat", twins), "cat");
}

TEST(Rate, IsInBitsPerSecond) {
    EXPECT_EQ(parse_rate("1bit"), 1u);
    EXPECT_EQ(parse_rate("25mbit"), 25'000'000u);
    EXPECT_EQ(parse_rate("2.5Gbit"), 2'500'000'000u);
    EXPECT_EQ(parse_rate("100Gbit/s"), 100'000'000'000u);
    EXPECT_EQ(parse_rate("1000Tbit"), 1'000'000'000'000'000u);
    // A capital B is a byte, of which nobody means so many.
    for (const char* text : {"100G", "100g", "100Gb", "100Gb/s", "100Gbps", "100GBIT", "100Gbit"}) {
        EXPECT_EQ(parse_rate(text), 100'000'000'000u) << text;
    }
    for (const char* text :
         {"", "100", "100GB", "100GB/s", "100GBps", "100b/s/s", "-1Mbit", "1 Mbit", "0bit",
          "0.4bit", "1001Tbit", "Gbit", "1.2.3Mbit", "1e3bit", "1Mbit/h"}) {
        EXPECT_FALSE(parse_rate(text)) << text;
    }
}

TEST(Duration, IsInNanoseconds) {
    EXPECT_EQ(parse_duration("0ns"), 0u);
    EXPECT_EQ(parse_duration("300ns"), 300u);
    EXPECT_EQ(parse_duration("1us"), 1000u);
    EXPECT_EQ(parse_duration("1.5ms"), 1'500'000u);
    EXPECT_EQ(parse_duration("0.4ns"), 0u);
    EXPECT_EQ(parse_duration("0.6ns"), 1u);
    EXPECT_EQ(parse_duration("1000s"), 1'000'000'000'000u);
    EXPECT_EQ(parse_duration("1min"), 60'000'000'000u);
    for (const char* text : {"", "1", "-1us", "us", "1 us", "1001s", "17min", "1u", ".us", "1US"}) {
        EXPECT_FALSE(parse_duration(text)) << text;
    }
}

TEST(Duration, IsInSecondsWithoutAUnit) {
    EXPECT_EQ(parse_seconds("0"), 0.0);
    EXPECT_EQ(parse_seconds("0.5"), 0.5);
    EXPECT_EQ(parse_seconds("10s"), 10.0);
    EXPECT_EQ(parse_seconds("100ms"), 0.1);
    EXPECT_EQ(parse_seconds("2min"), 120.0);
    EXPECT_EQ(parse_seconds("1.5h"), 5400.0);
    EXPECT_EQ(parse_seconds("1000000000000"), 1e12);
    for (const char* text :
         {"", "s", "-1s", "1 s", "1d", "1000000000001", "1000000000h", "1.2.3"}) {
        EXPECT_FALSE(parse_seconds(text)) << text;
    }
}

TEST(Switch, HasManyWords) {
    for (const char* text : {"1", "on", "yes", "true", "ON", "Yes", "TRUE"}) {
        EXPECT_EQ(parse_switch(text), true) << text;
    }
    for (const char* text : {"0", "off", "no", "false", "OFF", "No", "False"}) {
        EXPECT_EQ(parse_switch(text), false) << text;
    }
    for (const char* text : {"", "2", "y", "n", "t", "maybe", "on ", "o", "enable", "01"}) {
        EXPECT_EQ(parse_switch(text), std::nullopt) << text;
    }
}

TEST(Duration, IsShownInFourDigits) {
    EXPECT_EQ(format_duration(0), "0 ns");
    EXPECT_EQ(format_duration(999), "999 ns");
    EXPECT_EQ(format_duration(1000), "1 us");
    EXPECT_EQ(format_duration(1500), "1.5 us");
    EXPECT_EQ(format_duration(1234), "1.234 us");
    EXPECT_EQ(format_duration(12'345), "12.35 us");
    EXPECT_EQ(format_duration(629'145'600), "629.1 ms");
    EXPECT_EQ(format_duration(999'960), "1 ms");
    EXPECT_EQ(format_duration(2'000'000'000'000), "2000 s");
}

}  // namespace
}  // namespace tutti
