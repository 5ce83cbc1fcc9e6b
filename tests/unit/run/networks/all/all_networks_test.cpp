// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/all/all_networks.h"

#include <gtest/gtest.h>

#include <string>

#include "base/multicast_networks.h"

namespace tutti::networks {
namespace {

using transport::carrier::GroupAddress;

constexpr size_t kVerbs = multicast_network_number("verbs");
constexpr size_t kUdp = multicast_network_number("udp");

class NoClock final : public Clock {
  public:
    uint64_t now_ns() override { return 0; }
};

// A process whose settings are said.
class Told final : public Process {
  public:
    [[nodiscard]] const Settings& settings() const override { return told; }
    Clock& clock() override { return clock_; }
    [[nodiscard]] uint64_t member() const override { return 1; }
    void progress() const override {}

    Settings told;

  private:
    NoClock clock_;
};

struct MulticastRows : testing::Test {
    Told process;
    Networks networks = make_networks(process);
    MulticastNetworks all = make_multicast_networks(process, networks);

    // Of the group that this one draws; or why it draws none.
    std::string group_of(size_t number, uint64_t random = 7) {
        const auto group = all[number]->draw_group(random);
        return group ? all[number]->text_of(group.value()) : group.error().message;
    }
};

TEST_F(MulticastRows, EachHasItsOwn) {
    EXPECT_EQ(networks.size(), kNetworks.size());
    ASSERT_EQ(all.size(), kMulticastNetworks.size());
    EXPECT_LT(kVerbs, kUdp) << "the last one needs no device";
}

TEST_F(MulticastRows, DrawAddressesOfASite) {
    for (const size_t number : {kVerbs, kUdp}) {
        EXPECT_TRUE(group_of(number).starts_with("239.19")) << group_of(number);
        EXPECT_EQ(group_of(number, 7), group_of(number, 7));
        EXPECT_NE(group_of(number, 7), group_of(number, 8));
    }
    process.told.mcast.port = 20'000;
    EXPECT_TRUE(group_of(kUdp).ends_with(" port 20000")) << group_of(kUdp);
    EXPECT_EQ(group_of(kVerbs).find("port"), std::string::npos);
}

TEST_F(MulticastRows, TakeTheAddressThatIsNamed) {
    process.told.mcast.address = "239.1.2.3";
    EXPECT_EQ(group_of(kUdp), "239.1.2.3 port 17717");
    EXPECT_EQ(group_of(kVerbs), "239.1.2.3");
    process.told.mcast.address = "ff15::7";
    EXPECT_EQ(group_of(kUdp), "ff15::7 port 17717");
    EXPECT_EQ(group_of(kVerbs), "groups of RDMA ports have IPv4 addresses, not ff15::7");
    process.told.mcast.address = "10.1.2.3";
    for (const size_t number : {kVerbs, kUdp}) EXPECT_FALSE(all[number]->draw_group(7));
}

TEST_F(MulticastRows, GoByIpv6WhereTheInterfaceIsNamedSo) {
    process.told.mcast.interface = "fe80::1";
    EXPECT_TRUE(group_of(kUdp).starts_with("ff15:")) << group_of(kUdp);
    EXPECT_TRUE(group_of(kVerbs).starts_with("239.19")) << group_of(kVerbs);
}

TEST_F(MulticastRows, SayWhyAProcessHasNone) {
    process.told.mcast.interface = "nosuch0";
    process.told.verbs.device = "none:1";
    for (const size_t number : {kVerbs, kUdp}) {
        const auto opened = all[number]->open();
        ASSERT_FALSE(opened);
        EXPECT_NE(opened.error().message, "");
    }
}

}  // namespace
}  // namespace tutti::networks
