// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/machine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/multicast_networks.h"
#include "base/networks.h"
#include "conformance/fake_ud.h"
#include "lab/machine/network_facts.h"
#include "run/networks/ud_multicast/ud_facts.h"

namespace tutti::machine {
namespace {

std::string multicast_of(const test::FakeUdRules& rules, McastOver over) {
    McastSettings settings;
    settings.over = over;
    return networks::ud_multicast::port_text(
        test::FakeUd::add_port(std::make_shared<test::FakeUd>(rules)), settings);
}

TEST(Machine, SaysWhetherAPortCanMulticast) {
    constexpr McastOver kVerbs{.first = multicast_network_number("verbs")};
    constexpr McastOver kFaster{.first = 0, .takes_faster = true};
    EXPECT_EQ(multicast_of({}, {}), "off, works with TUTTI_MCAST_OVER=verbs");
    EXPECT_EQ(multicast_of({}, kVerbs), "where all hosts can");
    EXPECT_EQ(multicast_of({}, kFaster),
              "where all hosts can, unless UDP is predicted to be faster");
    EXPECT_EQ(multicast_of({.receives_max = 100}, kFaster), "off: no room for so many receives");
}

TEST(Machine, SaysWhatProtectsMulticast) {
    McastSettings settings;
    const auto begins = [&](const std::string& text) {
        const std::string code = code_text(settings);
        EXPECT_TRUE(code.starts_with(text + ": at most ")) << code;
    };
    begins("over all");
    settings.code = McastCode::kHeader;
    begins("over headers");
    settings.code = McastCode::kNone;
    begins("none");
    settings.secret = true;
    begins("over all, encrypted");
}

// Networks for tests, only where they are on.
TEST(Machine, SaysWhichNetworksRunsUse) {
    Settings settings;
    settings.networks.fill(NetworkChoice::kOff);
    std::vector<FactRow> rows = network_facts(settings);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].subject, "RDMA");
    EXPECT_EQ(rows[0].text_of(rows[0].facts[0]), "no, by TUTTI_VERBS");
    EXPECT_NE(rows[0].find("locked memory"), nullptr);
    EXPECT_NE(rows[0].find("port"), nullptr);
    settings.networks.fill(NetworkChoice::kOn);
    rows = network_facts(settings);
    ASSERT_EQ(rows.size(), kNetworks.size());
    EXPECT_EQ(rows[1].subject, "loopback");
    EXPECT_EQ(rows[1].text_of(*rows[1].find("used")), "where all ranks can");
}

}  // namespace
}  // namespace tutti::machine
