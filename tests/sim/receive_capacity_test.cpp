// SPDX-License-Identifier: BSD-3-Clause
// Ranks across hosts of which some have room for more than is sent to them, by seed: the root of a
// gather, or receivers of a scatter. Whole teams, a thread a rank, over messages of which some are
// eager, by algorithms that hang on the size. What is sent stands at the beginning of its block,
// the rest stays as it was, nobody waits for ever, and the calls that follow are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <mutex>

#include "sim/seeds.h"
#include "unit/run/engine/hosts.h"

namespace tutti::test {
namespace {

// As MPICH has them. With fewer, a long message may meet a receive of more: one of this call leaves
// something behind what was sent, one of a later call is told in a line.
constexpr uint32_t kManyTags = (1 << 28) - 1;

struct Draw {
    uint32_t ranks = 2;
    std::string hosts;
    std::string rules;
    size_t eager_bytes_max = 0;
    uint32_t tag_max = 0;
    Spec before;
    tutti_collective collective = TUTTI_GATHER;
    uint32_t root = 0;
    size_t sent = 0;
    std::vector<size_t> capacity;  // by rank; at least what is sent
    uint64_t in_place = 0;         // bit r: rank r gives its own block in place, where it may
    Spec after;
};

Draw draw(uint64_t seed) {
    constexpr size_t kSizes[] = {1,    8,    64,   150,    200,    260,     300,    512,
                                 1000, 1030, 4000, 20'000, 70'000, 120'000, 600'000};
    Prng prng(seed);
    const auto size = [&] { return kSizes[prng.below(std::size(kSizes))]; };
    Draw draw;
    draw.ranks = static_cast<uint32_t>(2 + prng.below(7));
    const uint64_t hosts = 2 + prng.below(draw.ranks - 1);
    draw.hosts = "TUTTI_HOSTS=" + std::to_string(hosts) + (prng.below(2) ? ":round-robin" : "");
    constexpr const char* kNames[] = {"direct", "binomial"};
    const std::string one = kNames[prng.below(2)], other = kNames[prng.below(2)];
    const std::string both = "[[rule]]\ncollective = [\"gather\", \"scatter\"]\n";
    draw.rules = "TUTTI_RULES_TEXT=" + both + "bytes = \"..400\"\nalgorithm = \"" + one + "\"\n" +
                 both + "algorithm = \"" + other + "\"\n";
    constexpr size_t kEager[] = {0, 300, 64 * 1024, size_t{1} << 30};
    draw.eager_bytes_max = kEager[prng.below(std::size(kEager))];
    constexpr uint32_t kTagMax[] = {kManyTags, kManyTags, (1 << 20) - 1, 32'767};
    draw.tag_max = kTagMax[prng.below(std::size(kTagMax))];
    draw.collective = prng.below(2) ? TUTTI_GATHER : TUTTI_SCATTER;
    draw.root = static_cast<uint32_t>(prng.below(draw.ranks));
    size_t capacity = 0;
    do {
        draw.sent = size(), capacity = size();
    } while (capacity <= draw.sent);
    for (uint32_t rank = 0; rank < draw.ranks; ++rank) {
        const bool receives = (rank == draw.root) == (draw.collective == TUTTI_GATHER);
        const bool has_more = draw.collective == TUTTI_GATHER || prng.below(4) > 0;
        draw.capacity.push_back(receives && has_more ? capacity : draw.sent);
    }
    draw.in_place = prng.next();
    const Limits limits{draw.ranks, 4096, 12'000, false};
    draw.before = draw_spec(prng, limits);
    draw.after = draw_spec(prng, limits);
    return draw;
}

std::string text_of(const Draw& draw) {
    std::string text =
        std::to_string(draw.ranks) + " ranks, " + draw.hosts + ", eager " +
        std::to_string(draw.eager_bytes_max) + ", tags to " + std::to_string(draw.tag_max) + ", " +
        draw.rules + (draw.collective == TUTTI_GATHER ? "gather" : "scatter") + " root " +
        std::to_string(draw.root) + " of " + std::to_string(draw.sent) + " bytes, capacities";
    for (const size_t capacity : draw.capacity) text += " " + std::to_string(capacity);
    return text;
}

std::byte value(uint32_t from, uint32_t to, size_t i) {
    return static_cast<std::byte>(1 + (31 * from + 7 * to + i * 3 + i / 251) % 250);
}

// A rank's buffers, and what must be in its result.
struct Side {
    std::vector<std::byte> send, recv, wanted;
    tutti_call call{};
};

void write(std::byte* out, size_t bytes, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < bytes; ++i) out[i] = value(from, to, i);
}

Side gather_side(const Draw& draw, uint32_t rank) {
    Side side;
    const size_t capacity = draw.capacity[rank];
    side.send.resize(capacity);
    write(side.send.data(), capacity, rank, draw.root);
    if (rank != draw.root) return side;
    side.recv.resize(draw.ranks * capacity);
    side.wanted = side.recv;
    for (uint32_t from = 0; from < draw.ranks; ++from) {
        write(side.wanted.data() + from * capacity, from == rank ? capacity : draw.sent, from,
              rank);
    }
    if ((draw.in_place >> rank & 1) == 0) return side;
    write(side.recv.data() + rank * capacity, capacity, rank, rank);
    side.call.send = TUTTI_IN_PLACE;
    return side;
}

Side scatter_side(const Draw& draw, uint32_t rank) {
    Side side;
    side.recv.resize(draw.capacity[rank]);
    side.wanted = side.recv;
    if (rank == draw.root) {
        side.send.resize(draw.ranks * draw.sent);
        for (uint32_t to = 0; to < draw.ranks; ++to) {
            write(side.send.data() + to * draw.sent, draw.sent, rank, to);
        }
        if ((draw.in_place >> rank & 1) != 0) {
            side.call.recv = TUTTI_IN_PLACE;
            return side;
        }
    }
    write(side.wanted.data(), draw.sent, draw.root, rank);
    return side;
}

Side side_of(const Draw& draw, uint32_t rank) {
    Side side =
        draw.collective == TUTTI_GATHER ? gather_side(draw, rank) : scatter_side(draw, rank);
    side.call.collective = draw.collective;
    side.call.root = draw.root;
    side.call.bytes = draw.capacity[rank];
    if (!side.call.send) side.call.send = side.send.data();
    if (!side.call.recv) side.call.recv = side.recv.data();
    return side;
}

// What stands behind what was sent does not count.
void forget_rest(const Draw& draw, uint32_t rank, Side& side) {
    const size_t capacity = draw.capacity[rank];
    for (size_t block = 0; block < side.recv.size() && capacity > draw.sent; block += capacity) {
        if (draw.collective == TUTTI_GATHER && block == rank * capacity) continue;
        std::copy_n(side.recv.begin() + static_cast<ptrdiff_t>(block + draw.sent),
                    capacity - draw.sent,
                    side.wanted.begin() + static_cast<ptrdiff_t>(block + draw.sent));
    }
}

// What went wrong; the text of a disagreement ends the rank's calls.
std::string run_call(tutti_team* team, const tutti_call& call) {
    const tutti_status status = tutti_run(team, &call);
    if (status == TUTTI_OK) return "";
    return (status == TUTTI_ERR_MISMATCH ? "told: " : "") + std::string(tutti_team_message(team));
}

std::string run_exchange(tutti_team* team, uint32_t rank, const Exchange& exchange) {
    const std::string failed = run_call(team, exchange.call(rank));
    if (!failed.empty()) return failed;
    const std::string wrong = exchange.check(rank);
    return wrong.empty() ? "" : describe(exchange.spec()) + ": " + wrong;
}

std::string run_seed(uint64_t seed) {
    const Draw one = draw(seed);
    SCOPED_TRACE(text_of(one));
    Log log;
    const ContextPtr context =
        make_context({one.hosts.c_str(), one.rules.c_str(), "TUTTI_MCAST=off"}, &log);
    Meeting meeting(one.ranks);
    Mailbox mailbox(one.ranks, one.eager_bytes_max, one.tag_max);
    Exchange before(one.before, one.ranks), last(Spec{}, one.ranks);
    Exchange after[] = {{one.after, one.ranks}, {one.after, one.ranks}};
    std::mutex mutex;
    std::string wrong;
    bool is_told = false;
    run_threads(one.ranks, [&](uint32_t rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        std::string what = run_exchange(team, rank, before);
        for (int turn = 0; turn < 2 && what.empty(); ++turn) {
            Side side = side_of(one, rank);
            what = run_call(team, side.call);
            if (one.tag_max != kManyTags) forget_rest(one, rank, side);
            if (what.empty() && side.recv != side.wanted) what = "wrong data";
            if (what.empty()) what = run_exchange(team, rank, after[turn]);
        }
        if (what.empty()) what = run_exchange(team, rank, last);
        if (!what.empty()) tutti_team_give_up(team, "it is wrong");
        const std::lock_guard lock(mutex);
        is_told = is_told || what.starts_with("told: ");
        if (what.starts_with("told: ") && one.tag_max != kManyTags) return;
        if (!what.empty()) wrong += "\nrank " + std::to_string(rank) + ": " + what;
    });
    if (is_told == log.is_empty()) wrong += "\nlines: " + std::to_string(log.lines().size());
    return wrong.empty() ? "" : wrong + "\n" + text_of(one);
}

TEST(ReceiveCapacity, OfMoreThanIsSentAcrossHosts) {
    const Seeds seeds = Seeds::wanted(200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        ASSERT_EQ(run_seed(seed), "") << replay(seed);
    }
}

// A gather of three ranks, each a host of its own, whose messages are taken at once: senders are
// done and make no further call, so the root has to find out by itself.
std::string gather_alone(size_t capacity, size_t sent_by_1, size_t sent_by_2, Log& log) {
    constexpr uint32_t kRanks = 3;
    const ContextPtr context =
        make_context({"TUTTI_HOSTS=3", "TUTTI_GATHER=direct", "TUTTI_MCAST=off"}, &log);
    Meeting meeting(kRanks);
    Mailbox mailbox(kRanks, size_t{1} << 30);
    std::barrier all_done(kRanks);
    std::string text;
    run_threads(kRanks, [&](uint32_t rank) {
        const tutti_p2p p2p = mailbox.callbacks(rank);
        const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        const size_t bytes = rank == 0 ? capacity : rank == 1 ? sent_by_1 : sent_by_2;
        const std::vector<std::byte> in(bytes, static_cast<std::byte>(rank + 1));
        std::vector<std::byte> out(kRanks * capacity);
        tutti_call call{};
        call.collective = TUTTI_GATHER;
        call.send = in.data();
        call.recv = out.data();
        call.bytes = bytes;
        const tutti_status status = tutti_run(made.team.get(), &call);
        if (rank == 0 && status != TUTTI_OK) text = tutti_team_message(made.team.get());
        for (uint32_t from = 0; from < kRanks && rank == 0 && status == TUTTI_OK; ++from) {
            const size_t sent = from == 0 ? capacity : from == 1 ? sent_by_1 : sent_by_2;
            for (size_t i = 0; i < capacity; ++i) {
                const auto wanted = static_cast<std::byte>(i < sent ? from + 1 : 0);
                if (out[from * capacity + i] != wanted) text = "wrong data";
            }
        }
        all_done.arrive_and_wait();
    });
    return text;
}

TEST(ReceiveCapacity, WhatNobodyHasAskedForIsFound) {
    for (const size_t sent : {1, 100, 256}) {
        for (const size_t capacity : {257, 300, 4000}) {
            Log log;
            EXPECT_EQ(gather_alone(capacity, sent, sent, log), "") << sent << " " << capacity;
            EXPECT_TRUE(log.is_empty());
        }
    }
}

// One of them has sent as much as there is room for.
TEST(ReceiveCapacity, SendersThatDifferAreToldFromRoom) {
    for (const size_t capacity : {200, 4000}) {
        Log log;
        EXPECT_NE(gather_alone(capacity, 100, capacity, log), "") << capacity;
        EXPECT_NE(gather_alone(capacity, capacity, 100, log), "") << capacity;
        ASSERT_EQ(log.lines().size(), 2u);
        EXPECT_NE(log.lines()[0].find("gather root 0 of"), std::string::npos) << log.lines()[0];
        EXPECT_NE(log.lines()[0].find(" " + std::to_string(capacity) + " bytes"), std::string::npos)
            << log.lines()[0];
    }
}

// What is unpacked afterwards is so as a whole.
TEST(ReceiveCapacity, OfTheWholeAreNoRooms) {
    Log log;
    const ContextPtr context = make_context({"TUTTI_HOSTS=2", "TUTTI_MCAST=off"}, &log);
    Hosts hosts{2};
    run_hosts_that_fail(context.get(), hosts, [](uint32_t rank, tutti_team* team) {
        std::vector<std::byte> send(2 * 64), recv(64);
        tutti_call call{};
        call.collective = TUTTI_SCATTER;
        call.send = send.data();
        call.recv = recv.data();
        call.bytes = call.element_bytes = rank == 0 ? 32 : 64;
        tutti_status status = tutti_run(team, &call);
        const tutti_call barrier{};
        if (status == TUTTI_OK) status = tutti_run(team, &barrier);
        EXPECT_EQ(status, TUTTI_ERR_MISMATCH);
    });
    ASSERT_FALSE(log.is_empty());
    EXPECT_NE(log.lines()[0].find("scatter root 0 of"), std::string::npos) << log.lines()[0];
}

}  // namespace
}  // namespace tutti::test
