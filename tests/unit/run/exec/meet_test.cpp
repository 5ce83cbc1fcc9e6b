// SPDX-License-Identifier: BSD-3-Clause
// Those who meet: all ranks in one thread over a network in memory; who arrives when, and who is
// stepped, is drawn by a seed.
#include <cmath>
#include <functional>
#include <numeric>

#include "base/prng.h"
#include "lab/simulate/node_simulator.h"
#include "plan/algo/plan.h"
#include "run/adapt/fold_tree.h"
#include "run/exec/executor.h"
#include "sim/seeds.h"
#include "unit/run/exec/support.h"

namespace tutti::test {
namespace {

using exec::Executor;

template <class T, T (*fold)(const T&, const T&)>
void fold_all(void* out, const void* left, const void* right, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        static_cast<T*>(out)[i] =
            fold(static_cast<const T*>(left)[i], static_cast<const T*>(right)[i]);
    }
}

float add(const float& left, const float& right) { return left + right; }

constexpr size_t kElementsMax = 5;

// Members are numbered otherwise than ranks.
uint32_t rank_of(uint32_t members, uint32_t member) { return members - 1 - member; }

ListProgram program_of(uint32_t members, uint32_t fan_in, uint32_t member, size_t bytes,
                       bool by_multicast) {
    const adapt::Place place = adapt::place_in_tree(members, fan_in, member);
    const uint64_t room = 2 * sched::meet_message_bytes(bytes);
    std::vector<sched::Operation> round;
    for (uint32_t i = 0; i < place.neighbours(); ++i) {
        const bool is_parent = place.parent && i == 0;
        round.push_back(
            sched::meet_with(rank_of(members, place.neighbour(i)),
                             is_parent ? sched::Incoming::kLeft : sched::Incoming::kRight,
                             sched::scratch(i * room, room)));
    }
    const auto to = sched::output(0, bytes);
    const auto from = sched::input(0, bytes);
    const auto last = sched::scratch(place.neighbours() * room, room / 2);
    round.push_back(by_multicast
                        ? sched::meet_multicast(rank_of(members, member), 0, to, from, last)
                        : sched::meet(to, from, last));
    return {{{round}}, 1, place.neighbours() * room + room / 2};
}

template <class T>
struct Place {
    Place(Network& network, Bus& bus, uint32_t rank, node::Team team)
        : node(std::move(team)),
          endpoint(network, rank),
          route(bus, rank),
          executor(node.size > 1 ? &node : nullptr, endpoint, &route) {}
    node::Team node;
    Network::Endpoint endpoint;
    Bus::End route;
    Executor executor;
    std::unique_ptr<sched::Program> program;
    std::vector<T> input;
    std::vector<T> output;
    bool has_arrived = false;
    bool is_done = false;
};

template <class T>
struct Job {
    Job(uint32_t all, uint32_t most, bool multicasts)
        : members(all), fan_in(most), by_multicast(multicasts), bus(all) {
        for (uint32_t i = 0; i < members; ++i) {
            places.push_back(
                std::make_unique<Place<T>>(network, bus, rank_of(members, i), node::Team{}));
        }
    }
    // Of several ranks a node, which tell each other what they have through its memory. Members
    // are numbered node after node.
    Job(const topo::Placement& placement, uint32_t most, bool multicasts)
        : members(placement.ranks()),
          fan_in(most),
          by_multicast(multicasts),
          nodes(&placement),
          bus(members) {
        for (uint32_t node = 0; node < placement.nodes(); ++node) {
            simulate::SimTeam team;
            team.ranks = static_cast<uint32_t>(placement.members(node).size());
            team.chunk_bytes = 1024;
            slices.push_back(std::make_unique<simulate::SimSlice>(team.ranks, team.chunk_bytes));
            for (const uint32_t rank : placement.members(node)) {
                places.push_back(std::make_unique<Place<T>>(
                    network, bus, rank,
                    simulate::sim_rank(team, *slices.back(), placement.index_on_node(rank))));
                ranks.push_back(rank);
            }
        }
    }

    [[nodiscard]] std::unique_ptr<sched::Program> program(uint32_t member, size_t bytes) const {
        if (nodes == nullptr) {
            return std::make_unique<ListProgram>(
                program_of(members, fan_in, member, bytes, by_multicast));
        }
        // A sum of nothing has nothing to do; a barrier has.
        sched::Shape shape;
        shape.collective = bytes > 0 ? TUTTI_ALLREDUCE : TUTTI_BARRIER;
        shape.ranks = members;
        shape.bytes = bytes;
        shape.has_multicast = true;
        algo::Tuning tuning;
        tuning.fan_in = fan_in;
        tuning.segment_bytes = segment_bytes;
        const char* name = by_multicast ? "adaptive_multicast" : "adaptive";
        return algo::make_plan(*algo::find(shape.collective, name), shape, *nodes, ranks[member],
                               tuning);
    }

    // By a kernel, or a user's function.
    void arrive(uint32_t member, uint32_t call, std::vector<T> input, bool in_place,
                node::Reducer reducer) {
        Place<T>& place = *places[member];
        place.input = std::move(input);
        place.output.assign(place.input.size(), T{});
        if (in_place) place.output = place.input;
        const auto* from = in_place ? place.output.data() : place.input.data();
        reducer.element_bytes = sizeof(T);
        const exec::Arguments arguments{reinterpret_cast<const std::byte*>(from),
                                        reinterpret_cast<std::byte*>(place.output.data()), reducer};
        place.program = program(member, place.input.size() * sizeof(T));
        place.has_arrived = true;
        place.is_done = false;
        ASSERT_TRUE(place.executor.reserve(place.program->extent(), 1 << 20));
        place.executor.start(*place.program, call, arguments);
    }

    // One call of all: arrivals and steps as they are drawn; false: somebody left too early.
    bool call(Prng& random, uint32_t number, bool in_place, const node::Reducer& reducer,
              const std::function<std::vector<T>(uint32_t)>& input) {
        std::vector<uint32_t> late(members);
        std::iota(late.begin(), late.end(), 0u);
        for (size_t i = members; i > 1; --i) std::swap(late[i - 1], late[random.below(i)]);
        uint32_t done = 0;
        for (uint32_t turn = 0; done < members; ++turn) {
            if (turn > 1'000'000) return false;
            if (!late.empty() && random.below(4) == 0) {
                arrive(late.back(), number, input(late.back()), in_place, reducer);
                late.pop_back();
                continue;
            }
            Place<T>& place = *places[random.below(members)];
            if (!place.has_arrived || place.is_done) continue;
            if (place.executor.step() != Step::kDone) continue;
            if (!late.empty()) return false;
            place.is_done = true;
            place.has_arrived = false;
            ++done;
        }
        return true;
    }

    uint32_t members;
    uint32_t fan_in;
    bool by_multicast;
    uint64_t segment_bytes = 0;  // of a lane; 0: there is one
    const topo::Placement* nodes = nullptr;
    std::vector<std::unique_ptr<simulate::SimSlice>> slices;  // by node
    std::vector<uint32_t> ranks;                              // by member
    Network network;
    Bus bus;
    std::vector<std::unique_ptr<Place<T>>> places;
};

// Up to so many members, each by itself or, half of the time, on nodes.
struct Drawn {
    Drawn(Prng& random, uint32_t members_min, uint32_t members_max)
        : members(static_cast<uint32_t>(members_min + random.below(members_max - members_min + 1))),
          placement(nodes_of(random, members)),
          fan_in(static_cast<uint32_t>(1 + random.below(members))),
          by_multicast(random.below(3) != 0),
          has_nodes(random.below(2) == 0) {}

    static topo::Placement nodes_of(Prng& random, uint32_t members) {
        const auto nodes = static_cast<uint32_t>(1 + random.below(members));
        std::vector<uint64_t> node_of_rank(members);
        for (uint64_t& node : node_of_rank) node = random.below(nodes);
        return topo::Placement(node_of_rank);
    }
    [[nodiscard]] Job<Affine> job() const {
        return has_nodes ? Job<Affine>(placement, fan_in, by_multicast)
                         : Job<Affine>(members, fan_in, by_multicast);
    }

    uint32_t members;
    topo::Placement placement;
    uint32_t fan_in;
    bool by_multicast;
    bool has_nodes;
};

TEST(Meet, AnyOrderOfArrivalGivesTheFoldInOrder) {
    const auto seeds = Seeds::wanted(500);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const Drawn drawn(random, 1, 17);
        const uint32_t members = drawn.members;
        Job<Affine> job = drawn.job();
        // The group may fail before or after any call's multicast.
        if (random.below(2) == 0) job.bus.fails_from = random.below(5);
        for (uint32_t call = 1; call <= 4; ++call) {
            const size_t elements = random.below(kElementsMax + 1);
            node::Reducer reducer;
            if (random.below(2) == 0) {
                reducer.user_fn = apply_affine;
            } else {
                reducer.kernel = fold_all<Affine, then>;
            }
            const auto input = [&](uint32_t member) {
                return std::vector<Affine>(elements, {2 * member + 3, 7 * member + call});
            };
            ASSERT_TRUE(job.call(random, call, random.below(2) == 0, reducer, input))
                << "too early" << replay(seed);
            Affine all{3, call};
            for (uint32_t member = 1; member < members; ++member) {
                all = then(all, {2 * member + 3, 7 * member + call});
            }
            const std::vector<Affine> expected(elements, all);
            for (const auto& place : job.places) {
                ASSERT_EQ(place->output, expected) << replay(seed);
            }
        }
    }
}

// Nobody waits for the others between two calls.
TEST(Meet, CallsOverlap) {
    const auto seeds = Seeds::wanted(500);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    constexpr uint32_t kCalls = 6;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const Drawn drawn(random, 2, 13);
        const uint32_t members = drawn.members;
        Job<Affine> job = drawn.job();
        if (random.below(2) == 0) job.bus.fails_from = random.below(kCalls + 1);
        std::vector<uint32_t> calls(members);
        for (uint32_t turn = 0, left = members; left > 0; ++turn) {
            ASSERT_LT(turn, 1'000'000u) << replay(seed);
            const auto member = static_cast<uint32_t>(random.below(members));
            Place<Affine>& place = *job.places[member];
            if (place.has_arrived) {
                if (place.executor.step() != Step::kDone) continue;
                place.has_arrived = false;
                Affine all{3, calls[member]};
                for (uint32_t other = 1; other < members; ++other) {
                    all = then(all, {2 * other + 3, 7 * other + calls[member]});
                }
                ASSERT_EQ(place.output, std::vector<Affine>{all}) << replay(seed);
                left -= calls[member] == kCalls ? 1 : 0;
            } else if (calls[member] < kCalls && random.below(3) == 0) {
                const uint32_t call = ++calls[member];
                job.arrive(member, call, {{2 * member + 3, 7 * member + call}}, false, reducer);
            }
        }
    }
}

// Two who have each other's part both have everything, and must put it in parentheses alike.
TEST(Meet, AllGetTheSameBits) {
    const auto seeds = Seeds::wanted(500);
    node::Reducer reducer;
    reducer.kernel = fold_all<float, add>;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const auto members = static_cast<uint32_t>(2 + random.below(12));
        Job<float> job(members, static_cast<uint32_t>(1 + random.below(4)), random.below(2) == 0);
        job.bus.fails_from = random.below(2);
        std::vector<float> values(members);
        for (float& value : values) {
            value = std::ldexp(static_cast<float>(random.below(1 << 24)),
                               static_cast<int>(random.below(20)));
        }
        ASSERT_TRUE(job.call(random, 1, false, reducer,
                             [&](uint32_t member) { return std::vector<float>{values[member]}; }));
        for (const auto& place : job.places) {
            ASSERT_EQ(place->output, job.places.front()->output) << replay(seed);
        }
    }
}

// Whoever waits names its neighbours that are late, and no others.
TEST(Meet, SaysForWhomItWaits) {
    Job<Affine> job(4, 3, false);  // a star: member 0, rank 3, in the middle
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    for (const uint32_t member : {0u, 1u, 3u}) job.arrive(member, 1, {{1, 2}}, false, reducer);
    for (int turn = 0; turn < 10; ++turn) {
        for (const uint32_t member : {0u, 1u, 3u}) {
            EXPECT_NE(job.places[member]->executor.step(), Step::kDone);
        }
    }
    EXPECT_EQ(job.places[0]->executor.waits_for(), std::vector<uint32_t>{1});
    EXPECT_EQ(job.places[1]->executor.waits_for(), std::vector<uint32_t>{3});
}

// Whose part has gone up sleeps until the multicast comes, since it will have nothing to send;
// whose part has gone down may have to release all.
TEST(Meet, SeeksItsRelease) {
    Job<Affine> job(4, 3, true);  // a star: member 0, rank 3, in the middle; 2, rank 1, is late
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    const auto executor = [&](uint32_t member) -> Executor& {
        return job.places[member]->executor;
    };
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    EXPECT_FALSE(executor(0).waits_for_multicasts()) << "it waits for messages";
    job.arrive(3, 1, {{1, 2}}, false, reducer);
    for (int turn = 0; turn < 10; ++turn) {
        for (const uint32_t member : {0u, 1u, 3u}) EXPECT_NE(executor(member).step(), Step::kDone);
    }
    EXPECT_EQ(executor(0).waits_for(), std::vector<uint32_t>{1});
    EXPECT_FALSE(executor(0).waits_for_multicasts()) << "parts may cross";
    for (const uint32_t member : {1u, 3u}) {
        EXPECT_EQ(executor(member).waits_for(), std::vector<uint32_t>{3});
        EXPECT_TRUE(executor(member).waits_for_multicasts());
    }
}

// Runs on with each look at it.
struct RunningClock final : Clock {
    explicit RunningClock(uint64_t step) : step_ns(step) {}
    uint64_t now_ns() override { return ns += step_ns; }
    uint64_t step_ns;
    uint64_t ns = 0;
};

// Two meet, of whom one comes first. Its part has come to the other, which does not find it with
// the first `held_tests` tests, as with sockets that are looked at with some tests only. Who had
// left a call `away_ns` before, and whose looks take look_ns each by the clock.
struct LateCase {
    uint64_t away_ns;
    uint64_t look_ns;
    uint64_t held_tests;
};

// How many tests there were before its part went, and whether it went: else it released.
std::pair<uint64_t, bool> tests_of_late(const LateCase& late) {
    Job<Affine> job(2, 1, true);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    RunningClock clock(late.look_ns);
    clock.ns = late.away_ns;
    job.places[0]->executor.set_clock(clock);
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    EXPECT_NE(job.places[1]->executor.step(), Step::kDone);
    const uint64_t posted = job.network.posted_count;
    const uint64_t tests = job.network.tests;
    job.network.held_tests = late.held_tests;
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    job.network.held_tests = 0;
    const uint64_t tests_taken = job.network.tests - tests;
    for (int turn = 0; turn < 10; ++turn) {
        for (const auto& place : job.places)
            place->is_done |= place->executor.step() == Step::kDone;
    }
    for (const auto& place : job.places) EXPECT_TRUE(place->is_done);
    return {tests_taken, job.network.posted_count - posted == 2};  // its receive, and its part
}

// Who comes last then releases, and sends no part that would cross the other.
TEST(Meet, WhoWasAwayLooksAgainBeforeItsPartGoes) {
    EXPECT_EQ(tests_of_late({2'000'000, 1'000, 0}), std::pair(uint64_t{1}, false));
    EXPECT_EQ(tests_of_late({2'000'000, 1'000, 23}), std::pair(uint64_t{24}, false));
    EXPECT_EQ(tests_of_late({2'000'000, 1'000, 100}), std::pair(uint64_t{24}, true));
}

TEST(Meet, LooksThatTakeLongEnd) {
    EXPECT_EQ(tests_of_late({2'000'000, 20'000, 100}), std::pair(uint64_t{5}, true));
}

TEST(Meet, WhoWasNotAwaySendsItsPartAtOnce) {
    EXPECT_EQ(tests_of_late({900'000, 1'000, 0}), std::pair(uint64_t{0}, true));
}

// A test that finds nothing may cost the processor.
TEST(Meet, WhoIsReleasedTestsNoMessage) {
    Job<Affine> job(2, 1, true);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    EXPECT_NE(job.places[1]->executor.step(), Step::kDone);
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    EXPECT_NE(job.places[1]->executor.step(), Step::kDone) << "its part has been taken";
    EXPECT_EQ(job.places[0]->executor.step(), Step::kDone);
    const uint64_t tests = job.network.tests;
    EXPECT_EQ(job.places[1]->executor.step(), Step::kDone);
    EXPECT_EQ(job.network.tests, tests);
}

TEST(Meet, SaysWhoIsToReleaseIt) {
    Job<Affine> job(2, 1, true);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    Executor& child = job.places[1]->executor;
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    EXPECT_NE(child.step(), Step::kDone);
    job.network.held = true;
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    job.network.held = false;
    for (int turn = 0; turn < 10; ++turn) EXPECT_NE(child.step(), Step::kDone);
    EXPECT_EQ(child.waits_for(), std::vector<uint32_t>{rank_of(2, 0)})
        << "their parts have crossed";
    EXPECT_TRUE(child.waits_for_multicasts());
    EXPECT_EQ(job.places[0]->executor.step(), Step::kDone);
    EXPECT_EQ(child.step(), Step::kDone);
}

// Who waits for others of its node alone may sleep where they ring, also while it has something to
// tell those elsewhere from whom it has heard.
TEST(Meet, SleepsForItsNode) {
    const topo::Placement placement = topo::Placement::blocks(4, 2);
    Job<Affine> job(placement, 2, false);  // 0 - 1, 0 - 2, 2 - 3; 1 is late
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    for (const uint32_t member : {0u, 3u, 2u}) {
        job.arrive(member, 1, {{1, 2}}, false, reducer);
        EXPECT_FALSE(job.places[0]->executor.waits_for_node()) << "2 is on another node";
    }
    for (int turn = 0; turn < 10; ++turn) {
        for (const uint32_t member : {0u, 2u, 3u}) {
            EXPECT_NE(job.places[member]->executor.step(), Step::kDone);
        }
    }
    EXPECT_TRUE(job.places[0]->executor.waits_for_node());
    EXPECT_EQ(job.places[0]->executor.waits_for(), std::vector<uint32_t>{1});
    EXPECT_FALSE(job.places[2]->executor.waits_for_node());
    EXPECT_FALSE(job.places[0]->executor.waits_for_messages());
    EXPECT_TRUE(job.places[3]->executor.waits_for_node());
    EXPECT_EQ(node::not_arrived(job.places[0]->node, *job.places[0]->executor.node_op()),
              std::vector<node::Rank>{1});
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    for (const uint32_t member : {1u, 0u, 2u, 3u}) {
        EXPECT_EQ(job.places[member]->executor.step(), Step::kDone) << member;
    }
    EXPECT_EQ(job.places[0]->executor.node_op(), nullptr);
}

// As long as it has not sent its part, no multicast can release it either.
TEST(Meet, SleepsForItsNodeBeforeItsPartIsSent) {
    const topo::Placement placement(std::vector<uint64_t>{0, 0, 0, 1});
    Job<Affine> job(placement, 3, true);  // 0 - 1, 0 - 2, 0 - 3; 1 and 2 are late
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    Executor& top = job.places[0]->executor;
    const auto step = [&](const std::vector<uint32_t>& members) {
        for (int turn = 0; turn < 10; ++turn) {
            for (const uint32_t member : members) {
                EXPECT_NE(job.places[member]->executor.step(), Step::kDone);
            }
        }
    };
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    step({0});
    EXPECT_FALSE(top.waits_for_node()) << "3 is on another node";
    job.arrive(3, 1, {{1, 2}}, false, reducer);
    step({3, 0});
    EXPECT_EQ(top.waits_for(), (std::vector<uint32_t>{1, 2}));
    EXPECT_TRUE(top.waits_for_node());
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    step({1, 0});
    EXPECT_EQ(top.waits_for(), std::vector<uint32_t>{2});
    EXPECT_FALSE(top.waits_for_node()) << "2 has its part, and releases all by multicast";
    job.arrive(2, 1, {{1, 2}}, false, reducer);
    for (const uint32_t member : {2u, 0u, 1u, 3u}) {
        Executor& executor = job.places[member]->executor;
        Step last = executor.step();
        for (int turn = 0; turn < 3 && last != Step::kDone; ++turn) last = executor.step();
        EXPECT_EQ(last, Step::kDone) << member;
    }
}

// Each lane is a meeting of its own, one at a time.
TEST(Meet, LettersGoInSeveralLanes) {
    const auto seeds = Seeds::wanted(300);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng random(seed);
        const auto members = static_cast<uint32_t>(2 + random.below(9));
        const topo::Placement placement = Drawn::nodes_of(random, members);
        Job<Affine> job(placement, static_cast<uint32_t>(1 + random.below(members)),
                        random.below(2) == 0);
        job.segment_bytes = (1 + random.below(2)) * sizeof(Affine);
        if (random.below(2) == 0) job.bus.fails_from = random.below(8);
        for (uint32_t call = 1; call <= 3; ++call) {
            const size_t elements = 2 + random.below(kElementsMax - 1);
            const auto input = [&](uint32_t member) {
                std::vector<Affine> values;
                for (uint32_t i = 0; i < elements; ++i) values.push_back({2 * member + 3, i});
                return values;
            };
            ASSERT_TRUE(job.call(random, call, false, reducer, input)) << replay(seed);
            for (uint32_t i = 0; i < elements; ++i) {
                Affine all{3, i};
                for (uint32_t member = 1; member < members; ++member) {
                    all = then(all, {2 * member + 3, i});
                }
                for (const auto& place : job.places) {
                    ASSERT_EQ(place->output[i], all) << replay(seed);
                }
            }
        }
    }
}

// A broadcast on the node, of which the root sees no end but its own.
void step_bcast(node::Team& team) {
    uint64_t value = 7;
    node::Call call;
    call.collective = TUTTI_BCAST;
    call.bytes = sizeof value;
    call.recv = reinterpret_cast<std::byte*>(&value);
    node::Op op;
    node::start(team, op, call);
    EXPECT_EQ(node::step(team, op), Step::kDone);
    EXPECT_EQ(value, 7u);
}

// One that others have still to read is not written over.
TEST(Meet, ALetterWaitsForItsSlot) {
    const topo::Placement placement = topo::Placement::blocks(2, 1);
    Job<Affine> job(placement, 2, false);
    node::Team& ahead = job.places[0]->node;
    const uint64_t slots = ahead.slice.geometry.slot_mask + 1;
    for (uint64_t i = 0; i < slots; ++i) step_bcast(ahead);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    Executor& first = job.places[0]->executor;
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(first.step(), Step::kBlocked);
    EXPECT_EQ(first.node_op()->phase, 0u) << "the first broadcast was not read";
    for (uint64_t i = 0; i < slots; ++i) {
        step_bcast(job.places[1]->node);
        EXPECT_NE(first.step(), Step::kDone);
        EXPECT_EQ(first.node_op()->phase, 1u);
    }
    job.arrive(1, 1, {{3, 4}}, false, reducer);
    for (const uint32_t member : {1u, 0u}) {
        EXPECT_EQ(job.places[member]->executor.step(), Step::kDone);
        EXPECT_EQ(job.places[member]->output, std::vector<Affine>{then({1, 2}, {3, 4})});
    }
}

// Of a call that has failed: neither written nor taken any more.
TEST(Meet, LettersAreCalledOff) {
    const topo::Placement placement = topo::Placement::blocks(4, 2);
    Job<Affine> job(placement, 2, false);  // 0 - 1, 0 - 2, 2 - 3
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    const auto expect_over = [&](uint32_t member) {
        Executor& executor = job.places[member]->executor;
        executor.cancel();
        for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(executor.step(), Step::kFailed);
        EXPECT_EQ(executor.error(), "cancelled");
        EXPECT_TRUE(executor.waits_for().empty());
        EXPECT_FALSE(executor.waits_for_node());
        EXPECT_EQ(job.places[member]->output, std::vector<Affine>(1));
    };
    // A part that was to be written.
    job.arrive(3, 1, {{1, 2}}, false, reducer);
    EXPECT_EQ(job.places[3]->executor.node_op()->phase, 0u);
    expect_over(3);
    EXPECT_EQ(job.places[3]->executor.node_op()->phase, 0u);
    // One that is there, and would release it.
    job.arrive(1, 1, {{1, 2}}, false, reducer);
    EXPECT_NE(job.places[1]->executor.step(), Step::kDone);
    EXPECT_EQ(job.places[1]->executor.node_op()->phase, 1u);
    job.arrive(2, 1, {{1, 2}}, false, reducer);
    expect_over(2);
    job.arrive(0, 1, {{1, 2}}, false, reducer);
    expect_over(0);
    expect_over(1);
}

TEST(Meet, AFailureIsFinal) {
    Job<Affine> job(3, 2, false);
    node::Reducer reducer;
    reducer.kernel = fold_all<Affine, then>;
    job.arrive(0, 1, {{1, 2}}, false, reducer);
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
