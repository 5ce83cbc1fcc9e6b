// SPDX-License-Identifier: BSD-3-Clause
// Teams that measure themselves in virtual time, on machines made up here: all ranks come to the
// same tuning, whoever is late, and it is the one that the machine asks for.
#include "run/node/tuner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "lab/simulate/node_simulator.h"
#include "run/bootstrap/node_shape.h"
#include "run/node/detail.h"
#include "run/node/meter.h"
#include "run/node/offer.h"
#include "run/node/quick_tree.h"
#include "sim/peer_memory.h"
#include "sim/script.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using node::CopyWay;
using node::Figures;
using node::kNever;
using node::Meter;
using node::Tuning;
using simulate::SimTeam;

// Nanoseconds that a step of rank 0 takes.
using Machine = std::function<uint64_t(const node::Team&, const node::Op&)>;

bool is_single(const node::Op& op) {
    return op.step && std::string(node::algorithm_name(op)) == "single";
}

// A step moves so many bytes, through rings or by single copy.
Machine machine(CopyWay best, uint64_t ring_step_ns, uint64_t single_step_ns) {
    return [=](const node::Team& team, const node::Op& op) -> uint64_t {
        if (op.call.bytes <= node::kInlineBytesMax) return 20;
        if (is_single(op)) return single_step_ns;
        return team.tuning.way == best ? ring_step_ns : 3 * ring_step_ns;
    };
}

struct Crew {
    // chunk_bytes: eight of these are a ring.
    Crew(uint32_t ranks, uint64_t seed, bool can_read, node::Layout layout = {},
         size_t chunk_bytes = 64 * 1024)
        : prng(seed), memory(ranks, chunk_bytes) {
        SimTeam team{.ranks = ranks, .chunk_bytes = chunk_bytes, .layout = std::move(layout)};
        team.tuning = {};
        team.patience_polls = 100;
        if (can_read) team.peers = all_read;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            teams.push_back(sim_rank(team, memory, rank));
        }
    }
    // Lets ranks go on in any order until all are done. step: of a rank that is not; op: what it
    // has under way then.
    void run(const std::function<Step(uint32_t)>& step,
             const std::function<const node::Op&(uint32_t)>& op, const Machine& machine) {
        constexpr size_t kStepsMax = 20'000'000;
        std::vector<bool> is_done(teams.size());
        size_t left = teams.size();
        for (size_t i = 0; i < kStepsMax && left > 0; ++i) {
            const auto rank = static_cast<uint32_t>(prng.below(teams.size()));
            if (is_done[rank]) continue;
            const Step last = step(rank);
            const bool is_poll = last == Step::kBlocked && poll_ns > 0;
            const uint64_t ns = is_poll ? poll_ns : machine(teams[0], op(0));
            if (rank == 0) clock.advance_to(clock.now_ns() + ns);
            if (last != Step::kDone) continue;
            is_done[rank] = true;
            --left;
        }
        ASSERT_EQ(left, 0u) << "it never ends";
    }
    void check_agreement() const {
        for (const node::Team& team : teams) {
            EXPECT_EQ(team.tuning, teams[0].tuning);
            EXPECT_EQ(team.slice.geometry.chunk_bytes, teams[0].slice.geometry.chunk_bytes);
            EXPECT_EQ(team.slice.geometry.chunk_count, teams[0].slice.geometry.chunk_count);
            EXPECT_EQ(team.bases.call, teams[0].bases.call);
            EXPECT_EQ(team.bases.chunks, teams[0].bases.chunks);
            EXPECT_EQ(team.bases.history, teams[0].bases.history);
        }
    }

    Prng prng;
    simulate::SimClock clock;
    simulate::SimSlice memory;
    std::vector<node::Team> teams;
    uint64_t poll_ns = 0;  // that a poll in vain of rank 0 takes; 0: as much as a step
};

Figures measure(Crew& crew, const Machine& machine, node::TuningLimits limits = {}) {
    limits.has_long_rings = node::has_long_rings(crew.teams[0].slice.geometry);
    std::vector<std::unique_ptr<Meter>> meters;
    for (uint32_t rank = 0; rank < crew.teams.size(); ++rank) {
        meters.push_back(std::make_unique<Meter>(crew.clock, Tuning{}, limits));
        meters.back()->begin();
    }
    crew.run([&](uint32_t rank) { return meters[rank]->step(crew.teams[rank]); },
             [&](uint32_t rank) -> const node::Op& { return meters[rank]->op(); }, machine);
    crew.check_agreement();
    for (const auto& meter : meters) EXPECT_EQ(meter->figures(), meters[0]->figures());
    return meters[0]->figures();
}

// One call of all.
std::string run_call(Crew& crew, const Spec& spec, const Machine& machine) {
    const auto ranks = static_cast<uint32_t>(crew.teams.size());
    Exchange exchange(spec, ranks);
    std::vector<node::Op> ops(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        node::start(crew.teams[rank], ops[rank], exchange.node_call(rank));
    }
    crew.run([&](uint32_t rank) { return node::step(crew.teams[rank], ops[rank]); },
             [&](uint32_t rank) -> const node::Op& {
                 // While it looks, no algorithm of the table runs the call.
                 const bool looks = std::string(node::algorithm_name(ops[rank])) == "alone";
                 return looks ? crew.teams[rank].tuner->op() : ops[rank];
             },
             machine);
    return exchange.check();
}

std::string run_mixed(Crew& crew, const Machine& machine) {
    uint64_t seed = 1;
    for (const tutti_collective kind : {TUTTI_BCAST, TUTTI_ALLREDUCE, TUTTI_GATHER, TUTTI_SCATTER,
                                        TUTTI_ALLGATHER, TUTTI_REDUCE}) {
        for (const size_t bytes : {200u, 20'000u, 700'000u}) {
            const size_t whole = bytes / 8 * 8;
            const std::string wrong =
                run_call(crew, {kind, 0, whole, Fold::kXorU64, seed++}, machine);
            if (!wrong.empty()) return wrong;
        }
    }
    return "";
}

TEST(Measuring, TheBestWayIsFoundByAll) {
    const Seeds seeds = Seeds::wanted(3);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        for (const CopyWay best :
             {CopyWay::kPlain, CopyWay::kPrefetch, CopyWay::kString, CopyWay::kStream}) {
            Crew crew(static_cast<uint32_t>(2 + seed % 3), seed, false);
            const Machine here = machine(best, 200, 0);
            const Figures figures = measure(crew, here);
            EXPECT_EQ(crew.teams[0].tuning.way, best) << replay(seed);
            EXPECT_GT(figures.barrier_ns, 0u);
            // Rings are cut by what was found.
            const size_t chunk = crew.teams[0].slice.geometry.chunk_bytes;
            EXPECT_EQ(chunk, crew.teams[0].tuning.pieces.bytes_max);
            EXPECT_EQ(run_mixed(crew, here), "") << replay(seed);
        }
    }
}

TEST(Measuring, SingleCopyWhereItWins) {
    const Seeds seeds = Seeds::wanted(3);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew quick(2, seed, true);
        const Machine good = machine(CopyWay::kPrefetch, 1000, 30);
        measure(quick, good);
        EXPECT_LE(quick.teams[0].tuning.single_one_way, 64u << 10) << replay(seed);
        EXPECT_EQ(run_mixed(quick, good), "") << replay(seed);

        Crew slow(2, seed, true);
        const Machine bad = machine(CopyWay::kPrefetch, 50, 40'000);
        measure(slow, bad);
        EXPECT_EQ(slow.teams[0].tuning.single_one_way, kNever) << replay(seed);
        EXPECT_EQ(slow.teams[0].tuning.single_all_ways, kNever) << replay(seed);
        EXPECT_EQ(run_mixed(slow, bad), "") << replay(seed);
    }
}

// By another process on a processor, say: what is found stays until the ranks are moved.
TEST(Measuring, ADisturbedTripIsNoVerdict) {
    for (const size_t disturbed : {1u, 3u}) {  // a trip is two calls
        Crew crew(2, 1, true);
        const Machine good = machine(CopyWay::kPrefetch, 1000, 30);
        std::set<uint64_t> calls;
        const Machine here = [&](const node::Team& team, const node::Op& op) {
            const bool is_new = is_single(op) && calls.insert(op.number).second;
            return good(team, op) + (is_new && calls.size() == disturbed ? 300'000 : 0);
        };
        measure(crew, here);
        EXPECT_LE(crew.teams[0].tuning.single_one_way, 64u << 10) << disturbed;
    }
}

// ---- readers at a time --------------------------------------------------------------------------

// Reads of one giver: two at a time take as long as one, more hinder each other.
class ContendedMemory final : public node::PeerMemory {
  public:
    ContendedMemory(Crew& crew, uint64_t hindrance_ns) : crew_(crew), hindrance_ns_(hindrance_ns) {}
    bool read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) override {
        constexpr uint64_t kReadNs = 600;
        const auto& state = crew_.teams[rank].slice.offer(rank).state;
        const uint64_t now = std::max<uint64_t>(node::readers_now(state.load()), 1);
        const uint64_t ns = now <= 2 ? kReadNs / now : kReadNs + (now - 2) * hindrance_ns_;
        crew_.clock.advance_to(crew_.clock.now_ns() + ns);
        return memory_.read(rank, out, address, bytes);
    }

  private:
    Crew& crew_;
    uint64_t hindrance_ns_;
    OwnMemory memory_;
};

void hinder(Crew& crew, uint64_t hindrance_ns) {
    for (node::Team& team : crew.teams) {
        team.single_copy.peers = std::make_shared<ContendedMemory>(crew, hindrance_ns);
    }
}

TEST(Measuring, FewerReadersWhereTheyHinderEachOther) {
    const Seeds seeds = Seeds::wanted(5);
    uint64_t found = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew crew(6, seed, true);
        hinder(crew, 1500);
        const Machine here = machine(CopyWay::kPrefetch, 700, 20);
        const Figures figures = measure(crew, here);
        EXPECT_GT(figures.readers_ns[2], 0u) << replay(seed);
        found += crew.teams[5].tuning.readers_max <= 2 ? 1 : 0;
        EXPECT_EQ(run_mixed(crew, here), "") << replay(seed);
    }
    // Who comes when is left to chance, and so is by how much two at a time are best.
    if (seeds.count >= 5) {
        EXPECT_GT(found, 0u);
    }
}

// Of rings of 2 MiB, half of the machines are quicker in a quarter of them.
TEST(Measuring, AllComeToTheSameLengthOfRings) {
    const Seeds seeds = Seeds::wanted(10);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const bool is_short_better = seed % 2 == 0;
        const Machine here = [=](const node::Team& team, const node::Op& op) -> uint64_t {
            const node::Geometry& geometry = team.slice.geometry;
            const size_t used_bytes = geometry.chunk_bytes * geometry.chunk_count;
            const bool is_short = used_bytes <= node::kShortRingBytes;
            if (op.call.bytes <= node::kInlineBytesMax) return 20;
            if (team.tuning.way != CopyWay::kString) return 900;
            // Pieces are half as long there.
            return is_short == is_short_better ? 100 : 500;
        };
        Crew crew(3, seed, seed % 3 == 0, {}, 256 * 1024);
        const Figures figures = measure(crew, here);
        EXPECT_GT(figures.short_ring_ns, 0u) << replay(seed);
        const node::Tuning& tuning = crew.teams[0].tuning;
        const node::Geometry& geometry = crew.teams[0].slice.geometry;
        const size_t used_bytes = geometry.chunk_bytes * geometry.chunk_count;
        EXPECT_EQ(used_bytes <= node::kShortRingBytes, is_short_better) << replay(seed);
        EXPECT_EQ(tuning.ring_bytes == node::kShortRingBytes, is_short_better) << replay(seed);
        EXPECT_EQ(run_mixed(crew, here), "") << replay(seed);
    }
}

TEST(Measuring, TwoRanksHaveOneReader) {
    Crew crew(2, 1, true);
    hinder(crew, 1500);
    const Machine here = machine(CopyWay::kPrefetch, 700, 20);
    EXPECT_EQ(measure(crew, here).readers_ns, Figures{}.readers_ns);
    EXPECT_EQ(crew.teams[0].tuning.readers_max, node::kAllReaders);
}

// Along a tree: the children of one rank.
TEST(Measuring, AChainHasOneReader) {
    constexpr uint32_t kTop = node::kNoRank;
    const std::vector<uint32_t> chain = {kTop, 0, 1, 2};
    Crew crew(4, 1, true, node::make_tree(chain, std::vector<uint32_t>(4, 0)));
    hinder(crew, 1500);
    const Machine here = machine(CopyWay::kPrefetch, 700, 20);
    EXPECT_EQ(measure(crew, here).readers_ns, Figures{}.readers_ns);
}

// Where the time is over before all limits and sizes were tried, there is no limit.
TEST(Measuring, LimitsThatAreCutOffAreNone) {
    size_t cut = 0;
    size_t whole = 0;
    for (uint64_t ring_step_ns = 700; ring_step_ns < 4000; ring_step_ns += 100) {
        Crew crew(6, ring_step_ns, true);
        hinder(crew, 1500);
        const Figures figures = measure(crew, machine(CopyWay::kPrefetch, ring_step_ns, 20));
        EXPECT_LT(crew.clock.now_ns(), 2 * Meter::kBudgetNs);
        const bool is_cut = figures.one_way == node::Times{};
        ++(is_cut ? cut : whole);
        EXPECT_EQ(figures.readers_ns == Figures{}.readers_ns, is_cut) << ring_step_ns;
        if (is_cut) {
            EXPECT_EQ(crew.teams[0].tuning.readers_max, node::kAllReaders);
        }
    }
    EXPECT_GT(cut, 0u);
    EXPECT_GT(whole, 0u);
}

// ---- by distance --------------------------------------------------------------------------------

// Of six ranks: two beside each other, one on the next die, three on another socket, two of which
// share a die. From rank 0 there are a pair beside, one on the next die and one far away.
node::Layout three_distances() {
    constexpr uint32_t kTop = node::kNoRank;
    return bootstrap::tree_layout(
        std::vector<uint32_t>{kTop, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 1});
}

// Every distance has a way that is best there, and takes twice as long as the one before.
uint64_t apart(const node::Team& team, const node::Op& op) {
    constexpr CopyWay kBest[] = {CopyWay::kPrefetch, CopyWay::kString, CopyWay::kStream};
    if (op.call.collective == TUTTI_BCAST && std::string(node::algorithm_name(op)) == "alone") {
        const uint32_t partner = op.call.root == 0 ? op.next : op.call.root;
        const uint32_t away = node::distance(team.layout, 0, partner);
        if (op.call.bytes == 0) return 2u << away;
        return team.tuning.way == kBest[away] ? 8 : 20;
    }
    return op.call.bytes <= node::kInlineBytesMax ? 2 : 8;
}

TEST(Measuring, EachDistanceHasItsPair) {
    const Seeds seeds = Seeds::wanted(5);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew crew(6, seed, seed % 2 == 0, three_distances());
        const Figures figures = measure(crew, apart);
        for (size_t i = 0; i < 3; ++i) {
            EXPECT_GT(figures.pairs[i].flag_ns, 0u) << i << replay(seed);
            EXPECT_GT(figures.pairs[i].way_ns.back(), 0u) << i << replay(seed);
        }
        EXPECT_LT(figures.pairs[0].flag_ns, figures.pairs[2].flag_ns) << replay(seed);
        EXPECT_EQ(figures.pairs[3], node::PairFigures{});
        const Tuning& tuning = crew.teams[5].tuning;
        EXPECT_EQ(tuning.way_to[0], CopyWay::kPrefetch) << replay(seed);
        EXPECT_EQ(tuning.way_to[1], CopyWay::kString) << replay(seed);
        EXPECT_EQ(tuning.way_to[2], CopyWay::kStream) << replay(seed);
        EXPECT_EQ(crew.teams[0].children_distance, 2u);
        EXPECT_EQ(crew.teams[3].children_distance, 1u);
        EXPECT_EQ(crew.teams[5].children_distance, 0u);
        EXPECT_EQ(run_mixed(crew, apart), "") << replay(seed);
    }
}

// From the call on that ends the measuring, all ranks know the same tree.
TEST(Measuring, LevelsThatFlagsDoNotTellApartAreOne) {
    constexpr uint32_t kTop = node::kNoRank;
    const Machine alike = [](const node::Team& team, const node::Op& op) -> uint64_t {
        const uint64_t ns = apart(team, op);
        return op.call.bytes == 0 && ns == 4 ? 1 : ns;  // the next die is nearer
    };
    const Seeds seeds = Seeds::wanted(5);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew crew(6, seed, seed % 2 == 0,
                  bootstrap::tree_layout(std::vector<uint32_t>{kTop, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0,
                                                               0, 0, 0, 1, 2, 0, 1}));
        const Figures figures = measure(crew, alike);
        for (node::Team& team : crew.teams) {
            node::follow_flags(team.layout, figures);
            ASSERT_NE(team.layout.quick, nullptr) << replay(seed);
            EXPECT_EQ(team.layout.quick->parent, (std::vector<uint32_t>{kTop, 0, 0, 0, 3, 3}));
        }
        EXPECT_EQ(run_mixed(crew, alike), "") << replay(seed);
        // Measuring leaves it as it was: it is made with the team.
        const Figures moved = measure(crew, apart);
        for (node::Team& team : crew.teams) {
            EXPECT_NE(team.layout.quick, nullptr);
            node::follow_flags(team.layout, moved);
            EXPECT_EQ(team.layout.quick, nullptr);
        }
    }
}

// Nothing is known of distances, or there is one: as before.
TEST(Measuring, WhereAllAreAlikeThereAreNoPairs) {
    constexpr uint32_t kTop = node::kNoRank;
    const std::vector<uint32_t> alike = {kTop, 0, 0, 0, 0, 0, 0, 0, 0};
    std::vector<uint64_t> calls;
    for (const bool has_distances : {false, true}) {
        node::Layout layout = bootstrap::tree_layout(alike);
        if (!has_distances) layout.distance.clear();
        Crew crew(3, 1, true, std::move(layout));
        EXPECT_EQ(measure(crew, machine(CopyWay::kString, 20, 30)).pairs, Figures{}.pairs);
        calls.push_back(crew.teams[0].bases.call);
    }
    EXPECT_EQ(calls[0], calls[1]);
}

// A block goes between any two, through a ring that may be shorter than it, while others are done.
TEST(Measuring, APairMovesItsBlock) {
    const Seeds seeds = Seeds::wanted(100);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        const bool is_tree = prng.below(2) == 0;
        const auto ranks = is_tree ? 6 : static_cast<uint32_t>(2 + prng.below(4));
        Crew crew(ranks, seed, false, is_tree ? three_distances() : node::Layout{});
        for (node::Team& team : crew.teams) team.tuning.pieces = {64, 64, 1024};
        for (int i = 0; i < 6; ++i) {
            const auto giver = static_cast<uint32_t>(prng.below(ranks));
            const auto taker = (giver + 1 + static_cast<uint32_t>(prng.below(ranks - 1))) % ranks;
            const size_t bytes = i % 3 == 0 ? 0 : 1 + prng.below(70'000);
            std::vector<std::vector<std::byte>> blocks(ranks, std::vector<std::byte>(bytes + 1));
            blocks[giver].assign(bytes + 1, std::byte{5});
            std::vector<node::Op> ops(ranks);
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                node::start_pair(crew.teams[rank], ops[rank], blocks[rank].data(), bytes, giver,
                                 taker);
            }
            crew.run([&](uint32_t rank) { return node::step(crew.teams[rank], ops[rank]); },
                     [&](uint32_t rank) -> const node::Op& { return ops[rank]; },
                     machine(CopyWay::kPrefetch, 20, 0));
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                const bool has_it = rank == giver || (rank == taker && bytes > 0);
                EXPECT_EQ(blocks[rank][0], std::byte{has_it ? uint8_t{5} : uint8_t{0}});
                EXPECT_EQ(blocks[rank][bytes], std::byte{rank == giver ? uint8_t{5} : uint8_t{0}});
                if (rank == taker && bytes > 0) {
                    EXPECT_EQ(blocks[rank][bytes - 1], std::byte{5}) << replay(seed);
                }
            }
            crew.check_agreement();
        }
    }
}

// Whatever the machine is like, it ends soon.
TEST(Measuring, ItEndsWithinItsBudget) {
    Crew crew(2, 1, true);
    const Machine slow = machine(CopyWay::kPlain, 40'000, 40'000);
    measure(crew, slow);
    // A trip that has begun ends.
    constexpr uint64_t kTripNs = 40'000'000;
    EXPECT_LT(crew.clock.now_ns(), Meter::kBudgetNs + kTripNs);
    EXPECT_EQ(run_mixed(crew, slow), "");
}

// Ranks that take turns on a processor measure nothing.
TEST(Measuring, CrowdedRanksLearnNothing) {
    Crew crew(2, 1, true);
    const Figures figures =
        measure(crew, [](const node::Team&, const node::Op&) -> uint64_t { return 50'000; });
    EXPECT_EQ(figures, Figures{});
    EXPECT_EQ(crew.teams[0].tuning, Tuning{});
}

// ---- while the program runs ---------------------------------------------------------------------

void give_tuners(Crew& crew, const Figures& figures) {
    for (node::Team& team : crew.teams) {
        team.tuner = std::make_shared<node::Tuner>(
            crew.clock, Tuning{}, node::TuningLimits{.has_long_rings = false}, figures);
    }
}

constexpr uint32_t kFirstLook = 64;

TEST(Tuner, LooksAtNumbersThatAllKnow) {
    Crew crew(3, 5, false);
    const Machine here = machine(CopyWay::kString, 200, 0);
    const Figures figures = measure(crew, here);
    give_tuners(crew, figures);
    const Tuning before = crew.teams[0].tuning;
    const uint64_t calls = crew.teams[0].bases.call;
    for (uint32_t i = 1; i < kFirstLook; ++i) {
        ASSERT_EQ(run_call(crew, {TUTTI_BCAST, i % 3, 2000, Fold::kXorU64, i}, here), "");
    }
    EXPECT_EQ(crew.teams[0].bases.call, calls + kFirstLook - 1);
    // Neither short calls nor those whose ranks may differ count.
    ASSERT_EQ(run_call(crew, {TUTTI_BCAST, 0, 8, Fold::kXorU64, 1}, here), "");
    ASSERT_EQ(run_call(crew, {TUTTI_GATHER, 0, 2000, Fold::kXorU64, 1}, here), "");
    EXPECT_EQ(crew.teams[0].bases.call, calls + kFirstLook + 1);
    ASSERT_EQ(run_call(crew, {TUTTI_ALLREDUCE, 0, 2000, Fold::kXorU64, 1}, here), "");
    // A look, which found nothing new, and the call itself.
    EXPECT_GT(crew.teams[0].bases.call, calls + kFirstLook + 2);
    EXPECT_LT(crew.teams[0].bases.call, calls + kFirstLook + 60);
    EXPECT_EQ(crew.teams[0].tuning, before);
    for (const node::Team& team : crew.teams) EXPECT_EQ(team.tuner->again(), 0u);
    crew.check_agreement();
}

// The hypervisor moves the ranks: what was measured holds no more, and is measured again.
TEST(Tuner, MeasuresAgainWhereRanksWereMoved) {
    const Seeds seeds = Seeds::wanted(5);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew crew(static_cast<uint32_t>(2 + seed % 2), seed, false);
        const Machine near = machine(CopyWay::kPrefetch, 200, 0);
        give_tuners(crew, measure(crew, near));
        EXPECT_EQ(crew.teams[0].tuning.way, CopyWay::kPrefetch);
        const Machine moved = machine(CopyWay::kStream, 200, 0);
        const Machine far = [&](const node::Team& team, const node::Op& op) {
            return 4 * moved(team, op);
        };
        for (uint32_t i = 1; i <= kFirstLook; ++i) {
            const auto kind = i % 2 == 0 ? TUTTI_ALLREDUCE : TUTTI_ALLGATHER;
            ASSERT_EQ(run_call(crew, {kind, 0, 4000, Fold::kXorU64, i}, far), "") << replay(seed);
        }
        EXPECT_EQ(crew.teams[0].tuning.way, CopyWay::kStream) << replay(seed);
        for (const node::Team& team : crew.teams) EXPECT_EQ(team.tuner->again(), 1u);
        crew.check_agreement();
        EXPECT_EQ(run_mixed(crew, far), "") << replay(seed);
    }
}

// A rank had to share its processor when the team was made, and has one of its own later.
TEST(Tuner, WhatCameToNothingIsTriedAgain) {
    const Machine crowded = [](const node::Team&, const node::Op&) -> uint64_t { return 50'000; };
    const Machine alone = machine(CopyWay::kStream, 200, 0);
    Crew crew(2, 7, false);
    give_tuners(crew, measure(crew, crowded));
    const auto make_calls = [&](uint32_t calls, const Machine& here) {
        for (uint32_t i = 1; i <= calls; ++i) {
            ASSERT_EQ(run_call(crew, {TUTTI_ALLREDUCE, 0, 4000, Fold::kXorU64, i}, here), "");
        }
    };
    make_calls(kFirstLook, crowded);
    EXPECT_EQ(crew.teams[0].tuning, Tuning{});
    for (const node::Team& team : crew.teams) EXPECT_EQ(team.tuner->again(), 0u);
    make_calls(2 * kFirstLook, alone);
    EXPECT_EQ(crew.teams[0].tuning.way, CopyWay::kStream);
    EXPECT_TRUE(crew.teams[0].tuning.has_cores);
    for (const node::Team& team : crew.teams) EXPECT_EQ(team.tuner->again(), 1u);
    crew.check_agreement();
    EXPECT_EQ(run_mixed(crew, alone), "");
}

// Measuring gives data that was just written; a program may send what all caches hold.
TEST(Tuner, ItsOwnCallsFindWhatMeasuringCouldNot) {
    const Seeds seeds = Seeds::wanted(3);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Crew crew(static_cast<uint32_t>(2 + seed % 2), seed, true);
        const Machine rings_win = machine(CopyWay::kPrefetch, 50, 40'000);
        const Machine single_wins = machine(CopyWay::kPrefetch, 20'000, 500);
        give_tuners(crew, measure(crew, rings_win));
        ASSERT_EQ(crew.teams[0].tuning.single_all_ways, kNever) << replay(seed);
        node::Call call;
        call.collective = TUTTI_ALLGATHER;
        call.bytes = 400'000;
        const auto make_calls = [&](uint32_t calls, const Machine& here) {
            for (uint32_t i = 0; i < calls; ++i) {
                ASSERT_EQ(run_call(crew, {TUTTI_ALLGATHER, 0, 400'000, Fold::kXorU64, i}, here), "")
                    << replay(seed);
            }
            crew.check_agreement();
        };
        const auto expect_all = [&](const std::string& name) {
            for (const node::Team& team : crew.teams) {
                EXPECT_EQ(node::algorithm_name(team, call), name) << replay(seed);
            }
        };
        const uint32_t contest = node::Contest::kFirst + node::Contest::kCalls;
        const uint64_t calls = crew.teams[0].bases.call;
        make_calls(contest, single_wins);
        EXPECT_EQ(crew.teams[0].bases.call, calls + contest + 1)
            << "they compare after two of them";
        expect_all("pipeline");
        make_calls(1, single_wins);
        EXPECT_EQ(crew.teams[0].bases.call, calls + contest + 3) << "and when it is over";
        expect_all("single");
        make_calls(node::Contest::kDistance + node::Contest::kCalls, rings_win);
        expect_all("pipeline");
    }
}

// Members may differ in the sizes of a scatter, and follow its root, which counts its own.
TEST(Tuner, AScattersRootDecidesAlone) {
    const Seeds seeds = Seeds::wanted(2);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        const auto ranks = static_cast<uint32_t>(2 + seed % 2);
        Crew crew(ranks, seed, true);
        // A receiver polls for single copy before it sees that the root has none.
        crew.poll_ns = 20;
        const Machine rings_win = machine(CopyWay::kPrefetch, 50, 40'000);
        const Machine single_wins = machine(CopyWay::kPrefetch, 20'000, 500);
        give_tuners(crew, measure(crew, rings_win));
        constexpr size_t kBytes = 1'050'000;
        const auto make_calls = [&](uint32_t calls, const Machine& here) {
            for (uint32_t i = 0; i < calls; ++i) {
                for (uint32_t root = 0; root < ranks; ++root) {
                    const Spec spec{TUTTI_SCATTER, root, kBytes, Fold::kXorU64, i};
                    ASSERT_EQ(run_call(crew, spec, here), "") << replay(seed);
                }
            }
            crew.check_agreement();
        };
        const auto expect_all = [&](const std::string& name) {
            node::Call call;
            call.collective = TUTTI_SCATTER;
            call.bytes = kBytes;
            for (node::Team& team : crew.teams) {
                call.root = team.rank;
                EXPECT_EQ(node::algorithm_name(team, call), name) << replay(seed);
            }
        };
        constexpr uint32_t kContest = node::Contest::kFirst + node::Contest::kCalls;
        make_calls(kContest, single_wins);
        expect_all("pipeline");
        make_calls(1, single_wins);
        expect_all("single");
        make_calls(node::Contest::kDistance + node::Contest::kCalls, rings_win);
        expect_all("pipeline");
        EXPECT_EQ(crew.teams[0].single_copy.doubts, 0u) << "nobody was late";
    }
}

// No rank knows all lengths of such a call. So the giver of a long block decides how it travels,
// and its takers find that out.
TEST(Tuner, EachGiverOfAVectorFormDecidesAlone) {
    for (const auto collective :
         {TUTTI_GATHERV, TUTTI_SCATTERV, TUTTI_ALLGATHERV, TUTTI_ALLTOALLV}) {
        Crew crew(3, 5, true);
        const Machine measured = machine(CopyWay::kPrefetch, 50, 40'000);
        give_tuners(crew, measure(crew, measured));
        ASSERT_EQ(crew.teams[0].tuning.single_all_ways, kNever);
        constexpr uint32_t kGiver = 1;  // of the longest block, to another one
        const uint64_t seed = is_dealt(collective) ? 5 : 4;
        const auto reads_in_place = [&] {
            return (node::own_offer(crew.teams[kGiver]) & node::kWithdrawn) == 0;
        };
        const auto make_calls = [&](uint32_t calls, uint64_t ring_ns, uint64_t single_ns) {
            const Machine here = [&](const node::Team& team, const node::Op& op) {
                if (op.call.collective != collective) return measured(team, op);  // a look
                return reads_in_place() ? single_ns : ring_ns;
            };
            for (uint32_t i = 0; i < calls; ++i) {
                const uint32_t root = collective == TUTTI_SCATTERV ? kGiver : 0;
                ASSERT_EQ(run_call(crew, {collective, root, 100'000, Fold::kXorU64, seed}, here),
                          "");
            }
            crew.check_agreement();
        };
        constexpr uint32_t kContest = node::Contest::kFirst + node::Contest::kCalls;
        make_calls(1, 20'000, 50);
        EXPECT_FALSE(reads_in_place()) << collective;
        make_calls(kContest, 20'000, 50);
        EXPECT_TRUE(reads_in_place()) << collective;
        make_calls(node::Contest::kDistance + node::Contest::kCalls, 50, 20'000);
        EXPECT_FALSE(reads_in_place()) << collective;
    }
}

// Where a rank's results go is its own affair: no other rank is asked, or told.
TEST(Tuner, ARankFindsWhetherItsResultsGoPastTheCaches) {
    constexpr size_t kPastMin = 600'000;
    for (const size_t bytes : {120'000u, 310'000u, 90'000u}) {  // of each of two, in a gather
        Crew crew(2, bytes, true);
        give_tuners(crew, measure(crew, machine(CopyWay::kPrefetch, 200, 40'000)));
        for (node::Team& team : crew.teams) team.copying.past_caches_bytes_min = kPastMin;
        const bool is_usual = 2 * bytes >= kPastMin;
        const bool has_contests = 2 * bytes >= kPastMin / 3;
        bool is_past = false;
        const Machine here = [&](const node::Team&, const node::Op& op) -> uint64_t {
            is_past = op.is_past_caches;
            return is_past == is_usual ? 400 : 200;
        };
        constexpr uint32_t kBefore = 3 * node::Contest::kFirst;
        for (uint32_t i = 0; i <= kBefore + node::Contest::kCalls; ++i) {
            const Spec spec{TUTTI_GATHER, 0, bytes, Fold::kXorU64, i};
            ASSERT_EQ(run_call(crew, spec, here), "") << bytes << ", call " << i;
            if (i < kBefore) {
                ASSERT_EQ(is_past, is_usual) << bytes << ", call " << i;
            }
        }
        EXPECT_EQ(is_past != is_usual, has_contests) << bytes;
        crew.check_agreement();
    }
}

// As a bare MPI does it: a receiver with more room takes what is sent.
TEST(Tuner, ReceiversOfAScatterMayHaveMoreRoom) {
    const Machine here = machine(CopyWay::kPrefetch, 200, 200);
    for (const size_t sent : {3'000u, 300'000u, 1'050'000u}) {
        Crew crew(3, sent, true);
        give_tuners(crew, measure(crew, here));
        constexpr size_t kRoom = 1'100'000;
        std::vector<std::byte> from(3 * sent, std::byte{7});
        // Beyond the first contest, which the root has with the longest of these alone.
        for (uint32_t call = 0; call < 22; ++call) {
            std::vector<std::vector<std::byte>> to(3, std::vector<std::byte>(kRoom));
            std::vector<node::Op> ops(3);
            for (uint32_t rank = 0; rank < 3; ++rank) {
                node::Call one;
                one.collective = TUTTI_SCATTER;
                one.send = rank == 0 ? from.data() : nullptr;
                one.recv = to[rank].data();
                one.bytes = rank == 0 ? sent : kRoom;
                node::start(crew.teams[rank], ops[rank], one);
            }
            crew.run([&](uint32_t rank) { return node::step(crew.teams[rank], ops[rank]); },
                     [&](uint32_t rank) -> const node::Op& { return ops[rank]; }, here);
            for (const auto& got : to) {
                ASSERT_EQ(std::ranges::count(got, std::byte{7}), static_cast<long>(sent))
                    << sent << ", call " << call;
                ASSERT_EQ(got[sent - 1], std::byte{7});
            }
        }
        crew.check_agreement();
    }
}

// A look makes many long calls itself where it measures: none of them is time for another look.
TEST(Tuner, ALookIsNotInterruptedByTheNext) {
    // Asked once a look.
    struct Asked final : node::PeerMemory {
        bool read(node::Rank, std::byte* out, uint64_t address, size_t bytes) override {
            std::memcpy(out, reinterpret_cast<const std::byte*>(address), bytes);
            return true;
        }
        [[nodiscard]] node::Denial denial() const override {
            ++looks;
            return {};
        }
        mutable int looks = 0;
    };
    Crew crew(2, 3, true);
    give_tuners(crew, measure(crew, machine(CopyWay::kPrefetch, 200, 5)));
    const auto asked = std::make_shared<Asked>();
    crew.teams[0].single_copy.peers = asked;
    // So much slower that all is measured anew, and single copy wins at every size.
    const Machine moved = [](const node::Team& team, const node::Op& op) -> uint64_t {
        if (op.call.bytes <= node::kInlineBytesMax) return 90;
        return is_single(op) ? 60 : 100 + team.tuning.pieces.count;
    };
    uint64_t calls = 0;
    for (uint32_t i = 1; i <= kFirstLook; ++i) {
        calls = crew.teams[0].bases.call;
        ASSERT_EQ(run_call(crew, {TUTTI_ALLREDUCE, 0, 4000, Fold::kXorU64, i}, moved), "");
    }
    EXPECT_GT(crew.teams[0].bases.call - calls, 400u);
    EXPECT_EQ(asked->looks, 1);
    crew.check_agreement();
}

}  // namespace
}  // namespace tutti::test
