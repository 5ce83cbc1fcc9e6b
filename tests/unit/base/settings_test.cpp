// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.h"

#include <gtest/gtest.h>

#include <set>

namespace tutti {
namespace {

Result<Settings> parse(std::initializer_list<std::string> entries) {
    return parse_settings(std::vector<std::string>(entries));
}

std::string message_of(std::initializer_list<std::string> entries) {
    const auto parsed = parse(entries);
    return parsed ? "accepted" : parsed.error().message;
}

TEST(Settings, EveryValueArrives) {
    const auto parsed =
        parse({"TUTTI_CHECK=1", "TUTTI_STALL=2.5", "TUTTI_CHUNK=64K", "TUTTI_MEMORY=1M",
               "TUTTI_WARMUP=0", "TUTTI_REPRODUCIBLE=on", "TUTTI_LAYOUT=tree", "TUTTI_ISA=avx2",
               "TUTTI_SPIN=7", "TUTTI_REPORT=out.json", "TUTTI_TOPOLOGY=pack:2 core:4"});
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Settings& settings = parsed.value();
    EXPECT_TRUE(settings.on);
    EXPECT_TRUE(settings.check);
    EXPECT_EQ(settings.stall_s, 2.5);
    EXPECT_EQ(settings.chunk_bytes, 65536u);
    EXPECT_EQ(settings.memory_bytes, 1u << 20);
    EXPECT_EQ(settings.warmup_calls, 0u);
    EXPECT_TRUE(settings.reproducible);
    EXPECT_EQ(settings.layout, LayoutChoice::kTree);
    EXPECT_EQ(settings.isa, IsaChoice::kAvx2);
    EXPECT_EQ(settings.spin_us, 7u);
    EXPECT_EQ(settings.report, "out.json");
    EXPECT_EQ(settings.topology, "pack:2 core:4");
}

TEST(Settings, TheSwitchForEverything) {
    ASSERT_TRUE(parse({"TUTTI=off"}));
    EXPECT_FALSE(parse({"TUTTI=off"}).value().on);
    EXPECT_TRUE(parse({"TUTTI=on"}).value().on);
}

TEST(Settings, OtherPeoplesVariablesAreIgnored) {
    EXPECT_TRUE(parse({"PATH=/bin", "TUTTIFRUTTI=1", "MY_TUTTI_CHECK=maybe"}));
}

TEST(Settings, AnUnknownNameIsNamedWithTheNearest) {
    const std::string message = message_of({"TUTTI_CHUNCK=1"});
    EXPECT_NE(message.find("TUTTI_CHUNCK"), std::string::npos) << message;
    EXPECT_NE(message.find("did you mean TUTTI_CHUNK?"), std::string::npos) << message;
}

TEST(Settings, AMalformedValueIsNamedWithWhatIsExpected) {
    EXPECT_EQ(message_of({"TUTTI_CHECK=maybe"}), "TUTTI_CHECK=maybe: expected 0|1");
    for (const char* entry :
         {"TUTTI_CHECK", "TUTTI_CHECK=", "TUTTI=2", "TUTTI_STALL=-1", "TUTTI_CHUNK=1023",
          "TUTTI_CHUNK=17M", "TUTTI_MEMORY=1K", "TUTTI_WARMUP=x", "TUTTI_LAYOUT=Tree",
          "TUTTI_ISA=sse", "TUTTI_SPIN=1000001", "TUTTI_REPORT=", "TUTTI_TOPOLOGY="}) {
        const std::string message = message_of({entry});
        const std::string name = std::string(entry).substr(0, std::string(entry).find('='));
        EXPECT_EQ(message.rfind(name + "=", 0), 0u) << message;
        EXPECT_NE(message.find(": expected "), std::string::npos) << message;
    }
}

TEST(Settings, AMessageIsOneLineWhateverTheValue) {
    for (const char* entry : {"TUTTI_CHECK=a\nb", "TUTTI_\nX=1"}) {
        EXPECT_EQ(message_of({entry}).find('\n'), std::string::npos);
    }
}

TEST(Settings, TheTableNamesEachOnceAndExplainsIt) {
    std::set<std::string_view> names;
    for (const SettingDoc& doc : setting_docs()) {
        EXPECT_TRUE(names.insert(doc.variable).second) << doc.variable;
        EXPECT_TRUE(doc.option.empty() || doc.option.starts_with("--")) << doc.variable;
        EXPECT_FALSE(doc.value.empty()) << doc.variable;
        EXPECT_TRUE(doc.text.ends_with('.')) << doc.variable;
        // Every entry of the table is also understood.
        const std::string message = message_of({std::string(doc.variable) + "=\x01"});
        EXPECT_EQ(message.find("unknown variable"), std::string::npos) << doc.variable;
    }
    EXPECT_TRUE(names.contains("TUTTI_CHECK"));
}

TEST(Settings, EntriesOfAnEnvironmentAreSorted) {
    const char* const environment[] = {"TUTTI_SPIN=1", "PATH=/bin",     "TUTTI=on",
                                       "TUTTIX=1",     "TUTTI_CHECK=0", nullptr};
    const std::vector<std::string> expected = {"TUTTI=on", "TUTTI_CHECK=0", "TUTTI_SPIN=1"};
    EXPECT_EQ(tutti_entries(environment), expected);
    EXPECT_TRUE(tutti_entries(nullptr).empty());
}

}  // namespace
}  // namespace tutti
