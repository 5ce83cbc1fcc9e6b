// SPDX-License-Identifier: BSD-3-Clause
// What teams tell of themselves (tutti_team_facts()).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collectives.h"
#include "base/facts.h"

namespace tutti::test {

// Facts about one thing. Those that are not told are zero and empty.
class Told {
  public:
    Told() = default;
    explicit Told(FactRow row) : row_(std::move(row)) {}

    [[nodiscard]] uint64_t number(std::string_view name) const { return get<uint64_t>(name); }
    [[nodiscard]] double real(std::string_view name) const { return get<double>(name); }
    [[nodiscard]] bool flag(std::string_view name) const { return get<bool>(name); }
    [[nodiscard]] std::string text(std::string_view name) const { return get<std::string>(name); }
    [[nodiscard]] bool has(std::string_view name) const { return row_.find(name) != nullptr; }
    [[nodiscard]] const FactRow& row() const { return row_; }

  private:
    template <class Value>
    [[nodiscard]] Value get(std::string_view name) const {
        const Fact* fact = row_.find(name);
        if (fact == nullptr) return {};
        EXPECT_TRUE(std::holds_alternative<Value>(fact->value)) << name;
        return std::holds_alternative<Value>(fact->value) ? std::get<Value>(fact->value) : Value{};
    }

    FactRow row_;
};

// to_report: what this member tells in a report of all.
inline std::vector<Told> all_told(const tutti_team* team, std::string_view subject,
                                  bool to_report = false) {
    std::vector<FactRow> rows;
    const auto keep = [](void* to, const tutti_fact_row* row) {
        EXPECT_EQ(row->struct_bytes, sizeof(tutti_fact_row));
        static_cast<std::vector<FactRow>*>(to)->push_back(row_of(*row));
    };
    EXPECT_EQ(tutti_team_facts(team, to_report ? 0 : 1, keep, &rows), TUTTI_OK);
    std::vector<Told> found;
    for (FactRow& row : rows) {
        if (row.subject == subject) found.emplace_back(std::move(row));
    }
    return found;
}

// Of a subject of one row.
inline Told told(const tutti_team* team, std::string_view subject) {
    std::vector<Told> all = all_told(team, subject);
    EXPECT_LE(all.size(), 1u);
    return all.empty() ? Told{} : std::move(all[0]);
}

// Nothing of a collective that was not sampled.
inline Told arrivals_of(const tutti_team* team, tutti_collective collective) {
    for (Told& one : all_told(team, "arrivals/calls")) {
        if (one.text("collective") == collective_name(collective)) return std::move(one);
    }
    return {};
}

}  // namespace tutti::test
