// SPDX-License-Identifier: BSD-3-Clause
// What a call must not cost: memory and system calls. A binary of its own, since it replaces
// malloc.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <memory>

#include "base/topo/node_topology.h"
#include "sanitized.h"
#include "sim/script.h"
#include "unit/run/engine/crew.h"
#include "unit/run/engine/processes.h"
#include "unit/run/engine/wire.h"

namespace {
thread_local bool counts = false;
thread_local size_t allocations = 0;
}  // namespace

#if !TUTTI_TEST_SANITIZED
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

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
}
#endif

namespace tutti::test {
namespace {

// Each collective with a payload of each way of sending it.
std::vector<std::unique_ptr<Exchange>> all_shapes(uint32_t ranks) {
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (int kind = 0; kind < TUTTI_COLLECTIVE_COUNT; ++kind) {
        for (const size_t bytes : {size_t{0}, size_t{8}, size_t{1000}, size_t{100'000}}) {
            exchanges.push_back(std::make_unique<Exchange>(
                Spec{static_cast<tutti_collective>(kind), 0, bytes, Fold::kSumU32, 1}, ranks));
        }
    }
    return exchanges;
}

// Some algorithm for everything.
constexpr const char* kRules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "barrier"
algorithm = "dissemination"
[[rule]]
collective = "bcast"
algorithm = "chain"
segment = "16K"
[[rule]]
collective = "reduce"
algorithm = "binomial"
[[rule]]
collective = "allreduce"
algorithm = "ring"
[[rule]]
collective = "gather"
algorithm = "direct"
[[rule]]
collective = "scatter"
algorithm = "direct"
[[rule]]
collective = "allgather"
algorithm = "ring"
)";

TEST(Cost, TheCounterCounts) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    counts = true;
    // The compiler may not remove an allocation whose address escapes.
    auto memory = std::make_unique<std::vector<int>>(100);
    asm volatile("" : : "g"(memory.get()) : "memory");
    counts = false;
    EXPECT_EQ(allocations, 2u);
    allocations = 0;
}

TEST(Cost, CallsAllocateNothing) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    constexpr uint32_t kRanks = 3;
    const ContextPtr context = make_context({"TUTTI_CHECK=1"});
    const auto exchanges = all_shapes(kRanks);
    run_crew(context.get(), kRanks, [&](uint32_t rank, tutti_team* team) {
        std::vector<tutti_call> calls;
        std::vector<tutti_request> requests(exchanges.size());
        for (const auto& exchange : exchanges) calls.push_back(exchange->call(rank));
        for (size_t i = 0; i < calls.size(); ++i) {
            ASSERT_EQ(tutti_request_init(&requests[i], team, &calls[i]), TUTTI_OK);
        }
        size_t failures = 0;
        allocations = 0;
        counts = true;
        for (int turn = 0; turn < 20; ++turn) {
            for (const tutti_call& call : calls) failures += tutti_run(team, &call) != TUTTI_OK;
            for (tutti_request& request : requests) {
                failures += tutti_request_start(&request) != TUTTI_OK;
            }
            for (tutti_request& request : requests) {
                failures += tutti_request_wait(&request) != TUTTI_OK;
            }
        }
        counts = false;
        EXPECT_EQ(failures, 0u);
        EXPECT_EQ(allocations, 0u);
    });
}

// The MPI layer asks in MPI_Init, where want of memory is nobody's to tell.
TEST(Cost, SettingsAreReadWithoutMemory) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    const ContextPtr context = make_context({"TUTTI_HETEROGENEOUS=1"});
    allocations = 0;
    counts = true;
    const char* value = tutti_context_setting(context.get(), "TUTTI_HETEROGENEOUS");
    counts = false;
    EXPECT_EQ(allocations, 0u);
    EXPECT_STREQ(value, "1");
}

// That a call is left to the host is answered from memory, whatever the root.
TEST(Cost, CallsLeftToTheHostAllocateNothing) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    constexpr uint32_t kRanks = 3;
    const char* rules = R"(TUTTI_RULES_TEXT=
[[rule]]
collective = "bcast"
bytes = "8"
mpi = "impi"
algorithm = "host"
)";
    const ContextPtr context = make_context({rules}, nullptr, "impi");
    run_crew(context.get(), kRanks, [&](uint32_t, tutti_team* team) {
        int left = 0;
        allocations = 0;
        for (int turn = 0; turn < 20; ++turn) {
            counts = turn > 0;  // in the first turn, every shape gets its answer
            for (uint32_t root = 0; root < kRanks; ++root) {
                tutti_call call{};
                call.collective = TUTTI_BCAST;
                call.bytes = 8;
                call.root = root;
                left += tutti_run(team, &call) == TUTTI_HOST ? 1 : 0;
            }
            counts = false;
        }
        EXPECT_EQ(left, 60);
        EXPECT_EQ(allocations, 0u);
    });
}

// Across two hosts, the same.
TEST(Cost, CallsAcrossHostsAllocateNothing) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    const auto exchanges = all_shapes(2);
    Wire* wire = Wire::create();
    run_processes(2, [&](Board& board, uint32_t rank) -> std::string {
        Wire::End end(*wire, rank);
        const tutti_p2p p2p = end.callbacks();
        Seated seated(board, rank, {"TUTTI_HOSTS=2", "TUTTI_CHECK=1", kRules});
        if (seated.make(&p2p) != TUTTI_OK) return seated.message();
        for (int turn = 0; turn < 20; ++turn) {
            allocations = 0;
            counts = turn > 0;  // in the first turn, every shape gets its plan
            for (const auto& exchange : exchanges) {
                const tutti_call call = exchange->call(rank);
                if (tutti_run(seated.team(), &call) != TUTTI_OK) return "a call failed";
            }
            counts = false;
            if (allocations != 0) return std::to_string(allocations) + " allocations";
        }
        return "";
    });
    Wire::destroy(wire);
}

// From here on, any system call but those of the wait loop ends the process. Sleeping is among them
// since a loaded machine may make a wait a long one.
bool forbid_system_calls(const std::vector<uint32_t>& allowed_too = {}) {
    std::vector<uint32_t> allowed = {SYS_sched_yield, SYS_clock_nanosleep, SYS_nanosleep,
                                     SYS_clock_gettime,  // where the kernel has no faster way
                                     SYS_exit_group};
    allowed.insert(allowed.end(), allowed_too.begin(), allowed_too.end());
    std::vector<sock_filter> filter;
    filter.push_back({BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)});
    for (size_t i = 0; i < allowed.size(); ++i) {
        const auto to_the_end = static_cast<uint8_t>(allowed.size() - i);
        filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, to_the_end, 0, allowed[i]});
    }
    filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS});
    filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
    const sock_fprog program{static_cast<uint16_t>(filter.size()), filter.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void no_system_calls(const std::vector<const char*>& settings, bool is_across) {
    const auto exchanges = all_shapes(2);
    Wire* wire = Wire::create();
    run_processes(2, [&](Board& board, uint32_t rank) -> std::string {
        Wire::End end(*wire, rank);
        const tutti_p2p p2p = end.callbacks();
        Seated seated(board, rank, settings);
        if (seated.make(is_across ? &p2p : nullptr) != TUTTI_OK) return seated.message();
        std::vector<tutti_call> calls;
        for (const auto& exchange : exchanges) calls.push_back(exchange->call(rank));
        // Twice, so that all pages are there.
        for (int turn = 0; turn < 2; ++turn) {
            for (const tutti_call& call : calls) {
                if (tutti_run(seated.team(), &call) != TUTTI_OK) return "a call failed";
            }
        }
        // A look that finds the processors moved measures, in memory of its own.
        if (!forbid_system_calls({SYS_brk, SYS_mmap, SYS_munmap})) return "no seccomp";
        for (int turn = 0; turn < 200; ++turn) {
            for (const tutti_call& call : calls) {
                if (tutti_run(seated.team(), &call) != TUTTI_OK) _exit(2);
            }
        }
        _exit(0);
    });
    Wire::destroy(wire);
}

TEST(Cost, CallsMakeNoSystemCalls) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes system calls of its own";
    // The trap must work: a process that calls something else is killed.
    const pid_t child = fork();
    if (child == 0) {
        if (!forbid_system_calls()) _exit(1);
        syscall(SYS_getppid);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) GTEST_SKIP() << "no seccomp filters here";
    ASSERT_TRUE(WIFSIGNALED(status));

    no_system_calls({"TUTTI_SINGLE_COPY=off"}, false);  // which is one for each copy
    no_system_calls({"TUTTI_HOSTS=2", kRules}, true);
}

// The second team of the same processes opens no file, makes no segment, reserves and maps no
// memory; it takes three rounds. The first one proves the memory and, where its ranks have
// processors of their own, finds out how data moves between them. Counted: which process this is,
// whether the segment is still there, a token.
TEST(Cost, AnotherTeamOfTheSameProcessesIsCheap) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer makes system calls of its own";
    run_processes(2, [&](Board& board, uint32_t rank) -> std::string {
        const ContextPtr context = make_context({});
        // The first one proves the segment; the second one finds the allocator as the third does.
        const uint32_t first = topo::affinity().count() < 2 ? 4 : 6;
        for (const uint32_t rounds : {first, 3u}) {
            Seated seated(board, rank, {}, context.get());
            if (seated.make() != TUTTI_OK) return seated.message();
            if (seated.seat().round != rounds) return std::to_string(seated.seat().round);
            if (const std::string complaint = seated.use(); !complaint.empty()) return complaint;
        }
        const tutti_call barrier{};
        if (!forbid_system_calls({SYS_getpid, SYS_newfstatat, SYS_fstat, SYS_getrandom})) {
            return "no seccomp";
        }
        for (int turn = 0; turn < 20; ++turn) {
            Seated seated(board, rank, {}, context.get());
            if (seated.make() != TUTTI_OK || seated.seat().round != 3) _exit(2);
            if (tutti_run(seated.team(), &barrier) != TUTTI_OK) _exit(3);
        }
        _exit(0);
    });
}

// A team of 65,536 hosts keeps little in each process.
TEST(Cost, MemoryOfALargeTeam) {
    if (TUTTI_TEST_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
    constexpr uint32_t kRanks = 65'536;
    const ContextPtr context = make_context({});
    tutti_team_params params{};
    params.struct_bytes = sizeof(params);
    params.rank = 4711;
    params.size = kRanks;
    // All say what this rank says, but for the first word of what tells the node; before that come
    // votes, of a byte each.
    uint32_t round = 0;
    params.allgather_user = &round;
    params.allgather = [](void* user, const void* in, void* out, size_t bytes) {
        const bool is_first = bytes > 1 && (*static_cast<uint32_t*>(user))++ == 0;
        for (uint64_t rank = 0; rank < kRanks; ++rank) {
            char* one = static_cast<char*>(out) + rank * bytes;
            std::memcpy(one, in, bytes);
            const uint64_t node = rank + 1;
            if (is_first) std::memcpy(one, &node, sizeof(node));
        }
        return 0;
    };
    Wire* wire = Wire::create();
    Wire::End end(*wire, 0);
    const tutti_p2p p2p = end.callbacks();
    std::vector<uint32_t> peers(kRanks, 1);
    params.p2p = &p2p;
    params.peers = peers.data();
    const auto in_use = [] {
        const struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    const size_t before = in_use();
    tutti_team* team = nullptr;
    char message[256] = "";
    ASSERT_EQ(tutti_team_create(context.get(), &params, &team, message, sizeof(message)), TUTTI_OK)
        << message;
    EXPECT_LT(in_use() - before, 4u << 20);
    EXPECT_GT(in_use() - before, kRanks);  // the measure measures
    tutti_call call{};
    call.collective = TUTTI_ALLGATHER;
    call.bytes = 8;
    EXPECT_STRNE(tutti_algorithm(team, &call), "none");
    EXPECT_LT(in_use() - before, 4u << 20);
    tutti_team_destroy(team);
    Wire::destroy(wire);
}

}  // namespace
}  // namespace tutti::test
