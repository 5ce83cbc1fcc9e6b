// SPDX-License-Identifier: BSD-3-Clause
// What TUTTI_REPORT counts while the program runs: a table of fixed size, no locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "mpi/report_table.h"

namespace tutti::mpi {

// In the order of functions.inc: those that Tutti takes over come first, in that of
// tutti_collective.
enum Kind : uint8_t {
#define TUTTI_MPI_COLLECTIVE(member, Name, kind, parameters, arguments, body) kind,
#include "mpi/abi/functions.inc"
    kKinds
};
const char* kind_name(Kind kind);      // "allreduce"
const char* kind_function(Kind kind);  // "MPI_Allreduce"
// In which each rank knows its own bytes only, or the root those of all.
constexpr bool depends_on_rank(uint8_t kind) {
    return kind == kGatherv || kind == kScatterv || kind == kAlltoallv || kind == kAlltoallw;
}

class Counters {
  public:
    // `how` must stay valid; equal texts may come as different pointers.
    void count(Kind kind, uint32_t ranks, uint64_t bytes, const char* how, uint64_t nanoseconds);
    [[nodiscard]] std::vector<ReportRecord> records() const;

  private:
    static constexpr uint32_t kSlots = 512;
    static constexpr uint32_t kTexts = 128;
    struct Slot {
        std::atomic<uint64_t> key;  // 0: free
        std::atomic<uint64_t> calls;
        std::atomic<uint64_t> bytes;
        std::atomic<uint64_t> nanoseconds;
    };
    uint32_t text_number(const char* how);

    Slot slots_[kSlots] = {};
    std::atomic<const char*> texts_[kTexts] = {};
};

uint64_t now_ns();

}  // namespace tutti::mpi
