// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/endpoint.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::transport::udp {
namespace {

AddressBytes ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) { return {a, b, c, d}; }

Candidate candidate(AddressBytes address, uint32_t bytes = 1472, uint32_t prefix_bits = 24) {
    return {address, 2, prefix_bits, bytes, 0};
}

Candidate loopback() { return {ipv4(127, 0, 0, 1), 1, 8, 8972, 1}; }

Endpoint endpoint(uint64_t host, std::vector<Candidate> candidates) {
    Endpoint made;
    made.host = host;
    made.family = 4;
    made.port = 99;
    made.candidates = static_cast<uint16_t>(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) made.candidate[i] = candidates[i];
    return made;
}

TEST(Endpoint, TheNetworkOfAll) {
    // Member 0 prefers a network of its own; the one in common counts.
    const std::vector<Endpoint> all{
        endpoint(1, {candidate(ipv4(172, 16, 0, 1)), candidate(ipv4(10, 1, 0, 1)), loopback()}),
        endpoint(2, {candidate(ipv4(10, 1, 0, 2), 8972), loopback()}),
        endpoint(3, {candidate(ipv4(10, 2, 0, 3)), candidate(ipv4(10, 1, 0, 3), 1200)})};
    for (mcast::Member member = 0; member < 3; ++member) {
        const auto path = choose_path(all, member);
        ASSERT_TRUE(path) << path.error().message;
        EXPECT_EQ(path.value().own.address, ipv4(10, 1, 0, static_cast<uint8_t>(member + 1)));
        EXPECT_EQ(path.value().packet_bytes_max, 1200u);
        EXPECT_FALSE(path.value().shares_host);
        ASSERT_EQ(path.value().of_member.size(), 3u);
        EXPECT_EQ(path.value().of_member[2].address, ipv4(10, 1, 0, 3));
    }
}

TEST(Endpoint, MemberZeroDecidesBetweenEquals) {
    const std::vector<Endpoint> all{
        endpoint(1, {candidate(ipv4(10, 2, 0, 1)), candidate(ipv4(10, 1, 0, 1))}),
        endpoint(2, {candidate(ipv4(10, 1, 0, 2)), candidate(ipv4(10, 2, 0, 2))})};
    EXPECT_EQ(choose_path(all, 1).value().own.address, ipv4(10, 2, 0, 2));
}

TEST(Endpoint, TheSameAddressOnTwoHostsIsNoNetwork) {
    // A bridge for containers looks alike on every host and leads nowhere.
    const Candidate bridge = candidate(ipv4(172, 17, 0, 1), 1472, 16);
    const std::vector<Endpoint> all{endpoint(1, {bridge, candidate(ipv4(10, 1, 0, 1))}),
                                    endpoint(2, {bridge, candidate(ipv4(10, 1, 0, 2))})};
    EXPECT_EQ(choose_path(all, 0).value().own.address, ipv4(10, 1, 0, 1));
}

TEST(Endpoint, OneHostUsesLoopback) {
    const Candidate wire = candidate(ipv4(10, 1, 0, 1));
    const std::vector<Endpoint> all{endpoint(7, {wire, loopback()}),
                                    endpoint(7, {wire, loopback()})};
    const auto path = choose_path(all, 1);
    EXPECT_EQ(path.value().own, loopback());
    EXPECT_TRUE(path.value().shares_host);
    EXPECT_EQ(path.value().packet_bytes_max, 8972u);
}

TEST(Endpoint, SomeShareAHost) {
    const std::vector<Endpoint> all{endpoint(7, {candidate(ipv4(10, 1, 0, 1)), loopback()}),
                                    endpoint(7, {candidate(ipv4(10, 1, 0, 1)), loopback()}),
                                    endpoint(8, {candidate(ipv4(10, 1, 0, 2)), loopback()})};
    EXPECT_EQ(choose_path(all, 0).value().own.address, ipv4(10, 1, 0, 1));
    EXPECT_TRUE(choose_path(all, 0).value().shares_host);
    EXPECT_FALSE(choose_path(all, 2).value().shares_host);
}

TEST(Endpoint, BehindARouterEachItsOwn) {
    const std::vector<Endpoint> all{endpoint(1, {candidate(ipv4(10, 1, 0, 1))}),
                                    endpoint(2, {candidate(ipv4(10, 2, 0, 1))})};
    EXPECT_EQ(choose_path(all, 1).value().own.address, ipv4(10, 2, 0, 1));
}

TEST(Endpoint, LoopbackLeadsToNoOtherHost) {
    const std::vector<Endpoint> all{endpoint(1, {candidate(ipv4(10, 1, 0, 1)), loopback()}),
                                    endpoint(2, {loopback()})};
    const auto path = choose_path(all, 0);
    ASSERT_FALSE(path);
    EXPECT_NE(path.error().message.find("member 1 has no network interface but loopback"),
              std::string::npos);
}

TEST(Endpoint, TheSmallestBufferBoundsTheWindow) {
    std::vector<Endpoint> all{endpoint(1, {candidate(ipv4(10, 1, 0, 1))}),
                              endpoint(2, {candidate(ipv4(10, 1, 0, 2))})};
    // What Linux grants an ordinary user, twice net.core.rmem_max; 2,304 bytes a full packet.
    all[0].receive_bytes = 425'984;
    all[1].receive_bytes = 8'000'000;
    EXPECT_EQ(choose_path(all, 0).value().window_packets_max, 425'984u / 4 * 3 / 2304);
    EXPECT_EQ(choose_path(all, 1).value().window_packets_max, 425'984u / 4 * 3 / 2304);
    all[1].receive_bytes = 2304;
    EXPECT_EQ(choose_path(all, 0).value().window_packets_max, 16u);
}

TEST(Endpoint, FamiliesMustAgree) {
    std::vector<Endpoint> all{endpoint(1, {candidate(ipv4(10, 1, 0, 1))}),
                              endpoint(2, {candidate(ipv4(10, 1, 0, 2))})};
    all[1].family = 6;
    EXPECT_FALSE(choose_path(all, 0));
}

TEST(Endpoint, GroupAddresses) {
    EXPECT_TRUE(parse_group_address("239.1.2.3"));
    EXPECT_EQ(parse_group_address("ff15::9").value().kind, carrier::Kind::kUdp6);
    for (const char* text : {"", "10.0.0.1", "224.0.0.1", "240.0.0.1", "fe80::1", "239.1.2", "x"}) {
        EXPECT_FALSE(parse_group_address(text)) << text;
    }
    for (uint64_t random = 1; random < uint64_t{1} << 60; random = random * 5 + 3) {
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            const carrier::GroupAddress made = make_group_address(family, random);
            const auto parsed = parse_group_address(to_text(family, made.bytes));
            ASSERT_TRUE(parsed);
            EXPECT_EQ(parsed.value(), made);
        }
    }
}

}  // namespace
}  // namespace tutti::transport::udp
