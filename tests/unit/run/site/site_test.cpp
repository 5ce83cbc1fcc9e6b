// SPDX-License-Identifier: BSD-3-Clause
#include "run/site/site.h"

#include <gtest/gtest.h>

#include "base/settings.h"

namespace tutti::site {
namespace {

Result<Site> parse(const std::string& text) { return Site::parse(text, "s.toml"); }

std::string complaint(const std::string& text) {
    const auto site = parse(text);
    return site ? "(accepted)" : site.error().message;
}

TEST(Site, AnEmptyFileSaysNothing) {
    const auto site = parse("# nothing\n");
    ASSERT_TRUE(site);
    EXPECT_EQ(site.value().denial("/bin/app"), "");
    EXPECT_TRUE(merge(site, "/bin/app", {}).entries.empty());
}

TEST(Site, DefaultsAreBelowTheVariables) {
    const auto site = parse(
        "[settings]\nTUTTI_STALL = 60.5\nTUTTI_CHECK = true\nTUTTI_WARMUP = 7\n"
        "TUTTI_LAYOUT = \"flat\"\n");
    ASSERT_TRUE(site) << site.error().message;
    // An empty variable is unset. What users say the site says is not heard.
    const std::vector<std::string> own{"TUTTI_LAYOUT=", "TUTTI_SITE_OFF=no", "TUTTI_WARMUP=1"};
    const Merged merged = merge(site, "/bin/app", own);
    EXPECT_EQ(merged.off, "");
    EXPECT_EQ(merged.entries,
              (std::vector<std::string>{"TUTTI_STALL=60.5", "TUTTI_CHECK=1", "TUTTI_LAYOUT=flat",
                                        "TUTTI_LAYOUT=", "TUTTI_WARMUP=1",
                                        "TUTTI_SITE_NAMES=TUTTI_STALL,TUTTI_CHECK,TUTTI_LAYOUT"}));
    const auto settings = parse_settings(merged.entries);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings.value().warmup_calls, 1u);
    EXPECT_EQ(settings.value().watch.stall_s, 60.5);
    EXPECT_TRUE(settings.value().watch.check);
    EXPECT_EQ(settings.value().node.layout, LayoutChoice::kFlat);
    EXPECT_TRUE(settings.value().on);
    EXPECT_EQ(site.value().find("TUTTI_WARMUP")->line, 4u);
    EXPECT_EQ(site.value().find("TUTTI_CHUNK"), nullptr);
}

std::vector<std::string> merged_with(const std::string& text, std::vector<std::string> own,
                                     std::string& left_out) {
    const auto site = parse(text);
    EXPECT_TRUE(site) << site.error().message;
    Merged merged = merge(site, "/bin/app", own);
    left_out = merged.left_out;
    return merged.entries;
}

using Entries = std::vector<std::string>;

TEST(Site, ADefaultThatAVariableContradictsIsLeftOut) {
    std::string left_out;
    const std::string forced =
        "[settings]\nTUTTI_STALL = 5\nTUTTI_ALLREDUCE = \"ring\"\nTUTTI_REDUCE = \"binomial\"\n";
    EXPECT_EQ(merged_with(forced, {"TUTTI_REPRODUCIBLE=1"}, left_out),
              (Entries{"TUTTI_STALL=5", "TUTTI_REPRODUCIBLE=1", "TUTTI_SITE_NAMES=TUTTI_STALL"}));
    EXPECT_EQ(
        left_out,
        "s.toml:3: TUTTI_ALLREDUCE=ring is left out of this job (TUTTI_ALLREDUCE=ring: under "
        "TUTTI_REPRODUCIBLE only chain may run); s.toml:4: TUTTI_REDUCE=binomial is left out of "
        "this job (TUTTI_REDUCE=binomial: under TUTTI_REPRODUCIBLE only chain may run)");
    EXPECT_EQ(
        merged_with("[settings]\nTUTTI_REPRODUCIBLE = true\n", {"TUTTI_ALLREDUCE=ring"}, left_out),
        (Entries{"TUTTI_ALLREDUCE=ring"}));
    EXPECT_EQ(left_out,
              "s.toml:2: TUTTI_REPRODUCIBLE=1 is left out of this job (TUTTI_ALLREDUCE=ring: under "
              "TUTTI_REPRODUCIBLE only chain may run)");
    // The user's own mistake is the user's, and stays.
    EXPECT_EQ(merged_with("[settings]\nTUTTI_STALL = 5\n", {"TUTTI_BCAST=rnig"}, left_out),
              (Entries{"TUTTI_STALL=5", "TUTTI_BCAST=rnig", "TUTTI_SITE_NAMES=TUTTI_STALL"}));
    EXPECT_EQ(left_out, "");
}

TEST(Site, TheSwitchBeatsEverything) {
    const auto site = parse("why = \"maintenance\"\nenabled = false\n[settings]\nTUTTI = \"on\"\n");
    ASSERT_TRUE(site) << site.error().message;
    const Merged merged = merge(site, "/bin/app", std::vector<std::string>{"TUTTI=on"});
    EXPECT_EQ(merged.off, "switched off for all programs by s.toml:2 (maintenance)");
    EXPECT_FALSE(merged.is_broken);
    EXPECT_FALSE(parse_settings(merged.entries).value().on);
    EXPECT_EQ(parse_settings(merged.entries).value().site.off, merged.off);
}

TEST(Site, ProgramsAreDeniedByNameOrPath) {
    const auto parsed = parse("deny = [\n  \"old_app\",\n  \"gmx*\",\n  \"/opt/legacy/*\",\n]\n");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Site& site = parsed.value();
    EXPECT_EQ(site.denial("/home/me/old_app"), "switched off for /home/me/old_app by s.toml:2");
    EXPECT_EQ(site.denial("old_app"), "switched off for old_app by s.toml:2");
    EXPECT_EQ(site.denial("/usr/bin/gmx_mpi"), "switched off for /usr/bin/gmx_mpi by s.toml:3");
    EXPECT_EQ(site.denial("/opt/legacy/a/b"), "switched off for /opt/legacy/a/b by s.toml:4");
    EXPECT_EQ(site.denial("/opt/new/old_app2"), "");
    EXPECT_EQ(site.denial("/opt/old_app/new"), "");
    EXPECT_EQ(site.denial(""), "");
}

// As in a variable.
TEST(Site, SwitchesTakeManyWords) {
    for (const std::string word : {"true", "1", "\"on\"", "\"YES\""}) {
        const auto site = Site::parse("enabled = " + word + "\n[settings]\nTUTTI_CHECK = " + word +
                                          "\nTUTTI_MCAST = " + word + "\n",
                                      "s.toml");
        ASSERT_TRUE(site) << site.error().message;
        EXPECT_TRUE(site.value().enabled);
        const auto merged = merge(site, "", {});
        EXPECT_TRUE(parse_settings(merged.entries).value().watch.check) << word;
        EXPECT_EQ(parse_settings(merged.entries).value().mcast.choice, McastChoice::kOn) << word;
    }
    for (const std::string word : {"false", "0", "\"off\"", "\"No\""}) {
        const auto site = Site::parse("enabled = " + word + "\n", "s.toml");
        ASSERT_TRUE(site) << site.error().message;
        EXPECT_FALSE(site.value().enabled) << word;
    }
}

TEST(Site, WhatIsWrongIsNamedWithItsLine) {
    EXPECT_EQ(complaint("enabled = 2"), "s.toml:1:11: enabled: expected true or false, not 2");
    EXPECT_EQ(complaint("\nenable = true"),
              "s.toml:2:1: unknown key enable; did you mean enabled?");
    EXPECT_EQ(complaint("deny = \"a\""),
              "s.toml:1:8: deny: expected a list of names or paths of programs, not \"a\"");
    EXPECT_EQ(complaint("deny = [\"a\", 1]"),
              "s.toml:1:14: deny: expected a list of names or paths of programs");
    EXPECT_EQ(complaint("settings = 1"), "s.toml:1:12: settings are written below [settings]");
    EXPECT_EQ(complaint("[settings]\nTUTTI_STAL = 1"),
              "s.toml:2:1: unknown key TUTTI_STAL; did you mean TUTTI_STALL?");
    EXPECT_EQ(complaint("[settings]\nTUTTI_STALL = \"soon\""),
              "s.toml:2:15: TUTTI_STALL=soon: expected SECONDS or a time, as in 100ms, 10s or "
              "5min");
    EXPECT_EQ(complaint("[settings]\nTUTTI_STALL = []"),
              "s.toml:2:15: TUTTI_STALL: expected a text, a number or true or false, not a list");
    EXPECT_EQ(complaint("[settings]\nTUTTI_REPORT = \"a\\nb\""),
              "s.toml:2:16: TUTTI_REPORT: a value has one line");
    EXPECT_EQ(complaint("[settings]\nTUTTI_BCAST = \"rnig\""),
              "s.toml:1:1: TUTTI_BCAST=rnig: unknown algorithm rnig of bcast");
    EXPECT_NE(complaint("[settings]\nTUTTI_RULES = \"/no/such.toml\"").find("No such file"),
              std::string::npos);
    for (const char* name : {"TUTTI_REPORT_MARK", "TUTTI_SITE_OFF", "TUTTI_SITE_NAMES"}) {
        EXPECT_NE(complaint("[settings]\n" + std::string(name) + " = \"x\"").find("unknown key"),
                  std::string::npos);
    }
    EXPECT_EQ(complaint("enabled = true\nenabled = false").substr(0, 9), "s.toml:2:");
    EXPECT_EQ(complaint(std::string(kFileBytesMax + 1, '#')),
              "s.toml:1:1: more than 64 KiB of settings");
    // Nobody's jobs die of it: everything goes to the host, and a line says why.
    const Merged broken = merge(parse("enabled"), "/bin/app", {});
    EXPECT_TRUE(broken.is_broken);
    EXPECT_EQ(broken.off.substr(0, 9), "s.toml:1:");
    EXPECT_FALSE(parse_settings(broken.entries).value().on);
}

TEST(Site, ThisProgram) { EXPECT_EQ(own_program().substr(own_program().rfind('/')), "/site_test"); }

}  // namespace
}  // namespace tutti::site
