// SPDX-License-Identifier: BSD-3-Clause
// Facts of a job, for the report: those of each process, merged at rank 0. Knows neither MPI nor
// what the facts mean.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/facts.h"

namespace tutti::mpi {

class FactLog {
  public:
    // Of one process.
    static constexpr size_t kRowsMax = 32;

    // rows_max: of one subject. Where there are more, the heaviest are kept.
    explicit FactLog(size_t rows_max = kRowsMax) : rows_max_(rows_max) {}

    void add(FactRow row);
    // Of a subject, the heaviest first.
    [[nodiscard]] std::vector<FactRow> rows(std::string_view subject) const;
    // Visits those of a subject so.
    void change(std::string_view subject, const std::function<void(FactRow&)>& visit);
    // Those that have rows.
    [[nodiscard]] std::vector<std::string> subjects() const;
    // A team could not tell, for want of memory.
    void lose() noexcept { ++lost_; }
    // How often a subject's rows found no room, or were left out otherwise.
    [[nodiscard]] uint64_t left_out(const std::string& subject) const;

    // A line of JSON each, so that those of several processes may follow one another. rank: this
    // process's, for what is listed by rank; nothing: that is left out.
    [[nodiscard]] std::string packed(std::optional<uint32_t> rank) const;
    void add_packed(std::string_view lines);

  private:
    size_t rows_max_;
    std::vector<FactRow> rows_;
    std::map<std::string, uint64_t> left_out_;
    uint64_t lost_ = 0;
};

// Lines of what is worth reading, or nothing. is_full: within nodes, too.
std::string facts_text(const FactLog& log, bool is_full);
// Each row becomes an object in the list that its subject names. Lists by rank have so many.
void add_facts(nlohmann::ordered_json& json, const FactLog& log, uint32_t ranks);

}  // namespace tutti::mpi
