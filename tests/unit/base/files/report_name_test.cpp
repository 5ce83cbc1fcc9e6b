// SPDX-License-Identifier: BSD-3-Clause
#include "base/files/report_name.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

namespace tutti::files {
namespace {

const NameParts kParts{"4711", "99", "node12"};

TEST(ReportName, CodesAreFilledIn) {
    EXPECT_EQ(fill_name("/tmp/%j/r-%h.%p.json", kParts), "/tmp/4711/r-node12.99.json");
    EXPECT_EQ(fill_name("r.json", kParts), "r.json");
    EXPECT_EQ(fill_name("100%", kParts), "100%");
    EXPECT_EQ(fill_name("%x%%j%", kParts), "%x%j%");
}

TEST(ReportName, NumbersStandBeforeTheEnding) {
    EXPECT_EQ(numbered_name("/tmp/r.json", 2), "/tmp/r.2.json");
    EXPECT_EQ(numbered_name("/tmp.json/r", 12), "/tmp.json/r.12");
    EXPECT_EQ(numbered_name("r.v1", 3), "r.v1.3");
}

TEST(ReportName, PatternsFindThemAgain) {
    const auto matches = [](const std::string& pattern, const std::string& name) {
        return fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
    };
    for (const std::string name : {"/d/r.json", "/d/[a]*?-%p.json", "/d/b\\n", "/d/%j/%%h-%h"}) {
        const NamePatterns patterns = name_patterns(name);
        const std::string filled = fill_name(name, kParts);
        EXPECT_TRUE(matches(patterns.first, filled)) << name;
        EXPECT_TRUE(matches(patterns.numbered, numbered_name(filled, 2))) << name;
    }
    EXPECT_FALSE(matches(name_patterns("/d/[a].json").first, "/d/a.json"));
    EXPECT_FALSE(matches(name_patterns("/d/r.json").first, "/d/r.2.json"));
    EXPECT_FALSE(matches(name_patterns("/d/r.json").numbered, "/d/r.old.json"));
}

}  // namespace
}  // namespace tutti::files
