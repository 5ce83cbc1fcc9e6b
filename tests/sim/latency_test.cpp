// SPDX-License-Identifier: BSD-3-Clause
// Short calls of 128 ranks in virtual time, on nodes of two sockets.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "run/node/quick_tree.h"
#include "sim/machines.h"

namespace tutti::test {
namespace {

class Latency : public testing::Test {
  protected:
    void SetUp() override {
        if (const char* why = LineTrap::obstacle()) GTEST_SKIP() << why;
    }
};

// reads_ahead: 1 is a core that does one thing after the other.
struct Bed {
    Machine machine;
    Places places = Places::kBlock;
    CoreModel model;

    [[nodiscard]] uint64_t ns(
        uint32_t fan_in, const Spec& spec,
        const std::function<void(node::Layout&)>& change = [](node::Layout&) {}) const {
        const std::vector<uint32_t> core_of = cores_of(machine, places);
        simulate::SimTeam team = team_on(machine, core_of, fan_in);
        change(team.layout);
        return CoreSimulator(machine, model, team, core_of).run(spec);
    }
    [[nodiscard]] std::string name() const {
        return std::string(machine.name) + (places == Places::kBlock ? ", block" : ", spread") +
               ", reads ahead " + std::to_string(model.reads_ahead);
    }
};

Spec call_of(tutti_collective kind, size_t bytes, uint32_t root = 0) {
    return {kind, root, bytes, Fold::kXorU64, 1, false};
}

std::vector<Spec> short_calls() {
    return {call_of(TUTTI_BARRIER, 0), call_of(TUTTI_BCAST, 8), call_of(TUTTI_ALLREDUCE, 8)};
}

std::vector<Bed> beds() {
    std::vector<Bed> all;
    for (const Machine& machine : {kMilan, kMilanNps4, kRomeNps4}) {
        for (const Places places : {Places::kBlock, Places::kSpread}) {
            all.push_back({machine, places, {}});
        }
    }
    return all;
}

TEST_F(Latency, IsTheSameInEveryRun) {
    const Bed bed = beds().front();
    for (const Spec& spec : short_calls()) {
        EXPECT_EQ(bed.ns(8, spec), bed.ns(8, spec)) << describe(spec);
    }
}

// What bounds a barrier: a flag to the other socket and one back, each of which costs the line's
// way from its last reader and the way to its next.
TEST_F(Latency, IsNoLessThanALinesWayToTheOtherSocketAndBack) {
    for (const Bed& bed : beds()) {
        EXPECT_GT(bed.ns(8, call_of(TUTTI_BARRIER, 0)), 4 * bed.machine.latency_ns.back());
        EXPECT_GT(bed.ns(8, call_of(TUTTI_BCAST, 8)), 2 * bed.machine.latency_ns.back());
    }
}

// No other fan-in of the whole tree saves a tenth.
TEST_F(Latency, AFanInOfEightIsNearTheBest) {
    for (const Bed& bed : beds()) {
        for (const Spec& spec : short_calls()) {
            const uint64_t eight = bed.ns(8, spec);
            for (const uint32_t other : {2u, 4u, 16u}) {
                EXPECT_LE(eight * 9, bed.ns(other, spec) * 10)
                    << bed.name() << ", " << describe(spec) << ", fan-in " << other;
            }
        }
    }
}

TEST_F(Latency, ATreeBeatsAllWithAll) {
    for (const Machine& machine : {kMilan, kRomeNps4}) {
        const Bed bed{machine, Places::kBlock, {}};
        const Spec spec = call_of(TUTTI_ALLREDUCE, 8);
        EXPECT_LT(bed.ns(8, spec) * 3, bed.ns(0, spec) * 2) << bed.name();
    }
}

// Two hops and few reads, where a rank by itself reads all that are lower. Not with 16 ranks whose
// cores have eight reads under way, where they are about even. No larger node, since each read of
// each rank is followed.
TEST_F(Latency, AScanInGroupsBeatsReadingAllThatAreLower) {
    constexpr Machine kTwoDies{"16 cores of EPYC 7763", 8, 16, 16, 16, {26, 116, 116, 197}};
    constexpr Machine kFourDies{"32 cores of EPYC 7763", 8, 32, 32, 32, {26, 116, 116, 197}};
    const Spec spec = call_of(TUTTI_SCAN, 8);
    for (const uint32_t reads_ahead : {2u, 8u}) {
        const Bed few{kTwoDies, Places::kBlock, {.reads_ahead = reads_ahead}};
        EXPECT_LT(few.ns(8, spec) * 10, few.ns(0, spec) * 11) << few.name();
        const Bed many{kFourDies, Places::kBlock, {.reads_ahead = reads_ahead}};
        EXPECT_LT(many.ns(8, spec) * 5, many.ns(0, spec) * 4) << many.name();
    }
}

// By way of its landing, and not straight to the tree's root in the other socket and back.
TEST_F(Latency, ABroadcastFromTheOtherSocketGainsByCrossingOnce) {
    const bool is_at_length = std::getenv("TESTS_LONG") != nullptr;
    for (const Bed& bed : beds()) {
        for (const size_t bytes :
             is_at_length ? std::vector<size_t>{8, 1024} : std::vector<size_t>{8}) {
            const Spec spec = call_of(TUTTI_BCAST, bytes, bed.machine.cores - 1);
            const uint64_t once_ns = bed.ns(8, spec);
            const uint64_t straight_ns = bed.ns(8, spec, [](node::Layout& layout) {
                ASSERT_NE(layout.bridge, node::kNoRank);
                layout.bridge = node::kNoRank;
            });
            EXPECT_LT(once_ns, straight_ns) << bed.name() << ", " << describe(spec);
            if (!is_at_length) continue;
            std::printf("%s, %zu bytes: %zu, straight %zu\n", bed.name().c_str(), bytes, once_ns,
                        straight_ns);
        }
    }
}

// As a team on this machine measures them, when nobody waits: the line is taken from its last
// reader, and read. By distance; on machines of one domain a socket that level is not there.
node::Figures figures_on(const Machine& machine) {
    node::Figures figures;
    uint32_t distance = 0;
    for (size_t level = 0; level < machine.latency_ns.size(); ++level) {
        if (level == 2 && machine.domain_cores == machine.socket_cores) continue;
        figures.pairs[distance++].flag_ns = 2 * machine.latency_ns[level];
    }
    return figures;
}

// Where flags tell all levels apart, the tree stays as it is; two levels alike are one, and calls
// that fold nothing save more than a tenth, on cores that have two reads under way or eight.
TEST_F(Latency, LevelsThatFlagsDoNotTellApartAreOne) {
    for (Bed bed : beds()) {
        const auto follow = [&](node::Layout& layout) {
            node::follow_flags(layout, figures_on(bed.machine));
            EXPECT_EQ(layout.quick != nullptr, bed.machine.latency_ns == kMilanNps4.latency_ns);
        };
        if (bed.machine.latency_ns != kMilanNps4.latency_ns) {
            node::Layout layout = team_on(bed.machine, cores_of(bed.machine, bed.places)).layout;
            follow(layout);
            continue;
        }
        const uint32_t last = bed.machine.cores - 1;
        const std::vector<Spec> specs = {call_of(TUTTI_BARRIER, 0), call_of(TUTTI_BCAST, 8),
                                         call_of(TUTTI_BCAST, 8, last), call_of(TUTTI_BCAST, 1024)};
        for (const uint32_t reads_ahead : {2u, 8u}) {
            bed.model.reads_ahead = reads_ahead;
            for (const Spec& spec : specs) {
                const uint64_t before = bed.ns(8, spec);
                const uint64_t after = bed.ns(8, spec, follow);
                EXPECT_LT(after * 10, before * 9) << bed.name() << ", " << describe(spec);
                if (!std::getenv("TESTS_LONG")) continue;
                std::printf("%s, %s: %zu, by flags %zu\n", bed.name().c_str(),
                            describe(spec).c_str(), before, after);
            }
        }
        EXPECT_EQ(bed.ns(8, call_of(TUTTI_ALLREDUCE, 8)),
                  bed.ns(8, call_of(TUTTI_ALLREDUCE, 8), follow));
    }
}

// For docs/node.md.
TEST_F(Latency, TableAtLength) {
    if (!std::getenv("TESTS_LONG")) GTEST_SKIP() << "prints figures under TESTS_LONG";
    for (const uint32_t reads_ahead : {8u, 2u, 1u}) {
        for (Bed bed : beds()) {
            bed.model.reads_ahead = reads_ahead;
            std::printf("%s\n", bed.name().c_str());
            for (const uint32_t fan_in : {2u, 4u, 8u, 16u, 0u}) {
                std::printf("  fan-in %2u:", fan_in);
                std::vector<Spec> specs = short_calls();
                if (fan_in > 0 && reads_ahead > 1) {
                    specs.push_back(call_of(TUTTI_BCAST, 1024));
                    specs.push_back(call_of(TUTTI_ALLREDUCE, 1024));
                }
                for (const Spec& spec : specs) {
                    std::printf(" %6u", static_cast<unsigned>(bed.ns(fan_in, spec)));
                }
                std::printf("\n");
                std::fflush(stdout);
            }
        }
    }
}

}  // namespace
}  // namespace tutti::test
