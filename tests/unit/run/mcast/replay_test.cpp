// SPDX-License-Identifier: BSD-3-Clause
// Packets that somebody recorded and plays again, with the right code: nobody answers them, nothing
// is timed anew. And what makes that possible: no member ever sends two packets of one counter.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "run/mcast/group.h"
#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Member kOwn = 1;
constexpr uint32_t kTeam = 5;

Bytes packet_of(const Packet& packet) {
    Bytes bytes(2048);
    bytes.resize(write(packet, bytes));
    return bytes;
}

struct Sent {
    Bytes bytes;
    Member to;
};

std::vector<Sent> drain(Group& group, uint64_t now_ns) {
    std::vector<Sent> all;
    Bytes out(kControlBytesMax);
    Member to = kNobody;
    while (const size_t bytes = group.next_packet(now_ns, out, to)) {
        all.push_back({Bytes(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)), to});
    }
    return all;
}

std::unique_ptr<Group> make_group(const Params& params = test_params(4, kOwn)) {
    auto group = std::move(Group::create(params).value());
    EXPECT_TRUE(group->open_team(kTeam));
    return group;
}

struct Kind {
    const char* name;
    Body body;
    Member to = kEverybody;
    // Whether the first one, in a group that has sent one packet, has an answer or changes the next
    // deadline.
    bool is_answered = true;
};

class EveryKind : public testing::TestWithParam<size_t> {
  protected:
    static const std::vector<Kind>& kinds() {
        static const auto payload = test_bytes(10);
        static const auto heard = test_bytes(1);
        static const OwnNak nak(kOwn, {{0, 1}});
        static const std::vector<Kind> all = {
            {"data", Data{0, {kTeam, 1, 0, 0}, 0, 20, false, payload}, kEverybody, false},
            {"data behind a gap", Data{2, {kTeam, 1, 0, 0}, 0, 20, false, payload}},
            {"heartbeat", Heartbeat{3, 1, true}},
            {"NAK", nak.nak},
            {"acknowledgement", Ack{kOwn, 1, 9, 0}, kOwn, false},
            {"ask", Ask{1, 2, 3}, kOwn},
            {"notice of failure", Failure{3, Failure::Phase::kDetour}},
            {"notice of the end", Failure{3, Failure::Phase::kOver}},
            {"probe", Probe{1, kOwn, false, false, 3, 0, heard}},
            {"answer to a probe", ProbeAnswer{1, 5}, kOwn, false},
        };
        return all;
    }
};

// All that it may lead to is over when it comes again.
TEST_P(EveryKind, PlayedAgainHasNoAnswer) {
    const Kind& kind = kinds()[GetParam()];
    SCOPED_TRACE(kind.name);
    const auto group = make_group();
    const auto data = test_bytes(100);
    Outgoing message{{kTeam, 9, 0, 0}, data, 0, false};
    ASSERT_TRUE(group->write(0, message));
    EXPECT_EQ(drain(*group, 0).size(), 1u);
    const uint64_t before_ns = group->next_deadline();
    const Bytes packet = packet_of({77, 2, kind.body, 40, kind.to});
    EXPECT_TRUE(group->on_packet(10, packet));
    const size_t answers = drain(*group, 10).size();
    EXPECT_EQ(kind.is_answered, answers > 0 || group->next_deadline() != before_ns);

    uint64_t now_ns = 10;
    const auto counters_before = group->counters();
    for (uint64_t i = 1; i <= 1000; ++i) {
        const uint64_t deadline_ns = group->next_deadline();
        EXPECT_FALSE(group->on_packet(now_ns, packet));
        EXPECT_EQ(group->next_deadline(), deadline_ns);
        EXPECT_EQ(drain(*group, now_ns).size(), 0u);
        EXPECT_EQ(group->counters().packets_replayed, i);
    }
    EXPECT_EQ(group->counters().received.duplicates, counters_before.received.duplicates);
}

INSTANTIATE_TEST_SUITE_P(Replay, EveryKind, testing::Range(size_t{0}, size_t{10}));

// Somebody who plays all of them again does not keep a dead member alive.
TEST(Replay, ADeadMemberIsNotKeptAlive) {
    const auto group = make_group();
    group->expect(0, 3);
    const Bytes beat = packet_of({77, 3, Heartbeat{0, 1, false}, 7});
    group->on_packet(0, beat);
    uint64_t now_ns = 0;
    for (; !group->failure() && now_ns < 60'000 * kMillisecond; now_ns += 50 * kMillisecond) {
        group->on_packet(now_ns, beat);
        group->tick(now_ns);
        drain(*group, now_ns);
    }
    EXPECT_EQ(group->failure(), Member{3});
}

TEST(Replay, WhatWasForAnotherMemberIsNotLookedAt) {
    const auto group = make_group();
    EXPECT_FALSE(group->on_packet(0, packet_of({77, 2, Ask{1, 2, 3}, 1, 3})));
    EXPECT_EQ(group->counters().packets_foreign, 1u);
    EXPECT_EQ(drain(*group, 0).size(), 0u);
    EXPECT_EQ(group->next_deadline(), kNever);
    // It did not use up the counter either.
    EXPECT_TRUE(group->on_packet(0, packet_of({77, 2, Ask{1, 2, 3}, 1, kOwn})));
    EXPECT_GT(drain(*group, 0).size(), 0u);
}

TEST(Replay, WhatOthersOvertookIsLookedAt) {
    const auto group = make_group();
    for (uint64_t back = 0; back < replay_counters(group->params()); back += 100) {
        EXPECT_TRUE(group->on_packet(0, packet_of({77, 2, Heartbeat{}, 5000 - back})));
    }
    EXPECT_TRUE(group->on_packet(0, packet_of({77, 3, Heartbeat{}, 5000}))) << "another sender";
}

// A thousand asks, each of them new: their sender is not gone mad, or has the key.
TEST(Replay, AsksInARowGetAnAnswerAMillisecond) {
    const auto group = make_group();
    uint64_t answers = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        const uint64_t now_ns = i * 10'000;  // 10 ms in all
        group->on_packet(now_ns, packet_of({77, 2, Ask{1, kOwn, 0}, 1 + i, kOwn}));
        answers += drain(*group, now_ns).size();
    }
    EXPECT_EQ(answers, 10u);
}

using Nonce = std::tuple<Member, uint64_t>;

// Of all that leaves, to whomever; also checks what the packet says of itself.
void collect(Member sender, const std::vector<Sent>& sent, std::set<Nonce>& nonces) {
    for (const Sent& one : sent) {
        const auto packet = parse(one.bytes);
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->sender, sender);
        EXPECT_EQ(packet->to, one.to);
        EXPECT_TRUE(nonces.emplace(packet->sender, packet->counter).second)
            << "member " << sender << " sends counter " << packet->counter << " again";
    }
}

// Data, repairs to one and to all, heartbeats, NAKs, acknowledgements, asks, and on the detour a
// copy for each.
TEST(Replay, NoCounterIsSentTwice) {
    std::vector<std::unique_ptr<Group>> groups;
    for (Member member = 0; member < 4; ++member) {
        groups.push_back(make_group(test_params(4, member)));
    }
    std::set<Nonce> nonces;
    Prng prng(3);
    const auto data = test_bytes(900);
    size_t packets = 0;
    for (uint64_t now_ns = 0; now_ns < 8'000 * kMillisecond; now_ns += kMillisecond) {
        for (Member member = 0; member < 4; ++member) {
            Outgoing message{{kTeam, static_cast<uint32_t>(now_ns), member, 0}, data, 0, false};
            if (prng.below(8) == 0) groups[member]->write(now_ns, message);
            groups[member]->tick(now_ns);
            const auto sent = drain(*groups[member], now_ns);
            collect(member, sent, nonces);
            packets += sent.size();
            for (const Sent& one : sent) {
                for (Member to = 0; to < 4; ++to) {
                    const bool is_cut_off = now_ns > 500 * kMillisecond && member == 3;
                    const bool is_lost = is_cut_off || prng.below(5) == 0;
                    if (to == member || is_lost) continue;
                    if (one.to == kEverybody || one.to == to) {
                        groups[to]->on_packet(now_ns, one.bytes);
                    }
                }
            }
        }
    }
    EXPECT_EQ(nonces.size(), packets);
    const auto counters = groups[0]->counters();
    EXPECT_GT(counters.sent.repairs_to_one, 0u);
    EXPECT_GT(counters.sent.repairs_to_all, 0u);
    EXPECT_TRUE(groups[0]->given_up());
}

// A counter does not wrap: who has used them up is as if it were gone.
TEST(Replay, WhoHasNoCountersLeftSendsNothingMore) {
    Params params = test_params(4, kOwn);
    params.packets_max = 5;
    const auto group = make_group(params);
    std::set<Nonce> nonces;
    size_t packets = 0;
    for (uint64_t now_ns = 0; now_ns < 60'000 * kMillisecond; now_ns += kMillisecond) {
        group->on_packet(now_ns, packet_of({77, 2, Ask{1, kOwn, 0}, 1 + now_ns, kOwn}));
        group->tick(now_ns);
        const auto sent = drain(*group, now_ns);
        collect(kOwn, sent, nonces);
        packets += sent.size();
    }
    EXPECT_EQ(packets, 5u);
    EXPECT_EQ(group->failure(), kOwn);
    EXPECT_EQ(group->next_deadline(), kNever);
}

}  // namespace
}  // namespace tutti::mcast
