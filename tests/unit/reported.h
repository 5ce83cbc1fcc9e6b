// SPDX-License-Identifier: BSD-3-Clause
// Rows of facts as a report has them: those about one thing merged, the heaviest first.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/facts.h"

namespace tutti::test {

class Reported {
  public:
    void add(FactRow row) {
        if (!row.is_told) return;
        const auto same = std::ranges::find(rows_, row.key, &FactRow::key);
        if (same == rows_.end()) {
            rows_.push_back(std::move(row));
        } else {
            same->merge(std::move(row));
        }
        std::ranges::stable_sort(rows_, std::greater{}, &FactRow::weight);
    }
    [[nodiscard]] const std::vector<FactRow>& rows() const { return rows_; }
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const FactRow& row : rows_) text += row.text() + "\n";
        return text;
    }

  private:
    std::vector<FactRow> rows_;
};

}  // namespace tutti::test
