// SPDX-License-Identifier: BSD-3-Clause
// Rows for the report: a table of fixed size that keeps the most important ones. Knows no MPI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tutti::mpi {

// Record::more counts the rows that found no room.
template <class Record, uint32_t kMax>
class KeptRecords {
  public:
    // comes_first(a, b): a is more important than b.
    template <class ComesFirst>
    void add(const Record& record, ComesFirst comes_first) {
        if (count_ < kMax) {
            records_[count_++] = record;
            return;
        }
        Record& least = *std::max_element(records_, records_ + kMax, comes_first);
        const uint32_t more = least.more;
        if (comes_first(record, least)) least = record;
        least.more = more + 1;
    }
    [[nodiscard]] std::span<const Record> records() const { return {records_, count_}; }

  private:
    Record records_[kMax] = {};
    uint32_t count_ = 0;
};

}  // namespace tutti::mpi
