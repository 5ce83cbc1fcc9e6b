// SPDX-License-Identifier: BSD-3-Clause
// What a call must not cost: memory and system calls. A binary of its own, since it replaces
// malloc.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/simulate/node_simulator.h"
#include "plan/algo/plan.h"
#include "sanitized.h"
#include "unit/run/exec/support.h"

namespace {
bool counts = false;
size_t allocations = 0;
}  // namespace

#if !TUTTI_TEST_SANITIZED
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
    if (counts) ++allocations;
    return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
    if (counts) ++allocations;
    return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
    if (counts) ++allocations;
    return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
    if (counts) ++allocations;
    return __libc_memalign(alignment, bytes);
}
}
#endif

namespace tutti::test {
namespace {

using topo::Placement;

// Messages between ranks, in memory made beforehand.
class Wire {
  public:
    class End final : public transport::Transport {
      public:
        End(Wire& wire, uint32_t rank) : wire_(wire), rank_(rank) {}
        void send(uint32_t to, const transport::MessageId& id, const std::byte* data, size_t bytes,
                  transport::Ticket& ticket) override {
            post(wire_.sends_, {rank_, to, id, const_cast<std::byte*>(data), bytes, &ticket});
            wire_.match();
        }
        void recv(uint32_t from, const transport::MessageId& id, std::byte* data, size_t bytes,
                  transport::Ticket& ticket) override {
            post(wire_.recvs_, {from, rank_, id, data, bytes, &ticket});
            wire_.match();
        }
        [[nodiscard]] bool can_withdraw_receives() const override { return true; }
        [[nodiscard]] transport::State withdraw_receive(uint32_t, const transport::MessageId&,
                                                        const std::byte*, size_t,
                                                        transport::Ticket& ticket) override {
            cancel(ticket);
            return transport::State::kDone;
        }
        void cancel(transport::Ticket& ticket) override {
            Side& recvs = wire_.recvs_;
            for (size_t i = 0; i < recvs.count; ++i) {
                if (recvs.posted[i].ticket == &ticket)
                    recvs.posted[i--] = recvs.posted[--recvs.count];
            }
        }
        transport::State test(transport::Ticket& ticket) override { return ticket.state; }
        [[nodiscard]] std::string error() const override { return {}; }

      private:
        Wire& wire_;
        uint32_t rank_;
    };

  private:
    struct Posted {
        uint32_t from = 0;
        uint32_t to = 0;
        transport::MessageId id;
        std::byte* data = nullptr;
        size_t bytes = 0;
        transport::Ticket* ticket = nullptr;
        [[nodiscard]] bool meets(const Posted& other) const {
            return from == other.from && to == other.to && id == other.id;
        }
    };
    struct Side {
        std::array<Posted, 1024> posted;
        size_t count = 0;
    };

    static void post(Side& side, const Posted& posted) {
        posted.ticket->state = transport::State::kPending;
        side.posted[side.count++] = posted;
    }
    void match() {
        for (size_t i = 0; i < sends_.count; ++i) {
            for (size_t j = 0; j < recvs_.count; ++j) {
                Posted& from = sends_.posted[i];
                Posted& to = recvs_.posted[j];
                if (!from.meets(to)) continue;
                if (from.bytes > 0) std::memcpy(to.data, from.data, from.bytes);
                from.ticket->state = to.ticket->state = transport::State::kDone;
                from = sends_.posted[--sends_.count];
                to = recvs_.posted[--recvs_.count];
                --i;
                break;
            }
        }
    }

    Side sends_;
    Side recvs_;
};

TEST(ExecutorCost, TheCounterCounts) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    allocations = 0;
    counts = true;
    auto memory = std::make_unique<std::vector<int>>(100);
    asm volatile("" : : "g"(memory.get()) : "memory");
    counts = false;
    EXPECT_EQ(allocations, 2u);
}

// Two nodes of two ranks each.
TEST(ExecutorCost, CallsAllocateNothing) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    const Placement placement = Placement::blocks(4, 2);
    const algo::Tuning tuning{1000, 0, 0, 0, false};
    Wire wire;
    Wire::End ends[4] = {{wire, 0}, {wire, 1}, {wire, 2}, {wire, 3}};
    const simulate::SimSlice slices[2] = {{2, 1024}, {2, 1024}};
    simulate::SimTeam team;
    team.chunk_bytes = 1024;
    std::vector<node::Team> nodes;
    for (uint32_t rank = 0; rank < 4; ++rank) {
        nodes.push_back(simulate::sim_rank(team, slices[rank / 2], rank % 2));
    }
    Bus bus(4);
    std::deque<Bus::End> routes;
    std::vector<std::unique_ptr<exec::Executor>> executors;
    for (uint32_t rank = 0; rank < 4; ++rank) {
        routes.emplace_back(bus, rank);
        executors.push_back(
            std::make_unique<exec::Executor>(&nodes[rank], ends[rank], &routes.back()));
    }
    uint32_t call = 0;
    // Of the vector forms' private lengths, by turns: long ones, and such as go in bundles.
    const uint64_t lengths[2][4] = {{1500, 1500, 1500, 1500}, {100, 100, 100, 100}};
    const uint64_t offsets[4] = {0, 2000, 4000, 6000};
    const uint64_t known[4] = {6000, 0, 1500, 3000};
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        sched::Shape shape;
        shape.collective = algorithm.collective;
        shape.ranks = 4;
        shape.bytes = algorithm.collective == TUTTI_BARRIER ? 0 : 6000;
        shape.element_bytes = 4;
        shape.has_multicast = true;
        if (facts(algorithm.collective).lengths == Lengths::kKnownToAll) {
            shape.lengths = {.bytes = known, .ranks = 4};
        }
        // See MeetingsAllocateNothing.
        if (algorithm.follows_arrival && algorithm.has_multicast) continue;
        if (!algo::plan_obstacle(algorithm, shape, placement, tuning).empty()) continue;
        std::vector<std::unique_ptr<sched::Program>> programs;
        std::vector<std::vector<uint32_t>> in(4, std::vector<uint32_t>(6000));
        std::vector<std::vector<uint32_t>> out = in;
        for (uint32_t rank = 0; rank < 4; ++rank) {
            programs.push_back(algo::make_plan(algorithm, shape, placement, rank, tuning));
            const auto reserved = executors[rank]->reserve(programs[rank]->extent(), 1u << 20);
            ASSERT_TRUE(static_cast<bool>(reserved));
        }
        const node::Reducer reducer = sum_u32();
        allocations = 0;
        counts = true;
        for (int turn = 0; turn < 3; ++turn) {
            ++call;
            for (uint32_t rank = 0; rank < 4; ++rank) {
                if (has_private_lengths(algorithm.collective)) {
                    const uint64_t* bytes = lengths[turn % 2];
                    programs[rank]->set_blocks({bytes, offsets, bytes, offsets, bytes[0]});
                }
                executors[rank]->start(*programs[rank], call,
                                       {bytes_of(in[rank]), bytes_of(out[rank]), reducer});
            }
            for (uint32_t running = 1; running > 0;) {
                running = 0;
                for (const auto& executor : executors) running += executor->step() != Step::kDone;
            }
        }
        counts = false;
        EXPECT_EQ(allocations, 0u) << algorithm.name;
    }
}

TEST(ExecutorCost, MeetingsAllocateNothing) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    const Placement placement = Placement::blocks(2, 2);
    Wire wire;
    Wire::End ends[2] = {{wire, 0}, {wire, 1}};
    Bus bus(2);
    std::deque<Bus::End> routes;
    std::vector<std::unique_ptr<exec::Executor>> executors;
    std::vector<std::unique_ptr<sched::Program>> programs;
    sched::Shape shape;
    shape.collective = TUTTI_ALLREDUCE;
    shape.ranks = 2;
    shape.bytes = 800;
    shape.element_bytes = 4;
    shape.has_multicast = true;
    const algo::Algorithm& algorithm = *algo::find(TUTTI_ALLREDUCE, "adaptive_multicast");
    for (uint32_t rank = 0; rank < 2; ++rank) {
        routes.emplace_back(bus, rank);
        executors.push_back(std::make_unique<exec::Executor>(nullptr, ends[rank], &routes.back()));
        programs.push_back(algo::make_plan(algorithm, shape, placement, rank, {}));
        ASSERT_TRUE(
            static_cast<bool>(executors[rank]->reserve(programs[rank]->extent(), 1u << 20)));
    }
    std::vector<std::vector<uint32_t>> in(2, std::vector<uint32_t>(200, 1));
    std::vector<std::vector<uint32_t>> out = in;
    allocations = 0;
    counts = true;
    for (uint32_t call = 1; call <= 20; ++call) {
        // One comes alone, now the one and now the other.
        for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t rank = (call + i) % 2;
            executors[rank]->start(*programs[rank], call,
                                   {bytes_of(in[rank]), bytes_of(out[rank]), sum_u32()});
            for (int step = 0; step < 3; ++step) executors[rank]->step();
        }
        for (uint32_t running = 1; running > 0;) {
            running = 0;
            for (const auto& executor : executors) running += executor->step() != Step::kDone;
        }
    }
    counts = false;
    EXPECT_EQ(allocations, 0u);
    EXPECT_EQ(out[0], std::vector<uint32_t>(200, 2));
    EXPECT_EQ(out[1], out[0]);
}

constexpr uint32_t kChoirRanks = 3;

// 200 words, each from another rank than the one before.
ListProgram in_turn(uint32_t rank) {
    ListProgram::Lane lane;
    for (uint32_t number = 0; number < 200; ++number) {
        if (number % 40 == 0) lane.emplace_back();
        const uint32_t sender = number % kChoirRanks;
        const auto place = sched::output(uint64_t{number} * 4, 4);
        lane.back().push_back(
            sender == rank ? sched::multicast(number, place, sched::kAfterNone)
                           : sched::recv_multicast(sender, number, place, sched::kAfterNone));
    }
    return ListProgram({lane}, 1, 0);
}

// Ranks that multicast in turn, call after call.
struct Choir {
    Choir() {
        for (uint32_t rank = 0; rank < kChoirRanks; ++rank) {
            ends.emplace_back(network, rank);
            routes.emplace_back(bus, rank);
            executors.emplace_back(nullptr, ends.back(), &routes.back());
            programs.push_back(in_turn(rank));
            EXPECT_TRUE(executors.back().reserve(programs.back().extent(), 0));
            for (uint32_t i = 0; i < 200; ++i) out[rank][i] = i % kChoirRanks == rank ? i + 1 : 0;
        }
    }
    void call(uint32_t number) {
        for (uint32_t rank = 0; rank < kChoirRanks; ++rank) {
            executors[rank].start(programs[rank], number, {nullptr, bytes_of(out[rank]), {}});
        }
        for (uint32_t running = 1; running > 0;) {
            running = 0;
            for (exec::Executor& executor : executors) running += executor.step() != Step::kDone;
        }
    }
    Network network;
    Bus bus{kChoirRanks};
    std::deque<Network::Endpoint> ends;
    std::deque<Bus::End> routes;
    std::deque<exec::Executor> executors;
    std::vector<ListProgram> programs;
    std::vector<std::vector<uint32_t>> out{kChoirRanks, std::vector<uint32_t>(200)};
};

TEST(ExecutorCost, MulticastsAllocateNothing) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    Choir choir;
    allocations = 0;
    counts = true;
    for (uint32_t number = 0; number < 3; ++number) choir.call(number);
    counts = false;
    EXPECT_EQ(allocations, 0u);
    for (const auto& words : choir.out) {
        for (uint32_t i = 0; i < 200; ++i) EXPECT_EQ(words[i], i + 1);
    }
}

// How a process ends that does this while all system calls but its last are forbidden.
template <class Deed>
int status_of(const Deed& deed) {
    const pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(1);
        deed();
        syscall(SYS_exit, 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(ExecutorCost, MulticastsMakeNoSystemCalls) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes system calls of its own";
    const int caught = status_of([] { syscall(SYS_getppid); });
    if (WIFEXITED(caught)) GTEST_SKIP() << "no seccomp here";
    Choir choir;
    choir.call(0);
    const int status = status_of([&] {
        for (uint32_t number = 1; number < 4; ++number) choir.call(number);
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Rounds are read once each, and nothing is tested that is complete.
TEST(ExecutorCost, LooksOnceAtWhatIsThere) {
    Network network;
    Network::Endpoint endpoint(network, 0);
    Network::Endpoint peer(network, 1);
    exec::Executor executor(nullptr, endpoint);
    std::vector<uint32_t> values(64);
    ListProgram::Lane lane;
    for (uint32_t k = 0; k < 8; ++k) lane.push_back({sched::recv(1, k, sched::output(4 * k, 4))});
    const ListProgram program({lane}, 1, 0);
    ASSERT_TRUE(static_cast<bool>(executor.reserve(program.extent(), 0)));
    executor.start(program, 1, {nullptr, bytes_of(values), {}});
    for (uint32_t k = 0; k < 8; ++k) {
        transport::Ticket ticket;
        peer.send(0, {1, 0, 0, k}, bytes_of(values), 4, ticket);
        EXPECT_EQ(executor.step(), k < 7 ? Step::kAdvanced : Step::kDone);
    }
    EXPECT_EQ(program.reads, 8u);
    EXPECT_EQ(network.tests, 8u);
}

}  // namespace
}  // namespace tutti::test
