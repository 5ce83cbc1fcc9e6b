// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/call_memory.h"

#include <cstdlib>
#include <new>

namespace tutti::mpi {

Scratch::~Scratch() { free(memory_); }

std::byte* Scratch::get(size_t bytes) {
    if (bytes <= bytes_ && memory_ != nullptr) return memory_;
    free(memory_);
    bytes += bytes == 0 ? 1 : 0;
    constexpr size_t kAlign = 4096;
    bytes_ = (bytes + kAlign - 1) / kAlign * kAlign;
    memory_ = bytes_ < bytes ? nullptr : static_cast<std::byte*>(aligned_alloc(kAlign, bytes_));
    if (memory_ == nullptr) bytes_ = 0;
    return memory_;
}

void Scratch::trim() {
    if (bytes_ <= kKeptBytes) return;
    free(memory_);
    memory_ = nullptr;
    bytes_ = 0;
}

ScratchPool::~ScratchPool() {
    while (free_ != nullptr) {
        Kept* const one = free_;
        free_ = one->next;
        delete one;
    }
}

// There are as few as calls at a time have purposes, so looking at all takes no time.
ScratchPool::Kept* ScratchPool::take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    Kept** best = &free_;
    for (Kept** at = &free_; *at != nullptr; at = &(*at)->next) {
        const size_t there = (*at)->scratch.bytes();
        const size_t best_bytes = (*best)->scratch.bytes();
        const bool fits = there >= bytes;
        const bool best_fits = best_bytes >= bytes;
        if (fits != best_fits ? fits : fits ? there < best_bytes : there > best_bytes) best = at;
    }
    Kept* const one = *best;
    if (one == nullptr) return new (std::nothrow) Kept;
    *best = one->next;
    return one;
}

void ScratchPool::give_back(Kept* one) {
    one->scratch.trim();
    const std::lock_guard lock(mutex_);
    one->next = free_;
    free_ = one;
}

std::byte* CallScratch::get(size_t bytes) {
    if (taken_ == nullptr) taken_ = pool_.take(bytes);
    return taken_ != nullptr ? taken_->scratch.get(bytes) : nullptr;
}

}  // namespace tutti::mpi
