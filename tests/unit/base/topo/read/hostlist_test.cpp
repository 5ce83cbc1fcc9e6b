// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/read/hostlist.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace tutti::topo {
namespace {

using Names = std::vector<std::string>;

Names expand(const std::string& text) {
    const auto names = expand_hostlist(text, 1000);
    EXPECT_TRUE(names) << names.error().message;
    return names ? names.value() : Names();
}

std::string fault(const std::string& text) {
    const auto names = expand_hostlist(text, 1000);
    return names ? "(accepted)" : names.error().message;
}

TEST(Hostlist, AsSlurmWritesThem) {
    EXPECT_EQ(expand("tux[0-3,7]"), (Names{"tux0", "tux1", "tux2", "tux3", "tux7"}));
    EXPECT_EQ(expand("a,b[1-2],c"), (Names{"a", "b1", "b2", "c"}));
    EXPECT_EQ(expand("n[08-11]"), (Names{"n08", "n09", "n10", "n11"}));
    EXPECT_EQ(expand("n[8-11]"), (Names{"n8", "n9", "n10", "n11"}));
    EXPECT_EQ(expand("n[5]-ib, m"), (Names{"n5-ib", "m"}));
    // The last brackets count fastest.
    EXPECT_EQ(expand("rack[1-2]n[01-02]"), (Names{"rack1n01", "rack1n02", "rack2n01", "rack2n02"}));
    EXPECT_EQ(expand("rack[1-2]n[01-10]").size(), 20u);
}

TEST(Hostlist, WhatIsNoneIsToldWhy) {
    EXPECT_EQ(fault("tux[0-3"), "a ] is missing in tux[0-3");
    EXPECT_EQ(fault("tux0-3]"), "a [ is missing in tux0-3]");
    EXPECT_EQ(fault("tux[[0-3]]"), "brackets in brackets in tux[[0-3]]");
    EXPECT_EQ(fault("tux[3-0]"), "not a range of numbers: 3-0 in tux[3-0]");
    EXPECT_EQ(fault("tux[]"), "not a range of numbers:  in tux[]");
    EXPECT_EQ(fault("tux[a-b]"), "not a range of numbers: a-b in tux[a-b]");
    EXPECT_EQ(fault("tux[1-2-3]"), "not a range of numbers: 1-2-3 in tux[1-2-3]");
    EXPECT_EQ(fault(""), "a name is missing in ");
    EXPECT_EQ(fault("a,,b"), "a name is missing in a,,b");
    EXPECT_EQ(fault("a,"), "a name is missing in a,");
    EXPECT_EQ(fault("n[0-1000]"), "more than 1000 names");
    EXPECT_EQ(fault("n[0-999],m"), "more than 1000 names");
    EXPECT_EQ(fault("n[0-999999999999999999]r[0-999999999999999999]"), "more than 1000 names");
    const std::string longest(253, 'a');
    EXPECT_EQ(fault(longest + "[9-10]"), "(accepted)");
    for (const char* end : {"[99-100]", "[9-10]b", "[1]b[1]", "abc", "[001]"}) {
        EXPECT_EQ(fault(longest + end).substr(0, 34), "a name of more than 255 bytes: aaa");
    }
    EXPECT_EQ(fault("a[1][1][1][1][1][1][1][1][1]").substr(0, 20), "more than 8 brackets");
}

TEST(Hostlist, FoldedShort) {
    EXPECT_EQ(fold_hostlist(Names{}), "");
    EXPECT_EQ(fold_hostlist(Names{"a"}), "a");
    EXPECT_EQ(fold_hostlist(Names{"n0", "n1", "n2", "n7", "b", "b"}), "n[0-2,7],b,b");
    EXPECT_EQ(fold_hostlist(Names{"n09", "n10", "n11"}), "n[09-11]");
    EXPECT_EQ(fold_hostlist(Names{"n9", "n10", "n11"}), "n[9-11]");
    EXPECT_EQ(fold_hostlist(Names{"n99", "n100", "n001"}), "n[99-100,001]");
    EXPECT_EQ(fold_hostlist(Names{"r1n1-ib", "r1n2-ib", "r2n1-ib"}), "r1n[1-2]-ib,r2n1-ib");
}

TEST(Hostlist, NumbersInOrder) {
    const Names order{"", "a", "a1", "a1-ib", "a2", "a02", "a10", "a010", "ab", "b1n9", "b1n10"};
    // Equal but for zeros: by letters.
    EXPECT_TRUE(is_name_before("a02", "a2"));
    for (size_t i = 0; i < order.size(); ++i) {
        EXPECT_FALSE(is_name_before(order[i], order[i]));
        for (size_t k = i + 1; k < order.size(); ++k) {
            if (order[i] == "a2" && order[k] == "a02") continue;
            if (order[i] == "a10" && order[k] == "a010") continue;
            EXPECT_TRUE(is_name_before(order[i], order[k])) << order[i] << " " << order[k];
            EXPECT_FALSE(is_name_before(order[k], order[i])) << order[i] << " " << order[k];
        }
    }
}

TEST(Hostlist, WhatIsFoldedExpandsToTheSame) {
    for (uint64_t seed = 1; seed <= 500; ++seed) {
        Prng random(seed);
        Names names;
        const uint64_t count = 1 + random.below(20);
        while (names.size() < count) {
            std::string name(random.below(2), 'a');
            name += random.below(2) ? "n" : "";
            if (random.below(4)) {
                std::string digits = std::to_string(random.below(12));
                if (random.below(2)) digits.insert(0, random.below(3), '0');
                name += digits;
            }
            name += random.below(3) ? "" : "-ib";
            if (!name.empty()) names.push_back(name);
        }
        EXPECT_EQ(expand(fold_hostlist(names)), names) << "seed " << seed << fold_hostlist(names);
    }
}

}  // namespace
}  // namespace tutti::topo
