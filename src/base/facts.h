// SPDX-License-Identifier: BSD-3-Clause
// What a part of Tutti can tell of itself, as a list of facts. Each part fills rows about itself.
// Reports merge those of all processes, and print them as text and as JSON without knowing what
// they mean. The types of the C interface (tutti_fact, tutti_fact_row) say what each field is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {

struct Fact {
    // Real numbers of several ranks, as a report has them; no team tells such.
    using ByRank = std::vector<std::pair<uint32_t, double>>;
    // No value, a flag, a number, seconds or another real number, a text.
    using Value = std::variant<std::nullptr_t, bool, uint64_t, double, std::string, ByRank>;

    std::string name;
    Value value;
    tutti_fact_unit unit = TUTTI_UNIT_NONE;
    tutti_fact_merge merge = TUTTI_MERGE_SPEAKER;
    std::string phrase;
    uint64_t said_from = 1;

    Fact& in(tutti_fact_unit of_value) {
        unit = of_value;
        return *this;
    }
    // Of several members their sum, or the largest.
    Fact& sum() {
        merge = TUTTI_MERGE_SUM;
        return *this;
    }
    Fact& most() {
        merge = TUTTI_MERGE_MOST;
        return *this;
    }
    // In text, if the value is no smaller than that.
    Fact& say(std::string text, uint64_t from = 1) {
        phrase = std::move(text);
        said_from = from;
        return *this;
    }
};

struct FactRow {
    std::string subject;
    std::string key;
    uint64_t weight = 0;
    // By this member, in a report of all. Set where the row is made.
    bool is_told = true;
    bool by_rank = false;  // see tutti_fact_row
    std::vector<Fact> facts;

    // The reference is valid until the next one.
    Fact& add(std::string name, Fact::Value value);
    Fact& add_seconds(std::string name, uint64_t ns);
    // nullptr: there is none.
    [[nodiscard]] const Fact* find(std::string_view name) const;
    [[nodiscard]] Fact* get(std::string_view name);
    // What another member tells of the same thing.
    void merge(FactRow other);
    // The phrases of its facts, filled in, in their order.
    [[nodiscard]] std::string text() const;
    // Of one of its facts: its phrase, filled in, or without one its value.
    [[nodiscard]] std::string text_of(const Fact& fact) const;
};

// "1,204".
std::string grouped(uint64_t number);
// "1,204", "480 KiB", "25 Mbit/s", "1.5 us"; a text as it is; "never" of no value.
std::string value_text(const Fact& fact);

// A team across hosts, and the member that tells.
struct Whose {
    std::string name;
    uint32_t rank = 0;
    uint32_t ranks = 0;
    uint32_t hosts = 0;
};
// Of one team or several: "ON NAME (4 ranks, 2 hosts), one of 3 communicators". on: a phrase with
// the name. Its first rank tells.
FactRow row_about(const Whose& whose, const char* subject, const char* on);

FactRow row_of(const tutti_fact_row& row);
// Points into the row.
std::vector<tutti_fact> c_facts(const FactRow& row);

}  // namespace tutti
