// SPDX-License-Identifier: BSD-3-Clause
// How long the blocks of a vector form are whose lengths all ranks know, and where each begins if
// they stand one after the other in the order of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tutti::sched {

// Lengths that stand elsewhere; none where all blocks are equally long.
struct BlockLengths {
    const uint64_t* bytes = nullptr;  // by rank
    uint32_t ranks = 0;
    // Where each block ends; nullptr in what is only looked up: sums are made when they are asked
    // for.
    const uint64_t* ends = nullptr;

    [[nodiscard]] bool are_there() const { return bytes != nullptr; }
    // Of the blocks of the ranks below this one, which may be the number of ranks.
    [[nodiscard]] uint64_t before(uint32_t rank) const {
        if (rank == 0) return 0;
        return ends ? ends[rank - 1] : std::accumulate(bytes, bytes + rank, uint64_t{0});
    }
    bool operator==(const BlockLengths& other) const {
        if (ranks != other.ranks) return false;
        return bytes == other.bytes || std::equal(bytes, bytes + ranks, other.bytes);
    }
};

// Lengths of its own, with their sums. Copies share them.
class OwnLengths {
  public:
    OwnLengths() = default;
    explicit OwnLengths(std::span<const uint64_t> bytes) {
        auto numbers = std::make_shared<std::vector<uint64_t>>(bytes.begin(), bytes.end());
        numbers->resize(2 * bytes.size());
        std::partial_sum(bytes.begin(), bytes.end(),
                         numbers->begin() + static_cast<std::ptrdiff_t>(bytes.size()));
        numbers_ = std::move(numbers);
    }
    explicit OwnLengths(const BlockLengths& other) {
        if (other.are_there()) *this = OwnLengths(std::span(other.bytes, other.ranks));
    }

    // Valid as long as this or a copy of it is there.
    [[nodiscard]] BlockLengths view() const {
        if (!numbers_) return {};
        const size_t ranks = numbers_->size() / 2;
        return {numbers_->data(), static_cast<uint32_t>(ranks), numbers_->data() + ranks};
    }

  private:
    std::shared_ptr<const std::vector<uint64_t>> numbers_;  // the lengths, then the ends
};

}  // namespace tutti::sched
