// SPDX-License-Identifier: BSD-3-Clause
#include "unit/failing_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tutti::test {

thread_local long left_until_failure = -1;
thread_local bool fails_for_good = false;
thread_local bool has_failed = false;
thread_local uint64_t allocations = 0;
thread_local int64_t living_allocations = 0;

}  // namespace tutti::test

namespace {

using namespace tutti::test;

bool fails_now() {
    if (left_until_failure < 0) return false;
    if (left_until_failure > 0) {
        --left_until_failure;
        return false;
    }
    has_failed = true;
    if (!fails_for_good) left_until_failure = -1;
    return true;
}

void* take(size_t bytes, size_t alignment) noexcept {
    if (fails_now()) return nullptr;
    ++allocations;
    ++living_allocations;
    const size_t rounded = (bytes + alignment) / alignment * alignment;
    return std::aligned_alloc(alignment, rounded);
}

void* take_or_throw(size_t bytes, size_t alignment) {
    void* memory = take(bytes, alignment);
    if (!memory) throw std::bad_alloc();
    return memory;
}

void give_back(void* memory) noexcept {
    if (memory) --living_allocations;
    std::free(memory);
}

constexpr size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(size_t bytes) { return take_or_throw(bytes, kUsual); }
void* operator new[](size_t bytes) { return take_or_throw(bytes, kUsual); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, kUsual); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, kUsual); }
void* operator new(size_t bytes, std::align_val_t alignment) {
    return take_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
    return take_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return take(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
    give_back(memory);
}
