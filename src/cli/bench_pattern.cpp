// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_pattern.h"

#include <algorithm>

#include "base/prng.h"

namespace tutti::cli {
namespace {

double base_value(uint64_t seed, uint64_t buffer, uint64_t origin) {
    Prng prng((seed * kBufferCount + buffer) * 0x10001 + origin);
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
std::optional<Uses> uses_of(const Batch& batch, uint64_t buffer) {
    const uint64_t ahead = (buffer + kBufferCount - batch.first_call % kBufferCount) % kBufferCount;
    if (ahead >= batch.calls) return std::nullopt;
    const uint64_t rounds = (batch.calls - 1 - ahead) / kBufferCount;
    const uint64_t first = batch.first_call + ahead;
    return Uses{first, first + rounds * kBufferCount};
}

bool is_root_of(const Uses& uses, const Place& place) {
    const uint64_t cycle = uint64_t{kBufferCount} * place.size;
    const uint64_t end = std::min(uses.last, uses.first + cycle);
    for (uint64_t call = uses.first; call <= end; call += kBufferCount) {
        if (call % place.size == place.rank) return true;
    }
    return false;
}

std::optional<Wrong> check_sum(const Batch& batch, uint32_t buffer, uint64_t call,
                               const Place& place, const double* recv) {
    double first = 0;
    double base = 0;
    for (uint32_t r = 0; r < place.size; ++r) {
        first += stamp(call, r);
        base += base_value(batch.seed, buffer, r);
    }
    return check_block(recv, batch.elements, first, base, place.size);
}

std::optional<Wrong> check_blocks(const Batch& batch, uint32_t buffer, uint64_t call,
                                  const Place& place, const double* recv) {
    for (uint32_t r = 0; r < place.size; ++r) {
        const uint64_t offset = r * batch.elements;
        auto wrong = check_block(recv + offset, batch.elements, stamp(call, r),
                                 base_value(batch.seed, buffer, r), 1);
        if (wrong) return Wrong{wrong->element + offset, wrong->expected};
    }
    return std::nullopt;
}

std::optional<Wrong> check_buffer(const Batch& batch, uint32_t buffer, const Uses& uses,
                                  const Place& place, const double* recv) {
    const uint64_t root = uses.last % place.size;
    const bool at_root = root == place.rank;
    switch (batch.collective) {
        case TUTTI_BCAST: {
            // Later broadcasts of the batch pass on what the first one left, under a new stamp.
            const double base = base_value(batch.seed, buffer, uses.first % place.size);
            return check_block(recv, batch.elements, stamp(uses.last, root), base, 1);
        }
        case TUTTI_REDUCE:
            return at_root ? check_sum(batch, buffer, uses.last, place, recv) : std::nullopt;
        case TUTTI_ALLREDUCE:
            return check_sum(batch, buffer, uses.last, place, recv);
        case TUTTI_GATHER:
            return at_root ? check_blocks(batch, buffer, uses.last, place, recv) : std::nullopt;
        case TUTTI_ALLGATHER:
            return check_blocks(batch, buffer, uses.last, place, recv);
        case TUTTI_SCATTER: {
            const double base = base_value(batch.seed, buffer, root * place.size + place.rank);
            return check_block(recv, batch.elements, stamp(uses.last, place.rank), base, 1);
        }
        default:
            return std::nullopt;
    }
}

}  // namespace

uint64_t send_elements(tutti_collective collective, uint64_t elements, uint32_t size) {
    if (collective == TUTTI_BARRIER || collective == TUTTI_BCAST) return 0;
    return collective == TUTTI_SCATTER ? elements * size : elements;
}

uint64_t recv_elements(tutti_collective collective, uint64_t elements, uint32_t size) {
    if (collective == TUTTI_BARRIER) return 0;
    const bool blocks = collective == TUTTI_GATHER || collective == TUTTI_ALLGATHER;
    return blocks ? elements * size : elements;
}

void fill(const Batch& batch, const Place& place, const BatchBuffers& buffers) {
    for (uint32_t k = 0; k < kBufferCount; ++k) {
        const auto uses = uses_of(batch, k);
        if (!uses || batch.collective == TUTTI_BARRIER) continue;
        const double own = base_value(batch.seed, k, place.rank);
        if (batch.collective == TUTTI_BCAST) {
            // Not only at the root: a broadcast that does nothing must leave something wrong.
            fill_block(buffers.recv[k], batch.elements, own);
        } else if (batch.collective != TUTTI_SCATTER) {
            fill_block(buffers.send[k], batch.elements, own);
        } else if (is_root_of(*uses, place)) {
            for (uint32_t r = 0; r < place.size; ++r) {
                const uint64_t origin = uint64_t{place.rank} * place.size + r;
                fill_block(buffers.send[k] + r * batch.elements, batch.elements,
                           base_value(batch.seed, k, origin));
            }
        }
    }
}

std::optional<Mismatch> verify(const Batch& batch, const Place& place,
                               const BatchBuffers& buffers) {
    for (uint32_t k = 0; k < kBufferCount; ++k) {
        const auto uses = uses_of(batch, k);
        if (!uses) continue;
        const auto wrong = check_buffer(batch, k, *uses, place, buffers.recv[k]);
        if (wrong) {
            return Mismatch{uses->last, static_cast<uint32_t>(uses->last % place.size),
                            wrong->element, buffers.recv[k][wrong->element], wrong->expected};
        }
    }
    return std::nullopt;
}

}  // namespace tutti::cli
