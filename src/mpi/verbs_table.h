// SPDX-License-Identifier: BSD-3-Clause
// What the report says about messages by RDMA: how many communicators have them, and why others
// have not. Knows no MPI.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::mpi {

// What the first rank of a team says of it, or of several; sent to rank 0 as bytes.
struct VerbsRecord {
    uint32_t ranks;    // of the team
    uint32_t teams;    // that the record stands for
    uint32_t sharing;  // of these, by connections of another
    tutti_verbs_info info;
};

// The records of one process: a table of fixed size.
class VerbsLog {
  public:
    void add(const tutti_verbs_info& info, uint32_t rank, uint32_t ranks);
    [[nodiscard]] std::span<const VerbsRecord> records() const { return {records_, count_}; }

  private:
    // Beyond it, what is new counts for the last row.
    static constexpr uint32_t kRecordsMax = 8;
    VerbsRecord records_[kRecordsMax] = {};
    uint32_t count_ = 0;
};

// One row for those that have them, one for each reason.
std::vector<VerbsRecord> merge_verbs(std::span<const VerbsRecord> records);
// Lines, or nothing.
std::string verbs_text(std::span<const VerbsRecord> rows);
nlohmann::ordered_json verbs_json(std::span<const VerbsRecord> rows);

}  // namespace tutti::mpi
