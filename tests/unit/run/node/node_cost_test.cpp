// SPDX-License-Identifier: BSD-3-Clause
// What cost_of says that a rank writes is what a call leaves in the shared memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "lab/simulate/node_simulator.h"
#include "run/node/cost.h"
#include "run/node/detail.h"
#include "run/node/node_algorithms.h"
#include "sim/script.h"

namespace tutti::node {
namespace {

void or_bytes(void* out, const void* left, const void* right, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        static_cast<uint8_t*>(out)[i] =
            static_cast<const uint8_t*>(left)[i] | static_cast<const uint8_t*>(right)[i];
    }
}

// New memory is all zero, and no payload byte is.
uint64_t payload_in(const std::byte* memory, size_t bytes) {
    return static_cast<uint64_t>(
        std::count_if(memory, memory + bytes, [](std::byte byte) { return byte != std::byte{}; }));
}

uint64_t payload_in_slot(const Slot& slot) {
    uint64_t bytes = payload_in(slot.spare, kLinePayloadBytes);
    for (size_t line = 0; line < kSlotLines; ++line) {
        std::byte* const at = slot.lines + line * kLineBytes;
        // Where a long block stands is none of its bytes.
        if (flag_bytes(line_flag(at).load()) == kSizeMax) continue;
        bytes += payload_in(at, kLinePayloadBytes);
    }
    return bytes;
}

// What the first call has left where `rank` writes.
uint64_t written_by(const Slice& slice, Rank rank, const Call& call) {
    uint64_t bytes =
        payload_in_slot(slice.up_slot(rank, slice.geometry.slot_place(1))) +
        payload_in_slot(slice.down_slot(rank, slice.geometry.slot_place(1))) +
        payload_in(slice.chunk(rank, 0), slice.geometry.chunk_count * slice.geometry.chunk_bytes);
    const bool is_scatter = facts(call.collective).marked_by == MarkedBy::kRecv;
    if (is_scatter && rank == call.root) {
        for (Rank other = 0; other < slice.geometry.ranks; ++other) {
            bytes += payload_in_slot(slice.inbox_slot(other, slice.geometry.slot_place(1), rank));
        }
    }
    return bytes;
}

// By leaders in turn: what an inner rank hands down stands where it had folded.
uint64_t written_again(const Team& team, const Op& op) {
    uint64_t bytes = 0;
    for (Rank turn = 0; turn < op.turns && op.call.collective == TUTTI_ALLREDUCE; ++turn) {
        const Rank role = role_of(team.layout, team.rank, turn, op.turns);
        const bool is_inner = role != team.layout.root && !team.layout.children[role].empty();
        if (is_inner) bytes += part_of(op, op.call.bytes, op.turns, turn).bytes;
    }
    return bytes;
}

// Of a vector form: blocks of `call.bytes` and, from every second rank on, shorter ones.
struct Lengths {
    void add_to(Call& call, Rank rank, Rank ranks) {
        const bool is_between_all = tutti::is_between_all(call.collective);
        const auto length = [&](Rank from, Rank to) {
            return call.bytes / (1 + (is_between_all ? from + to : std::max(from, to)) % 3);
        };
        // Known to all are those of givers, or of takers.
        const bool folds = is_reduction(call.collective);
        const bool is_all = facts(call.collective).lengths == tutti::Lengths::kKnownToAll;
        uint64_t send_end = 0, recv_end = 0;
        for (Rank other = 0; other < ranks; ++other) {
            send_bytes.push_back(length(is_all ? 0 : rank, other));
            recv_bytes.push_back(length(other, is_all ? 0 : rank));
            send_offsets.push_back(send_end);
            recv_offsets.push_back(recv_end);
            send_end += send_bytes.back();
            recv_end += recv_bytes.back();
        }
        blocks = {send_bytes.data(), send_offsets.data(), recv_bytes.data(), recv_offsets.data()};
        call.blocks = &blocks;
        call.own_bytes = is_all ? (folds ? send_bytes : recv_bytes)[rank] : length(rank, call.root);
        if (has_private_lengths(call.collective)) call.bytes = 0;
    }
    std::vector<uint64_t> send_bytes, send_offsets, recv_bytes, recv_offsets;
    tutti_blocks blocks{};
};

class NodeCost : public testing::Test {
  protected:
    // Runs one call on new memory and compares; by the one that is named for it, if any is.
    void expect_written(const simulate::SimTeam& shape, tutti_collective collective, Rank root,
                        size_t bytes) {
        const Algorithm* named = shape.named[collective];
        SCOPED_TRACE(std::string(tutti_collective_name(collective)) + " of " +
                     std::to_string(bytes) + " bytes, " + std::to_string(shape.ranks) +
                     " ranks, root " + std::to_string(root) +
                     (shape.layout.flat ? ", flat" : ", tree"));
        simulate::NodeSimulator simulator(shape, 1);
        std::vector<std::byte> send(shape.ranks * bytes, std::byte{0x5a});
        std::vector<std::byte> recv(shape.ranks * shape.ranks * bytes, std::byte{0x5a});
        std::vector<Call> calls(shape.ranks);
        std::vector<Lengths> lengths(shape.ranks);
        for (Rank rank = 0; rank < shape.ranks; ++rank) {
            Call& call = calls[rank];
            call.collective = collective;
            call.root = root;
            call.bytes = bytes;
            call.send = collective == TUTTI_BCAST ? nullptr : send.data();
            call.recv = recv.data() + rank * shape.ranks * bytes;
            call.reducer = {or_bytes, nullptr, nullptr, 1};
            if (has_lengths(collective)) lengths[rank].add_to(call, rank, shape.ranks);
            simulator.add_call(rank, call);
        }
        ASSERT_TRUE(simulator.run());
        Team bare;
        bare.size = shape.ranks;
        bare.layout = shape.layout;
        bare.slice.geometry = simulator.rank(0).slice.geometry;
        uint64_t written = 0;
        uint64_t read = 0;
        for (bare.rank = 0; bare.rank < bare.size; ++bare.rank) {
            const Call& call = calls[bare.rank];
            const Cost cost = named ? cost_of(bare, call, *named) : cost_of(bare, call);
            const uint64_t again = named ? written_again(bare, planned(bare, call, *named)) : 0;
            EXPECT_EQ(cost.written_bytes,
                      written_by(simulator.rank(0).slice, bare.rank, call) + again)
                << "rank " << bare.rank;
            EXPECT_GE(cost.read_bytes, cost.folded_bytes) << "rank " << bare.rank;
            written += cost.written_bytes;
            read += cost.read_bytes;
        }
        EXPECT_EQ(written == 0, read == 0);
    }
};

// Both kinds of layout, every root, sizes in slots and in chunks, whole pieces and odd ones; few
// enough that no chunk is written twice.
TEST_F(NodeCost, IsWhatACallLeaves) {
    Prng prng(1);
    for (const uint32_t ranks : {2u, 3u, 4u, 5u, 9u}) {
        for (const bool is_flat : {true, false}) {
            simulate::SimTeam shape;
            shape.ranks = ranks;
            shape.chunk_bytes = 4096;
            do {
                shape.layout = test::random_tree(prng, ranks);
            } while (shape.layout.flat);
            if (is_flat) shape.layout = {};
            for (int one = 0; one < TUTTI_COLLECTIVE_COUNT; ++one) {
                const auto collective = static_cast<tutti_collective>(one);
                for (Rank root = 0; root < ranks; ++root) {
                    for (const size_t bytes : {8, 1024, 1025, 3000, 3333}) {
                        expect_written(shape, collective, root,
                                       collective == TUTTI_BARRIER ? 0 : bytes);
                    }
                }
            }
        }
    }
}

// Of two ranks, the second one's of a broadcast and of an allgather, and the root's of a gather.
TEST_F(NodeCost, TellsWhatOthersWriteFirstAndWhatStaysAtHome) {
    Team team;
    team.size = 2;
    team.slice.geometry = Geometry::make(2, 16 * 1024);
    team.rank = 1;
    const auto cost = [&](tutti_collective collective, Rank root, size_t bytes) {
        Call call;
        call.collective = collective;
        call.root = root;
        call.bytes = bytes;
        call.reducer = {or_bytes, nullptr, nullptr, 1};
        return cost_of(team, call);
    };
    EXPECT_EQ(cost(TUTTI_BCAST, 0, 1000).first_bytes, 1000u);
    EXPECT_EQ(cost(TUTTI_BCAST, 0, 64 << 10).first_bytes, 8u << 10);
    EXPECT_EQ(cost(TUTTI_BCAST, 1, 64 << 10).first_bytes, 0u);
    EXPECT_EQ(cost(TUTTI_BCAST, 0, 64 << 10).own_bytes, 0u);
    EXPECT_EQ(cost(TUTTI_GATHER, 1, 64 << 10).first_bytes, 8u << 10);
    EXPECT_EQ(cost(TUTTI_GATHER, 1, 64 << 10).own_bytes, 64u << 10);
    EXPECT_EQ(cost(TUTTI_GATHER, 0, 64 << 10).own_bytes, 0u);
    EXPECT_EQ(cost(TUTTI_ALLGATHER, 0, 64 << 10).first_bytes, 0u);
    EXPECT_EQ(cost(TUTTI_ALLGATHER, 0, 64 << 10).own_bytes, 64u << 10);
    EXPECT_EQ(cost(TUTTI_REDUCE, 1, 8 << 10).own_bytes, 0u);
    EXPECT_EQ(cost(TUTTI_ALLREDUCE, 0, 256 << 10).own_bytes, 128u << 10);
}

// A reduction by shares, of more than 32 KiB of all ranks together.
TEST_F(NodeCost, CountsSharesOfEveryLength) {
    for (const uint32_t ranks : {2u, 4u, 7u}) {
        simulate::SimTeam shape;
        shape.ranks = ranks;
        shape.chunk_bytes = 4096;
        for (const size_t bytes : {16385, 20000, 32768}) {
            expect_written(shape, TUTTI_ALLREDUCE, 0, bytes);
            expect_written(shape, TUTTI_REDUCE, ranks - 1, bytes);
        }
    }
}

// Along trees of every form, with groups that are cut off and shares that are shorter than others.
TEST_F(NodeCost, CountsLeadersInTurn) {
    Prng prng(2);
    for (const uint32_t ranks : {2u, 3u, 5u, 9u, 16u}) {
        for (int form = 0; form < 4; ++form) {
            simulate::SimTeam shape;
            shape.ranks = ranks;
            shape.chunk_bytes = 4096;
            shape.layout = test::random_tree(prng, ranks);
            for (const tutti_collective one : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
                shape.named[one] = find(one, "turns");
                for (const size_t bytes : {8, 1025, 3333, 8191}) {
                    expect_written(shape, one, static_cast<Rank>(form % ranks), bytes);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tutti::node
