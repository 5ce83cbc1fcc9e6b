// SPDX-License-Identifier: BSD-3-Clause
#include "base/large_stack.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#if defined(__x86_64__) && !defined(TUTTI_SANITIZED)
// It keeps the caller's stack pointer in its frame, as the unwinder and debuggers are told, so that
// both find the way back.
asm(R"(
    .pushsection .text
    .hidden tutti_call_on_stack
    .globl tutti_call_on_stack
    .type tutti_call_on_stack, @function
tutti_call_on_stack:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdx, %rsp
    callq *%rsi
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size tutti_call_on_stack, .-tutti_call_on_stack
    .popsection
)");
extern "C" void tutti_call_on_stack(void* user, void (*run)(void* user), void* top);
constexpr bool kSwitches = true;
#else
extern "C" void tutti_call_on_stack(void*, void (*)(void*), void*) {}
constexpr bool kSwitches = false;
#endif

namespace tutti {
namespace {

constexpr size_t kStackBytes = 1u << 20;
// What is below a stack must not be written by what outgrows it. No page is larger than this.
constexpr size_t kGuardBytes = 1u << 16;

// One that is not in use is kept, as a program may plan calls of ever new sizes.
std::atomic<std::byte*>& spare() {
    static std::atomic<std::byte*> stack{nullptr};
    return stack;
}

std::byte* map_stack() {
    void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    std::byte* const stack = static_cast<std::byte*>(memory) + kGuardBytes;
    if (mprotect(stack, kStackBytes, PROT_READ | PROT_WRITE) == 0) return stack;
    munmap(memory, kGuardBytes + kStackBytes);
    return nullptr;
}

class Stack {
  public:
    Stack() : begin_(spare().exchange(nullptr)) {
        if (!begin_) begin_ = map_stack();
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    ~Stack() {
        std::byte* const other = begin_ ? spare().exchange(begin_) : nullptr;
        if (other) munmap(other - kGuardBytes, kGuardBytes + kStackBytes);
    }
    [[nodiscard]] std::byte* top() const { return begin_ ? begin_ + kStackBytes : nullptr; }

  private:
    std::byte* begin_;
};

}  // namespace

void call_on_large_stack(void (*run)(void* user), void* user) {
    if (kSwitches) {
        const Stack stack;
        if (stack.top()) return tutti_call_on_stack(user, run, stack.top());
    }
    run(user);
}

}  // namespace tutti
