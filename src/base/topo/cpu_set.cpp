// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <bit>
#include <vector>

#include "base/topo/node_topology.h"

namespace tutti::topo {

void CpuSet::add(uint32_t cpu) {
    TUTTI_ASSERT(cpu < kCpusMax, "processor number beyond CpuSet");
    words_[cpu / 64] |= uint64_t{1} << (cpu % 64);
}

bool CpuSet::has(uint32_t cpu) const {
    return cpu < kCpusMax && ((words_[cpu / 64] >> (cpu % 64)) & 1) != 0;
}

uint32_t CpuSet::count() const {
    uint32_t count = 0;
    for (const uint64_t word : words_) count += static_cast<uint32_t>(std::popcount(word));
    return count;
}

std::optional<uint32_t> CpuSet::first() const {
    for (uint32_t i = 0; i < kCpusMax / 64; ++i) {
        if (words_[i] != 0) return i * 64 + static_cast<uint32_t>(std::countr_zero(words_[i]));
    }
    return std::nullopt;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
    for (uint32_t i = 0; i < kCpusMax / 64; ++i) words_[i] |= other.words_[i];
    return *this;
}

CpuSet affinity() {
    CpuSet cpus;
    // The kernel refuses a mask smaller than its own, whose size nobody tells: offer larger ones.
    for (size_t mask_count = 1; mask_count <= 64; mask_count *= 2) {
        std::vector<cpu_set_t> masks(mask_count);
        const size_t bytes = mask_count * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, masks.data()) != 0) continue;
        for (uint32_t cpu = 0; cpu < CpuSet::kCpusMax; ++cpu) {
            if (CPU_ISSET_S(cpu, bytes, masks.data())) cpus.add(cpu);
        }
        break;
    }
    if (cpus.count() > 0) return cpus;
    // Nothing learnt (or only processors beyond kCpusMax): as many as are online.
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (uint32_t cpu = 0; cpu < CpuSet::kCpusMax && (cpu == 0 || cpu < online); ++cpu) {
        cpus.add(cpu);
    }
    return cpus;
}

}  // namespace tutti::topo
