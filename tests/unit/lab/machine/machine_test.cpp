// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/machine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "conformance/fake_ud.h"

namespace tutti::machine {
namespace {

std::string multicast_of(const test::FakeUdRules& rules, McastOver over) {
    McastSettings settings;
    settings.over = over;
    const auto facts =
        port_facts(test::FakeUd::add_port(std::make_shared<test::FakeUd>(rules)), settings);
    EXPECT_EQ(facts.back().label, "multicast");
    return facts.back().text;
}

TEST(Machine, SaysWhetherAPortCanMulticast) {
    EXPECT_EQ(multicast_of({}, McastOver::kUdp), "off, works with TUTTI_MCAST_OVER=verbs");
    EXPECT_EQ(multicast_of({}, McastOver::kVerbs), "where all hosts can");
    EXPECT_EQ(multicast_of({}, McastOver::kAuto),
              "where all hosts can, unless UDP is predicted to be faster");
    EXPECT_EQ(multicast_of({.receives_max = 100}, McastOver::kAuto),
              "off: no room for so many receives");
}

TEST(Machine, SaysWhatProtectsMulticast) {
    McastSettings settings;
    const auto begins = [&](const std::string& text) {
        const Fact fact = code_fact(settings);
        EXPECT_TRUE(fact.text.starts_with(text + ": at most ")) << fact.text;
    };
    begins("over all");
    settings.code = McastCode::kHeader;
    begins("over headers");
    settings.code = McastCode::kNone;
    begins("none");
    settings.secret = true;
    begins("over all, encrypted");
}

}  // namespace
}  // namespace tutti::machine
