// SPDX-License-Identifier: BSD-3-Clause
// Plans run for real: executors over a network in memory and the real state machines of node/, all
// ranks in one thread, stepped in an order drawn by a seed. What check/prove proves in the abstract
// is compared here with the bytes that come out.
#include <cstdlib>
#include <numeric>

#include "base/prng.h"
#include "lab/simulate/node_simulator.h"
#include "plan/algo/plan.h"
#include "sim/seeds.h"
#include "unit/failing_memory.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using sched::Shape;
using topo::Placement;

struct Case {
    Shape shape;
    bool in_place = false;
    algo::Tuning tuning;
};

// What goes wrong in a call, by a seed; 0: nothing.
class Faults {
  public:
    explicit Faults(uint64_t seed) : is_on_(seed != 0), prng_(seed) {}
    // The allocation of a rank's reserve() that fails.
    long failing_allocation() { return is_on_ ? static_cast<long>(prng_.below(12)) : -1; }
    // A rank that is to step next is late by so many turns.
    uint64_t turns_late() { return is_on_ && prng_.below(64) == 0 ? prng_.below(1000) : 0; }

  private:
    bool is_on_;
    Prng prng_;
};

// All ranks of one call, their memory and the team they stand in.
class Run {
  public:
    Run(const Case& what, const Placement& placement)
        : case_(what), shape_(what.shape), placement_(placement), bus_(placement.ranks()) {
        for (uint32_t node = 0; node < placement.nodes(); ++node) {
            const auto members = static_cast<uint32_t>(placement.members(node).size());
            slices_.push_back(std::make_unique<simulate::SimSlice>(members, 1024));
        }
        for (uint32_t rank = 0; rank < placement.ranks(); ++rank) add_rank(rank);
    }

    // Runs one algorithm; the same executors and node teams run the next.
    void run(const algo::Algorithm& algorithm, uint64_t seed, Faults faults = Faults(0)) {
        const uint64_t scratch =
            algo::plan_scratch_bytes(algorithm, shape_, placement_, case_.tuning);
        std::vector<std::unique_ptr<sched::Program>> programs;
        ++call_;
        for (uint32_t rank = 0; rank < placement_.ranks(); ++rank) {
            programs.push_back(algo::make_plan(algorithm, shape_, placement_, rank, case_.tuning));
            Place& place = *places_[rank];
            fill(rank, place);
            const sched::Extent extent = programs.back()->extent();
            reserve_in_vain(place.executor, extent, scratch, faults.failing_allocation());
            const auto reserved = place.executor.reserve(extent, scratch);
            ASSERT_TRUE(static_cast<bool>(reserved)) << reserved.error().message;
            place.has_scratch |= extent.lanes * extent.scratch_bytes > 0;
        }
        const auto with_scratch =
            std::ranges::count_if(places_, [](const auto& one) { return one->has_scratch; });
        ASSERT_EQ(network_.exposed.size(), static_cast<size_t>(with_scratch));
        for (uint32_t rank = 0; rank < placement_.ranks(); ++rank) {
            Place& place = *places_[rank];
            place.executor.start(*programs[rank], call_, arguments(place));
        }
        drive(seed, faults);
        if (!testing::Test::HasFatalFailure()) compare();
    }

  private:
    struct Place {
        Place(Network& network, Bus& bus, uint32_t rank, node::Team team)
            : node(std::move(team)),
              endpoint(network, rank),
              route(bus, rank),
              executor(node.size > 1 ? &node : nullptr, endpoint, &route) {}
        node::Team node;
        Network::Endpoint endpoint;
        Bus::End route;
        exec::Executor executor;
        bool has_scratch = false;
        std::vector<Affine> input;
        std::vector<Affine> output;
        std::vector<Affine> original;
        const Affine* in = nullptr;
        Affine* out = nullptr;
    };

    void add_rank(uint32_t rank) {
        const uint32_t node = placement_.node_of(rank);
        simulate::SimTeam team;
        team.ranks = static_cast<uint32_t>(placement_.members(node).size());
        team.chunk_bytes = 1024;
        places_.push_back(std::make_unique<Place>(
            network_, bus_, rank,
            simulate::sim_rank(team, *slices_[node], placement_.index_on_node(rank))));
    }

    [[nodiscard]] size_t elements() const { return shape_.bytes / sizeof(Affine); }
    [[nodiscard]] bool is_root(uint32_t rank) const { return rank == shape_.root; }
    static Affine value(uint32_t rank, size_t i) {
        return {static_cast<uint32_t>(2 * i + 2 * rank + 3), static_cast<uint32_t>(i * 77 + rank)};
    }

    // Buffers as plan/sched/program.h has them; garbage where nothing is significant yet.
    void fill(uint32_t rank, Place& place) {
        const size_t n = elements();
        const uint32_t ranks = placement_.ranks();
        const tutti_collective what = shape_.collective;
        const Collective& row = facts(what);
        place.input.assign(n * (row.input.holds == Holds::kAll ? ranks : 1), {});
        place.output.assign(n * (row.output.holds == Holds::kAll ? ranks : 1), {9, 9});
        for (size_t i = 0; i < place.input.size(); ++i) place.input[i] = value(rank, i);
        place.original = place.input;
        if (what == TUTTI_BCAST && is_root(rank)) place.output = place.input;
        const bool has_in = input_blocks(what, rank, shape_.root, ranks) > 0;
        const bool has_out = output_blocks(what, rank, shape_.root, ranks) > 0;
        place.in = has_in ? place.input.data() : nullptr;
        place.out = has_out ? place.output.data() : nullptr;
        if (!case_.in_place || !may_be_in_place(what, rank, shape_.root)) return;
        const size_t at = row.inner_at == InnerAt::kOwnBlock ? rank * n : 0;
        if (row.in_place == InPlace::kOutputInInput) {
            place.out = place.input.data() + at;
            return;
        }
        std::copy(place.input.begin(), place.input.end(),
                  place.output.begin() + static_cast<ptrdiff_t>(at));
        place.in = place.output.data() + at;
    }

    [[nodiscard]] exec::Arguments arguments(const Place& place) const {
        exec::Arguments arguments;
        arguments.input = reinterpret_cast<const std::byte*>(place.in);
        arguments.output = reinterpret_cast<std::byte*>(place.out);
        arguments.reducer = {nullptr, apply_affine, nullptr, sizeof(Affine)};
        if (shape_.is_commutative) arguments.reducer = sum_u32();
        return arguments;
    }

    // That allocation of it fails. If it needs fewer, all memory is there.
    static void reserve_in_vain(exec::Executor& executor, const sched::Extent& extent,
                                uint64_t scratch, long failing_allocation) {
        has_failed = false;
        bool is_reserved = false;
        left_until_failure = failing_allocation;
        try {
            is_reserved = static_cast<bool>(executor.reserve(extent, scratch));
        } catch (const std::bad_alloc&) {
            EXPECT_TRUE(has_failed);
        }
        left_until_failure = -1;
        EXPECT_EQ(is_reserved, !has_failed);
    }

    void drive(uint64_t seed, Faults& faults) {
        Prng prng(seed);
        std::vector<uint64_t> late(placement_.ranks());
        std::vector<uint32_t> running(placement_.ranks());
        std::iota(running.begin(), running.end(), 0);
        for (uint64_t idle = 0; !running.empty();) {
            const size_t i = prng.below(running.size());
            uint64_t& turns_late = late[running[i]];
            if (turns_late == 0) turns_late = faults.turns_late();
            if (turns_late > 0) {
                --turns_late;
                continue;
            }
            const Step step = places_[running[i]]->executor.step();
            ASSERT_NE(step, Step::kFailed);
            if (step == Step::kDone) running.erase(running.begin() + static_cast<ptrdiff_t>(i));
            idle = step == Step::kBlocked ? idle + 1 : 0;
            ASSERT_LT(idle, 2000 * placement_.ranks()) << "deadlock";
        }
    }

    [[nodiscard]] Affine expected(uint32_t rank, size_t i) const {
        const size_t n = elements();
        const Origin from = origin(shape_.collective, rank, shape_.root, placement_.ranks(),
                                   static_cast<uint32_t>(i / n));
        const size_t at = from.block * n + i % n;
        Affine sum = value(from.first, at);
        for (uint32_t of = from.first + 1; of <= from.last; ++of) {
            const Affine next = value(of, at);
            sum = shape_.is_commutative ? Affine{sum.a + next.a, sum.b + next.b} : then(sum, next);
        }
        return sum;
    }
    void compare() const {
        if (shape_.collective == TUTTI_BARRIER) return;
        for (uint32_t rank = 0; rank < placement_.ranks(); ++rank) {
            const Place& place = *places_[rank];
            if (place.out) {
                for (size_t i = 0; i < place.output.size(); ++i) {
                    ASSERT_EQ(place.out[i], expected(rank, i)) << "rank " << rank << " at " << i;
                }
            }
            if (!case_.in_place) {
                ASSERT_EQ(place.input, place.original) << "rank " << rank;
            }
        }
    }

    Case case_;
    Shape shape_;
    const Placement& placement_;
    Network network_;
    Bus bus_;
    std::vector<std::unique_ptr<simulate::SimSlice>> slices_;
    std::vector<std::unique_ptr<Place>> places_;
    uint32_t call_ = 0;
};

std::vector<Placement> placements() {
    std::vector<Placement> result;
    for (const auto& [ranks, nodes] : std::vector<std::pair<uint32_t, uint32_t>>{
             {1, 1}, {3, 1}, {3, 3}, {4, 2}, {7, 3}, {9, 4}, {12, 5}}) {
        result.push_back(Placement::blocks(ranks, nodes));
        if (nodes > 1 && nodes < ranks) result.push_back(Placement::round_robin(ranks, nodes));
    }
    // Nodes of very different sizes, contiguous or not.
    result.emplace_back(std::vector<uint64_t>{0, 1, 1, 1, 1, 2, 3, 3});
    result.emplace_back(std::vector<uint64_t>{5, 5, 7, 5, 9, 7, 5, 5, 2});
    return result;
}

void run_all(const Case& what, const Placement& placement, uint64_t seed) {
    Run run(what, placement);
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != what.shape.collective) continue;
        if (!algo::plan_obstacle(algorithm, what.shape, placement, what.tuning).empty()) continue;
        SCOPED_TRACE(std::string(tutti_collective_name(algorithm.collective)) + " " +
                     std::string(algorithm.name) + " of " + std::to_string(what.shape.bytes) +
                     " bytes, " + std::to_string(placement.ranks()) + " ranks on " +
                     std::to_string(placement.nodes()) + " nodes, root " +
                     std::to_string(what.shape.root) + ", segments of " +
                     std::to_string(what.tuning.segment_bytes) + ", leaders " +
                     std::to_string(what.tuning.leaders) + (what.in_place ? ", in place" : "") +
                     (what.shape.is_commutative ? "" : ", in order"));
        run.run(algorithm, seed);
        if (testing::Test::HasFatalFailure()) return;
    }
}

class Plans : public testing::TestWithParam<int> {};

TEST_P(Plans, GiveTheRightBytes) {
    const bool is_brief = std::getenv("TESTS_BRIEF") != nullptr;
    Case what;
    what.shape.collective = static_cast<tutti_collective>(GetParam());
    what.shape.element_bytes = sizeof(Affine);
    what.shape.has_multicast = true;
    uint64_t seed = 1;
    for (const Placement& placement : placements()) {
        what.shape.ranks = placement.ranks();
        for (const uint64_t elements : {1, 5, 300, 3000}) {
            what.shape.bytes = elements * sizeof(Affine);
            if (what.shape.collective == TUTTI_BARRIER) {
                if (elements > 1) break;
                what.shape.bytes = 0;
            }
            // Long blocks take other ways through the node and the plan, with any root alike.
            const uint32_t stride = elements > 1000 ? 7 : 1;
            if (elements > 1000 && (placement.ranks() < 7 || placement.ranks() > 9)) continue;
            for (uint32_t root = 0; root < placement.ranks(); root += stride) {
                what.shape.root = root;
                for (const uint32_t bits : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
                    // Of the eight, two at a root, in turn.
                    if (is_brief && (bits + root) % 4 != 0) continue;
                    what.in_place = (bits & 1) != 0;
                    what.shape.is_commutative = (bits & 2) != 0;
                    what.tuning = {};
                    if ((bits & 4) != 0) {
                        what.tuning = {elements > 1000 ? 5000u : 40u, 3, 0, 2, false};
                    }
                    run_all(what, placement, ++seed);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

std::string collective_of(const testing::TestParamInfo<int>& one) {
    return tutti_collective_name(static_cast<tutti_collective>(one.param));
}
// Of a fault a rank's memory is short when it sees a shape for the first time, and later in its
// steps. The executors run several algorithms one after the other, so memory grows.
std::string run_with_faults(uint64_t seed) {
    Prng prng(seed);
    const std::vector<Placement> all = placements();
    const Placement& placement = all[prng.below(all.size())];
    Case what;
    what.shape.collective = static_cast<tutti_collective>(prng.below(TUTTI_COLLECTIVE_COUNT));
    what.shape.ranks = placement.ranks();
    what.shape.root = static_cast<sched::Rank>(prng.below(placement.ranks()));
    what.shape.element_bytes = sizeof(Affine);
    what.shape.has_multicast = true;
    what.shape.is_commutative = prng.below(2) == 0;
    what.in_place = prng.below(2) == 0;
    const bool is_barrier = what.shape.collective == TUTTI_BARRIER;
    what.shape.bytes = is_barrier ? 0 : (1 + prng.below(400)) * sizeof(Affine);
    const int64_t living = living_allocations;
    {
        Run run(what, placement);
        for (const algo::Algorithm& algorithm : algo::algorithms()) {
            if (algorithm.collective != what.shape.collective) continue;
            if (!algo::plan_obstacle(algorithm, what.shape, placement, what.tuning).empty()) {
                continue;
            }
            run.run(algorithm, prng.next(), Faults(1 + prng.next() / 2));
            if (testing::Test::HasFailure()) return std::string(algorithm.name);
        }
    }
    return living_allocations == living ? "" : "memory is left behind";
}

TEST(PlansUnderFaults, GiveTheRightBytes) {
    for_each_seed(1000, [](uint64_t seed) { EXPECT_EQ(run_with_faults(seed), ""); });
}

INSTANTIATE_TEST_SUITE_P(All, Plans, testing::Range(0, int{TUTTI_COLLECTIVE_COUNT}), collective_of);

}  // namespace
}  // namespace tutti::test
