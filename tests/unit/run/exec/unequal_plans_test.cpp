// SPDX-License-Identifier: BSD-3-Clause
// Plans of vector forms whose lengths all ranks know, run for real with the node level around them.
// Lengths, places and steps are drawn by seed.
#include <numeric>

#include "base/prng.h"
#include "base/topo/placement.h"
#include "lab/simulate/node_simulator.h"
#include "plan/algo/plan.h"
#include "sim/seeds.h"
#include "unit/base/topo/switch_trees.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using topo::Placement;

constexpr uint32_t kUntouched = 0x77777777;

uint32_t value_of(uint32_t rank, uint64_t element) {
    return static_cast<uint32_t>(rank * 1'000'003 + element * 17);
}

// Elements of each rank's block, at least one of them not empty.
std::vector<uint64_t> draw_lengths(Prng& prng, uint32_t ranks) {
    constexpr uint64_t kMost[] = {3, 100, 3000};
    const uint64_t most = kMost[prng.below(std::size(kMost))];
    std::vector<uint64_t> elements(ranks);
    for (uint64_t& one : elements) one = prng.below(3) == 0 ? 0 : prng.below(most + 1);
    if (prng.below(4) == 0) std::ranges::fill(elements, prng.below(most));
    elements[prng.below(ranks)] = 1 + prng.below(10 * most);
    return elements;
}

Placement draw_placement(Prng& prng) {
    const auto hosts = static_cast<uint32_t>(2 + prng.below(5));
    const auto ranks = static_cast<uint32_t>(hosts + prng.below(12));
    const uint64_t way = prng.below(3);
    Placement placement = way == 0   ? Placement::blocks(ranks, hosts)
                          : way == 1 ? Placement::round_robin(ranks, hosts)
                                     : Placement(topo::hosts_at_random(ranks, hosts, prng.next()));
    if (prng.below(2) == 0) {
        placement.set_switches(
            topo::test::random_switches(prng, static_cast<uint32_t>(1 + prng.below(5)), hosts));
    }
    return placement;
}

struct Member {
    Member(Network& network, Bus& bus, uint32_t rank, node::Team team)
        : node(std::move(team)),
          endpoint(network, rank),
          route(bus, rank),
          executor(node.size > 1 ? &node : nullptr, endpoint, &route) {}
    node::Team node;
    Network::Endpoint endpoint;
    Bus::End route;
    exec::Executor executor;
    std::unique_ptr<sched::Program> program;
    std::vector<uint32_t> input;
    std::vector<uint32_t> output;
    const uint32_t* in = nullptr;
};

// A team, of which the same executors run one plan after the other.
class Team {
  public:
    explicit Team(const Placement& placement) : placement_(placement), bus_(placement.ranks()) {
        for (uint32_t node = 0; node < placement.nodes(); ++node) {
            const auto members = static_cast<uint32_t>(placement.members(node).size());
            slices_.push_back(std::make_unique<simulate::SimSlice>(members, 1024));
        }
        for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
            const uint32_t node = placement.node_of(rank);
            simulate::SimTeam team;
            team.ranks = static_cast<uint32_t>(placement.members(node).size());
            team.chunk_bytes = 1024;
            members_.push_back(std::make_unique<Member>(
                network_, bus_, rank,
                simulate::sim_rank(team, *slices_[node], placement.index_on_node(rank))));
        }
    }

    // Empty, or what is wrong.
    std::string call(const algo::Algorithm& algorithm, const std::vector<uint64_t>& elements,
                     const algo::Tuning& tuning, bool is_in_place, Prng& prng) {
        elements_ = elements;
        is_reduction_ = is_reduction(algorithm.collective);
        std::vector<uint64_t> bytes;
        for (const uint64_t one : elements) bytes.push_back(one * sizeof(uint32_t));
        const sched::OwnLengths lengths(bytes);
        sched::Shape shape;
        shape.collective = algorithm.collective;
        shape.ranks = placement_.ranks();
        shape.bytes = std::ranges::max(bytes);
        shape.element_bytes = sizeof(uint32_t);
        shape.has_multicast = true;
        shape.lengths = lengths.view();
        if (!algo::plan_obstacle(algorithm, shape, placement_, tuning).empty()) return {};
        const uint64_t scratch = algo::plan_scratch_bytes(algorithm, shape, placement_, tuning);
        ++number_;
        for (uint32_t rank = 0; rank < members_.size(); ++rank) {
            Member& member = *members_[rank];
            member.program = algo::make_plan(algorithm, shape, placement_, rank, tuning);
            fill(rank, is_in_place && !is_reduction_);
            if (!member.executor.reserve(member.program->extent(), scratch)) return "no scratch";
            member.executor.start(*member.program, number_,
                                  {reinterpret_cast<const std::byte*>(member.in),
                                   bytes_of(member.output), sum_u32()});
        }
        if (!drive(members_, prng)) return "it does not end";
        for (uint32_t rank = 0; rank < members_.size(); ++rank) {
            const std::string wrong = check(rank);
            if (!wrong.empty()) return "rank " + std::to_string(rank) + ": " + wrong;
        }
        return {};
    }

  private:
    [[nodiscard]] uint64_t before(uint32_t rank) const {
        return std::accumulate(elements_.begin(), elements_.begin() + rank, uint64_t{0});
    }
    void fill(uint32_t rank, bool is_in_place) {
        Member& member = *members_[rank];
        const uint64_t all = before(static_cast<uint32_t>(elements_.size()));
        const uint64_t inputs = is_reduction_ ? all : elements_[rank];
        const uint64_t outputs = is_reduction_ ? elements_[rank] : all;
        member.input.resize(inputs);
        for (uint64_t i = 0; i < inputs; ++i) member.input[i] = value_of(rank, i);
        member.output.assign(outputs, kUntouched);
        member.in = member.input.data();
        if (!is_in_place) return;
        uint32_t* const own = member.output.data() + before(rank);
        std::ranges::copy(member.input, own);
        member.in = own;
    }

    [[nodiscard]] std::string check(uint32_t rank) const {
        const Member& member = *members_[rank];
        uint64_t at = 0;
        const auto is_right = [&](uint32_t right) { return member.output[at] == right; };
        const auto wrong = [&] { return "element " + std::to_string(at) + " is wrong"; };
        if (is_reduction_) {
            for (; at < elements_[rank]; ++at) {
                uint32_t sum = 0;
                for (uint32_t i = 0; i < members_.size(); ++i) {
                    sum += value_of(i, before(rank) + at);
                }
                if (!is_right(sum)) return wrong();
            }
            return {};
        }
        for (uint32_t of = 0; of < members_.size(); ++of) {
            for (uint64_t i = 0; i < elements_[of]; ++i, ++at) {
                if (!is_right(value_of(of, i))) return wrong();
            }
        }
        return {};
    }

    const Placement& placement_;
    Network network_;
    Bus bus_;
    std::vector<std::unique_ptr<simulate::SimSlice>> slices_;
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<uint64_t> elements_;
    bool is_reduction_ = false;
    uint32_t number_ = 0;
};

std::string run_seed(uint64_t seed) {
    Prng prng(seed);
    const Placement placement = draw_placement(prng);
    Team team(placement);
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (facts(algorithm.collective).lengths != Lengths::kKnownToAll) continue;
        algo::Tuning tuning;
        tuning.flat = prng.below(4) == 0;
        if (algorithm.has_fan_in) tuning.fan_in = static_cast<uint32_t>(prng.below(4));
        if (algorithm.has_pieces && prng.below(2) == 0) tuning.segment_bytes = 4 + prng.below(700);
        const std::vector<uint64_t> elements = draw_lengths(prng, placement.ranks());
        const std::string wrong = team.call(algorithm, elements, tuning, prng.below(2) == 0, prng);
        if (wrong.empty()) continue;
        return std::string(collective_name(algorithm.collective)) + " " +
               std::string(algorithm.name) + ", " + std::to_string(placement.ranks()) +
               " ranks on " + std::to_string(placement.nodes()) +
               (tuning.flat ? " hosts, flat: " : " hosts: ") + wrong;
    }
    return {};
}

TEST(UnequalPlans, GiveTheRightBytes) {
    for_each_seed(500, [](uint64_t seed) { EXPECT_EQ(run_seed(seed), ""); });
}

}  // namespace
}  // namespace tutti::test
