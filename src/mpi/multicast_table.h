// SPDX-License-Identifier: BSD-3-Clause
// What the report says about hardware multicast: one row a communicator that has or had it, and one
// for each reason why others have not. Knows no MPI.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::mpi {

// What one process says of one team, or of several; sent to rank 0 as bytes.
struct MulticastRecord {
    uint32_t ranks;  // of the team
    uint32_t teams;  // that the record stands for
    tutti_multicast_info info;
};

// The records of one process: a table of fixed size.
class MulticastLog {
  public:
    // Who speaks: the processes that carry a team's packets; of a team without, its rank 0.
    void add(const tutti_multicast_info& info, uint32_t rank, uint32_t ranks);
    [[nodiscard]] std::span<const MulticastRecord> records() const { return {records_, count_}; }

  private:
    // Beyond it, what is new is added to the last row, which is then no single team's.
    static constexpr uint32_t kRecordsMax = 32;
    MulticastRecord records_[kRecordsMax] = {};
    uint32_t count_ = 0;
};

// One row a group, its figures added up over the hosts; then the reasons.
std::vector<MulticastRecord> merge_multicasts(std::span<const MulticastRecord> records);
// Lines, or nothing.
std::string multicast_text(std::span<const MulticastRecord> rows);
nlohmann::ordered_json multicast_json(std::span<const MulticastRecord> rows);

}  // namespace tutti::mpi
