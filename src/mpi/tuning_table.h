// SPDX-License-Identifier: BSD-3-Clause
// What the report says about live tuning: one row a communicator and kind of call. Knows no MPI.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "mpi/kept_records.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

// What the first rank of a communicator says; sent to rank 0 as bytes.
struct TuningRecord {
    uint32_t ranks;  // of the communicator
    uint32_t more;   // rows that found no room
    tutti_tuning_info info;

    // That calls run otherwise now gains so much of a call, as measured; 0: they do not.
    [[nodiscard]] uint64_t gain_ns() const;
};

// The records of one process: a table of fixed size, which keeps those of most calls.
class TuningLog {
  public:
    // Of one kind of calls, for which something was tried.
    void add(const tutti_tuning_info& info, uint32_t ranks);
    [[nodiscard]] std::span<const TuningRecord> records() const { return records_.records(); }

  private:
    static constexpr uint32_t kRecordsMax = 32;

    KeptRecords<TuningRecord, kRecordsMax> records_;
};

// Those that have gained most first.
std::vector<TuningRecord> merge_tunings(std::span<const TuningRecord> records);
// Lines of a few, or nothing.
// is_live: live tuning is on, and a line says so where nothing was tried.
std::string tuning_text(std::span<const TuningRecord> rows, bool is_live);
nlohmann::ordered_json tuning_json(std::span<const TuningRecord> rows);

}  // namespace tutti::mpi
