// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cli/settings_page.h"

namespace tutti::cli {
namespace {

using Words = std::vector<std::string>;

Words command_of(const Words& arguments) {
    const auto parsed = parse_run_arguments(arguments, {});
    EXPECT_TRUE(parsed);
    return parsed ? parsed.value().command : Words{};
}

std::string error_of(const Words& arguments, const Words& environment = {}) {
    const auto parsed = parse_run_arguments(arguments, environment);
    return parsed ? "no error" : parsed.error().message;
}

TEST(RunArguments, TheCommandBeginsBehindTheOptions) {
    EXPECT_EQ(command_of({"--", "a", "--check"}), (Words{"a", "--check"}));
    EXPECT_EQ(command_of({"a", "--check", "--"}), (Words{"a", "--check", "--"}));
    EXPECT_EQ(command_of({"--check", "a"}), Words{"a"});
    EXPECT_EQ(command_of({"--report", "--", "a"}), Words{"a"});
    EXPECT_EQ(command_of({"--stall", "2", "a", "b"}), (Words{"a", "b"}));
    EXPECT_EQ(command_of({"--", "--", "a"}), (Words{"--", "a"}));
}

TEST(RunArguments, HelpIsOneScreenOfEverydayOptions) {
    const std::string help = run_help();
    EXPECT_LE(std::ranges::count(help, '\n'), 30);
    for (const SettingDoc& doc : setting_docs()) {
        if (doc.option.empty()) continue;
        const bool is_there = help.find("\n" + std::string(doc.option)) != std::string::npos;
        EXPECT_EQ(is_there, doc.group == SettingGroup::kEveryday) << doc.option;
    }
    EXPECT_NE(help.find("    tutti run --verify=1% -- mpirun -n 8 ./app\n"), std::string::npos);
}

TEST(RunArguments, EverySettingWithATwinHasAnOption) {
    const std::string help = run_help_all();
    for (const SettingGroupDoc& group : kSettingGroups) {
        const bool has_options = &group != &doc_of(SettingGroup::kInternal);
        const bool is_there = help.find(std::string(group.title) + ":") != std::string::npos;
        EXPECT_EQ(is_there, has_options) << group.title;
    }
    for (const SettingDoc& doc : setting_docs()) {
        if (doc.option.empty()) continue;
        EXPECT_NE(help.find("\n" + std::string(doc.option)), std::string::npos) << doc.option;
    }
    for (const std::string_view line : split(help, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(RunArguments, OptionsBecomeEntries) {
    const auto parsed = parse_run_arguments(
        Words{"--check", "--stall=2.5", "--memory", "64M", "--report=x.json", "a"}, {});
    ASSERT_TRUE(parsed);
    const Settings& settings = parsed.value().settings;
    EXPECT_TRUE(settings.watch.check);
    EXPECT_EQ(settings.watch.stall_s, 2.5);
    EXPECT_EQ(settings.node.memory_bytes, 64u << 20);
    EXPECT_EQ(settings.watch.report, "x.json");
    EXPECT_EQ(parsed.value().entries.size(), 4u);
}

TEST(RunArguments, AnOptionBeatsTheVariable) {
    const auto parsed =
        parse_run_arguments(Words{"--check=0", "a"}, Words{"TUTTI_CHECK=1", "TUTTI_SPIN=5"});
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed.value().settings.watch.check);
    EXPECT_EQ(parsed.value().entries, (Words{"TUTTI_SPIN=5", "TUTTI_CHECK=0"}));
}

TEST(RunArguments, TheLastOfTwoHolds) {
    const auto parsed = parse_run_arguments(Words{"--spin", "5", "--spin=7", "a"}, {});
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed.value().settings.node.spin_us, 7u);
}

TEST(RunArguments, ErrorsNameWhatIsWrong) {
    EXPECT_EQ(error_of({"--reprot", "a"}), "unknown option --reprot; did you mean --report?");
    EXPECT_EQ(error_of({"-z", "a"}), "unknown option -z");
    EXPECT_EQ(error_of({"--stall", "soon", "a"}),
              "--stall=soon: expected SECONDS or a time, as in 100ms, 10s or 5min");
    EXPECT_EQ(error_of({"--stall", "-1", "a"}),
              "--stall=-1: expected SECONDS or a time, as in 100ms, 10s or 5min");
    EXPECT_EQ(error_of({"--stall=", "a"}), "--stall=: expected SECONDS");
    EXPECT_EQ(error_of({"--stall"}), "--stall: expected SECONDS");
    EXPECT_EQ(error_of({"--stall", "--", "a"}), "--stall: expected SECONDS");
    EXPECT_EQ(error_of({"--check=maybe", "a"}), "--check=maybe: expected 0|1");
    EXPECT_EQ(error_of({"a"}, {"TUTTI_CHECK=x"}), "TUTTI_CHECK=x: expected 0|1");
    EXPECT_EQ(error_of({"--check"}), "run: no command; usage: tutti run [options] -- COMMAND...");
}

TEST(RunArguments, ErrorsAreOneLine) {
    for (const Words& arguments :
         {Words{"--stall", "a\nb", "c"}, Words{"--a\nb", "c"}, Words{"--stall=\n", "c"}}) {
        EXPECT_EQ(error_of(arguments).find('\n'), std::string::npos);
    }
}

TEST(RunArguments, HelpNeedsNoCommand) {
    for (const bool is_all : {false, true}) {
        const auto parsed = parse_run_arguments(Words{is_all ? "--help-all" : "--help"}, {});
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed.value().help, !is_all);
        EXPECT_EQ(parsed.value().help_all, is_all);
    }
}

TEST(SettingsPage, HasEverySetting) {
    for (const std::string& page : {settings_text(), settings_markdown()}) {
        for (const SettingDoc& doc : setting_docs()) {
            EXPECT_NE(page.find(doc.variable), std::string::npos) << doc.variable;
        }
    }
}

}  // namespace
}  // namespace tutti::cli
