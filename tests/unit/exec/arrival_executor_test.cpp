// SPDX-License-Identifier: BSD-3-Clause
// All ranks in one thread over a network in memory; who arrives when, and who is stepped, is drawn
// by a seed.
#include "exec/arrival_executor.h"

#include <numeric>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/exec/support.h"

namespace tutti::test {
namespace {

using exec::ArrivalExecutor;

void fold_affine(void* out, const void* left, const void* right, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        static_cast<Affine*>(out)[i] =
            then(static_cast<const Affine*>(left)[i], static_cast<const Affine*>(right)[i]);
    }
}

constexpr size_t kElementsMax = 5;

struct Place {
    Place(Network& network, std::span<const uint32_t> ranks, uint32_t member, uint32_t fan_in)
        : endpoint(network, ranks[member]),
          executor(endpoint, ranks, member, fan_in, kElementsMax * sizeof(Affine)) {}
    Network::Endpoint endpoint;
    ArrivalExecutor executor;
    std::vector<Affine> input;
    std::vector<Affine> output;
    bool has_arrived = false;
    bool is_done = false;
};

struct Job {
    Job(uint32_t members, uint32_t fan_in) : ranks(members) {
        // Members are numbered otherwise than ranks.
        for (uint32_t i = 0; i < members; ++i) ranks[i] = members - 1 - i;
        for (uint32_t i = 0; i < members; ++i) {
            places.push_back(std::make_unique<Place>(network, ranks, i, fan_in));
        }
    }

    void arrive(uint32_t member, uint32_t call, size_t elements, bool in_place, bool is_users) {
        Place& place = *places[member];
        place.input.assign(elements, {2 * member + 3, 7 * member + call});
        place.output.assign(elements, {9, 9});
        if (in_place) place.output = place.input;
        exec::Arguments arguments;
        const auto* input = in_place ? place.output.data() : place.input.data();
        arguments.input = reinterpret_cast<const std::byte*>(input);
        arguments.output = reinterpret_cast<std::byte*>(place.output.data());
        arguments.reducer.element_bytes = sizeof(Affine);
        if (is_users) {
            arguments.reducer.user_fn = apply_affine;
        } else {
            arguments.reducer.kernel = fold_affine;
        }
        place.has_arrived = true;
        place.is_done = false;
        place.executor.start(call, arguments, elements * sizeof(Affine));
    }

    Network network;
    std::vector<uint32_t> ranks;
    std::vector<std::unique_ptr<Place>> places;
};

Affine folded(uint32_t members, uint32_t call) {
    Affine all{3, call};
    for (uint32_t member = 1; member < members; ++member) {
        all = then(all, {2 * member + 3, 7 * member + call});
    }
    return all;
}

TEST(ArrivalExecutor, AnyOrderOfArrivalGivesTheFoldInOrder) {
    const auto seeds = Seeds::wanted(500);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const auto members = static_cast<uint32_t>(1 + random.below(17));
        const auto fan_in = static_cast<uint32_t>(1 + random.below(members));
        Job job(members, fan_in);
        for (uint32_t call = 1; call <= 4; ++call) {
            const size_t elements = random.below(kElementsMax + 1);
            const bool in_place = random.below(2) == 0;
            const bool is_users = random.below(2) == 0;
            std::vector<uint32_t> late(members);
            std::iota(late.begin(), late.end(), 0u);
            for (size_t i = members; i > 1; --i) std::swap(late[i - 1], late[random.below(i)]);
            uint32_t done = 0;
            for (uint32_t turn = 0; done < members; ++turn) {
                ASSERT_LT(turn, 100'000u) << "never ends" << replay(seed);
                if (!late.empty() && random.below(4) == 0) {
                    job.arrive(late.back(), call, elements, in_place, is_users);
                    late.pop_back();
                    continue;
                }
                Place& place = *job.places[random.below(members)];
                if (!place.has_arrived || place.is_done) continue;
                if (place.executor.step() != Step::kDone) continue;
                ASSERT_TRUE(late.empty()) << "too early" << replay(seed);
                place.is_done = true;
                place.has_arrived = false;
                ++done;
            }
            const std::vector<Affine> expected(elements, folded(members, call));
            for (const auto& place : job.places) {
                ASSERT_EQ(place->output, expected) << replay(seed);
            }
        }
    }
}

// Whoever waits names its neighbours that are late, and no others.
TEST(ArrivalExecutor, SaysForWhomItWaits) {
    Job job(4, 3);  // a star: member 0, rank 3, in the middle
    for (const uint32_t member : {0u, 1u, 3u}) job.arrive(member, 1, 1, false, false);
    for (int turn = 0; turn < 10; ++turn) {
        for (const uint32_t member : {0u, 1u, 3u}) {
            EXPECT_NE(job.places[member]->executor.step(), Step::kDone);
        }
    }
    EXPECT_EQ(job.places[0]->executor.waits_for(), std::vector<uint32_t>{1});
    EXPECT_EQ(job.places[1]->executor.waits_for(), std::vector<uint32_t>{3});
}

TEST(ArrivalExecutor, AFailureIsFinal) {
    Job job(3, 2);
    job.arrive(0, 1, 1, false, false);
    job.network.broken = true;
    EXPECT_EQ(job.places[0]->executor.step(), Step::kFailed);
    EXPECT_EQ(job.places[0]->executor.error(), "the cable is out");
    job.network.broken = false;
    EXPECT_EQ(job.places[0]->executor.step(), Step::kFailed);
    job.places[0]->executor.cancel();
    EXPECT_EQ(job.places[0]->executor.error(), "the cable is out");
}

}  // namespace
}  // namespace tutti::test
