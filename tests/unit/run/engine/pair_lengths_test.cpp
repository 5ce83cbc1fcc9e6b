// SPDX-License-Identifier: BSD-3-Clause
// Vector forms whose lengths only pairs of ranks know, across pretended hosts, by seed: whole
// teams, a thread a rank. And ranks that differ in the length of a block.
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <tuple>

#include "base/prng.h"
#include "lab/check/pair_blocks.h"
#include "sim/seeds.h"
#include "unit/run/engine/hosts.h"
#include "unit/run/engine/later.h"

namespace tutti::test {
namespace {

using check::PairBlocks;

constexpr std::byte kUntouched{0x77};

std::byte data_byte(uint64_t index) {
    return static_cast<std::byte>((index * 0x9e3779b97f4a7c15u) >> 56);
}

// A call of all ranks.
struct VectorCall {
    tutti_collective collective = TUTTI_ALLTOALLV;
    uint32_t root = 0;
    bool is_in_place = false;  // where it may be
    PairBlocks blocks;
};

// One rank's part of it, in memory of its own.
class Part {
  public:
    Part(const VectorCall& whole, uint32_t rank) : whole_(whole), rank_(rank) {
        const PairBlocks& blocks = whole.blocks;
        input_.resize(blocks.input_bytes(rank));
        output_.assign(blocks.output_bytes(rank), kUntouched);
        right_ = output_;
        for (const PairBlocks::Stretch& one : blocks.inputs(rank)) write(input_, one);
        for (const PairBlocks::Stretch& one : blocks.outputs(rank)) write(right_, one);
        const sched::CallBlocks given = blocks.of(rank);
        blocks_ = {given.input_bytes, given.input_offsets, given.output_bytes,
                   given.output_offsets};
        call_.collective = whole.collective;
        call_.root = whole.root;
        call_.bytes = given.own_bytes;
        call_.blocks = &blocks_;
        call_.send = input_.data();
        call_.recv = output_.data();
        if (whole.is_in_place && may_be_in_place(whole.collective, rank, whole.root)) mark();
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    [[nodiscard]] const tutti_call& call() const { return call_; }
    // Empty, or what is wrong.
    [[nodiscard]] std::string check() const {
        if (call_.recv == TUTTI_IN_PLACE) return {};
        for (size_t i = 0; i < right_.size(); ++i) {
            if (output_[i] != right_[i]) return "byte " + std::to_string(i) + " is wrong";
        }
        return {};
    }

  private:
    static void write(std::vector<std::byte>& memory, const PairBlocks::Stretch& one) {
        for (uint64_t i = 0; i < one.bytes; ++i) memory[one.offset + i] = data_byte(one.data + i);
    }
    void mark() {
        if (facts(whole_.collective).marked_by == MarkedBy::kRecv) {
            call_.recv = TUTTI_IN_PLACE;
            return;
        }
        std::copy(input_.begin(), input_.end(),
                  output_.begin() + static_cast<ptrdiff_t>(whole_.blocks.own_offset(rank_)));
        call_.send = TUTTI_IN_PLACE;
    }

    const VectorCall& whole_;
    uint32_t rank_;
    std::vector<std::byte> input_, output_, right_;
    tutti_blocks blocks_{};
    tutti_call call_{};
};

VectorCall draw_call(Prng& prng, uint32_t ranks) {
    constexpr tutti_collective kForms[] = {TUTTI_GATHERV, TUTTI_SCATTERV, TUTTI_ALLTOALLV,
                                           TUTTI_ALLTOALLW};
    const tutti_collective collective = kForms[prng.below(std::size(kForms))];
    const auto root = static_cast<uint32_t>(has_root(collective) ? prng.below(ranks) : 0);
    constexpr uint64_t kMost[] = {0, 10, 300, 5000, 70'000};
    const uint64_t most = kMost[prng.below(std::size(kMost))];
    std::vector<uint64_t> bytes(size_t{ranks} * ranks);
    for (uint64_t& one : bytes) one = prng.below(3) == 0 ? 0 : prng.below(most + 1);
    return {collective, root, prng.below(2) == 0,
            PairBlocks(collective, root, ranks, bytes, prng.next())};
}

std::string run_seed(uint64_t seed) {
    Prng prng(seed);
    const auto ranks = static_cast<uint32_t>(2 + prng.below(6));
    const std::string hosts = "TUTTI_HOSTS=" + std::to_string(2 + prng.below(ranks - 1)) +
                              (prng.below(2) == 0 ? ":round-robin" : "");
    constexpr const char* kAlgorithms[] = {
        "TUTTI_ALLTOALLV=pairwise", "TUTTI_ALLTOALLV=linear:fan_in=2,segment=300",
        "TUTTI_ALLTOALLV=leaders", "TUTTI_ALLTOALLV=leaders:fan_in=2,segment=300"};
    const char* algorithm = kAlgorithms[prng.below(std::size(kAlgorithms))];
    constexpr size_t kEager[] = {0, 300, size_t{1} << 30};
    constexpr uint32_t kTagMax[] = {(1 << 28) - 1, 32'767};
    Log log;
    const ContextPtr context = make_context({hosts.c_str(), algorithm, "TUTTI_MCAST=off"}, &log);
    Meeting meeting(ranks);
    Mailbox mailbox(ranks, kEager[prng.below(std::size(kEager))],
                    kTagMax[prng.below(std::size(kTagMax))]);
    std::vector<VectorCall> calls;
    for (int i = 0; i < 8; ++i) calls.push_back(draw_call(prng, ranks));
    std::mutex mutex;
    std::string wrong;
    run_threads(ranks, [&](uint32_t rank) {
        tutti_p2p p2p = mailbox.callbacks(rank);
        p2p.probe = nullptr;  // a note to a rank that has left would be left over
        const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        tutti_team* team = made.team.get();
        std::string what;
        for (size_t i = 0; i < calls.size() && what.empty(); ++i) {
            const Part part(calls[i], rank);
            const tutti_status status = tutti_run(team, &part.call());
            what = status == TUTTI_OK ? part.check() : tutti_team_message(team);
            if (!what.empty()) what = "call " + std::to_string(i) + ": " + what;
        }
        if (!what.empty()) tutti_team_give_up(team, "it is wrong");
        const std::lock_guard lock(mutex);
        if (!what.empty()) wrong += "\nrank " + std::to_string(rank) + ": " + what;
    });
    if (wrong.empty() && mailbox.under_way() != 0) wrong = "messages that nobody wanted";
    return log.is_empty() ? wrong : wrong + "\n" + log.lines().front();
}

TEST(VectorForms, RunAcrossHosts) {
    for_each_seed(200, [](uint64_t seed) { EXPECT_EQ(run_seed(seed), ""); });
}

// Ranks on two hosts, of which rank 0 sends so many bytes to another one, the last one unless said
// otherwise, which has room for others. What that says of it, and what has come to it.
struct Told {
    tutti_status status = TUTTI_OK;
    std::string text;
    size_t bytes = 0;  // that differ from what was there before
};
enum class Cancel { kAtOnce, kWhenAskedOften, kNever };
Told differ(tutti_collective collective, size_t sent, size_t room, uint32_t ranks = 2,
            Cancel cancel = Cancel::kAtOnce, std::optional<uint32_t> receiver = {}) {
    Log log;
    const ContextPtr context =
        make_context({"TUTTI_HOSTS=2", "TUTTI_MCAST=off", "TUTTI_ALLTOALLV=leaders"}, &log);
    Meeting meeting(ranks);
    Mailbox mailbox(ranks);
    const uint32_t to = receiver.value_or(ranks - 1);
    Told told;
    run_threads(ranks, [&](uint32_t rank) {
        Failing inner{mailbox.callbacks(rank), [](size_t) { return false; }};
        tutti_p2p p2p = inner.callbacks();
        if (cancel == Cancel::kNever) p2p.cancel = nullptr;
        if (cancel == Cancel::kWhenAskedOften) {
            p2p.cancel = [](void* user, void** request, int* done) {
                thread_local int times = 0;
                *done = 0;
                return ++times % 4 == 0 ? Failing::cancel(user, request, done) : 0;
            };
        }
        const Made made = make_team(context.get(), meeting, rank, "the crew", &p2p);
        ASSERT_EQ(made.status, TUTTI_OK) << made.message;
        const std::vector<std::byte> in(sent, std::byte{1});
        std::vector<std::byte> out(room + 64, std::byte{0});
        const std::vector<uint64_t> offsets(ranks);
        std::vector<uint64_t> sends(ranks);
        std::vector<uint64_t> receives(ranks);
        if (rank == 0) sends[to] = sent;
        if (rank == to) receives[0] = room;
        const tutti_blocks blocks{sends.data(), offsets.data(), receives.data(), offsets.data()};
        tutti_call call{};
        call.collective = collective;
        call.root = to;
        call.bytes = has_root(collective) && rank == 0 ? sent : 0;
        call.blocks = &blocks;
        call.send = in.data();
        call.recv = out.data();
        const tutti_status status = tutti_run(made.team.get(), &call);
        if (rank != to) return;
        told.status = status;
        told.text = status == TUTTI_OK ? "" : tutti_team_message(made.team.get());
        told.bytes = static_cast<size_t>(std::count(out.begin(), out.end(), std::byte{1}));
    });
    EXPECT_EQ(log.is_empty(), told.status != TUTTI_ERR_MISMATCH);
    return told;
}

// As bare hosts do.
TEST(VectorForms, LessThanThereIsRoomForComes) {
    for (const tutti_collective collective : {TUTTI_GATHERV, TUTTI_ALLTOALLV}) {
        for (const auto& [sent, room] : std::vector<std::pair<size_t, size_t>>{
                 {1, 8}, {8, 4000}, {300, 301}, {5000, 70'000}}) {
            const Told told = differ(collective, sent, room);
            EXPECT_EQ(told.status, TUTTI_OK) << told.text;
            EXPECT_EQ(told.bytes, sent);
        }
    }
}

// Two ranks a host, so that short blocks go in bundles; one that does is taken by a receiver that
// waits for a longer one.
TEST(VectorForms, LessThanThereIsRoomForComesInABundle) {
    for (const auto& [sent, room] : std::vector<std::pair<size_t, size_t>>{
             {1, 8}, {8, 4000}, {128, 129}, {300, 301}, {8, 70'000}}) {
        for (const Cancel cancel : {Cancel::kAtOnce, Cancel::kWhenAskedOften}) {
            const Told told = differ(TUTTI_ALLTOALLV, sent, room, 4, cancel);
            EXPECT_EQ(told.status, TUTTI_OK) << told.text;
            EXPECT_EQ(told.bytes, sent);
        }
    }
}

TEST(VectorForms, AReceiveThatNobodyGivesBackEndsTheCall) {
    const Told told = differ(TUTTI_ALLTOALLV, 8, 4000, 4, Cancel::kNever);
    EXPECT_EQ(told.status, TUTTI_ERR_NETWORK);
    EXPECT_NE(told.text.find("rank 0 sent less than there is room for, and its receive cannot be"
                             " given back"),
              std::string::npos)
        << told.text;
}

TEST(VectorForms, MoreThanThereIsRoomForIsAnError) {
    for (const auto& [sent, room] :
         std::vector<std::pair<size_t, size_t>>{{8, 1}, {4000, 8}, {301, 300}, {70'000, 5000}}) {
        const Told told = differ(TUTTI_ALLTOALLV, sent, room);
        EXPECT_EQ(told.status, TUTTI_ERR_MISMATCH);
        EXPECT_EQ(told.bytes, 0U);
        const std::string size = std::to_string(room);
        EXPECT_EQ(told.text, "the crew: rank 1: call 1 is alltoallv, but rank 0 sent more than " +
                                 size + " bytes, not " + size);
    }
}

// Of one host, whose memory the block goes through.
TEST(VectorForms, OtherLengthsWithinAHostAreNamed) {
    const Told told = differ(TUTTI_ALLTOALLV, 8, 1, 4, Cancel::kAtOnce, 1);
    EXPECT_EQ(told.status, TUTTI_ERR_MISMATCH);
    EXPECT_EQ(told.text,
              "the crew: rank 1: call 1 is alltoallv: rank 0 sends another length than"
              " rank 1 waits for");
}

// A block that goes by itself is in no bundle, and none has come for the room there.
TEST(VectorForms, MoreThanThereIsRoomForInABundleIsAnError) {
    const std::string line = "the crew: rank 3: call 1 is alltoallv, but rank 0 sent more than ";
    for (const auto& [sent, room, text] : std::vector<std::tuple<size_t, size_t, std::string>>{
             {8, 1, line + "1 bytes, not 1"},
             {4000, 8, line + "8 bytes or none, not 8"},
             {301, 300, line + "300 bytes, not 300"}}) {
        const Told told = differ(TUTTI_ALLTOALLV, sent, room, 4);
        EXPECT_EQ(told.status, TUTTI_ERR_MISMATCH);
        EXPECT_EQ(told.bytes, 0U);
        EXPECT_EQ(told.text, text);
    }
}

}  // namespace
}  // namespace tutti::test
