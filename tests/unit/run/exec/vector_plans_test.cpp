// SPDX-License-Identifier: BSD-3-Clause
// Plans of vector forms whose lengths only pairs of ranks know, run for real: one plan for calls of
// any lengths, which the executor reads anew for each. Lengths, places and steps are drawn by seed.
#include <numeric>
#include <optional>

#include "base/prng.h"
#include "base/topo/placement.h"
#include "lab/check/pair_blocks.h"
#include "plan/algo/plan.h"
#include "sim/seeds.h"
#include "unit/base/topo/switch_trees.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using check::PairBlocks;
using topo::Placement;

constexpr std::byte kUntouched{0x77};

std::byte data_byte(uint64_t index) {
    return static_cast<std::byte>((index * 0x9e3779b97f4a7c15u) >> 56);
}

struct Member {
    Member(Network& network, uint32_t rank)
        : endpoint(network, rank), executor(nullptr, endpoint) {}
    Network::Endpoint endpoint;
    exec::Executor executor;
    std::unique_ptr<sched::Program> program;
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::byte* in = nullptr;
    std::byte* out = nullptr;
};

// A team whose ranks keep their plans from call to call.
class VectorTeam {
  public:
    VectorTeam(const algo::Algorithm& algorithm, sched::Rank root, const Placement& placement,
               const algo::Tuning& tuning)
        : collective_(algorithm.collective), root_(root) {
        sched::Shape shape;
        shape.collective = collective_;
        shape.ranks = placement.ranks();
        shape.root = root;
        for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
            members_.push_back(std::make_unique<Member>(network_, rank));
            Member& member = *members_.back();
            member.program = algo::make_plan(algorithm, shape, placement, rank, tuning);
            EXPECT_TRUE(member.executor.reserve(member.program->extent(), 0));
        }
    }

    // Empty, or what is wrong.
    std::string call(const PairBlocks& blocks, bool is_in_place, Prng& prng) {
        ++number_;
        for (uint32_t rank = 0; rank < members_.size(); ++rank) {
            fill(rank, blocks, is_in_place);
            Member& member = *members_[rank];
            exec::Arguments arguments{member.in, member.out, {}};
            arguments.has_private_lengths = true;
            member.program->set_blocks(blocks.of(rank));
            member.executor.start(*member.program, number_, arguments);
        }
        if (!drive(members_, prng)) return "it does not end";
        for (uint32_t rank = 0; rank < members_.size(); ++rank) {
            const std::string wrong = check(rank, blocks, is_in_place);
            if (!wrong.empty()) return "rank " + std::to_string(rank) + ": " + wrong;
        }
        return {};
    }

  private:
    void fill(uint32_t rank, const PairBlocks& blocks, bool is_in_place) {
        Member& member = *members_[rank];
        const Collective& what = facts(collective_);
        member.input.assign(blocks.input_bytes(rank), std::byte{});
        member.output.assign(blocks.output_bytes(rank), kUntouched);
        member.in = member.input.data();
        member.out = member.output.data();
        if (is_in_place && may_be_in_place(collective_, rank, root_)) {
            const auto at = static_cast<ptrdiff_t>(blocks.own_offset(rank));
            if (what.in_place == InPlace::kInputInOutput) member.in = member.out + at;
            if (what.in_place == InPlace::kOutputInInput) member.out = member.in + at;
        }
        for (const PairBlocks::Stretch& one : blocks.inputs(rank)) {
            for (uint64_t i = 0; i < one.bytes; ++i) {
                member.in[one.offset + i] = data_byte(one.data + i);
            }
        }
    }

    [[nodiscard]] std::string check(uint32_t rank, const PairBlocks& blocks,
                                    bool is_in_place) const {
        const Member& member = *members_[rank];
        const bool is_inside = is_in_place && member.out != member.output.data();
        std::vector<std::byte> right(member.output.size(), kUntouched);
        for (const PairBlocks::Stretch& one : blocks.outputs(rank)) {
            for (uint64_t i = 0; i < one.bytes; ++i) {
                right[one.offset + i] = data_byte(one.data + i);
            }
        }
        for (size_t i = 0; i < right.size(); ++i) {
            if (member.out[i] != right[i]) return "byte " + std::to_string(i) + " is wrong";
        }
        if (is_inside && member.output != std::vector<std::byte>(right.size(), kUntouched)) {
            return "the output is elsewhere, and was written";
        }
        return {};
    }

    tutti_collective collective_;
    sched::Rank root_;
    Network network_;
    std::vector<std::unique_ptr<Member>> members_;
    uint32_t number_ = 0;
};

Placement draw_placement(Prng& prng) {
    const auto hosts = static_cast<uint32_t>(2 + prng.below(6));
    const auto ranks = static_cast<uint32_t>(hosts + prng.below(10));
    Placement placement =
        prng.below(2) == 0 ? Placement::blocks(ranks, hosts) : Placement::round_robin(ranks, hosts);
    if (prng.below(2) == 0) {
        placement.set_switches(
            topo::test::random_switches(prng, static_cast<uint32_t>(1 + prng.below(5)), hosts));
    }
    return placement;
}

PairBlocks draw_blocks(Prng& prng, tutti_collective collective, sched::Rank root, uint32_t ranks) {
    const uint64_t bytes_max = prng.below(4) == 0 ? 0 : 1 + prng.below(5000);
    std::vector<uint64_t> bytes(size_t{ranks} * ranks);
    for (uint64_t& one : bytes) one = prng.below(3) == 0 ? 0 : prng.below(bytes_max + 1);
    return {collective, root, ranks, bytes, prng.next()};
}

std::string run_seed(uint64_t seed) {
    Prng prng(seed);
    std::vector<const algo::Algorithm*> some;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (has_private_lengths(one.collective)) some.push_back(&one);
    }
    const algo::Algorithm& algorithm = *some[prng.below(some.size())];
    const Placement placement = draw_placement(prng);
    const uint32_t ranks = placement.ranks();
    const bool is_rooted = has_root(algorithm.collective);
    const auto root = static_cast<sched::Rank>(is_rooted ? prng.below(ranks) : 0);
    algo::Tuning tuning;
    if (algorithm.has_fan_in) tuning.fan_in = static_cast<uint32_t>(prng.below(4));
    if (algorithm.has_pieces && prng.below(2) == 0) tuning.segment_bytes = 1 + prng.below(700);
    const std::string what = std::string(collective_name(algorithm.collective)) + " " +
                             std::string(algorithm.name) + ", " + std::to_string(ranks) +
                             " ranks, root " + std::to_string(root) + ", call ";
    VectorTeam team(algorithm, root, placement, tuning);
    for (int call = 0; call < 4; ++call) {
        const PairBlocks blocks = draw_blocks(prng, algorithm.collective, root, ranks);
        const std::string wrong = team.call(blocks, prng.below(2) == 0, prng);
        if (!wrong.empty()) return what + std::to_string(call) + ": " + wrong;
    }
    return {};
}

TEST(VectorPlans, GiveTheRightBytes) {
    for_each_seed(1000, [](uint64_t seed) { EXPECT_EQ(run_seed(seed), ""); });
}

}  // namespace
}  // namespace tutti::test
