// SPDX-License-Identifier: BSD-3-Clause
// The vector forms by the C interface, with threads as ranks; these run under the thread sanitizer
// too. Nothing here depends on how fast anything is.
#include <gtest/gtest.h>

#include "base/collectives.h"
#include "sim/seeds.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/exchanges.h"

namespace tutti::test {
namespace {

constexpr tutti_collective kForms[] = {TUTTI_GATHERV,   TUTTI_SCATTERV,  TUTTI_ALLGATHERV,
                                       TUTTI_ALLTOALLV, TUTTI_ALLTOALLW, TUTTI_REDUCE_SCATTER};

Spec spec_of(tutti_collective form, uint32_t root, size_t bytes, uint64_t seed, Fold fold) {
    const size_t element = is_reduction(form) ? fold_bytes(fold) : 1;
    return {form, has_root(form) ? root : 0, bytes / element * element, fold, seed};
}

// Every form with each of these as its longest block, and now and then others that use the rings.
Exchanges draw_forms(uint32_t ranks, const std::vector<size_t>& lengths, Fold fold) {
    Exchanges exchanges;
    const auto add = [&](const Spec& spec) {
        exchanges.push_back(std::make_unique<Exchange>(spec, ranks));
    };
    for (const size_t bytes : lengths) {
        for (const tutti_collective form : kForms) {
            const auto seed = static_cast<uint64_t>(exchanges.size());
            add(spec_of(form, static_cast<uint32_t>(seed % ranks), bytes, seed, fold));
        }
        add({TUTTI_BCAST, ranks - 1, 100 * 1024, fold, bytes});
        if (bytes % 3 == 0) add({TUTTI_ALLGATHER, 0, 100 * 1024 / ranks, fold, bytes});
    }
    return exchanges;
}

void run_forms(const ContextPtr& context, uint32_t ranks, const std::vector<size_t>& lengths,
               Fold fold = Fold::kXorU64) {
    const Exchanges exchanges = draw_forms(ranks, lengths, fold);
    run_crew(context.get(), ranks, [&](uint32_t rank, tutti_team* team) {
        for (const auto& exchange : exchanges) {
            const tutti_call call = exchange->call(rank);
            ASSERT_EQ(tutti_run(team, &call), TUTTI_OK) << describe(exchange->spec());
        }
        for (const auto& exchange : exchanges) ASSERT_EQ(exchange->check(rank), "");
    });
}

TEST(VectorForms, OfUpToNineRanks) {
    const std::vector<size_t> lengths = {0,    1,      8,      55,     56,     57,     112,
                                         340,  1023,   1024,   1025,   2047,   2048,   2049,
                                         4096, 16'383, 16'384, 16'385, 40'000, 200'001};
    for (uint32_t ranks = 1; ranks <= 9; ++ranks) {
        run_forms(make_context({"TUTTI_CHUNK=2K"}), ranks, lengths,
                  ranks % 2 == 0 ? Fold::kXorU64 : Fold::kTriangle);
        ASSERT_FALSE(HasFailure()) << ranks << " ranks";
    }
}

TEST(VectorForms, OfFortyRanks) {
    run_forms(make_context({"TUTTI_CHUNK=4K"}), 40, {8, 16, 57, 1025, 5000});
}

// Chunks as they are where nobody sets them.
TEST(VectorForms, OfLongRings) {
    run_forms(make_context({}), 3, {1025, 16'385, 1'000'003, 3'000'000});
}

// Several requests under way, finished in any order the caller likes, then all started again.
TEST(VectorForms, RequestsQueueAndStartAgain) {
    constexpr uint32_t kRanks = 3;
    const ContextPtr context = make_context({"TUTTI_CHUNK=1K"});
    const Exchanges exchanges = draw_forms(kRanks, {30, 3000}, Fold::kSumU32);
    run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
        std::vector<tutti_request> requests(exchanges.size());
        for (size_t i = 0; i < exchanges.size(); ++i) {
            const tutti_call call = exchanges[i]->call(rank);
            ASSERT_EQ(tutti_request_init(&requests[i], team, &call), TUTTI_OK);
        }
        for (int turn = 0; turn < 3; ++turn) {
            for (tutti_request& request : requests) {
                ASSERT_EQ(tutti_request_start(&request), TUTTI_OK);
            }
            ASSERT_NO_FATAL_FAILURE(complete_turn(team, rank, requests, exchanges, turn));
        }
    });
}

// ---- ranks that disagree ------------------------------------------------------------------------

// Of a rank: room for a block each way to and from all others.
struct Blocks {
    explicit Blocks(uint32_t ranks, uint64_t bytes)
        : send(ranks * kRoom),
          recv(ranks * kRoom),
          send_bytes(ranks, bytes),
          recv_bytes(ranks, bytes) {
        for (uint32_t i = 0; i < ranks; ++i) offsets.push_back(i * kRoom);
    }
    static constexpr uint64_t kRoom = 8192;  // of a block
    [[nodiscard]] tutti_call call(tutti_collective form) {
        const bool folds = form == TUTTI_REDUCE_SCATTER;
        blocks = {send_bytes.data(), (folds ? close_up() : offsets).data(), recv_bytes.data(),
                  offsets.data()};
        tutti_call call{};
        call.collective = form;
        call.send = send.data();
        call.recv = recv.data();
        call.dtype = TUTTI_UINT8;
        call.blocks = &blocks;
        return call;
    }
    // Blocks to be folded stand one after the other.
    const std::vector<uint64_t>& close_up() {
        closed.assign(1, 0);
        for (const uint64_t bytes : send_bytes) closed.push_back(closed.back() + bytes);
        return closed;
    }
    std::vector<uint8_t> send, recv;
    std::vector<uint64_t> send_bytes, recv_bytes, offsets, closed;
    tutti_blocks blocks{};
};

// Rank 0 waits for `taken` bytes of rank 2, which sends `given`.
void expect_found(uint64_t given, uint64_t taken) {
    SCOPED_TRACE(std::to_string(given) + " for " + std::to_string(taken));
    const ContextPtr context = make_context({});
    run_crew(context.get(), 3, [&](uint32_t rank, tutti_team* team) {
        Blocks blocks(3, 8);
        if (rank == 0) blocks.recv_bytes[2] = taken;
        if (rank == 2) blocks.send_bytes[0] = given;
        const tutti_call call = blocks.call(TUTTI_ALLTOALLV);
        const tutti_status status = tutti_run(team, &call);
        // A rank that has all its blocks hears of it in the next call.
        const tutti_call barrier{};
        EXPECT_EQ(status == TUTTI_OK ? tutti_run(team, &barrier) : status, TUTTI_ERR_MISMATCH);
        EXPECT_STREQ(tutti_team_message(team),
                     "the crew: rank 0: call 1 is alltoallv: rank 2 sends another length than rank "
                     "0 waits for");
    });
}

// Each of two ranks waits for a block, and sends none: neither writes anything.
TEST(VectorForms, RanksThatWaitForEachOtherAreFoundOut) {
    for (const uint64_t bytes : {8, 5000}) {
        const ContextPtr context = make_context({});
        run_crew(context.get(), 2, [&](uint32_t rank, tutti_team* team) {
            Blocks blocks(2, 0);
            blocks.recv_bytes[1 - rank] = bytes;
            const tutti_call call = blocks.call(TUTTI_ALLTOALLV);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MISMATCH);
            EXPECT_NE(std::string(tutti_team_message(team)).find("sends another length than rank"),
                      std::string::npos);
        });
    }
}

// The last rank offers its blocks, and rank 0 goes on without its own. The others may read theirs.
void expect_passed_over(const std::vector<uint64_t>& given, const std::string& taker) {
    SCOPED_TRACE("for " + taker);
    const ContextPtr context = make_context({"TUTTI_SINGLE_COPY=on"});
    const auto ranks = static_cast<uint32_t>(given.size());
    run_crew(context.get(), ranks, [&](uint32_t rank, tutti_team* team) {
        Blocks blocks(ranks, 0);
        if (rank == ranks - 1) blocks.send_bytes = given;
        if (rank > 0) blocks.recv_bytes[ranks - 1] = given[rank];
        const tutti_call call = blocks.call(TUTTI_ALLTOALLV);
        const tutti_status status = tutti_run(team, &call);
        if (rank == ranks - 1) {
            EXPECT_EQ(status, TUTTI_ERR_MISMATCH);
        }
        const tutti_call barrier{};
        EXPECT_EQ(status == TUTTI_OK ? tutti_run(team, &barrier) : status, TUTTI_ERR_MISMATCH);
        const std::string own = std::to_string(ranks - 1);
        EXPECT_EQ(tutti_team_message(team),
                  "the crew: rank " + own + ": call 1 is alltoallv: rank " + own +
                      " sends another length than " + taker + " waits for");
    });
}

TEST(VectorForms, WhoPassesOverAnOfferIsFoundOut) {
    expect_passed_over({5000, 0}, "rank 0");
    expect_passed_over({5000, 8, 0}, "rank 0");
    // Offers count readers and do not name them. Rank 1 reads, so the message names no taker.
    expect_passed_over({5000, 5000, 0}, "a rank");
}

TEST(VectorForms, OtherLengthsAreFoundOut) {
    expect_found(100, 8);
    expect_found(0, 8);
    expect_found(5000, 8);
    expect_found(0, 5000);
}

// One pair of ranks differs, as a seed has it.
struct Uneven {
    uint32_t ranks = 2;
    tutti_collective form = TUTTI_ALLTOALLV;
    uint32_t root = 0;
    std::vector<std::vector<uint64_t>> given;  // by giver and taker
    uint32_t from = 0, to = 1;                 // the pair
    uint64_t taken = 0;                        // what `to` waits for
    const char* single = "";                   // the setting
    [[nodiscard]] uint64_t waited_for(uint32_t giver, uint32_t taker) const {
        return giver == from && taker == to ? taken : given[giver][taker];
    }
    [[nodiscard]] std::string text() const {
        return std::string(tutti_collective_name(form)) + " of " + std::to_string(ranks) +
               " ranks, root " + std::to_string(root) + ": " + std::to_string(from) + " sends " +
               std::to_string(to) + " " + std::to_string(given[from][to]) + " for " +
               std::to_string(taken) + ", " + single;
    }
};

// No cell of an alltoallv of so few ranks is shorter.
constexpr uint64_t kCellMax = 200;

Uneven draw_uneven(uint64_t seed) {
    constexpr uint64_t kLengths[] = {0, 1, 8, 56, 57, 300, 1024, 1025, 5000, 8192};
    constexpr tutti_collective kPairs[] = {TUTTI_GATHERV, TUTTI_SCATTERV, TUTTI_ALLTOALLV,
                                           TUTTI_ALLTOALLW};
    Prng prng(seed);
    Uneven one;
    one.ranks = static_cast<uint32_t>(2 + prng.below(4));
    one.form = kPairs[prng.below(std::size(kPairs))];
    one.root = static_cast<uint32_t>(prng.below(one.ranks));
    one.given.assign(one.ranks, std::vector<uint64_t>(one.ranks));
    for (auto& of_giver : one.given) {
        for (uint64_t& bytes : of_giver) bytes = kLengths[prng.below(std::size(kLengths))];
    }
    const auto other =
        static_cast<uint32_t>((one.root + 1 + prng.below(one.ranks - 1)) % one.ranks);
    one.from = one.form == TUTTI_GATHERV ? other : one.root;
    one.to = one.form == TUTTI_GATHERV ? one.root : other;
    // It is not seen where both ends have it through the ring, nor is a difference that is none.
    do {
        one.taken = kLengths[prng.below(std::size(kLengths))];
    } while (one.taken == one.given[one.from][one.to] ||
             (one.taken > kCellMax && one.given[one.from][one.to] > kCellMax));
    one.single = prng.below(2) == 0 ? "TUTTI_SINGLE_COPY=on" : "TUTTI_SINGLE_COPY=off";
    return one;
}

uint8_t byte_of(uint32_t giver, uint32_t taker, uint64_t at) {
    return static_cast<uint8_t>(31 * giver + 7 * taker + at);
}

// Whether a rank's results are right, but for the block of which there are two opinions: of that as
// much as both have, where a rank sees how long it is.
std::string wrong_in(const Uneven& one, uint32_t rank, const Blocks& blocks) {
    for (uint32_t giver = 0; giver < one.ranks; ++giver) {
        const bool is_there = one.form == TUTTI_GATHERV    ? rank == one.root
                              : one.form == TUTTI_SCATTERV ? giver == one.root
                                                           : true;
        if (!is_there) continue;
        const bool is_odd = giver == one.from && rank == one.to;
        uint64_t bytes = one.given[giver][rank];
        if (is_odd && bytes != one.taken) bytes = bytes > kCellMax ? 0 : std::min(bytes, one.taken);
        for (uint64_t at = 0; at < bytes; ++at) {
            if (blocks.recv[giver * Blocks::kRoom + at] != byte_of(giver, rank, at)) {
                return "a wrong byte at " + std::to_string(at) + " of rank " +
                       std::to_string(giver);
            }
        }
    }
    return "";
}

void run_uneven(const Uneven& one) {
    SCOPED_TRACE(one.text());
    const ContextPtr context = make_context({"TUTTI_CHUNK=1K", one.single});
    run_crew(context.get(), one.ranks, [&](uint32_t rank, tutti_team* team) {
        Blocks blocks(one.ranks, 0);
        for (uint32_t other = 0; other < one.ranks; ++other) {
            blocks.send_bytes[other] = one.given[rank][other];
            blocks.recv_bytes[other] = one.waited_for(other, rank);
            for (uint64_t at = 0; at < Blocks::kRoom; ++at) {
                blocks.send[other * Blocks::kRoom + at] = byte_of(rank, other, at);
            }
        }
        tutti_call call = blocks.call(one.form);
        call.root = one.root;
        const uint64_t at_root = one.root * Blocks::kRoom;
        if (one.form == TUTTI_GATHERV) {
            call.send = blocks.send.data() + at_root;
            call.bytes = blocks.send_bytes[one.root];
        }
        if (one.form == TUTTI_SCATTERV) {
            call.recv = blocks.recv.data() + at_root;
            call.bytes = blocks.recv_bytes[one.root];
        }
        const tutti_status status = tutti_run(team, &call);
        EXPECT_TRUE(status == TUTTI_OK || status == TUTTI_ERR_MISMATCH)
            << status << ": " << tutti_team_message(team);
        if (status == TUTTI_OK) {
            EXPECT_EQ(wrong_in(one, rank, blocks), "") << "rank " << rank;
        }
        const uint64_t given = one.given[one.from][one.to];
        if (rank == one.to && given <= kCellMax && given > one.taken && one.taken > 0) {
            EXPECT_EQ(status, TUTTI_ERR_MISMATCH);
        }
    });
}

TEST(VectorForms, RanksThatDifferAreNeverStuck) {
    const Seeds seeds = Seeds::wanted(60);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        run_uneven(draw_uneven(seed));
        ASSERT_FALSE(HasFailure()) << replay(seed);
    }
}

// All lengths of an allgatherv or reduce_scatter are known to all.
TEST(VectorForms, CheckComparesLengths) {
    const ContextPtr context = make_context({"TUTTI_CHECK=1"});
    run_crew(context.get(), 3, [&](uint32_t rank, tutti_team* team) {
        for (const tutti_collective form : {TUTTI_ALLGATHERV, TUTTI_REDUCE_SCATTER}) {
            Blocks blocks(3, 8);
            if (form == TUTTI_REDUCE_SCATTER) blocks.offsets = {0, 8, 16};
            const tutti_call good = blocks.call(form);
            EXPECT_EQ(tutti_run(team, &good), TUTTI_OK) << tutti_team_message(team);
            // The longest is as long on all.
            auto& lengths = form == TUTTI_REDUCE_SCATTER ? blocks.send_bytes : blocks.recv_bytes;
            if (rank == 1) lengths[2] = 4;
            const tutti_call call = blocks.call(form);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MISMATCH);
            const std::string message = tutti_team_message(team);
            const std::string name = tutti_collective_name(form);
            const bool folds = form == TUTTI_REDUCE_SCATTER;
            EXPECT_NE(message.find("ranks 0, 2: " + name + (folds ? " SUM" : "") +
                                   " 8 bytes a block at most, lengths #"),
                      std::string::npos)
                << message;
            EXPECT_NE(message.find("; rank 1: " + name), std::string::npos) << message;
        }
        // Those of pairs are theirs alone.
        Blocks blocks(3, 8);
        if (rank == 1) blocks.send_bytes[2] = 4;
        if (rank == 2) blocks.recv_bytes[1] = 4;
        const tutti_call call = blocks.call(TUTTI_ALLTOALLV);
        EXPECT_EQ(tutti_run(team, &call), TUTTI_OK) << tutti_team_message(team);
    });
}

// A call is chosen before its buffers are there, also where a rank has nothing to move.
TEST(VectorForms, BuffersLater) {
    const ContextPtr context = make_context({});
    run_crew(context.get(), 3, [&](uint32_t rank, tutti_team* team) {
        for (const uint64_t bytes : {uint64_t{8}, uint64_t{5000}}) {
            Blocks blocks(3, 0);
            if (rank < 2) blocks.send_bytes[1 - rank] = blocks.recv_bytes[1 - rank] = bytes;
            std::fill(blocks.send.begin(), blocks.send.end(), static_cast<uint8_t>(rank + 1));
            tutti_call call = blocks.call(TUTTI_ALLTOALLV);
            call.send = call.recv = nullptr;
            call.buffers_later = 1;
            ASSERT_EQ(tutti_run(team, &call), TUTTI_CHOSEN) << tutti_team_message(team);
            ASSERT_EQ(tutti_resume(team, blocks.send.data(), blocks.recv.data()), TUTTI_OK);
            if (rank == 2) continue;
            const uint64_t last = (1 - rank) * Blocks::kRoom + bytes - 1;
            EXPECT_EQ(blocks.recv[last], 2 - rank);
            EXPECT_EQ(blocks.recv[last + 1], 0);
        }
    });
}

// One member would send another one more than a ring has rounds for: all hear of it.
TEST(VectorForms, ABlockThatIsTooLongEndsTheCallOfAll) {
    constexpr uint32_t kRanks = 9;
    for (const char* single : {"TUTTI_SINGLE_COPY=on", "TUTTI_SINGLE_COPY=off"}) {
        const ContextPtr context = make_context({"TUTTI_CHUNK=1K", single});
        run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
            Blocks blocks(kRanks, 8);
            if (rank == 2) blocks.send_bytes[5] = uint64_t{1} << 40;
            if (rank == 5) blocks.recv_bytes[2] = uint64_t{1} << 40;
            const tutti_call call = blocks.call(TUTTI_ALLTOALLV);
            EXPECT_EQ(tutti_run(team, &call), TUTTI_ERR_MEMORY);
            const std::string why = tutti_team_message(team);
            EXPECT_NE(why.find("a block takes more than 2^26 rounds"), std::string::npos) << why;
            EXPECT_NE(why.find("TUTTI_CHUNK"), std::string::npos) << why;
        });
    }
}

TEST(VectorForms, MalformedCalls) {
    const ContextPtr context = make_context({});
    run_crew(context.get(), 2, [](uint32_t rank, tutti_team* team) {
        const auto expect = [&](const tutti_call& call, tutti_status status, const char* what) {
            tutti_request request;
            EXPECT_EQ(tutti_request_init(&request, team, &call), status) << what;
        };
        Blocks blocks(2, 8);
        for (const tutti_collective form : kForms) {
            tutti_call call = blocks.call(form);
            expect(call, TUTTI_OK, tutti_collective_name(form));
            call.blocks = nullptr;
            expect(call, TUTTI_ERR_ARGUMENT, tutti_collective_name(form));
        }
        tutti_call call = blocks.call(TUTTI_ALLTOALLV);
        blocks.blocks.send_bytes = nullptr;
        expect(call, TUTTI_ERR_ARGUMENT, "no lengths");
        call = blocks.call(TUTTI_ALLGATHERV);
        blocks.blocks.send_bytes = blocks.blocks.send_offsets = nullptr;
        expect(call, TUTTI_OK, "allgatherv sends one");
        blocks.blocks.recv_offsets = nullptr;
        expect(call, TUTTI_ERR_ARGUMENT, "no offsets");
        // What is not significant is not looked at.
        call = blocks.call(TUTTI_GATHERV);
        blocks.blocks.recv_bytes = nullptr;
        expect(call, rank == 0 ? TUTTI_ERR_ARGUMENT : TUTTI_OK, "gatherv");
        call = blocks.call(TUTTI_REDUCE_SCATTER);
        call.dtype = TUTTI_UINT64;
        expect(call, TUTTI_OK, "whole elements");
        call.bytes = 3;
        expect(call, TUTTI_OK, "bytes say nothing");
        blocks.send_bytes[1] = 4;
        expect(call, TUTTI_ERR_ARGUMENT, "half an element");
        blocks.send_bytes[1] = 8;
        blocks.closed[1] = 16;
        expect(call, TUTTI_ERR_ARGUMENT, "a gap");
    });
}

}  // namespace
}  // namespace tutti::test
