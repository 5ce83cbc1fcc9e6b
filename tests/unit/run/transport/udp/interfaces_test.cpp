// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/interfaces.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/fd.h"

namespace tutti::transport::udp {
namespace {

InterfaceAddress made(const char* name, uint32_t index, AddressBytes address,
                      uint32_t prefix_bits = 24) {
    InterfaceAddress one;
    one.name = name;
    one.index = index;
    one.address = address;
    one.prefix_bits = prefix_bits;
    one.mtu = 1500;
    one.is_up = true;
    one.can_multicast = true;
    return one;
}

std::vector<InterfaceAddress> host() {
    std::vector<InterfaceAddress> all{
        made("lo", 1, {127, 0, 0, 1}, 8), made("eth0", 2, {10, 1, 0, 1}),
        made("eth1", 3, {10, 2, 0, 1}), made("auto", 4, {169, 254, 3, 4}, 16)};
    all[0].is_loopback = true;
    all[0].can_multicast = false;
    all[0].mtu = 65'536;
    return all;
}

std::vector<uint32_t> indices(const Result<std::vector<Candidate>>& chosen) {
    std::vector<uint32_t> list;
    if (!chosen) return list;
    for (const Candidate& one : chosen.value()) list.push_back(one.interface);
    return list;
}

using Indices = std::vector<uint32_t>;

TEST(Interfaces, PreferredFirstLoopbackLast) {
    const auto all = host();
    const auto plain = choose_candidates(all, Family::kIpv4, "", {}, 8972);
    EXPECT_EQ(indices(plain), (Indices{2, 3, 4, 1}));
    EXPECT_EQ(plain.value()[0].packet_bytes_max, 1472u);
    EXPECT_EQ(plain.value()[3].packet_bytes_max, 8972u);
    const Indices preferred{3};
    EXPECT_EQ(indices(choose_candidates(all, Family::kIpv4, "", preferred, 8972)),
              (Indices{3, 2, 4, 1}));
}

TEST(Interfaces, NamedOnes) {
    const auto all = host();
    EXPECT_EQ(indices(choose_candidates(all, Family::kIpv4, "eth1", {}, 8972)), Indices{3});
    EXPECT_EQ(indices(choose_candidates(all, Family::kIpv4, "10.2.0.1", {}, 8972)), Indices{3});
    // The same setting goes to all hosts: any address of the network names the interface.
    EXPECT_EQ(indices(choose_candidates(all, Family::kIpv4, "10.2.0.77", {}, 8972)), Indices{3});
    EXPECT_EQ(indices(choose_candidates(all, Family::kIpv4, "lo", {}, 8972)), Indices{1});
}

TEST(Interfaces, NoMoreThanFitAndLoopbackAmongThem) {
    auto all = host();
    for (uint8_t i = 5; i < 9; ++i) all.push_back(made("more", i, {10, i, 0, 1}));
    EXPECT_EQ(indices(choose_candidates(all, Family::kIpv4, "", {}, 8972)), (Indices{2, 3, 5, 1}));
}

TEST(Interfaces, ErrorsSayWhatIsWrong) {
    auto all = host();
    const auto message = [&](const char* wanted, Family family = Family::kIpv4) {
        const auto chosen = choose_candidates(all, family, wanted, {}, 8972);
        return chosen ? "no error" : chosen.error().message;
    };
    EXPECT_EQ(
        message("eth9"),
        "no network interface is 'eth9' or has that address (there are: lo, eth0, eth1, auto)");
    EXPECT_EQ(message("eth0", Family::kIpv6), "'eth0' has no IPv6 address");
    EXPECT_EQ(message("", Family::kIpv6), "no network interface here has an IPv6 address");
    all[1].is_up = false;
    EXPECT_EQ(message("eth0"), "interface eth0 is down");
    all[2].can_multicast = false;
    EXPECT_EQ(message("eth1"), "interface eth1 cannot multicast");
    all[3].mtu = 500;
    EXPECT_EQ(message("auto"), "interface auto has an MTU of 500, which is too small");
    EXPECT_EQ(message("lo"), "no error");
    all[0].family = Family::kIpv6;
    EXPECT_EQ(message("lo", Family::kIpv6), "interface lo cannot multicast");
}

TEST(Interfaces, ThisHostHasLoopback) {
    const auto all = list_interfaces();
    ASSERT_TRUE(all) << all.error().message;
    const auto loopback = choose_candidates(all.value(), Family::kIpv4, "127.0.0.1", {}, 8972);
    ASSERT_TRUE(loopback) << loopback.error().message;
    EXPECT_EQ(loopback.value()[0].is_loopback, 1u);
    EXPECT_EQ(loopback.value()[0].packet_bytes_max, 8972u);
    EXPECT_EQ(host_number(), host_number());
}

// A connection over loopback, told as if the interface were another one.
TEST(Interfaces, ConnectionsTellTheInterface) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t length = sizeof(address);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    const std::vector<InterfaceAddress> all{made("eth0", 2, {10, 1, 0, 1}),
                                            made("eth1", 3, {127, 0, 0, 1})};
    EXPECT_EQ(connected_interfaces(all), Indices{});
    const Fd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(connected_interfaces(all), Indices{3});
}

TEST(Interfaces, Networks) {
    EXPECT_TRUE(in_network({10, 1, 2, 3}, {10, 1, 9, 9}, 16));
    EXPECT_FALSE(in_network({10, 1, 2, 3}, {10, 1, 9, 9}, 21));
    EXPECT_TRUE(in_network({10, 1, 8, 3}, {10, 1, 9, 9}, 23));
    EXPECT_TRUE(in_network({1}, {2}, 0));
    EXPECT_FALSE(in_network({10, 1, 2, 3}, {10, 1, 2, 2}, 32));
}

}  // namespace
}  // namespace tutti::transport::udp
