// SPDX-License-Identifier: BSD-3-Clause
// Memory from the system itself, for blocks of megabytes that come and go while a program runs:
// malloc() keeps such blocks in its heap once it has seen one freed, where small ones that live
// longer keep their room from being given back. Pages that are never written take no memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

namespace tutti {

// Of a std::vector of bytes, whose elements begin as zeros without being written.
template <class T>
struct PageAllocator {
    static_assert(std::is_trivial_v<T>);
    using value_type = T;

    PageAllocator() = default;
    template <class U>
    explicit PageAllocator(const PageAllocator<U>& /*other*/) {}

    T* allocate(size_t count) {
        void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t count) { munmap(memory, count * sizeof(T)); }

    // Pages are born as zeros; none that was written is used again.
    void construct(T* /*place*/) {}

    bool operator==(const PageAllocator&) const = default;
};

}  // namespace tutti
