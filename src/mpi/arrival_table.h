// SPDX-License-Identifier: BSD-3-Clause
// What the report says about who comes late: one row a communicator and collective. Knows no MPI.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "mpi/kept_records.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

struct ReportRecord;
struct ReportRow;

// Samples stand for so many calls; there are some.
inline double calls_per_sample(const tutti_arrivals_info& info) {
    return static_cast<double>(info.calls) / static_cast<double>(info.compared);
}

// What the first rank of a communicator says; sent to rank 0 as bytes.
struct ArrivalRecord {
    uint32_t ranks;  // of the communicator
    uint32_t collective;
    std::array<int, TUTTI_ARRIVALS_LAST> last_in_world;  // the ranks' numbers in the world
    uint32_t more;                                       // rows that found no room
    tutti_arrivals_info info;
    double waited_s;  // by all its ranks together in all calls, as far as samples tell
};

// What one rank alone has waited, in all its communicators; sent to rank 0 as bytes.
struct WaitedRecord {
    double seconds;
};

// How late one rank came to the last samples of one collective of the world; sent to rank 0 as
// bytes. The same collective and as many samples on all ranks.
struct LatenessRecord {
    uint32_t collective;
    uint32_t samples;
    uint64_t late_ns[TUTTI_ARRIVALS_RECENT];
};

// The records of one process: a table of fixed size, which keeps those that have waited most.
class ArrivalLog {
  public:
    // What this process has waited in one communicator.
    void add_waited(const tutti_arrivals_info& info);
    // It has waited no longer than it was in calls in which all wait for all.
    void bound_waited(std::span<const ReportRecord> own);
    // Its first rank's; in_world: all its ranks' numbers in the world.
    void add(tutti_collective collective, const tutti_arrivals_info& info,
             std::span<const int> in_world);
    [[nodiscard]] std::span<const ArrivalRecord> records() const { return records_.records(); }
    [[nodiscard]] const WaitedRecord& waited() const { return waited_; }
    // Of the world. What was sampled most is kept.
    void add_world(tutti_collective collective, const tutti_arrivals_info& info);
    [[nodiscard]] const LatenessRecord& lateness() const { return lateness_; }

  private:
    static constexpr uint32_t kRecordsMax = 16;

    KeptRecords<ArrivalRecord, kRecordsMax> records_;
    WaitedRecord waited_ = {};
    LatenessRecord lateness_ = {};
    uint64_t lateness_samples_ = 0;
};

// Of more ranks their list says less than it takes.
inline constexpr size_t kListedRanksMax = 4096;

// What all ranks say of themselves, by rank of the world; empty where it is not known.
struct RankArrivals {
    std::vector<WaitedRecord> waited;
    std::vector<LatenessRecord> lateness;
};

// Those that have waited most first. Samples are multiplied by the calls that they stand for, and a
// single long one by as much; so what was measured of all calls is a bound: communicators have
// waited no longer than all of their size were inside calls of that collective.
std::vector<ArrivalRecord> merge_arrivals(std::span<const ArrivalRecord> records,
                                          std::span<const ReportRow> calls);
// Lines of a few, or nothing: what costs no hundredth of the run is not worth one.
std::string arrival_text(std::span<const ArrivalRecord> rows, double run_s);
nlohmann::ordered_json arrival_json(std::span<const ArrivalRecord> rows, const RankArrivals& ranks);

}  // namespace tutti::mpi
