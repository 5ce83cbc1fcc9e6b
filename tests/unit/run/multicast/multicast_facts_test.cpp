// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/multicast_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/reported.h"

namespace tutti::multicast {
namespace {

using State = MulticastStory::State;
using test::Reported;
using transport::carrier::Protection;

constexpr uint32_t kHosts = 3;
constexpr size_t kVerbs = multicast_network_number("verbs");
constexpr size_t kUdp = multicast_network_number("udp");
const Whose kWorld{"MPI_COMM_WORLD", 0, 8, kHosts};

// A group as its hosts tell of it.
struct Group {
    Group() {
        agreed.group = 7;
        agreed.address = "239.1.2.3:17717";
        agreed.bytes_per_s = 3'125'000;
        agreed.round_trip_ns = 400'000;
        for (uint64_t host = 0; host < kHosts; ++host) {
            MulticastStory& story = stories.emplace_back();
            story.state = State::kOn;
            story.network = kUdp;
            Carried& carried = story.carried.emplace();
            mcast::ReceiverCounters& received = carried.group.received;
            carried.group.sent.data = 100;
            carried.group.sent.repairs_to_one = 5;
            carried.group.sent.repairs_to_all = 1;
            carried.group.packets_malformed = 1;
            received.gaps = received.naks = received.repaired = 2 * host;
            received.repaired_in_10_ms = host;
            received.repair_ns_max = host * 7'000'000;
            received.duplicates = 3;
            carried.all.rejected = 4;
            carried.all.ungrouped = 2;
            carried.interface_name = "eth0";
        }
    }
    [[nodiscard]] Reported reported() {
        Reported all;
        for (MulticastStory& story : stories) {
            story.agreed = &agreed;
            all.add(facts_of(story, kWorld));
        }
        return all;
    }
    [[nodiscard]] std::string text() { return reported().text(); }
    [[nodiscard]] Fact::Value value(const char* name) {
        const Reported all = reported();
        const Fact* fact = all.rows().at(0).find(name);
        return fact != nullptr ? fact->value : Fact::Value(nullptr);
    }

    AgreedMulticast agreed;
    std::vector<MulticastStory> stories;
};

MulticastStory without(const char* reason) {
    MulticastStory story;
    story.state = State::kOff;
    story.reason = reason;
    return story;
}

TEST(MulticastFacts, OneVoiceForEachHostAndForEachReason) {
    const Whose second{"a", 1, 8, kHosts};
    Group group;
    MulticastStory other = group.stories[0];
    other.agreed = &group.agreed;
    EXPECT_TRUE(facts_of(other, second).is_told);
    other.carried.reset();
    EXPECT_FALSE(facts_of(other, kWorld).is_told);
    EXPECT_FALSE(facts_of(without("why"), second).is_told);
    EXPECT_TRUE(facts_of(without("why"), kWorld).is_told);
    EXPECT_FALSE(facts_of({}, kWorld).is_told);
}

TEST(MulticastFacts, AddUpTheHostsOfAGroup) {
    Group group;
    Reported reported = group.reported();
    for (const char* name : {"rows", "columns", "more"}) {
        reported.add(facts_of(without("h3: why"), {name, 0, 4, kHosts}));
    }
    EXPECT_EQ(reported.text(),
              "multicast on MPI_COMM_WORLD (8 ranks, 3 hosts): eth0, 239.1.2.3:17717, 25 Mbit/s, "
              "round trip 400 us, authenticated: anyone who joins can read packets; 300 packets, 6 "
              "lost packets, "
              "6 NAKs, 15 repairs to one and 3 to all (3 of 6 within 10 ms, at most 14 ms), 9 "
              "duplicates, 12 rejected, 6 ungrouped, 3 malformed\n"
              "multicast off on rows (4 ranks, 3 hosts), one of 3 communicators: h3: why\n");
    EXPECT_EQ(group.value("state"), Fact::Value("on"));
    EXPECT_EQ(group.value("communicators"), Fact::Value(uint64_t{1}));
    EXPECT_EQ(group.value("repaired_in_10_ms"), Fact::Value(uint64_t{3}));
    EXPECT_EQ(group.value("repair_s_max"), Fact::Value(14'000'000 * 1e-9));
    EXPECT_EQ(group.value("reason"), Fact::Value(nullptr));
}

TEST(MulticastFacts, SayWhoCanReadThePackets) {
    Group group;
    const auto expect = [&](Protection protection, const std::string& text, bool is_encrypted,
                            const char* code) {
        group.agreed.protection = protection;
        EXPECT_NE(group.text().find("round trip 400 us, " + text), std::string::npos)
            << group.text();
        EXPECT_EQ(group.value("encrypted"), Fact::Value(is_encrypted));
        EXPECT_EQ(group.value("code"), Fact::Value(code));
    };
    expect(Protection::kAll, "authenticated: anyone who joins can read packets; ", false, "all");
    expect(Protection::kSecret, "encrypted; ", true, "all");
    expect(Protection::kHeader,
           "headers authenticated: anyone who joins can read packets, and send ", false, "header");
    expect(Protection::kNone, "not authenticated: anyone who joins can read packets, and forge ",
           false, "none");
}

TEST(MulticastFacts, SayWhatBoundsTheRate) {
    Group group;
    group.agreed.code_bytes_per_s = 3'200'000;
    EXPECT_NE(group.text().find(", 25 Mbit/s, round trip"), std::string::npos);
    group.agreed.code_bytes_per_s = 3'125'000;
    EXPECT_NE(group.text().find(", 25 Mbit/s (as fast as packets are coded), round trip"),
              std::string::npos);
    group.agreed.bytes_per_s = 0;
    EXPECT_NE(group.text().find(", not paced, round trip"), std::string::npos) << group.text();
}

TEST(MulticastFacts, SayWhatCarriesThePackets) {
    Group group;
    group.agreed.obstacles[kVerbs] = "h1: no port";
    EXPECT_NE(group.text().find(": eth0 (not by verbs: h1: no port), 239.1.2.3:17717, "),
              std::string::npos);
    EXPECT_EQ(group.value("over"), Fact::Value("udp"));
    EXPECT_EQ(group.value("no_verbs"), Fact::Value("h1: no port"));
    for (MulticastStory& story : group.stories) story.network = kVerbs;
    group.agreed.obstacles[kVerbs].clear();
    group.agreed.obstacles[kUdp] = "h1: no socket";
    EXPECT_NE(group.text().find(": eth0 (not compared with UDP: h1: no socket), 239.1"),
              std::string::npos);
    EXPECT_EQ(group.value("over"), Fact::Value("verbs"));
    EXPECT_EQ(group.value("no_verbs"), Fact::Value(nullptr));
    EXPECT_EQ(group.value("predicted/udp/short_s"), Fact::Value(nullptr));
}

TEST(MulticastFacts, SayByWhatANetworkWasChosen) {
    Group group;
    group.agreed.predicted[kVerbs] = {40'000, 2'000'000};
    group.agreed.predicted[kUdp] = {30'000, 1'000'000};
    EXPECT_NE(group.text().find(
                  ": eth0 (not by verbs: UDP is predicted to be faster) (broadcasts predicted: 8 B "
                  "40 us by verbs, 30 us by UDP; 64 KiB 2 ms by verbs, 1 ms by UDP), 239.1"),
              std::string::npos)
        << group.text();
    EXPECT_EQ(group.value("predicted/verbs/short_s"), Fact::Value(40'000 * 1e-9));
    EXPECT_EQ(group.value("predicted/verbs/long_s"), Fact::Value(2'000'000 * 1e-9));
    EXPECT_EQ(group.value("predicted/udp/short_s"), Fact::Value(30'000 * 1e-9));
    EXPECT_EQ(group.value("predicted/udp/long_s"), Fact::Value(1'000'000 * 1e-9));
}

TEST(MulticastFacts, SayThatNetworksWereNotCompared) {
    Group group;
    for (MulticastStory& story : group.stories) story.network = kVerbs;
    EXPECT_EQ(group.value("no_udp"), Fact::Value(nullptr)) << "it was not tried";
    group.agreed.lacks_prediction[kVerbs] = true;
    EXPECT_NE(group.text().find(": eth0 (not compared with UDP: no latency or rate was measured by "
                                "verbs), 239.1"),
              std::string::npos)
        << group.text();
    group.agreed.lacks_prediction[kUdp] = true;
    EXPECT_EQ(group.value("no_udp"), Fact::Value("no latency or rate was measured by UDP"));
    group.agreed.lacks_prediction[kVerbs] = false;
    EXPECT_EQ(group.value("no_udp"), Fact::Value("no latency or rate was measured by UDP"));
    EXPECT_EQ(group.value("no_verbs"), Fact::Value(nullptr));
}

TEST(MulticastFacts, AFailureIsNamedWhoeverNoticedIt) {
    Group group;
    group.stories[1].state = State::kFailed;
    group.stories[1].reason = "h2 is gone";
    EXPECT_TRUE(group.text().starts_with(
        "multicast until a failure on MPI_COMM_WORLD (8 ranks, 3 hosts): h2 is gone; eth0, "))
        << group.text();
    EXPECT_EQ(group.value("reason"), Fact::Value("h2 is gone"));
    EXPECT_EQ(group.value("failures"), Fact::Value(uint64_t{1}));
    EXPECT_EQ(group.value("data_packets"), Fact::Value(uint64_t{300}));
}

TEST(MulticastFacts, SayThatItCameBack) {
    Group group;
    for (MulticastStory& story : group.stories) {
        story.returns = 2;
        story.reason = "h2 had not answered";
    }
    EXPECT_TRUE(
        group.text().starts_with("multicast on MPI_COMM_WORLD (8 ranks, 3 hosts): came "
                                 "back 2 times (h2 had not answered); eth0, "))
        << group.text();
    EXPECT_EQ(group.value("failures"), Fact::Value(uint64_t{2}));
    EXPECT_EQ(group.value("returns"), Fact::Value(uint64_t{2}));
    group.stories[1].state = State::kFailed;
    group.stories[1].reason = "h1 no longer answers";
    EXPECT_TRUE(group.text().starts_with(
        "multicast until a failure on MPI_COMM_WORLD (8 ranks, 3 hosts): h1 no longer answers, "
        "after it came back 2 times; eth0, "))
        << group.text();
    EXPECT_EQ(group.value("failures"), Fact::Value(uint64_t{3}));
}

// Of a team that has measured messages, whether it tried multicast or not.
TEST(MulticastFacts, MessagesAsMeasured) {
    const Whose whose{"a", 0, 8, 4};
    Reported reported;
    MulticastStory story;
    story.state = State::kLater;
    reported.add(facts_of(story, whose));
    EXPECT_EQ(reported.text(), "");
    story.message = {45'000, 25};
    reported.add(facts_of(story, {"a", 1, 8, 4}));
    reported.add(facts_of(story, whose));
    reported.add(facts_of(story, whose));
    EXPECT_EQ(reported.text(),
              "messages on a (8 ranks, 4 hosts), one of 2 communicators: measured 45 us, 25 "
              "Mbit/s; where prices decide, by that (TUTTI_PRICE)\n");
    MulticastStory off = without("h1 is deaf");
    off.message = story.message;
    EXPECT_EQ(facts_of(off, whose).text(),
              "multicast off on a (8 ranks, 4 hosts): h1 is deaf; messages measured 45 us, 25 "
              "Mbit/s; where prices decide, by that (TUTTI_PRICE)");
    EXPECT_EQ(facts_of(off, whose).find("message_bytes_per_s")->value,
              Fact::Value(uint64_t{3'125'000}));
    Group group;
    group.agreed.latency_ns = 30'000;
    for (MulticastStory& one : group.stories) one.message = story.message;
    EXPECT_NE(
        group.text().find("400 us (one way at best 30 us; messages 45 us, 25 Mbit/s), authen"),
        std::string::npos)
        << group.text();
}

}  // namespace
}  // namespace tutti::multicast
