// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/device/blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace tutti::mpi::device {

namespace {

constexpr size_t kLeastBytes = size_t{64} << 10;    // a page of the largest that processors have
constexpr size_t kDoubledBytes = size_t{64} << 20;  // up to here powers of two
constexpr size_t kPartOfMemory = 16;

size_t rounded(size_t bytes) {
    if (bytes <= kDoubledBytes) return std::bit_ceil(std::max(bytes, kLeastBytes));
    return (bytes + kLeastBytes - 1) / kLeastBytes * kLeastBytes;
}

size_t part_of_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    if (pages <= 0 || page <= 0 || processors <= 0) return Blocks::kKeptBytes;
    const size_t bytes = static_cast<size_t>(pages) * static_cast<size_t>(page);
    return bytes / kPartOfMemory / static_cast<size_t>(processors);
}

}  // namespace

Blocks::Blocks() : Blocks(part_of_memory()) {}

Block Blocks::take(size_t bytes) {
    ++takes_;
    size_t best = free_.size();
    for (size_t i = 0; i < free_.size(); ++i) {
        const size_t room = free_[i].bytes;
        // A large one that only small calls used would stay for ever.
        const bool fits = room >= bytes && (room <= kDoubledBytes || room / 4 < bytes);
        if (fits && (best == free_.size() || room < free_[best].bytes)) best = i;
    }
    if (best < free_.size()) {
        ++out_;
        return remove(best);
    }
    // There is a place for each that is out.
    if (free_.capacity() <= free_.size() + out_) free_.reserve(2 * (free_.size() + out_ + 1));
    Block block;
    block.bytes = rounded(bytes);
    void* memory =
        mmap(nullptr, block.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    block.memory = static_cast<std::byte*>(memory);
    // A child must not share pages that a device writes to: on old kernels the first write to one
    // would part it from what is pinned.
    madvise(memory, block.bytes, MADV_DONTFORK);
    madvise(memory, block.bytes, MADV_HUGEPAGE);
    ++out_;
    return block;
}

void Blocks::give_back(const Block& block) {
    --out_;
    free_.push_back(block);
    free_.back().used = takes_;
    free_bytes_ += block.bytes;
}

Block Blocks::remove(size_t i) {
    const Block block = free_[i];
    free_.erase(free_.begin() + static_cast<ptrdiff_t>(i));
    free_bytes_ -= block.bytes;
    return block;
}

bool Blocks::has_excess() const {
    if (free_bytes_ <= std::min(kKeptBytes, most_bytes_)) return false;
    return free_bytes_ > most_bytes_ || takes_ - free_.front().used > kIdleTakes;
}

void Blocks::unmap(const Block& block) { munmap(block.memory, block.bytes); }

}  // namespace tutti::mpi::device
