// SPDX-License-Identifier: BSD-3-Clause
// Everything but the stepping rank's own area is closed. An access there faults: the handler notes
// its address, opens the page and sets the processor's trap flag; after this one instruction the
// trap closes the page again.
#include "sim/line_trace.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "base/assert.h"
#include "sanitized.h"

namespace tutti::test {

#if defined(__x86_64__) && defined(__linux__) && !TUTTI_TEST_SANITIZED
namespace {

constexpr greg_t kTrapFlag = 0x100;

// Signal handlers have no other way to know.
struct Watch {
    std::byte* base = nullptr;
    size_t bytes = 0;
    std::vector<size_t> lines;  // with room, so that a handler need not allocate
    // Pages that the instruction under way has opened: it may touch two.
    std::array<std::byte*, 4> open{};
    size_t open_count = 0;
};
Watch watch_;

void protect(void* at, size_t bytes, int how) {
    if (mprotect(at, bytes, how) != 0) _exit(97);
}

void on_fault(int, siginfo_t* info, void* context) {
    auto* const at = static_cast<std::byte*>(info->si_addr);
    const bool is_ours = at >= watch_.base && at < watch_.base + watch_.bytes;
    const bool has_room =
        watch_.lines.size() < watch_.lines.capacity() && watch_.open_count < watch_.open.size();
    if (!is_ours || !has_room) {
        std::signal(SIGSEGV, SIG_DFL);  // an ordinary fault: it happens again, and ends the test
        return;
    }
    const auto offset = static_cast<size_t>(at - watch_.base);
    watch_.lines.push_back(offset / node::kLineBytes);
    std::byte* const page = watch_.base + offset / node::kPageBytes * node::kPageBytes;
    protect(page, node::kPageBytes, PROT_READ | PROT_WRITE);
    watch_.open[watch_.open_count++] = page;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
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

const char* LineTrace::obstacle() { return nullptr; }

LineTrace::LineTrace(std::span<std::byte> memory) : memory_(memory) {
    watch_ = {.base = memory.data(), .bytes = memory.size(), .lines = {}, .open = {}};
    watch_.lines.reserve(1u << 20);
    handle(SIGSEGV, on_fault);
    handle(SIGTRAP, on_trap);
}

LineTrace::~LineTrace() {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGTRAP, SIG_DFL);
}

void LineTrace::watch(node::Rank rank, std::span<std::byte> own,
                      const std::function<void()>& step) {
    watch_.lines.clear();
    protect(memory_.data(), memory_.size(), PROT_NONE);
    protect(own.data(), own.size(), PROT_READ | PROT_WRITE);
    step();
    protect(memory_.data(), memory_.size(), PROT_READ | PROT_WRITE);
    for (const size_t line : watch_.lines) touched_.emplace(rank, line);
}

#else
const char* LineTrace::obstacle() { return "needs x86-64 Linux and no sanitizer"; }
LineTrace::LineTrace(std::span<std::byte> memory) : memory_(memory) {}
LineTrace::~LineTrace() = default;
void LineTrace::watch(node::Rank, std::span<std::byte>, const std::function<void()>& step) {
    step();
}
#endif

}  // namespace tutti::test
