// SPDX-License-Identifier: BSD-3-Clause
// Which port is taken, and what its queue pairs are told, by a libibverbs that is none.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "run/transport/verbs/rc.h"
#include "run/transport/verbs/send.h"
#include "unit/run/transport/verbs/fake_library.h"

namespace tutti::transport::verbs {
namespace {

using test::FakeAdapter;
using test::FakeLibrary;
using test::FakePort;

std::string name_of(const FakeLibrary& library, const VerbsSettings& settings = {}) {
    const auto opened = library.open(settings);
    return opened ? opened.value()->name() : "no: " + opened.error().message;
}

VerbsSettings named(const std::string& device) {
    VerbsSettings settings;
    settings.device = device;
    return settings;
}

// Two devices, each with one port, and a near node of memory.
struct Two {
    Two(const FakePort& first, const FakePort& second)
        : library({{"a", {first}}, {"b", {second}}}) {
        library.say("devices/system/node/node1/distance", "21 10");
        library.say("class/infiniband/a/device/numa_node", "0");
        library.say("class/infiniband/b/device/numa_node", "1");
    }
    FakeLibrary library;
};

FakePort on_ethernet(FakePort port = {}) {
    port.link_layer = IBV_LINK_LAYER_ETHERNET;
    return port;
}

TEST(Ports, TheFirstThatIsUpOrTheOneThatIsNamed) {
    FakePort down;
    down.state = IBV_PORT_DOWN;
    FakeLibrary library({{"a", {down, {}}}, {"b"}});
    EXPECT_EQ(name_of(library), "a:2");
    EXPECT_EQ(name_of(library, named("b")), "b:1");
    EXPECT_EQ(name_of(library, named("a:1")), "no: no RDMA port a:1 that is up and has an address");
    EXPECT_EQ(name_of(library, named("c:1")), "no: this host has no RDMA device c:1");
    EXPECT_EQ(library.contexts, 0);
}

TEST(Ports, TheLinkIsAsFastAsItsLanes) {
    const auto bytes_per_s = [](uint8_t width, uint8_t speed) {
        FakePort port;
        port.width = width;
        port.speed = speed;
        FakeLibrary library({{"a", {port}}});
        return library.open({}).value()->port().bytes_per_s;
    };
    EXPECT_EQ(bytes_per_s(2, 32), 12'500'000'000u);
    EXPECT_EQ(bytes_per_s(1, 1), 250'000'000u);
    EXPECT_EQ(bytes_per_s(16, 128), 25'000'000'000u);
    EXPECT_EQ(bytes_per_s(2, 255), 0u);  // a code of times to come
}

TEST(Ports, WhatKeepsAHostFromOne) {
    EXPECT_EQ(name_of(FakeLibrary({})), "no: this host has no RDMA device");
    FakeAdapter closed{"a"};
    closed.opens = false;
    EXPECT_EQ(name_of(FakeLibrary({closed})), "no: a cannot be opened: Permission denied");
    EXPECT_EQ(name_of(FakeLibrary({closed, {"b"}})), "b:1");
}

TEST(Ports, OfANetworkAreThoseOfItsSubnetAndKind) {
    const auto card = [](const FakePort& port) {
        VerbsSettings settings;
        settings.gid = 0;
        return FakeLibrary({{"a", {port}}}).open(settings).value()->port();
    };
    FakePort elsewhere;
    elsewhere.subnet = 0xfec0;
    FakePort none;
    none.subnet = 0;
    EXPECT_TRUE(card({}).is_in_network_of(card({})));
    EXPECT_FALSE(card(elsewhere).is_in_network_of(card({})));
    EXPECT_TRUE(card(on_ethernet()).is_in_network_of(card(on_ethernet())));
    EXPECT_FALSE(card(on_ethernet()).is_in_network_of(card(none)));
}

TEST(Ports, OnInfiniBandTheNearestOfTheSameNetwork) {
    EXPECT_EQ(name_of(Two({}, {}).library), "b:1");
    EXPECT_EQ(name_of(Two({}, {}).library, named("a")), "a:1");
    FakePort other;
    other.subnet = 0xfec0;
    EXPECT_EQ(name_of(Two({}, other).library), "a:1");
    EXPECT_EQ(name_of(Two({}, on_ethernet()).library), "a:1");
    // As far as the machine says where it is.
    FakeLibrary silent({{"a"}, {"b"}});
    EXPECT_EQ(name_of(silent), "a:1");
    silent.say("class/infiniband/b/device/numa_node", "-1");
    EXPECT_EQ(name_of(silent), "a:1");
}

TEST(Ports, OnEthernetTheFirstWithAnAddressOfRoceTwo) {
    Two two(on_ethernet(), on_ethernet());
    two.library.say("class/infiniband/b/ports/1/gid_attrs/types/0", "IB/RoCE v1");
    two.library.say("class/infiniband/b/ports/1/gid_attrs/types/1", "RoCE v2");
    EXPECT_EQ(name_of(two.library), "b:1");
    two.library.say("class/infiniband/a/ports/1/gid_attrs/types/0", "RoCE v2");
    EXPECT_EQ(name_of(two.library), "a:1");
    VerbsSettings settings;
    settings.gid = 1;
    const auto opened = two.library.open(settings);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened.value()->port().gid[15], 2);
}

// The library's data are safe from children only where that is asked for before anything else.
TEST(Ports, ForkIsSpokenOfFirst) {
    const FakeLibrary library({{"a"}});
    EXPECT_EQ(name_of(library), "a:1");
    EXPECT_EQ(library.first_call, "fork_init");
}

// A pair of queue pairs and their device.
struct Connected {
    explicit Connected(FakeLibrary& library, const VerbsSettings& settings = {},
                       uint32_t mtu_bytes = 1024) {
        auto opened = library.open(settings);
        EXPECT_TRUE(opened) << opened.error().message;
        if (!opened) return;
        device = std::move(opened.value());
        auto made = device->make_endpoint(need_of(2, mtu_bytes));
        EXPECT_TRUE(made) << made.error().message;
        if (!made) return;
        end = std::move(made.value());
        const PortCard port = device->port();
        for (const uint32_t i : {0u, 1u}) EXPECT_TRUE(end->connect(i, port, end->card(1 - i)));
    }
    std::unique_ptr<Device> device;
    std::unique_ptr<Endpoint> end;
};

TEST(QueuePairs, EachEndDrawsItsFirstPacket) {
    FakeLibrary library({{"a"}});
    std::set<uint32_t> drawn;
    for (int i = 0; i < 4; ++i) {
        const Connected both(library);
        for (const uint32_t pair : {0u, 1u}) {
            const auto& changes = library.pairs[library.pairs.size() - 2 + pair]->changes;
            ASSERT_EQ(changes.size(), 3u);
            const uint32_t own = both.end->card(pair).first_packet;
            EXPECT_EQ(changes[1].rq_psn, both.end->card(1 - pair).first_packet);
            EXPECT_EQ(changes[2].sq_psn, own);
            EXPECT_LT(own, 1u << 24);
            drawn.insert(own);
        }
    }
    EXPECT_GT(drawn.size(), 4u);
    EXPECT_EQ(library.contexts, 0);
}

TEST(QueuePairs, DoWithoutAddingWhereThatIsRefused) {
    FakeLibrary library({{"a"}});
    library.grants_no_adds = true;
    const Connected both(library);
    EXPECT_TRUE(both.end->words().empty());
    EXPECT_EQ(library.pairs.back()->changes[0].qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC, 0u);
}

TEST(QueuePairs, AddWhereTheDeviceCan) {
    for (const bool can : {true, false}) {
        FakeLibrary library({{"a"}});
        if (!can) library.adapters[0].adds = IBV_ATOMIC_NONE;
        const Connected both(library);
        const auto& changes = library.pairs.back()->changes;
        EXPECT_EQ((changes[0].qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) != 0, can);
        EXPECT_EQ(changes[1].max_dest_rd_atomic, can ? 1 : 0);
        EXPECT_EQ(changes[2].max_rd_atomic, can ? 1 : 0);
        EXPECT_EQ(both.end->words().size(), can ? kWords : 0u);
        const PairCard card = both.end->card(0);
        EXPECT_EQ(card.words, reinterpret_cast<uint64_t>(both.end->words().data()));
        if (!can) continue;
        EXPECT_GE(card.words, card.address + both.end->memory().size());
        EXPECT_EQ(card.words % sizeof(uint64_t), 0u);
        const Add add{.word = kCounter, .amount = 5, .former = kFormer, .number = 7};
        ASSERT_EQ(both.end->add(1, add), 0);
        const ibv_send_wr& posted = library.pairs.back()->writes.back();
        EXPECT_EQ(posted.opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
        EXPECT_EQ(posted.wr.atomic.remote_addr, card.words);
        EXPECT_EQ(posted.wr.atomic.compare_add, 5u);
        EXPECT_EQ(posted.send_flags, 0u);
    }
    FakeLibrary none({{"a"}});
    none.adapters[0].adds_at_once = 0;
    EXPECT_TRUE(Connected(none).end->words().empty());
}

TEST(QueuePairs, HaveTheLargestPacketsThatFit) {
    const std::vector<std::pair<uint32_t, ibv_mtu>> kSizes = {
        {256, IBV_MTU_256},   {512, IBV_MTU_512},   {1000, IBV_MTU_512},  {1024, IBV_MTU_1024},
        {2048, IBV_MTU_2048}, {4095, IBV_MTU_2048}, {4096, IBV_MTU_4096}, {9000, IBV_MTU_4096}};
    FakeLibrary library({{"a"}});
    for (const auto& size : kSizes) {
        const Connected both(library, {}, size.first);
        EXPECT_EQ(library.pairs.back()->changes[1].path_mtu, size.second) << size.first;
    }
}

TEST(QueuePairs, SendInlineWhatTheDeviceGrants) {
    for (const uint32_t most : {1024u, 128u, 127u, 64u, 63u, 0u}) {
        FakeAdapter adapter{"a"};
        adapter.inline_bytes_max = most;
        FakeLibrary library({adapter});
        const Connected both(library);
        const uint32_t granted = most >= 128 ? 128 : most >= 64 ? 64 : 0;
        EXPECT_EQ(library.pairs.back()->wanted.cap.max_inline_data, granted);
        for (const size_t bytes : {1u, 40u, 64u, 65u, 128u, 129u}) {
            Write write;
            write.bytes = bytes;
            ASSERT_EQ(both.end->write(1, write), 0);
            const bool is_inline =
                (library.pairs.back()->writes.back().send_flags & IBV_SEND_INLINE) != 0;
            EXPECT_EQ(is_inline, bytes <= granted) << most << " " << bytes;
        }
    }
}

TEST(QueuePairs, WakeByWritesThatSaySo) {
    FakeLibrary library({{"a"}});
    const Connected both(library);
    const auto& writes = library.pairs.back()->writes;
    for (const auto& [tells, wakes] : {std::pair{true, true}, {true, false}, {false, true}}) {
        ASSERT_EQ(both.end->write(1, {.tells = tells, .wakes = wakes}), 0);
        EXPECT_EQ((writes.back().send_flags & IBV_SEND_SOLICITED) != 0, tells && wakes);
    }
}

TEST(QueuePairs, AreOfThePartitionThatIsAskedFor) {
    FakePort port;
    port.partitions = {0xffff, 0x0001, 0x8001, 0x0002};
    FakeLibrary library({{"a", {port}}});
    const Connected by_default(library);
    EXPECT_EQ(library.pairs.back()->changes[0].pkey_index, 0);
    VerbsSettings settings;
    settings.partition = 0x0001;  // rather as a full member
    const Connected first(library, settings);
    EXPECT_EQ(library.pairs.back()->changes[0].pkey_index, 2);
    settings.partition = 0x8002;
    const Connected second(library, settings);
    EXPECT_EQ(library.pairs.back()->changes[0].pkey_index, 3);
    settings.partition = 0x8003;
    EXPECT_EQ(name_of(library, settings), "no: a:1 is in no partition 0x8003");
}

// InfiniBand knows ports by a number of the network's, but for some that also want the address.
TEST(QueuePairs, BearTheAddressWhereEitherEndNeedsIt) {
    FakePort port;
    FakeLibrary plain({{"a", {port}}});
    {
        const Connected both(plain);
        EXPECT_EQ(plain.pairs.back()->changes[1].ah_attr.is_global, 0);
        PortCard far = both.device->port();
        far.needs_address = 1;
        EXPECT_TRUE(both.end->connect(0, far, both.end->card(1)));
        EXPECT_EQ(plain.pairs.front()->changes[3].ah_attr.is_global, 1);
    }
    port.flags = IBV_QPF_GRH_REQUIRED;
    plain.adapters[0].ports[0] = port;
    const Connected both(plain);
    EXPECT_EQ(both.device->port().needs_address, 1u);
    const ibv_ah_attr& to = plain.pairs.back()->changes[1].ah_attr;
    EXPECT_EQ(to.is_global, 1);
    EXPECT_EQ(to.grh.dgid.raw[15], 1);
}

// And where the port takes writes as long as they are made.
TEST(QueuePairs, TheProgramsMemoryIsRegisteredWhereAForkHarmsNobody) {
    std::vector<std::byte> memory(100);
    const auto can_expose = [&](FakeLibrary& library, ibv_fork_status forks) {
        library.fork_status = forks;
        const Connected both(library);
        const Region region = both.end->expose(memory.data(), memory.size(), true);
        if (region.handle) both.end->conceal(region);
        return region.handle != nullptr;
    };
    FakeLibrary library({{"a"}});
    EXPECT_TRUE(can_expose(library, IBV_FORK_UNNEEDED));
    EXPECT_FALSE(can_expose(library, IBV_FORK_ENABLED));
    EXPECT_FALSE(can_expose(library, IBV_FORK_DISABLED));
    library.adapters[0].ports[0].message_bytes_max = 2u << 20;
    EXPECT_FALSE(can_expose(library, IBV_FORK_UNNEEDED));
}

TEST(QueuePairs, ADirectWriteNamesTheMemoryOfBothEnds) {
    FakeLibrary library({{"a"}});
    const Connected both(library);
    std::vector<std::byte> memory(100);
    const Region from = both.end->expose(memory.data(), memory.size(), false);
    DirectWrite write{.from = from, .source = memory.data(), .bytes = memory.size()};
    write.address = 0x123456789a;
    write.key = 77;
    ASSERT_EQ(both.end->write_direct(0, write), 0);
    both.end->conceal(from);
    const ibv_send_wr& posted = library.pairs.front()->writes.front();
    EXPECT_EQ(posted.opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(posted.send_flags, uint32_t{IBV_SEND_SIGNALED});
    EXPECT_EQ(posted.wr.rdma.remote_addr, 0x123456789au);
    EXPECT_EQ(posted.wr.rdma.rkey, 77u);
}

TEST(QueuePairs, ASendNamesNoMemoryAndItsReceiveHasRoom) {
    FakeLibrary library({{"a"}});
    const Connected both(library);
    Sends* sends = both.end->sends();
    ASSERT_NE(sends, nullptr);
    test::FakePair& pair = *library.pairs.front();
    const uint32_t before = pair.recvs;
    EXPECT_TRUE(pair.buffers.empty());
    Write write;
    write.bytes = 300;
    write.remote_offset = 64;
    ASSERT_EQ(sends->send(0, write), 0);
    EXPECT_EQ(pair.writes.back().opcode, IBV_WR_SEND);
    EXPECT_EQ(pair.writes.back().num_sge, 1);
    EXPECT_EQ(pair.writes.back().send_flags, 0u);
    EXPECT_EQ(pair.writes.back().wr.rdma.remote_addr, 0u);
    ASSERT_EQ(sends->recv_into(0, 128, 300), 0);
    EXPECT_EQ(pair.recvs, before + 1);
    ASSERT_EQ(pair.buffers.size(), 1u);
    EXPECT_EQ(pair.buffers[0].addr, reinterpret_cast<uint64_t>(both.end->memory().data()) + 128);
    EXPECT_EQ(pair.buffers[0].length, 300u);
}

// Else its pages might be the child's, and this process's new ones unknown to the device.
TEST(QueuePairs, AChildOfTheProgramHasNothingOfTheirMemory) {
    FakeLibrary library({{"a"}});
    const Connected both(library);
    const std::span<std::byte> memory = both.end->memory();
    memory[0] = std::byte{1};
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        unsigned char is_there[1];
        const bool is_gone = mincore(memory.data(), 1, is_there) != 0 && errno == ENOMEM;
        _exit(is_gone ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::transport::verbs
