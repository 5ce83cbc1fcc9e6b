// SPDX-License-Identifier: BSD-3-Clause
// Where no code proves packets (TUTTI_MCAST_CODE=none), whoever reads one can send others: the
// members' own packets with some field changed, in whatever name. Whatever comes, no assertion
// fails, no memory but a message's is written (AddressSanitizer), and calls end: done,
// or failed by the word that packets were forged.
#include <gtest/gtest.h>

#include "sim/mcast_world.h"
#include "sim/ring_traffic.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using mcast::Member;
using transport::Rank;

constexpr uint64_t kTwoMinutes = 120'000'000'000;
constexpr Member kThree = 3;

mcast::Params three_members() {
    mcast::Params params;
    params.members = kThree;
    params.window_packets = 32;
    params.packet_bytes_max = mcast::kControlBytesMax;
    params.fan_out = 2;
    params.posts_max = transport::carrier::kRingSlotsMax;
    params.teams_max = 1;
    return params;
}

RingPlan plan_of(uint64_t messages, size_t bytes_max, Prng& prng) {
    RingPlan plan;
    plan.member_of_rank = {0, 0, 1, 1, 2, 2};
    plan.has_network = true;
    for (uint64_t i = 0; i < messages; ++i) {
        plan.messages.push_back({static_cast<Rank>(prng.below(6)), prng.below(bytes_max)});
    }
    return plan;
}

bool is_whole(const mcast::Data& data) { return data.payload.size() == data.total; }

// Changes one field.
class Forge {
  public:
    explicit Forge(Prng& prng) : prng_(prng) {}

    void operator()(mcast::Data& data) {
        const bool was_whole = is_whole(data);
        switch (prng_.below(9)) {
            case 0:
                data.sequence = near(data.sequence);
                break;
            case 1:
                // A whole message under a number to come cannot be told from that one, and
                // takes a place in the stream (docs/protocol/multicast.md).
                if (!was_whole) data.name.call += static_cast<uint32_t>(prng_.below(200));
                break;
            case 2:
                data.name.call += 1000 + static_cast<uint32_t>(prng_.below(1u << 30));
                break;
            case 3:
                data.name.message = static_cast<uint32_t>(prng_.below(1u << 31)) + 1;
                break;
            case 4:
                data.name.lane ^= 1;
                break;
            case 5:
                data.offset = static_cast<uint32_t>(prng_.below(data.total + 1));
                break;
            case 6:
                data.total = static_cast<uint32_t>(prng_.below(1u << (prng_.below(31) + 1)));
                break;
            case 7:
                data.payload = data.payload.first(prng_.below(data.payload.size() + 1));
                break;
            default:
                data.is_repair = !data.is_repair;
        }
    }
    void operator()(mcast::Heartbeat& beat) {
        beat.end = near(beat.end);
        beat.asks = prng_.below(2) == 0;
    }
    void operator()(mcast::Nak& nak) {
        nak.base = near(nak.base);
        nak.stream = any_member();
    }
    void operator()(mcast::Ack& ack) {
        const uint64_t on = prng_.below(40);
        ack.received_end += on;
        ack.granted_end = std::max(ack.received_end, near(ack.granted_end));
        ack.placed_end = prng_.below(ack.received_end + 1);
        if (prng_.below(4) == 0) ack.stream = any_member();
    }
    void operator()(mcast::Ask& ask) {
        ask.stream = any_member();
        ask.end = near(ask.end);
    }
    void operator()(mcast::Failure& failure) {
        failure.dead = any_member();
        failure.phase = static_cast<mcast::Failure::Phase>(prng_.below(3));
    }
    void operator()(mcast::Probe&) {}
    void operator()(mcast::ProbeAnswer&) {}

    Member any_member() { return static_cast<Member>(prng_.below(kThree)); }
    // Mostly a plausible number.
    uint64_t near(uint64_t number) {
        if (prng_.below(8) == 0) return prng_.below(mcast::kSequenceMax);
        const uint64_t by = prng_.below(20);
        return prng_.below(2) == 0 ? number + by : number - std::min(number, by);
    }

  private:
    Prng& prng_;
};

// Some of what the members send comes once more, changed.
class Forger {
  public:
    Forger(McastWorld& world, uint64_t seed)
        : world_(world),
          prng_(seed),
          one_in_(5 + prng_.below(200)),
          only_acks_(prng_.below(4) == 0),
          bytes_(2048) {
        world.set_filter([this](Member, Member to, const mcast::Packet& packet) {
            const bool is_ack = std::holds_alternative<mcast::Ack>(packet.body);
            if (is_ack == only_acks_ && prng_.below(one_in_) == 0) forge(to, packet);
            return false;
        });
    }
    [[nodiscard]] uint64_t forged() const { return forged_; }

  private:
    void forge(Member to, mcast::Packet packet) {
        Forge change(prng_);
        if (!only_acks_ && prng_.below(100) == 0) packet.body = mcast::Failure{0, {}};
        const bool is_data = std::holds_alternative<mcast::Data>(packet.body);
        std::visit(change, packet.body);
        if (prng_.below(8) == 0) packet.sender = change.any_member();
        packet.to = prng_.below(4) == 0 ? mcast::kEverybody : to;
        packet.counter += 1 + prng_.below(4);
        if (!only_acks_ && prng_.below(50) == 0) packet.counter = mcast::kCounterMax;
        const size_t bytes = mcast::write(packet, bytes_);
        if (!is_data && prng_.below(20) == 0) bytes_[prng_.below(bytes)] ^= std::byte{1};
        world_.inject(to, std::span<const std::byte>(bytes_).first(bytes), prng_.below(400'000));
        ++forged_;
    }

    McastWorld& world_;
    Prng prng_;
    uint64_t one_in_;
    bool only_acks_;  // or all others
    std::vector<std::byte> bytes_;
    uint64_t forged_ = 0;
};

struct Ends {
    uint64_t right = 0;   // of seeds: all came, and right
    uint64_t failed = 0;  // all ended, some by that error
    uint64_t wrong = 0;   // all ended, but something came wrong or with the wrong length
    // The group failed before anything showed, and a rank waits for what others believe that it
    // has (docs/plan.d/routes-and-verbs.md).
    uint64_t stuck = 0;
    uint64_t forged = 0;  // packets
};

// Empty, or what must not be.
std::string run_forged(uint64_t seed, Ends& ends) {
    Prng prng(seed);
    Weather weather;
    weather.loss = prng.below(2) == 0 ? 0 : 0.02;
    McastWorld world(three_members(), weather, prng.next());
    const size_t bytes_max = prng.below(2) == 0 ? 400 : 5000;
    const RingPlan plan = plan_of(20 + prng.below(200), bytes_max, prng);
    RingTraffic traffic(world, plan, prng.next());
    const Forger forger(world, prng.next());
    const bool is_over = world.run(world.now_ns() + kTwoMinutes, [&] { return traffic.is_done(); });
    world.set_filter({});
    ends.forged += forger.forged();
    if (!is_over && !traffic.route(0).has_failed()) return "calls wait in a group that works";
    if (!is_over) ++ends.stuck;
    if (!is_over) return {};
    const bool is_told = traffic.wrong().find("forged or changed") != std::string::npos;
    ++(traffic.wrong().empty() ? ends.right : is_told ? ends.failed : ends.wrong);
    return {};
}

TEST(Forged, WhateverComesCallsEnd) {
    const Seeds seeds = Seeds::wanted(300);
    Ends ends;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const std::string wrong = run_forged(seed, ends);
        EXPECT_EQ(wrong, "") << "seed " << seed << replay(seed);
    }
    if (seeds.count < 100) return;
    EXPECT_LT(ends.stuck, seeds.count / 20);
    EXPECT_GT(ends.forged, 5 * seeds.count);  // varies with the seeds
    EXPECT_GT(ends.right, seeds.count / 10);
    EXPECT_GT(ends.failed, seeds.count / 10);
    RecordProperty("right", std::to_string(ends.right));
    RecordProperty("failed", std::to_string(ends.failed));
    RecordProperty("wrong", std::to_string(ends.wrong));
    RecordProperty("stuck", std::to_string(ends.stuck));
}

}  // namespace
}  // namespace tutti::test
