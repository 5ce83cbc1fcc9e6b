// SPDX-License-Identifier: BSD-3-Clause
// Plans of vector forms whose lengths only pairs of ranks know, run for real: one plan for calls of
// any lengths, which the executor reads anew for each. Lengths, places and steps are drawn by seed.
#include <map>
#include <numeric>
#include <optional>

#include "base/prng.h"
#include "base/topo/placement.h"
#include "lab/check/pair_blocks.h"
#include "lab/simulate/node_simulator.h"
#include "plan/algo/plan.h"
#include "plan/sched/bundle_rules.h"
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
    Member(Network& network, uint32_t rank, node::Team team)
        : node(std::move(team)),
          endpoint(network, rank),
          executor(node.size > 1 ? &node : nullptr, endpoint) {}
    node::Team node;
    Network::Endpoint endpoint;
    exec::Executor executor;
    std::unique_ptr<sched::Program> program;
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::byte* in = nullptr;
    std::byte* out = nullptr;
};

// Of receivers that have more room than is sent: the lengths and offsets that they give.
struct Room {
    std::vector<uint64_t> bytes;
    std::vector<uint64_t> offsets;
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
        simulate::SimTeam team;
        team.chunk_bytes = 1024;
        for (uint32_t node = 0; node < placement.nodes(); ++node) {
            const auto ranks = static_cast<uint32_t>(placement.members(node).size());
            slices_.push_back(std::make_unique<simulate::SimSlice>(ranks, team.chunk_bytes));
        }
        const uint64_t scratch = algo::plan_scratch_bytes(algorithm, shape, placement, tuning);
        for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
            const uint32_t node = placement.node_of(rank);
            team.ranks = static_cast<uint32_t>(placement.members(node).size());
            const uint32_t index = placement.index_on_node(rank);
            members_.push_back(std::make_unique<Member>(
                network_, rank, simulate::sim_rank(team, *slices_[node], index)));
            Member& member = *members_.back();
            member.program = algo::make_plan(algorithm, shape, placement, rank, tuning);
            EXPECT_TRUE(member.executor.reserve(member.program->extent(), scratch));
        }
    }

    // Empty, or what is wrong.
    // has_room: some receivers have more room than is sent to them.
    std::string call(const PairBlocks& blocks, bool is_in_place, Prng& prng,
                     bool has_room = false) {
        ++number_;
        for (uint32_t rank = 0; rank < members_.size(); ++rank) {
            fill(rank, blocks, is_in_place);
            Member& member = *members_[rank];
            sched::CallBlocks given = blocks.of(rank);
            if (has_room) give_room(rank, given, prng);
            exec::Arguments arguments{member.in, member.out, {}};
            arguments.has_private_lengths = true;
            member.program->set_blocks(given);
            member.executor.start(*member.program, number_, arguments);
        }
        if (!drive(members_, prng)) return "it does not end";
        for (uint32_t rank = 0; rank < members_.size(); ++rank) {
            if (has_room) take_room(rank, blocks);
            const std::string wrong = check(rank, blocks, is_in_place);
            if (!wrong.empty()) return "rank " + std::to_string(rank) + ": " + wrong;
        }
        return {};
    }

    // Those for whom each rank of the first node waits, while no other one has begun.
    std::vector<std::vector<sched::Rank>> waits_of_first_node(const PairBlocks& blocks,
                                                              uint32_t ranks) {
        ++number_;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            fill(rank, blocks, false);
            Member& member = *members_[rank];
            member.program->set_blocks(blocks.of(rank));
            member.executor.start(*member.program, number_, {member.in, member.out, {}});
        }
        for (int step = 0; step < 100; ++step) {
            for (uint32_t rank = 0; rank < ranks; ++rank) members_[rank]->executor.step();
        }
        std::vector<std::vector<sched::Rank>> waits;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            waits.push_back(members_[rank]->executor.waits_for());
            EXPECT_EQ(members_[rank]->executor.waits_for_messages(), !waits.back().empty());
            members_[rank]->executor.cancel();
        }
        return waits;
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

    // Blocks one after the other, of other ranks some longer than they are.
    void give_room(uint32_t rank, sched::CallBlocks& given, Prng& prng) {
        Room& room = rooms_[rank];
        room = {};
        uint64_t end = 0;
        for (uint32_t from = 0; from < members_.size(); ++from) {
            const uint64_t bytes = given.output_bytes[from];
            const bool is_longer = bytes > 0 && from != rank && prng.below(2) == 0;
            room.bytes.push_back(bytes + (is_longer ? prng.below(600) : 0));
            room.offsets.push_back(end);
            end += room.bytes.back();
        }
        given.output_bytes = room.bytes.data();
        given.output_offsets = room.offsets.data();
        members_[rank]->output.assign(end, kUntouched);
        members_[rank]->out = members_[rank]->output.data();
    }
    // To where blocks without more room would have come; what is behind one is untouched.
    void take_room(uint32_t rank, const PairBlocks& blocks) {
        Member& member = *members_[rank];
        std::vector<std::byte> output(blocks.output_bytes(rank), kUntouched);
        const std::vector<PairBlocks::Stretch> stretches = blocks.outputs(rank);
        for (uint32_t from = 0; from < members_.size(); ++from) {
            const std::byte* block = member.out + rooms_[rank].offsets[from];
            std::copy_n(block, stretches[from].bytes, output.data() + stretches[from].offset);
            for (uint64_t i = stretches[from].bytes; i < rooms_[rank].bytes[from]; ++i) {
                EXPECT_EQ(block[i], kUntouched);
            }
        }
        member.output = std::move(output);
        member.out = member.output.data();
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
    std::vector<std::unique_ptr<simulate::SimSlice>> slices_;
    std::vector<std::unique_ptr<Member>> members_;
    std::map<uint32_t, Room> rooms_;  // by rank
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

// Many about as long as the longest that goes in a bundle.
PairBlocks draw_blocks(Prng& prng, tutti_collective collective, sched::Rank root, uint32_t ranks) {
    constexpr uint64_t kMost[] = {0, 20, 2 * sched::kBundledBytesMax, 5000};
    const uint64_t bytes_max = kMost[prng.below(std::size(kMost))];
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

// As a wrong program does, which runs under MPIs.
std::string run_seed_with_room(uint64_t seed) {
    Prng prng(seed);
    const Placement placement = draw_placement(prng);
    for (const std::string_view name : {"linear", "pairwise", "leaders"}) {
        VectorTeam team(*algo::find(TUTTI_ALLTOALLV, name), 0, placement, {});
        for (int call = 0; call < 4; ++call) {
            const PairBlocks blocks = draw_blocks(prng, TUTTI_ALLTOALLV, 0, placement.ranks());
            const std::string wrong = team.call(blocks, false, prng, true);
            if (wrong.empty()) continue;
            return std::string(name) + ", " + std::to_string(placement.ranks()) + " ranks, call " +
                   std::to_string(call) + ": " + wrong;
        }
    }
    return {};
}

TEST(VectorPlans, ReceiversMayHaveMoreRoom) {
    for_each_seed(500, [](uint64_t seed) { EXPECT_EQ(run_seed_with_room(seed), ""); });
}

// Three nodes of two ranks. Rank 0 leads for node 1, whose leader for node 0 is rank 3; rank 1 for
// node 2, whose leader is rank 4.
TEST(VectorPlans, NameTheLeadersWhoseBundlesAreMissing) {
    const Placement placement = Placement::blocks(6, 3);
    VectorTeam team(*algo::find(TUTTI_ALLTOALLV, "leaders"), 0, placement, {});
    const PairBlocks blocks(TUTTI_ALLTOALLV, 0, 6, std::vector<uint64_t>(36, 8), 0);
    const std::vector<std::vector<sched::Rank>> waits = {{3}, {4}};
    EXPECT_EQ(team.waits_of_first_node(blocks, 2), waits);
}

TEST(VectorPlans, GiveTheRightBytes) {
    for_each_seed(1000, [](uint64_t seed) { EXPECT_EQ(run_seed(seed), ""); });
}

}  // namespace
}  // namespace tutti::test
