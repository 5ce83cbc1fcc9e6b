// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/pair_blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "base/prng.h"

namespace tutti::check {
namespace {

constexpr uint64_t kGapBytesMax = 9;

// Where blocks of these lengths stand, one behind the other in some order.
std::vector<uint64_t> place(const std::vector<uint64_t>& bytes, Prng* prng) {
    std::vector<size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); prng && i > 1; --i)
        std::swap(order[i - 1], order[prng->below(i)]);
    std::vector<uint64_t> offsets(bytes.size());
    uint64_t end = 0;
    for (const size_t i : order) {
        if (prng && prng->below(2) == 0) end += prng->below(kGapBytesMax + 1);
        offsets[i] = end;
        end += bytes[i];
    }
    return offsets;
}

}  // namespace

PairBlocks::PairBlocks(tutti_collective collective, Rank root, Rank ranks,
                       const std::vector<uint64_t>& bytes, uint64_t seed)
    : what_(facts(collective)),
      root_(root),
      ranks_(ranks),
      bytes_(bytes),
      inputs_(ranks),
      outputs_(ranks) {
    TUTTI_ASSERT(has_private_lengths(collective), "others have no lengths by pair");
    TUTTI_ASSERT(bytes.size() == size_t{ranks} * ranks, "a length for each pair");
    Prng prng(seed);
    const bool is_rooted = has_root(what_);
    uint64_t all = 0;
    for (Rank from = 0; from < ranks; ++from) {
        for (Rank to = 0; to < ranks; ++to) {
            const Rank giver = what_.from == From::kRoot ? from : to;
            if (is_rooted && giver != root) bytes_[index(from, to)] = 0;
            data_.push_back(all);
            all += bytes_[index(from, to)];
        }
    }
    const auto fill = [&](Side& side, auto length) {
        for (Rank other = 0; other < ranks; ++other) side.bytes.push_back(length(other));
        side.offsets = place(side.bytes, seed == 0 ? nullptr : &prng);
    };
    for (Rank rank = 0; rank < ranks; ++rank) {
        if (has_arrays(what_.input, rank)) {
            fill(inputs_[rank], [&](Rank other) { return bytes_[index(rank, other)]; });
        }
        if (has_arrays(what_.output, rank)) {
            fill(outputs_[rank], [&](Rank other) { return bytes_[index(other, rank)]; });
        }
    }
}

bool PairBlocks::has_arrays(const CollectiveBuffer& side, Rank rank) const {
    return side.holds == Holds::kAll && is_on(side.on, rank, root_);
}

sched::CallBlocks PairBlocks::of(Rank rank) const {
    sched::CallBlocks blocks;
    const Side& input = inputs_[rank];
    const Side& output = outputs_[rank];
    if (!input.bytes.empty()) {
        blocks.input_bytes = input.bytes.data();
        blocks.input_offsets = input.offsets.data();
    }
    if (!output.bytes.empty()) {
        blocks.output_bytes = output.bytes.data();
        blocks.output_offsets = output.offsets.data();
    }
    if (what_.input.holds == Holds::kOne) blocks.own_bytes = bytes_[index(rank, root_)];
    if (what_.output.holds == Holds::kOne) blocks.own_bytes = bytes_[index(root_, rank)];
    return blocks;
}

uint64_t PairBlocks::own_offset(Rank rank) const {
    if (!outputs_[rank].offsets.empty()) return outputs_[rank].offsets[rank];
    return inputs_[rank].offsets.empty() ? 0 : inputs_[rank].offsets[rank];
}

std::vector<PairBlocks::Stretch> PairBlocks::inputs(Rank rank) const {
    if (what_.input.holds == Holds::kOne) {
        return {{0, bytes_[index(rank, root_)], data_[index(rank, root_)]}};
    }
    std::vector<Stretch> stretches;
    const Side& side = inputs_[rank];
    for (Rank other = 0; other < side.bytes.size(); ++other) {
        stretches.push_back({side.offsets[other], side.bytes[other], data_[index(rank, other)]});
    }
    return stretches;
}

std::vector<PairBlocks::Stretch> PairBlocks::outputs(Rank rank) const {
    if (what_.output.holds == Holds::kOne) {
        return {{0, bytes_[index(root_, rank)], data_[index(root_, rank)]}};
    }
    std::vector<Stretch> stretches;
    const Side& side = outputs_[rank];
    for (Rank other = 0; other < side.bytes.size(); ++other) {
        stretches.push_back({side.offsets[other], side.bytes[other], data_[index(other, rank)]});
    }
    return stretches;
}

uint64_t PairBlocks::end_of(const std::vector<Stretch>& stretches) {
    uint64_t end = 0;
    for (const Stretch& one : stretches) end = std::max(end, one.offset + one.bytes);
    return end;
}

}  // namespace tutti::check
