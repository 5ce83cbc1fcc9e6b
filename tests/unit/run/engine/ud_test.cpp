// SPDX-License-Identifier: BSD-3-Clause
// Teams across pretended hosts whose multicast goes by unreliable datagrams of verbs, over the
// fake: threads as ranks, each with a context of its own, as processes have; and what keeps them
// from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/fake_ud.h"
#include "run/engine/context.h"
#include "run/multicast/network_choice.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/notes/notes.h"
#include "sim/script.h"
#include "sim/seeds.h"
#include "unit/run/engine/exchanges.h"
#include "unit/run/engine/later.h"
#include "unit/run/engine/slow_datagrams.h"

namespace tutti::test {
namespace {

constexpr const char* kOn = "TUTTI_MCAST=on";
constexpr const char* kLoopback = "TUTTI_MCAST_IF=lo";
constexpr const char* kOverVerbs = "TUTTI_MCAST_OVER=verbs";
constexpr const char* kOverFaster = "TUTTI_MCAST_OVER=auto";

using Fake = std::shared_ptr<FakeUd>;

Fake make_fake(const FakeUdRules& rules = {}) { return std::make_shared<FakeUd>(rules); }

Settings with(const Settings& more, const std::string& hosts) {
    Settings all{kOn, kLoopback, hosts.c_str()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// fakes: of each rank; where there is none, the device that the system has.
struct UdJob : Job {
    UdJob(const std::vector<Fake>& fakes, const Settings& settings, size_t hosts)
        : Job(static_cast<uint32_t>(fakes.size()),
              with(settings, "TUTTI_HOSTS=" + std::to_string(hosts))) {
        for (size_t rank = 0; rank < fakes.size(); ++rank) {
            if (fakes[rank])
                networks::rdma::network_of(context_of(rank).networks())
                    .set_device(FakeUd::add_port(fakes[rank]));
        }
    }
    UdJob(const std::vector<Fake>& fakes, const Settings& settings)
        : UdJob(fakes, settings, fakes.size()) {}
    // The handle of the C interface begins with it.
    engine::Context& context_of(size_t rank) {
        return **reinterpret_cast<std::unique_ptr<engine::Context>*>(contexts[rank].get());
    }
};

TEST(UdMulticast, AllOfATeamHaveIt) {
    for (const bool is_ethernet : {false, true}) {
        FakeUdRules rules;
        rules.is_ethernet = is_ethernet;
        UdJob job(std::vector<Fake>(5, make_fake(rules)), {kOverVerbs}, 3);
        const auto infos = job.multicasts();
        int carriers = 0;
        for (const Told& info : infos) {
            EXPECT_EQ(info.text("state"), "on") << info.text("reason");
            EXPECT_EQ(info.text("over"), "verbs");
            EXPECT_EQ(info.text("no_verbs"), "");
            EXPECT_EQ(info.text("address"), infos[0].text("address"));
            EXPECT_EQ(info.text("address").find("port"), std::string::npos);
            EXPECT_GT(info.number("bytes_per_s"), 0u);
            carriers += info.has("data_packets") ? 1 : 0;
        }
        EXPECT_EQ(carriers, 3);
        EXPECT_NE(infos[0].text("interface").find("unreliable datagrams of 2048 bytes"),
                  std::string::npos)
            << infos[0].text("interface");
        EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
    }
}

// What of a team of three keeps verbs from it, and what is said of that.
struct Obstacle {
    std::vector<Fake> fakes;
    Settings settings;
    const char* reason;
};

std::vector<Obstacle> obstacles() {
    FakeUdRules small;
    small.receives_max = 100;
    FakeUdRules short_packets;
    short_packets.mtu_bytes = 512;
    FakeUdRules no_groups;
    no_groups.groupless_port = 1;
    FakeUdRules deaf;
    deaf.loss_ppm = 1'000'000;
    FakeUdRules ethernet;
    ethernet.is_ethernet = true;
    const Fake fake = make_fake();
    return {
        {{fake, fake, nullptr}, {kOverVerbs, "TUTTI_VERBS_DEVICE=none:1"}, "pretended host 2: "},
        {{fake, make_fake(small), fake}, {kOverVerbs}, "pretended host 1: no room for so many"},
        {{fake, fake, make_fake(short_packets)},
         {kOverVerbs},
         "pretended host 2: multicast: packets of fake0 have only 512 bytes"},
        {{fake, fake, make_fake(ethernet)},
         {kOverVerbs},
         "pretended host 0: multicast: the RDMA port of member 2 is not in the network of"},
        {std::vector<Fake>(3, make_fake(no_groups)),
         {kOverVerbs},
         "pretended host 1: the group cannot be joined"},
        {std::vector<Fake>(3, make_fake(deaf)), {kOverVerbs}, "pretended host "},
        {{fake, fake, nullptr}, {kOverFaster, "TUTTI_VERBS_DEVICE=none:1"}, "pretended host 2: "},
    };
}

// Two teams, of which the second says nothing more of it.
TEST(UdMulticast, WhatOneMemberHasNotKeepsAllFromItAndUdpCarries) {
    for (const Obstacle& one : obstacles()) {
        UdJob job(one.fakes, one.settings);
        for (int team = 0; team < 2; ++team) {
            const auto infos = job.multicasts();
            for (const Told& info : infos) {
                EXPECT_EQ(info.text("state"), "on") << info.text("reason");
                EXPECT_EQ(info.text("over"), "udp") << one.reason;
                EXPECT_TRUE(info.text("no_verbs").starts_with(one.reason)) << info.text("no_verbs");
                EXPECT_EQ(info.text("no_verbs"), infos[0].text("no_verbs"));
            }
        }
        const auto lines = job.log.lines();
        ASSERT_EQ(lines.size(), 1u) << one.reason;
        const std::string line =
            std::string("the crew has its multicast by UDP, not by verbs: ") + one.reason;
        EXPECT_TRUE(lines[0].starts_with(line)) << lines[0];
    }
}

using multicast::Predicted;

constexpr size_t kVerbs = multicast_network_number("verbs");
constexpr size_t kUdp = multicast_network_number("udp");

// At a rate at which even 8 bytes take longer than any way through this machine.
constexpr uint64_t kSlowBytesPerS = 1000;

Fake make_slow_fake() {
    FakeUdRules rules;
    rules.bytes_per_s = kSlowBytesPerS;
    return make_fake(rules);
}

// By UDP on loopback, each rank for itself.
template <class What>
void slow_down_udp(UdJob& job, const What& what) {
    for (uint32_t rank = 0; rank < job.ranks; ++rank) {
        engine::Context& context = job.context_of(rank);
        auto datagrams = context.process_multicast().network(kUdp).open();
        ASSERT_TRUE(datagrams) << datagrams.error().message;
        transport::carrier::CarrierParams params;
        params.groups_max = 1;
        auto carrier = transport::carrier::Carrier::open(
            params, std::make_unique<SlowDatagrams>(std::move(datagrams.value()), what));
        ASSERT_TRUE(carrier) << carrier.error().message;
        context.process_multicast().set_carrier(kUdp, std::move(carrier.value()));
    }
}

// 0: there was no choice.
Predicted predicted(const Told& info, const char* fabric) {
    const auto ns = [&](const char* what) {
        const double seconds = info.real(std::string("predicted/") + fabric + what);
        return static_cast<uint64_t>(std::llround(seconds * 1e9));
    };
    return {ns("/short_s"), ns("/long_s")};
}

// What all members say of the choice: the same, and that it is the one to which the figures lead.
void expect_one_choice(const std::vector<Told>& infos) {
    for (const Told& info : infos) {
        const Predicted verbs = predicted(info, "verbs");
        const Predicted udp = predicted(info, "udp");
        const bool is_udp = info.text("over") == "udp";
        EXPECT_EQ(info.text("state"), "on") << info.text("reason");
        EXPECT_EQ(info.text("over"), infos[0].text("over"));
        EXPECT_EQ(verbs, predicted(infos[0], "verbs"));
        EXPECT_EQ(udp, predicted(infos[0], "udp"));
        EXPECT_NE(verbs, Predicted{});
        EXPECT_NE(udp, Predicted{});
        EXPECT_EQ(multicast::is_next_faster(verbs, udp), is_udp);
        EXPECT_EQ(info.text("no_verbs"), is_udp ? "UDP is predicted to be faster" : "");
        EXPECT_EQ(info.text("no_udp"), "");
    }
}

// Twice, so a group that a team does not take has left its place to the next. The verbs' receives
// are promised to nobody when UDP carries, and nobody is in a group of theirs.
TEST(UdMulticast, UdpCarriesWhereItIsPredictedFaster) {
    constexpr uint32_t kRanks = 5;
    const Fake fake = make_slow_fake();
    UdJob job(std::vector<Fake>(kRanks, fake), {kOverFaster, "TUTTI_BCAST=multicast"}, 3);
    const auto port_of = [&](uint32_t rank) {
        engine::Context& context = job.context_of(rank);
        const auto opened = context.process_multicast().open(kVerbs, context.settings(), rank);
        return opened.value()->address();
    };
    std::vector<transport::carrier::Address> before;
    for (uint32_t rank = 0; rank < kRanks; ++rank) before.push_back(port_of(rank));
    for (int team = 0; team < 2; ++team) {
        std::vector<Told> infos(kRanks);
        job.run([&](uint32_t rank, tutti_team* own) {
            run_bcast(rank, own, 30'000);
            infos[rank] = multicast_of(own);
            EXPECT_EQ(port_of(rank), before[rank]);
            const tutti_call barrier{};
            ASSERT_EQ(tutti_run(own, &barrier), TUTTI_OK);
        });
        EXPECT_EQ(infos[0].text("over"), "udp");
        EXPECT_GT(infos[0].number("data_packets"), 0u);
        expect_one_choice(infos);
        EXPECT_EQ(fake->attachments(), 0u);
    }
    EXPECT_EQ(fake->fault(), "");
    EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
}

// Where UDP's groups have one place, which the second team needs.
TEST(UdMulticast, VerbsCarryWhereTheyArePredictedFaster) {
    const Fake fake = make_fake();
    UdJob job(std::vector<Fake>(5, fake), {kOverFaster, "TUTTI_BCAST=multicast"}, 3);
    slow_down_udp(job, kSlowBytesPerS);
    for (int team = 0; team < 2; ++team) {
        std::vector<Told> infos(job.ranks);
        job.run([&](uint32_t rank, tutti_team* own) {
            run_bcast(rank, own, 30'000);
            infos[rank] = multicast_of(own);
            const tutti_call barrier{};
            ASSERT_EQ(tutti_run(own, &barrier), TUTTI_OK);
        });
        EXPECT_EQ(infos[0].text("over"), "verbs");
        EXPECT_GT(infos[0].number("data_packets"), 0u);
        expect_one_choice(infos);
    }
    EXPECT_EQ(fake->fault(), "");
    EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
}

// Whatever they measure here.
TEST(UdMulticast, AllMembersChooseAlike) {
    const Seeds seeds = Seeds::wanted(6);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(replay(seed));
        FakeUdRules rules;
        rules.seed = seed;
        rules.loss_ppm = static_cast<uint32_t>(seed % 3 * 10'000);
        const auto ranks = static_cast<uint32_t>(2 + seed % 4);
        const Fake fake = make_fake(rules);
        UdJob job(std::vector<Fake>(ranks, fake), {kOverFaster});
        for (int team = 0; team < 3; ++team) expect_one_choice(job.multicasts());
        EXPECT_EQ(fake->fault(), "");
    }
}

// A group that has failed comes back by a choice of its own.
TEST(UdMulticast, ATeamThatComesBackChoosesAgain) {
    constexpr uint32_t kRanks = 3;
    const Fake fake = make_slow_fake();
    UdJob job(std::vector<Fake>(kRanks, fake), {kOverFaster, "TUTTI_BCAST=multicast",
                                                "TUTTI_FAULTS=fail:400", "TUTTI_ARRIVALS=off"});
    std::vector<Told> infos(kRanks);
    run_later(job, [&](uint32_t rank, tutti_team* team, Meeting::Seat&) {
        for (uint32_t i = 0; infos[rank].number("returns") == 0; ++i) {
            ASSERT_LT(i, 20'000u) << "it is never tried";
            run_bcast(rank, team, 300);
            infos[rank] = multicast_of(team);
        }
    });
    EXPECT_EQ(infos[0].text("over"), "udp");
    expect_one_choice(infos);
    EXPECT_EQ(fake->attachments(), 0u);
    EXPECT_EQ(fake->fault(), "");
}

// The places and rings of what is not taken are there for the next.
TEST(UdMulticast, ManyTeamsMayChoose) {
    UdJob job(std::vector<Fake>(4, make_slow_fake()), {kOverFaster, "TUTTI_MEMORY=16M"}, 2);
    for (int team = 0; team < 40; ++team) {
        SCOPED_TRACE(team);
        expect_one_choice(job.multicasts());
    }
}

// With verbs at a rate at which UDP would be taken if it were there.
TEST(UdMulticast, VerbsStayWhereUdpCannotBeTried) {
    for (const bool is_opened : {false, true}) {
        Settings settings{kOverFaster};
        if (!is_opened) settings.push_back("TUTTI_MCAST_IF=nosuch0");
        const Fake fake = make_slow_fake();
        UdJob job(std::vector<Fake>(4, fake), settings, 2);
        if (is_opened) slow_down_udp(job, std::string("no way there"));
        for (int team = 0; team < 2; ++team) {
            const auto infos = job.multicasts();
            for (const Told& info : infos) {
                EXPECT_EQ(info.text("state"), "on") << info.text("reason");
                EXPECT_EQ(info.text("over"), "verbs") << info.text("no_verbs");
                EXPECT_EQ(info.text("no_verbs"), "");
                EXPECT_EQ(info.text("no_udp"), infos[0].text("no_udp"));
                const std::string why = info.text("no_udp");
                EXPECT_TRUE(why.starts_with("pretended host 0: ")) << why;
                EXPECT_NE(why.find(is_opened ? "no way there" : "nosuch0"), std::string::npos);
                EXPECT_EQ(predicted(info, "verbs"), Predicted{});
            }
        }
        EXPECT_EQ(fake->fault(), "");
        EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
    }
}

// Asked for by name, verbs stay though UDP is faster by far.
TEST(UdMulticast, NothingIsComparedWhereOneIsAskedFor) {
    for (const char* over : {kOverVerbs, "TUTTI_MCAST_OVER=udp"}) {
        UdJob job(std::vector<Fake>(2, make_slow_fake()), {over});
        for (const Told& info : job.multicasts()) {
            const bool is_verbs = over == kOverVerbs;
            EXPECT_EQ(info.text("over"), is_verbs ? "verbs" : "udp");
            EXPECT_EQ(info.text("no_verbs"), "");
            EXPECT_EQ(info.text("no_udp"), "");
            EXPECT_EQ(predicted(info, "udp"), Predicted{});
        }
    }
}

TEST(UdMulticast, TheGroupsAddressHoldsForBoth) {
    UdJob job(std::vector<Fake>(2, make_fake()), {kOverVerbs, "TUTTI_MCAST_ADDRESS=239.1.2.3"});
    for (const Told& info : job.multicasts()) {
        EXPECT_EQ(info.text("over"), "verbs") << info.text("no_verbs");
        EXPECT_EQ(info.text("address"), "239.1.2.3");
    }
}

TEST(UdMulticast, WithoutUdpEitherBothReasonsAreSaid) {
    FakeUdRules no_groups;
    no_groups.groupless_port = 0;
    const Fake deaf = make_fake(no_groups);
    const Fake fake = make_fake();
    const std::pair<std::vector<Fake>, const char*> cases[] = {
        {{deaf, deaf}, "the group cannot be joined"},
        {{fake, fake}, "groups of RDMA ports have IPv4 addresses, not ff15::7"}};
    for (const auto& [fakes, why] : cases) {
        const bool is_ipv6 = fakes[0] == fake;
        UdJob job(fakes, {kOverVerbs, "TUTTI_MCAST_IF=nosuch0",
                          is_ipv6 ? "TUTTI_MCAST_ADDRESS=ff15::7" : "TUTTI_MCAST_TTL=1"});
        const std::string wanted =
            std::string("by verbs: pretended host 0: ") + why + "; by UDP: pretended host 0: ";
        for (const Told& info : job.multicasts()) {
            EXPECT_EQ(info.text("state"), "off");
            const std::string reason = info.text("reason");
            EXPECT_TRUE(reason.starts_with(wanted)) << reason;
            EXPECT_NE(reason.find("nosuch0"), std::string::npos) << reason;
        }
        EXPECT_EQ(job.log.lines().size(), 1u);
    }
}

// Whatever has an algorithm by multicast runs by it, over ports that lose, double and overtake.
TEST(UdMulticast, CallsAreRight) {
    constexpr const char* kByMulticast[] = {
        "TUTTI_BARRIER=gather_multicast", "TUTTI_BCAST=multicast", "TUTTI_ALLGATHER=multicast",
        "TUTTI_ALLGATHERV=multicast", "TUTTI_ALLREDUCE=gather_multicast"};
    const Seeds seeds = Seeds::wanted(6);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        FakeUdRules rules;
        rules.seed = seed;
        rules.is_ethernet = seed % 2 == 0;
        rules.loss_ppm = rules.dup_ppm = static_cast<uint32_t>(seed % 3 * 10'000);
        rules.overtakers_max = static_cast<uint32_t>(seed % 3);
        const auto ranks = static_cast<uint32_t>(2 + seed % 5);
        const Limits limits{ranks, std::max<size_t>(1024, 64 * ranks), 40'000, false};
        std::vector<std::unique_ptr<Exchange>> exchanges;
        for (uint32_t i = 0; i < 30; ++i) {
            exchanges.push_back(std::make_unique<Exchange>(draw_spec(prng, limits), ranks));
        }
        Settings settings{kOverVerbs};
        settings.insert(settings.end(), std::begin(kByMulticast), std::end(kByMulticast));
        const Fake fake = make_fake(rules);
        UdJob job(std::vector<Fake>(ranks, fake), settings, 2 + seed % (ranks - 1));
        std::atomic<uint64_t> packets = 0;
        job.run([&](uint32_t rank, tutti_team* team) {
            ASSERT_EQ(multicast_of(team).text("over"), "verbs")
                << multicast_of(team).text("no_verbs");
            run_all(exchanges, rank, team, replay(seed));
            packets += multicast_of(team).number("data_packets");
        });
        EXPECT_GT(packets, 0u) << replay(seed);
        EXPECT_TRUE(job.log.is_empty()) << job.log.lines()[0];
        EXPECT_EQ(fake->fault(), "") << replay(seed);
    }
}

// One address for the groups of two jobs whose ports are in one network: each hears the other's
// packets, counts them, and looks at none.
TEST(UdMulticast, TwoJobsOfOneAddressLeaveEachOtherAlone) {
    constexpr uint32_t kRanks = 3;
    const Fake fake = make_fake();
    const Settings settings{kOverVerbs, "TUTTI_MCAST_ADDRESS=239.1.2.3", "TUTTI_BCAST=multicast"};
    UdJob jobs[] = {{std::vector<Fake>(kRanks, fake), settings},
                    {std::vector<Fake>(kRanks, fake), settings}};
    // Both have their groups before either sends.
    std::barrier<> both(2 * kRanks);
    std::vector<Told> infos(2 * kRanks);
    run_threads(2, [&](uint32_t which) {
        jobs[which].run([&](uint32_t rank, tutti_team* team) {
            both.arrive_and_wait();
            for (uint32_t i = 0; i < 50; ++i) {
                std::vector<uint32_t> data(300, rank == 0 ? 100 * which + i : 7);
                const tutti_call call = bcast_of(data);
                ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
                ASSERT_EQ(data, std::vector<uint32_t>(300, 100 * which + i));
            }
            both.arrive_and_wait();
            // The service may not have been woken yet for what the other job sent last.
            Told& info = infos[which * kRanks + rank];
            for (int looks = 0; looks < 1'000'000 && info.number("ungrouped") == 0; ++looks) {
                info = multicast_of(team);
                std::this_thread::yield();
            }
        });
    });
    for (const Told& info : infos) {
        EXPECT_EQ(info.text("over"), "verbs") << info.text("no_verbs");
        EXPECT_EQ(info.text("address"), "239.1.2.3");
        EXPECT_GE(info.number("ungrouped"), 1u);
        EXPECT_EQ(info.number("rejected"), 0u);
        EXPECT_EQ(info.number("malformed"), 0u);
        EXPECT_EQ(info.number("failures"), 0u);
    }
    EXPECT_EQ(fake->fault(), "");
}

// Messages of one rank, counted. Not the notes of those that wait for long, where one gets no
// processor: they are longer than any message of a barrier, and are received where they were probed
// for by their tag.
struct CountedMessages {
    tutti_p2p inner;
    uint64_t sends = 0;
    uint64_t recvs = 0;
    uint32_t note_tag = UINT32_MAX;
    static int send(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                    void** request) {
        auto& self = *static_cast<CountedMessages*>(user);
        self.sends += bytes < sizeof(notes::Note) ? 1 : 0;
        return self.inner.send(self.inner.user, data, bytes, peer, tag, request);
    }
    static int recv(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag,
                    void** request) {
        auto& self = *static_cast<CountedMessages*>(user);
        self.recvs += tag != self.note_tag ? 1 : 0;
        return self.inner.recv(self.inner.user, data, bytes, peer, tag, request);
    }
    static int test(void* user, void** request, int* done) {
        auto& self = *static_cast<CountedMessages*>(user);
        return self.inner.test(self.inner.user, request, done);
    }
    static int probe(void* user, uint32_t tag, uint32_t* peer, int* there) {
        auto& self = *static_cast<CountedMessages*>(user);
        self.note_tag = tag;
        return self.inner.probe(self.inner.user, tag, peer, there);
    }
    static int cancel(void* user, void** request, int* done) {
        auto& self = *static_cast<CountedMessages*>(user);
        return self.inner.cancel(self.inner.user, request, done);
    }
    tutti_p2p callbacks() {
        return {sizeof(tutti_p2p), this, inner.tag_max, send, recv, test, probe, cancel};
    }
};

// Data packets of teams, as docs/protocol/multicast.md has them. Byes are of team 1; what else goes
// out is the protocol's own (probes, heartbeats, acknowledgements) and depends on the time.
struct CountedPackets {
    std::vector<uint64_t> of_port;
    uint64_t to_one = 0;
    uint64_t bytes_max = 0;

    void see(size_t port, bool is_group, std::span<const std::byte> packet) {
        uint32_t team = 0;
        if (packet[18] != std::byte{1}) return;
        std::memcpy(&team, packet.data() + 44, sizeof team);
        if (team == 1) return;
        ++of_port[port];
        to_one += is_group ? 0 : 1;
        bytes_max = std::max<uint64_t>(bytes_max, packet.size());
    }
};

// Children in a tree of base l + 1: of rank v, for each of its trailing digits 0 the ranks that
// have another digit there.
uint64_t children_of(uint32_t v, uint32_t ranks, uint32_t fan_in) {
    uint64_t count = 0;
    for (uint64_t step = 1; step < ranks && v % (step * (fan_in + 1)) == 0; step *= fan_in + 1) {
        for (uint64_t digit = 1; digit <= fan_in; ++digit) count += v + digit * step < ranks;
    }
    return count;
}

// Kini 2003, 4.1.3, by the name that it has there: each rank hears its children and tells its
// parent, and one multicast tells all.
TEST(UdMulticast, AnRgmBarrierIsAMessageARankAndOneMulticast) {
    constexpr uint64_t kBarriers = 50;
    for (const auto& [ranks, fan_in] :
         std::vector<std::pair<uint32_t, uint32_t>>{{2, 3}, {5, 3}, {8, 2}, {8, 3}, {8, 7}}) {
        const std::string name = "TUTTI_BARRIER=rgm:fan_in=" + std::to_string(fan_in);
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + name);
        CountedPackets packets;
        packets.of_port.resize(ranks);
        const Fake fake = make_fake();
        fake->set_watch(
            [&](size_t port, bool is_group, bool /*is_urgent*/, std::span<const std::byte> packet) {
                packets.see(port, is_group, packet);
            });
        UdJob job(std::vector<Fake>(ranks, fake), {kOverVerbs, name.c_str()});
        Meeting meeting(ranks);
        Mailbox& mailbox = job.add_mailbox();
        std::vector<CountedMessages> messages(ranks);
        run_threads(ranks, [&](uint32_t rank) {
            CountedMessages& own = messages[rank];
            own.inner = mailbox.callbacks(rank);
            const tutti_p2p p2p = own.callbacks();
            const Made made = make_team(job.contexts[rank].get(), meeting, rank, "the crew", &p2p);
            ASSERT_EQ(made.status, TUTTI_OK) << made.message;
            ASSERT_EQ(multicast_of(made.team.get()).text("over"), "verbs");
            own.sends = own.recvs = 0;
            const tutti_call barrier{};
            for (uint64_t i = 0; i < kBarriers; ++i) {
                ASSERT_EQ(tutti_run(made.team.get(), &barrier), TUTTI_OK);
            }
            EXPECT_EQ(multicast_of(made.team.get()).number("losses"), 0u);
        });
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            EXPECT_EQ(messages[rank].sends, rank == 0 ? 0 : kBarriers) << rank;
            EXPECT_EQ(messages[rank].recvs, kBarriers * children_of(rank, ranks, fan_in)) << rank;
            EXPECT_EQ(packets.of_port[rank], rank == 0 ? kBarriers : 0) << rank;
        }
        EXPECT_EQ(packets.to_one, 0u);
        EXPECT_EQ(packets.bytes_max, 64u) << "no payload";
    }
}

}  // namespace
}  // namespace tutti::test
