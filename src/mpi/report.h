// SPDX-License-Identifier: BSD-3-Clause
// What TUTTI_REPORT counts while the program runs: a table of fixed size, no locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
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
// How a collective is called. Persistent ones are made once and started often.
enum class Form : uint8_t { kBlocking, kNonblocking, kInit, kStart };
inline constexpr uint8_t kForms = 4;
// Both in one number.
constexpr uint32_t call_number(Kind kind, Form form) {
    return static_cast<uint32_t>(form) << 8 | kind;
}
inline constexpr uint32_t kNoCall = UINT32_MAX;
const char* kind_name(Kind kind);             // "allreduce"
const char* kind_function(Kind kind);         // "MPI_Allreduce"
std::string call_name(Kind kind, Form form);  // "iallreduce", "allreduce_init"
constexpr bool is_among_neighbors(uint8_t kind) { return kind >= kNeighborAllgather; }
// In which each rank knows its own bytes only, or the root those of all.
constexpr bool depends_on_rank(uint8_t kind) {
    return kind == kGatherv || kind == kScatterv || kind == kAlltoallv || kind == kAlltoallw ||
           is_among_neighbors(kind);
}
inline constexpr const char* kNotTakenOver = "host: not taken over yet";

// Calls that are counted together.
class Tally {
  public:
    // Reading the clock twice takes longer than many a call that waits for nobody. So of those only
    // the first are all timed, and then one in 32, at steps of 21, 34 and 55 (the golden ratio's),
    // which hardly a loop keeps time with.
    [[nodiscard, gnu::always_inline]] bool is_timed() const {
        constexpr uint64_t kAll = 64;
        const uint64_t before = calls.load(std::memory_order_relaxed);
        return before < kAll || static_cast<uint32_t>(before * 0x9e3779b1u) >> 27 == 0;
    }
    // `alone`: no other thread counts meanwhile, so nothing need be locked.
    [[gnu::always_inline]] void add(uint64_t more_bytes, bool alone) {
        increase(calls, 1, alone);
        increase(bytes, more_bytes, alone);
    }
    // Behind add(): this call took so long, and so did those since the last that was timed.
    void add_time(uint64_t took_ns, bool alone) {
        const uint64_t now = calls.load(std::memory_order_relaxed);
        const uint64_t before = covered.exchange(now, std::memory_order_relaxed);
        if (now > before) increase(nanoseconds, took_ns * (now - before), alone);
    }
    // Of all calls, as far as one can tell.
    [[nodiscard]] uint64_t estimated_ns() const;

    std::atomic<uint64_t> key;  // 0: free
    std::atomic<uint64_t> calls;
    std::atomic<uint64_t> bytes;
    std::atomic<uint64_t> nanoseconds;
    std::atomic<uint64_t> covered;  // calls that nanoseconds stands for; 0: all

  private:
    [[gnu::always_inline]] static void increase(std::atomic<uint64_t>& number, uint64_t by,
                                                bool alone) {
        if (alone) {
            number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
        } else {
            number.fetch_add(by, std::memory_order_relaxed);
        }
    }
};

class Counters {
  public:
    // `how` must stay valid; equal texts may come as different pointers.
    void count(Kind kind, uint32_t ranks, uint64_t bytes, const char* how, uint64_t nanoseconds);
    // For calls that Tutti does not take over, of so many bytes each. Null where the table is full.
    Tally* passed(Kind kind, Form form, uint32_t ranks, uint64_t bytes);
    [[nodiscard]] std::vector<ReportRecord> records() const;

  private:
    static constexpr uint32_t kSlots = 512;
    static constexpr uint32_t kTexts = 128;
    static constexpr uint32_t kPassedText = 1;
    uint32_t text_number(const char* how);
    Tally* find(uint64_t key);

    Tally slots_[kSlots] = {};
    std::atomic<const char*> texts_[kTexts] = {nullptr, kNotTakenOver};
};

uint64_t now_ns();

}  // namespace tutti::mpi
