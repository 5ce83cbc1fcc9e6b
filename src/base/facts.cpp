// SPDX-License-Identifier: BSD-3-Clause
#include "base/facts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace tutti {

namespace {

constexpr uint64_t kKiB = 1024;

std::string rounded(double value, const char* unit) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g%s%s", value, *unit == '\0' ? "" : " ", unit);
    return text;
}

std::string rounded_bytes(double bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= kKiB && unit + 1 < std::size(kUnits); ++unit) bytes /= kKiB;
    return rounded(bytes, kUnits[unit]);
}

std::string real_text(double value, tutti_fact_unit unit) {
    switch (unit) {
        case TUTTI_UNIT_BYTES:
            return rounded_bytes(value);
        case TUTTI_UNIT_SECONDS:
            return format_duration(static_cast<uint64_t>(std::llround(value * 1e9)));
        case TUTTI_UNIT_NANOSECONDS:
            return format_duration(static_cast<uint64_t>(std::llround(value)));
        case TUTTI_UNIT_BYTES_PER_SECOND:
            return value < 1.25e8 ? rounded(value * 8e-6, "Mbit/s")
                                  : rounded(value * 8e-9, "Gbit/s");
        case TUTTI_UNIT_NONE:
        case TUTTI_UNIT_RANK:
            break;
    }
    return rounded(value, "");
}

bool is_said(const Fact& fact) {
    if (fact.phrase.empty()) return false;
    if (const bool* flag = std::get_if<bool>(&fact.value)) return *flag;
    if (const uint64_t* number = std::get_if<uint64_t>(&fact.value)) {
        return *number >= fact.said_from;
    }
    if (const double* real = std::get_if<double>(&fact.value)) {
        return *real > 0 || fact.said_from == 0;
    }
    const std::string* text = std::get_if<std::string>(&fact.value);
    return text == nullptr || !text->empty() || fact.said_from == 0;
}

// What stands between braces: "", "NAME", ":WORD" or "NAME:WORD".
std::string filled(const FactRow& row, const Fact& own, std::string_view place) {
    const size_t colon = place.find(':');
    const std::string_view name = place.substr(0, colon);
    const Fact* fact = name.empty() ? &own : row.find(name);
    if (fact == nullptr) return "?";
    if (colon == std::string_view::npos) return value_text(*fact);
    const uint64_t* number = std::get_if<uint64_t>(&fact->value);
    return value_text(*fact) + " " + std::string(place.substr(colon + 1)) +
           (number != nullptr && *number == 1 ? "" : "s");
}

void take_in(Fact& mine, const Fact& theirs) {
    const auto take = [&](auto& value, auto other) {
        value = mine.merge == TUTTI_MERGE_SUM ? value + other : std::max(value, other);
    };
    if (mine.value.index() != theirs.value.index()) return;
    if (auto* ranks = std::get_if<Fact::ByRank>(&mine.value)) {
        const auto& others = std::get<Fact::ByRank>(theirs.value);
        ranks->insert(ranks->end(), others.begin(), others.end());
        return;
    }
    if (mine.merge == TUTTI_MERGE_SPEAKER) return;
    if (uint64_t* number = std::get_if<uint64_t>(&mine.value)) {
        take(*number, std::get<uint64_t>(theirs.value));
    } else if (double* real = std::get_if<double>(&mine.value)) {
        take(*real, std::get<double>(theirs.value));
    }
}

}  // namespace

std::string grouped(uint64_t number) {
    std::string text = std::to_string(number);
    for (size_t left = text.size(); left > 3; left -= 3) text.insert(left - 3, ",");
    return text;
}

Fact& FactRow::add_seconds(std::string name, uint64_t ns) {
    return add(std::move(name), static_cast<double>(ns) * 1e-9).in(TUTTI_UNIT_SECONDS);
}

Fact& FactRow::add(std::string name, Fact::Value value) {
    Fact& fact = facts.emplace_back();
    fact.name = std::move(name);
    fact.value = std::move(value);
    return fact;
}

const Fact* FactRow::find(std::string_view name) const {
    const auto found = std::ranges::find(facts, name, &Fact::name);
    return found == facts.end() ? nullptr : &*found;
}

Fact* FactRow::get(std::string_view name) {
    return const_cast<Fact*>(std::as_const(*this).find(name));
}

void FactRow::merge(FactRow other) {
    if (other.weight > weight) std::swap(*this, other);
    for (Fact& theirs : other.facts) {
        if (Fact* mine = get(theirs.name)) {
            take_in(*mine, theirs);
        } else if (theirs.merge != TUTTI_MERGE_SPEAKER) {
            facts.push_back(std::move(theirs));
        }
    }
}

std::string FactRow::text_of(const Fact& fact) const {
    if (fact.phrase.empty()) return value_text(fact);
    std::string text;
    std::string_view rest = fact.phrase;
    while (true) {
        const size_t open = rest.find('{');
        text += rest.substr(0, open);
        if (open == std::string_view::npos) break;
        const size_t close = rest.find('}', open);
        if (close == std::string_view::npos) break;
        text += filled(*this, fact, rest.substr(open + 1, close - open - 1));
        rest.remove_prefix(close + 1);
    }
    return text;
}

std::string FactRow::text() const {
    std::string text;
    for (const Fact& fact : facts) {
        if (is_said(fact)) text += text_of(fact);
    }
    return text;
}

std::string value_text(const Fact& fact) {
    if (std::holds_alternative<std::nullptr_t>(fact.value)) return "never";
    if (const bool* flag = std::get_if<bool>(&fact.value)) return *flag ? "yes" : "no";
    if (const auto* text = std::get_if<std::string>(&fact.value)) return *text;
    const uint64_t* number = std::get_if<uint64_t>(&fact.value);
    if (number == nullptr) {
        const double* real = std::get_if<double>(&fact.value);
        return real != nullptr ? real_text(*real, fact.unit) : "?";
    }
    if (fact.unit == TUTTI_UNIT_NONE) return grouped(*number);
    if (fact.unit == TUTTI_UNIT_RANK) return std::to_string(*number);
    return real_text(static_cast<double>(*number), fact.unit);
}

FactRow row_about(const Whose& whose, const char* subject, const char* on) {
    FactRow row;
    row.subject = subject;
    row.is_told = whose.rank == 0;
    row.add("communicator", whose.name).say(on);
    row.add("ranks", uint64_t{whose.ranks}).say(" ({:rank}");
    row.add("hosts", uint64_t{whose.hosts}).say(", {:host})");
    row.add("communicators", uint64_t{1}).sum().say(", one of {} communicators", 2);
    return row;
}

FactRow row_of(const tutti_fact_row& row) {
    FactRow made{row.subject, row.key, row.weight, true, row.by_rank != 0, {}};
    made.facts.reserve(row.facts);
    for (size_t i = 0; i < row.facts; ++i) {
        const tutti_fact& fact = row.fact[i];
        Fact& one = made.add(fact.name, nullptr);
        if (fact.type == TUTTI_FACT_FLAG) one.value = fact.number != 0;
        if (fact.type == TUTTI_FACT_NUMBER) one.value = fact.number;
        if (fact.type == TUTTI_FACT_REAL) one.value = fact.real;
        if (fact.type == TUTTI_FACT_TEXT) one.value = std::string(fact.text);
        one.unit = fact.unit;
        one.merge = fact.merge;
        one.say(fact.phrase, fact.said_from);
    }
    return made;
}

std::vector<tutti_fact> c_facts(const FactRow& row) {
    std::vector<tutti_fact> made;
    made.reserve(row.facts.size());
    for (const Fact& fact : row.facts) {
        tutti_fact& one = made.emplace_back();
        one = {};
        one.struct_bytes = sizeof one;
        one.name = fact.name.c_str();
        one.text = "";
        one.type = static_cast<tutti_fact_type>(fact.value.index());
        if (const bool* flag = std::get_if<bool>(&fact.value)) one.number = *flag ? 1 : 0;
        if (const uint64_t* number = std::get_if<uint64_t>(&fact.value)) one.number = *number;
        if (const double* real = std::get_if<double>(&fact.value)) one.real = *real;
        if (const auto* text = std::get_if<std::string>(&fact.value)) one.text = text->c_str();
        one.unit = fact.unit;
        one.merge = fact.merge;
        one.phrase = fact.phrase.c_str();
        one.said_from = fact.said_from;
    }
    return made;
}

}  // namespace tutti
