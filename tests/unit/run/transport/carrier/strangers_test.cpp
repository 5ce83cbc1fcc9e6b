// SPDX-License-Identifier: BSD-3-Clause
// Others on the same address and port: floods, packets of other jobs, packets played again.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>

#include "base/prng.h"
#include "unit/run/transport/carrier/cluster.h"

namespace tutti::transport::carrier {
namespace {

constexpr const char* kAddress = "239.192.77.1";

// Anybody's socket on the loopback interface.
class Stranger {
  public:
    explicit Stranger(uint16_t port) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        to_.sin_family = AF_INET;
        to_.sin_port = htons(port);
        inet_pton(AF_INET, kAddress, &to_.sin_addr);
        ip_mreqn request{};
        request.imr_multiaddr = to_.sin_addr;
        request.imr_ifindex = 1;
        const int yes = 1;
        setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        setsockopt(socket_.get(), IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request));
        setsockopt(socket_.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
        bind(socket_.get(), reinterpret_cast<const sockaddr*>(&to_), sizeof(to_));
    }
    void send(std::span<const std::byte> packet) const {
        sendto(socket_.get(), packet.data(), packet.size(), 0,
               reinterpret_cast<const sockaddr*>(&to_), sizeof(to_));
    }
    // Whatever waits.
    std::vector<std::vector<std::byte>> record() const {
        std::vector<std::vector<std::byte>> packets;
        std::vector<std::byte> packet(65'536);
        for (;;) {
            const ssize_t got = recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
            if (got < 0) return packets;
            packets.emplace_back(packet.begin(), packet.begin() + got);
        }
    }

  private:
    Fd socket_;
    sockaddr_in to_{};
};

uint64_t rejected(Cluster& cluster) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cluster.size(); ++i) sum += cluster.carrier(i).counters().rejected;
    return sum;
}

// However little of a packet its code covers.
class EachProtection : public testing::TestWithParam<Protection> {
  protected:
    // Each a port of its own.
    [[nodiscard]] static ClusterParams on_port(uint16_t first) {
        ClusterParams params =
            carrier::on_port(static_cast<uint16_t>(first + static_cast<uint32_t>(GetParam())), 3);
        params.key.protection = GetParam();
        return params;
    }
};
std::string name_of(const testing::TestParamInfo<Protection>& of) {
    constexpr const char* kNames[] = {"all", "secret", "header", "none"};
    return kNames[static_cast<size_t>(of.param)];
}
INSTANTIATE_TEST_SUITE_P(Strangers, EachProtection,
                         testing::Values(Protection::kAll, Protection::kSecret, Protection::kHeader,
                                         Protection::kNone),
                         name_of);

TEST_P(EachProtection, FloodsChangeNothing) {
    const ClusterParams params = on_port(20'220);
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    std::atomic<bool> is_over{false};
    std::thread flood([&] {
        const Stranger stranger(params.port);
        Prng prng(5);
        std::vector<std::byte> packet(200);
        while (!is_over.load()) {
            for (std::byte& byte : packet) byte = static_cast<std::byte>(prng.below(256));
            // Every second one names the group.
            if (prng.below(2) == 0) {
                const uint8_t head[] = {0xc7, 2, static_cast<uint8_t>(1 + prng.below(8)), 0, 77, 0,
                                        0,    0};
                std::copy(std::begin(head), std::end(head),
                          reinterpret_cast<uint8_t*>(packet.data()) + 16);
            }
            const auto bytes = static_cast<size_t>(prng.below(packet.size() + 1));
            stranger.send(std::span(packet).first(bytes));
            if (prng.below(8) == 0) std::this_thread::yield();
        }
    });
    EXPECT_EQ(exchange(cluster, 0, 200), "");
    EXPECT_TRUE(eventually(
        [&] { return rejected(cluster) > 0 && cluster.carrier(0).counters().ungrouped > 0; }));
    is_over.store(true);
    flood.join();
    for (uint32_t i = 0; i < cluster.size(); ++i) {
        const auto counters = cluster.carrier(i).group_counters(cluster.membership(i));
        EXPECT_EQ(counters.packets_malformed, 0u) << "nothing of theirs was looked at";
        EXPECT_EQ(counters.packets_foreign, 0u);
    }
}

TEST_P(EachProtection, TwoJobsOnOneAddressAndPort) {
    ClusterParams params = on_port(20'224);
    Cluster one(params);
    // The same number by chance; the key makes the difference.
    params.key.bytes[5] ^= std::byte{9};
    Cluster other(params);
    ASSERT_EQ(one.open(), "");
    ASSERT_EQ(other.open(), "");
    std::string error_of_other;
    std::thread second([&] { error_of_other = exchange(other, 0, 200); });
    EXPECT_EQ(exchange(one, 0, 200), "");
    second.join();
    EXPECT_EQ(error_of_other, "");
    EXPECT_GT(rejected(one), 0u);
    EXPECT_GT(rejected(other), 0u);
}

TEST(Strangers, RecordedPackets) {
    const Stranger stranger(own_port(20'203));
    std::vector<std::vector<std::byte>> packets;
    {
        Cluster before(on_port(20'203, 3));
        ASSERT_EQ(before.open(), "");
        ASSERT_EQ(exchange(before, 0, 20), "");
        packets = stranger.record();
        ASSERT_GT(packets.size(), 20u);
        // Of this very job: numbers that have been here.
        for (const auto& packet : packets) stranger.send(packet);
        EXPECT_TRUE(eventually([&] {
            uint64_t replayed = 0;
            for (uint32_t i = 0; i < before.size(); ++i) {
                replayed += before.carrier(i).group_counters(before.membership(i)).packets_replayed;
            }
            // Each message has at least one packet, and all but its sender have had it.
            return replayed >= 40;
        }));
        EXPECT_EQ(exchange(before, 20, 20), "");
        EXPECT_EQ(rejected(before), 0u);
    }
    ClusterParams params = on_port(20'203, 3);
    params.key.bytes[0] ^= std::byte{77};
    Cluster after(params);
    ASSERT_EQ(after.open(), "");
    for (const auto& packet : packets) stranger.send(packet);
    EXPECT_EQ(exchange(after, 0, 40), "");
    EXPECT_TRUE(eventually([&] { return rejected(after) >= packets.size(); }));
}

// Without codes who reads a packet can make others. What no host can have sent is dropped.
TEST(Strangers, ForgedNumbersAreDropped) {
    const Stranger stranger(own_port(20'207));
    ClusterParams params = on_port(20'207, 3);
    params.key.protection = Protection::kNone;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_EQ(exchange(cluster, 0, 20), "");
    uint64_t forged = 0;
    std::vector<std::byte> made(65'536);
    for (const auto& bytes : stranger.record()) {
        auto packet = mcast::parse(bytes);
        ASSERT_TRUE(packet);
        auto* data = std::get_if<mcast::Data>(&packet->body);
        if (!data) continue;
        // As the sender's next one, of a call that nobody has come to.
        data->sequence += 20;
        data->name.call += 100'000;
        packet->counter += 300;
        const auto written = std::span(made).first(mcast::write(*packet, made));
        seal(params.key, written);
        stranger.send(written);
        ++forged;
    }
    ASSERT_GT(forged, 0u);
    EXPECT_TRUE(eventually([&] {
        uint64_t dropped = 0;
        for (uint32_t i = 0; i < cluster.size(); ++i) {
            dropped += cluster.carrier(i).group_counters(cluster.membership(i)).packets_malformed;
        }
        return dropped > 0;
    }));
    EXPECT_EQ(exchange(cluster, 20, 40), "");
    for (uint32_t i = 0; i < cluster.size(); ++i) {
        EXPECT_FALSE(cluster.carrier(i).failure(cluster.membership(i)));
    }
}

// Whether a stranger who joins the address finds what the hosts send each other. All of it arrives.
bool can_be_read(Protection protection, uint16_t port) {
    const Stranger stranger(own_port(port));
    ClusterParams params = on_port(port, 3);
    params.key.protection = protection;
    params.udp.packet_bytes_max = 1472;
    Cluster cluster(params);
    EXPECT_EQ(cluster.open(), "");
    EXPECT_EQ(exchange(cluster, 0, 24), "");
    const auto packets = stranger.record();
    EXPECT_GT(packets.size(), 24u);
    EXPECT_EQ(rejected(cluster), 0u);
    const std::vector<std::byte> sent = message_of(4);
    const auto part = std::span(sent).subspan(100, 32);
    return std::any_of(packets.begin(), packets.end(), [&](const auto& packet) {
        EXPECT_LE(packet.size(), 1472u);
        return std::search(packet.begin(), packet.end(), part.begin(), part.end()) != packet.end();
    });
}

TEST(Strangers, ReadWhatIsNotSecret) { EXPECT_TRUE(can_be_read(Protection::kAll, 20'204)); }

TEST(Strangers, DoNotReadWhatIsSecret) { EXPECT_FALSE(can_be_read(Protection::kSecret, 20'205)); }

TEST(Strangers, WithAnotherSecretAreRejected) {
    ClusterParams params = on_port(20'206, 3);
    params.key.protection = Protection::kSecret;
    Cluster one(params);
    params.key.bytes[31] ^= std::byte{1};
    Cluster other(params);
    params.key = on_port(20'206, 3).key;
    Cluster open(params);
    for (Cluster* cluster : {&one, &other, &open}) ASSERT_EQ(cluster->open(), "");
    for (Cluster* cluster : {&one, &other, &open}) EXPECT_EQ(exchange(*cluster, 0, 40), "");
    for (Cluster* cluster : {&one, &other, &open}) {
        EXPECT_GT(rejected(*cluster), 40u);
        const auto counters = cluster->carrier(0).group_counters(cluster->membership(0));
        EXPECT_EQ(counters.packets_malformed, 0u) << "nothing of theirs was looked at";
    }
}

}  // namespace
}  // namespace tutti::transport::carrier
