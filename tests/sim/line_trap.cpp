// SPDX-License-Identifier: BSD-3-Clause
// An access to closed memory faults: the handler tells of its address, opens the page and sets the
// processor's trap flag; after this one instruction the trap closes the page again.
#include "sim/line_trap.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "base/assert.h"
#include "sanitized.h"

namespace tutti::test {

#if defined(__x86_64__) && defined(__linux__) && !TUTTI_TEST_SANITIZED
namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr greg_t kWriteError = 2;  // of a page fault's error code

// Signal handlers have no other way to know.
struct Watch {
    std::byte* base = nullptr;
    size_t bytes = 0;
    LineTrap::OnAccess on_access;
    // Pages that the instruction under way has opened: it may touch two.
    std::array<std::byte*, 4> open{};
    size_t open_count = 0;
};
Watch watch_;

void protect(std::byte* at, size_t bytes, int how) {
    if (mprotect(at, bytes, how) != 0) _exit(97);
}

void on_fault(int, siginfo_t* info, void* context) {
    auto* const at = static_cast<std::byte*>(info->si_addr);
    const bool is_ours = at >= watch_.base && at < watch_.base + watch_.bytes;
    if (!is_ours || watch_.open_count == watch_.open.size()) {
        std::signal(SIGSEGV, SIG_DFL);  // an ordinary fault: it happens again, and ends the test
        return;
    }
    greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto offset = static_cast<size_t>(at - watch_.base);
    watch_.on_access(offset / node::kLineBytes, (registers[REG_ERR] & kWriteError) != 0);
    std::byte* const page = watch_.base + offset / node::kPageBytes * node::kPageBytes;
    protect(page, node::kPageBytes, PROT_READ | PROT_WRITE);
    watch_.open[watch_.open_count++] = page;
    registers[REG_EFL] |= kTrapFlag;
}

void on_trap(int, siginfo_t*, void* context) {
    for (size_t i = 0; i < watch_.open_count; ++i) {
        protect(watch_.open[i], node::kPageBytes, PROT_NONE);
    }
    watch_.open_count = 0;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    TUTTI_ASSERT(sigaction(signal, &action, nullptr) == 0, "a handler");
}

}  // namespace

const char* LineTrap::obstacle() { return nullptr; }

LineTrap::LineTrap(std::span<std::byte> memory, OnAccess on_access) : memory_(memory) {
    TUTTI_ASSERT(watch_.base == nullptr, "one trap at a time");
    watch_ = {.base = memory.data(),
              .bytes = memory.size(),
              .on_access = std::move(on_access),
              .open = {}};
    handle(SIGSEGV, on_fault);
    handle(SIGTRAP, on_trap);
}

LineTrap::~LineTrap() {
    open();
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGTRAP, SIG_DFL);
    watch_ = {};
}

void LineTrap::close() { protect(memory_.data(), memory_.size(), PROT_NONE); }

void LineTrap::open(std::span<std::byte> part) {
    protect(part.data(), part.size(), PROT_READ | PROT_WRITE);
}

#else
const char* LineTrap::obstacle() { return "needs x86-64 Linux and no sanitizer"; }
LineTrap::LineTrap(std::span<std::byte> memory, OnAccess) : memory_(memory) {}
LineTrap::~LineTrap() = default;
void LineTrap::close() {}
void LineTrap::open(std::span<std::byte>) {}
#endif

}  // namespace tutti::test
