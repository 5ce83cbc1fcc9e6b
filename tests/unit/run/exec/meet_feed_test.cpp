// SPDX-License-Identifier: BSD-3-Clause
// Those who are fed: all ranks in one thread over a network in memory; who arrives when, and who is
// stepped, is drawn by a seed.
#include <numeric>

#include "base/prng.h"
#include "run/adapt/fold_tree.h"
#include "run/exec/executor.h"
#include "sim/seeds.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using exec::Executor;

constexpr uint64_t kRoom = 2 * sched::kFeedMessageBytes;

struct Kind {
    uint32_t ranks = 1;
    uint32_t fan_in = 1;
    size_t bytes = 1;
    size_t piece = 1;
};

ListProgram program_of(const Kind& kind, uint32_t root, uint32_t rank) {
    const bool is_root = rank == root;
    const uint32_t neighbours = is_root ? kind.ranks - 1 : 1;
    std::vector<sched::Operation> round;
    for (uint32_t i = 0; i < neighbours; ++i) {
        round.push_back(sched::meet_with(is_root ? (root + 1 + i) % kind.ranks : root,
                                         is_root ? sched::Incoming::kRight : sched::Incoming::kLeft,
                                         sched::scratch(i * kRoom, kRoom)));
    }
    const auto block = sched::output(0, kind.bytes);
    round.push_back(sched::feed(is_root ? sched::Block{} : block, is_root ? block : sched::Block{},
                                kind.piece, 0, kind.fan_in));
    return {{{round}}, 1, neighbours * kRoom};
}

struct Place {
    Place(Network& network, uint32_t rank)
        : endpoint(network, rank), executor(nullptr, endpoint, nullptr) {}
    Network::Endpoint endpoint;
    Executor executor;
    std::unique_ptr<ListProgram> program;
    std::vector<std::byte> output;
    uint32_t calls = 0;  // begun
    bool is_in = false;
};

std::vector<std::byte> payload(const Kind& kind, uint32_t call) {
    std::vector<std::byte> all(kind.bytes);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * 7 + call * 31);
    return all;
}

// Every call has another root.
struct Job {
    explicit Job(const Kind& all) : kind(all) {
        for (uint32_t rank = 0; rank < kind.ranks; ++rank) {
            places.push_back(std::make_unique<Place>(network, rank));
        }
    }
    void arrive(uint32_t rank) {
        Place& place = *places[rank];
        const uint32_t call = place.calls++;
        const uint32_t root = call % kind.ranks;
        place.output = rank == root ? payload(kind, call) : std::vector<std::byte>(kind.bytes);
        place.program = std::make_unique<ListProgram>(program_of(kind, root, rank));
        place.is_in = true;
        ASSERT_TRUE(place.executor.reserve(place.program->extent(), 1 << 20));
        place.executor.start(*place.program, call, {nullptr, place.output.data(), {}});
    }
    // True if it has left by it.
    bool step(uint32_t rank) {
        Place& place = *places[rank];
        const Step step = place.executor.step();
        EXPECT_NE(step, Step::kFailed) << place.executor.error();
        if (step != Step::kDone) return false;
        place.is_in = false;
        EXPECT_EQ(place.output, payload(kind, place.calls - 1));
        return true;
    }
    // Until nobody goes on.
    void settle() {
        for (int turn = 0; turn < 200; ++turn) {
            for (uint32_t rank = 0; rank < kind.ranks; ++rank) {
                if (places[rank]->is_in) step(rank);
            }
        }
    }
    [[nodiscard]] std::vector<uint32_t> waits(uint32_t rank) const {
        return places[rank]->executor.waits_for();
    }

    Kind kind;
    Network network;
    std::vector<std::unique_ptr<Place>> places;
};

Kind any_kind(Prng& random) {
    Kind kind;
    kind.ranks = static_cast<uint32_t>(1 + random.below(random.below(8) == 0 ? 64 : 12));
    kind.fan_in = static_cast<uint32_t>(1 + random.below(sched::kFedMax));
    kind.bytes = 1 + random.below(100);
    kind.piece = 1 + random.below(kind.bytes);
    return kind;
}

// Nobody waits for the others between two calls.
TEST(Feed, AnyOrderOfArrivalOverCallsThatOverlap) {
    const auto seeds = Seeds::wanted(500);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        Job job(any_kind(random));
        const auto calls = static_cast<uint32_t>(1 + random.below(5));
        const uint64_t rarely = 1 + random.below(100);
        for (uint32_t turn = 0, left = job.kind.ranks; left > 0; ++turn) {
            ASSERT_LT(turn, 2'000'000u) << replay(seed);
            const auto rank = static_cast<uint32_t>(random.below(job.kind.ranks));
            Place& place = *job.places[rank];
            if (place.is_in) {
                if (job.step(rank) && place.calls == calls) --left;
            } else if (place.calls < calls && random.below(rarely) == 0) {
                job.arrive(rank);
            }
            ASSERT_FALSE(HasFailure()) << replay(seed);
        }
    }
}

// Whoever is there is fed and gone, whoever is late.
TEST(Feed, OnlyTheRootWaitsForLateOnes) {
    const auto seeds = Seeds::wanted(200);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        Job job(any_kind(random));
        std::vector<uint32_t> order(job.kind.ranks);
        std::iota(order.begin(), order.end(), 0u);
        for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        bool is_root_there = false;
        for (size_t i = 0; i < order.size(); ++i) {
            job.arrive(order[i]);
            is_root_there = is_root_there || order[i] == 0;
            if (random.below(3) != 0) continue;
            job.settle();
            if (!is_root_there) continue;
            for (size_t k = 0; k <= i; ++k) {
                const bool is_last = i + 1 == order.size();
                EXPECT_EQ(job.places[order[k]]->is_in, order[k] == 0 && !is_last) << replay(seed);
            }
            const std::vector<uint32_t> late(order.begin() + static_cast<ptrdiff_t>(i) + 1,
                                             order.end());
            if (late.size() == 1) {
                EXPECT_EQ(job.waits(0), late) << replay(seed);
            }
        }
    }
}

TEST(Feed, SaysForWhomItWaits) {
    Job job({.ranks = 4, .fan_in = 1, .bytes = 90, .piece = 10});
    for (const uint32_t rank : {1u, 2u}) job.arrive(rank);
    job.settle();
    EXPECT_EQ(job.waits(1), std::vector<uint32_t>{0});
    job.arrive(0);
    job.network.held = true;
    job.places[0]->executor.step();
    EXPECT_EQ(job.waits(0), (std::vector<uint32_t>{1, 2, 3}));
    job.network.held = false;
    // 2 hangs below 1, which takes nothing any more.
    for (int turn = 0; turn < 20; ++turn) {
        for (const uint32_t rank : {0u, 2u}) job.step(rank);
    }
    EXPECT_EQ(job.waits(2), std::vector<uint32_t>{1});
    EXPECT_EQ(job.waits(0), (std::vector<uint32_t>{1, 3}));
    job.settle();
    EXPECT_EQ(job.waits(0), std::vector<uint32_t>{3});
}

// What stands behind it, the node's bcast mostly, need not wait for what is handed on, nor in the
// middle for those who are late.
TEST(Feed, WhatStandsBehindItGoesOn) {
    const Kind kind{.ranks = 3, .fan_in = 1, .bytes = 8, .piece = 8};
    Network network;
    std::vector<std::unique_ptr<Place>> places;
    for (uint32_t rank = 0; rank < 2; ++rank) {
        places.push_back(std::make_unique<Place>(network, rank));
        Place& place = *places[rank];
        ListProgram fed = program_of(kind, 0, rank);
        sched::Round round;
        fed.read(0, 0, round);
        const std::vector<sched::Operation> first(round.begin(), round.end());
        const uint64_t after = rank == 0 ? sched::kAfterNone : sched::after_op(1);
        place.program = std::make_unique<ListProgram>(
            std::vector<ListProgram::Lane>{
                {first, {sched::copy(sched::output(8, 8), sched::output(0, 8), after)}}},
            1, fed.extent().scratch_bytes);
        place.output = payload(kind, 0);
        place.output.resize(16);
        ASSERT_TRUE(place.executor.reserve(place.program->extent(), 1 << 20));
        place.executor.start(*place.program, 0, {nullptr, place.output.data(), {}});
    }
    for (int turn = 0; turn < 20; ++turn) {
        for (const auto& place : places) place->executor.step();
    }
    for (const auto& place : places) {
        EXPECT_TRUE(std::equal(place->output.begin(), place->output.begin() + 8,
                               place->output.begin() + 8));
    }
}

TEST(Feed, AFailureIsFinal) {
    Job job({.ranks = 3, .fan_in = 2, .bytes = 8, .piece = 2});
    job.arrive(0);
    job.arrive(1);
    job.network.broken = true;
    for (const uint32_t rank : {0u, 1u}) {
        EXPECT_EQ(job.places[rank]->executor.step(), Step::kFailed);
        EXPECT_EQ(job.places[rank]->executor.error(), "the cable is out");
        job.places[rank]->executor.cancel();
        EXPECT_EQ(job.places[rank]->executor.step(), Step::kFailed);
    }
}

}  // namespace
}  // namespace tutti::test
