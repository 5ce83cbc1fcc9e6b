// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_pattern.h"

#include <algorithm>

#include "base/collectives.h"
#include "base/prng.h"

namespace tutti::bench {
namespace {

double base_value(uint64_t seed, uint64_t buffer, uint64_t origin) {
    constexpr uint64_t kBuffersMax = 1024;
    Prng prng((seed * kBuffersMax + buffer) * 0x10001 + origin);
    return static_cast<double>(prng.below(4093));
}

void fill_block(double* block, uint64_t elements, double base) {
    for (uint64_t j = 0; j < elements; ++j) block[j] = base + static_cast<double>(j);
}

struct Wrong {
    uint64_t element;
    double expected;
};

// The block that must hold first_value, then base + scale * j.
std::optional<Wrong> check_block(const double* block, uint64_t elements, double first_value,
                                 double base, double scale) {
    if (block[0] != first_value) return Wrong{0, first_value};
    bool right = true;
    for (uint64_t j = 1; j < elements; ++j) {
        right &= block[j] == base + scale * static_cast<double>(j);
    }
    if (right) return std::nullopt;
    uint64_t j = 1;
    while (block[j] == base + scale * static_cast<double>(j)) ++j;
    return Wrong{j, base + scale * static_cast<double>(j)};
}

// First and last call of the batch that use the buffer; nothing where none does.
struct Uses {
    uint64_t first;
    uint64_t last;
};
std::optional<Uses> uses_of(const Batch& batch, uint64_t buffer, uint64_t count) {
    const uint64_t ahead = (buffer + count - batch.first_call % count) % count;
    if (ahead >= batch.calls) return std::nullopt;
    const uint64_t rounds = (batch.calls - 1 - ahead) / count;
    const uint64_t first = batch.first_call + ahead;
    return Uses{first, first + rounds * count};
}

bool is_root_of(const Batch& batch, const Uses& uses, const RankOfSize& place, uint64_t count) {
    const uint64_t cycle = count * place.size;
    const uint64_t end = std::min(uses.last, uses.first + cycle);
    for (uint64_t call = uses.first; call <= end; call += count) {
        if (root_of(batch, call, place.size) == place.rank) return true;
    }
    return false;
}

// One block of this rank's result.
std::optional<Wrong> check_result(const Batch& batch, uint32_t buffer, const Uses& uses,
                                  const RankOfSize& place, uint32_t block, const double* result) {
    const auto root = root_of(batch, uses.last, place.size);
    const Collective& what = facts(batch.collective);
    const Origin from = origin(batch.collective, place.rank, root, place.size, block);
    double first = 0;
    double base = 0;
    for (uint32_t r = from.first; r <= from.last; ++r) {
        first += stamp(uses.last, number_of(batch.collective, r, from.block, place.size));
        // Later broadcasts of the batch pass on what the first one left, under a new stamp.
        const bool passes_on = what.in_place == InPlace::kAlways;
        const auto source = passes_on ? root_of(batch, uses.first, place.size) : r;
        base += base_value(batch.seed, buffer,
                           number_of(batch.collective, source, from.block, place.size));
    }
    const uint64_t elements = block_elements(batch, from.first, place.rank);
    return check_block(result, elements, first, base, from.last - from.first + 1);
}

std::optional<Wrong> check_buffer(const Batch& batch, uint32_t buffer, const Uses& uses,
                                  const RankOfSize& place, const double* recv) {
    const auto root = root_of(batch, uses.last, place.size);
    const uint32_t blocks = output_blocks(batch.collective, place.rank, root, place.size);
    for (uint32_t block = 0; block < blocks; ++block) {
        const uint64_t offset = block * batch.elements;
        const auto wrong = check_result(batch, buffer, uses, place, block, recv + offset);
        if (wrong) return Wrong{wrong->element + offset, wrong->expected};
    }
    return std::nullopt;
}

}  // namespace

uint64_t number_of(tutti_collective collective, uint32_t rank, uint32_t block, uint32_t size) {
    const bool has_all = facts(collective).input.holds == Holds::kAll;
    return has_all ? uint64_t{rank} * size + block : rank;
}

uint64_t block_elements(const Batch& batch, uint32_t from, uint32_t to) {
    const Collective& what = facts(batch.collective);
    if (!batch.is_ragged || !has_lengths(what)) return batch.elements;
    // Where one side has but one block, its length is that of the other side's rank.
    const uint32_t givers = what.output.holds == Holds::kOne ? 0 : from;
    const uint32_t takers = what.input.holds == Holds::kOne ? 0 : to;
    return std::max<uint64_t>(batch.elements * (1 + (givers + takers) % 4) / 4, 1);
}

uint64_t input_offset(const Batch& batch, uint32_t to) {
    // Other blocks have gaps between them; the vector of a reduction has none.
    if (!batch.is_ragged || !is_reduction(batch.collective)) return to * batch.elements;
    uint64_t offset = 0;
    for (uint32_t before = 0; before < to; ++before) offset += block_elements(batch, 0, before);
    return offset;
}

// Every rank is the root now and then. Rank 0 has the room for a result where it gets none.
uint64_t send_elements(tutti_collective collective, uint64_t elements, uint32_t size) {
    return elements * input_blocks(collective, 1, 1, size);
}

uint64_t recv_elements(tutti_collective collective, uint64_t elements, uint32_t size) {
    return elements * output_blocks(collective, 1, 1, size);
}

void fill(const Batch& batch, const RankOfSize& place, const BatchBuffers& buffers) {
    const Collective& what = facts(batch.collective);
    if (!has_data(what)) return;
    for (uint32_t k = 0; k < buffers.count(); ++k) {
        const auto uses = uses_of(batch, k, buffers.count());
        if (!uses) continue;
        if (what.in_place == InPlace::kAlways) {
            // Not only at the root: a broadcast that does nothing must leave something wrong.
            fill_block(buffers.recv[k], batch.elements, base_value(batch.seed, k, place.rank));
            const bool is_first_root = root_of(batch, uses->first, place.size) == place.rank;
            if (is_first_root) buffers.recv[k][0] = stamp(uses->first, place.rank);
            continue;
        }
        if (what.input.on == On::kRoot && !is_root_of(batch, *uses, place, buffers.count()))
            continue;
        const bool has_all = what.input.holds == Holds::kAll;
        const uint32_t blocks = has_all ? place.size : 1;
        for (uint32_t block = 0; block < blocks; ++block) {
            const uint64_t number = number_of(batch.collective, place.rank, block, place.size);
            double* start = buffers.send[k] + input_offset(batch, block);
            fill_block(start, block_elements(batch, place.rank, block),
                       base_value(batch.seed, k, number));
            start[0] = stamp(uses->first, number);
        }
    }
}

std::optional<Mismatch> verify(const Batch& batch, const RankOfSize& place,
                               const BatchBuffers& buffers) {
    for (uint32_t k = 0; k < buffers.count(); ++k) {
        const auto uses = uses_of(batch, k, buffers.count());
        if (!uses) continue;
        const auto wrong = check_buffer(batch, k, *uses, place, buffers.recv[k]);
        if (wrong) {
            return Mismatch{uses->last, root_of(batch, uses->last, place.size), wrong->element,
                            buffers.recv[k][wrong->element], wrong->expected};
        }
    }
    return std::nullopt;
}

}  // namespace tutti::bench
