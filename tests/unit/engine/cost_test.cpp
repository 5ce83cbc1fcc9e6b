// SPDX-License-Identifier: BSD-3-Clause
// What a call must not cost: memory and system calls. A binary of its own, since it replaces
// malloc.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <memory>

#include "sim/script.h"
#include "unit/engine/crew.h"
#include "unit/engine/processes.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_TEST_SANITIZED 1  // They bring a malloc and system calls of their own.
#else
#define TUTTI_TEST_SANITIZED 0
#endif

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
        std::vector<tutti_request*> requests(exchanges.size());
        for (const auto& exchange : exchanges) calls.push_back(exchange->call(rank));
        for (size_t i = 0; i < calls.size(); ++i) {
            ASSERT_EQ(tutti_request_create(team, &calls[i], &requests[i]), TUTTI_OK);
        }
        size_t failures = 0;
        allocations = 0;
        counts = true;
        for (int turn = 0; turn < 20; ++turn) {
            for (const tutti_call& call : calls) failures += tutti_run(team, &call) != TUTTI_OK;
            for (tutti_request* request : requests) {
                failures += tutti_request_start(request) != TUTTI_OK;
            }
            for (tutti_request* request : requests) {
                failures += tutti_request_wait(request) != TUTTI_OK;
            }
        }
        counts = false;
        EXPECT_EQ(failures, 0u);
        EXPECT_EQ(allocations, 0u);
        for (tutti_request* request : requests) tutti_request_free(request);
    });
}

// From here on, any system call but those of the wait loop ends the process. Sleeping is among them
// since a loaded machine may make a wait a long one.
bool forbid_system_calls() {
    const auto allow = [](uint32_t number) {
        return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 0, number};
    };
    sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        allow(SYS_sched_yield),
        allow(SYS_clock_nanosleep),
        allow(SYS_nanosleep),
        allow(SYS_clock_gettime),  // where the kernel has no faster way
        allow(SYS_exit_group),
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    for (uint8_t i = 1; i <= 5; ++i) filter[i].jt = static_cast<uint8_t>(6 - i);
    const sock_fprog program{std::size(filter), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
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

    const auto exchanges = all_shapes(2);
    run_processes(2, [&](Board& board, uint32_t rank) -> std::string {
        Seated seated(board, rank);
        if (seated.make() != TUTTI_OK) return seated.message();
        std::vector<tutti_call> calls;
        for (const auto& exchange : exchanges) calls.push_back(exchange->call(rank));
        // Twice, so that all pages are there.
        for (int turn = 0; turn < 2; ++turn) {
            for (const tutti_call& call : calls) {
                if (tutti_run(seated.team(), &call) != TUTTI_OK) return "a call failed";
            }
        }
        if (!forbid_system_calls()) return "no seccomp";
        for (int turn = 0; turn < 200; ++turn) {
            for (const tutti_call& call : calls) {
                if (tutti_run(seated.team(), &call) != TUTTI_OK) _exit(2);
            }
        }
        _exit(0);
    });
}

}  // namespace
}  // namespace tutti::test
