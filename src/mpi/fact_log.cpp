// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/fact_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace tutti::mpi {

namespace {

using Json = nlohmann::ordered_json;

// Subjects in the order of the report.
struct Subject {
    const char* name;
    bool is_always_listed;  // in JSON, though there be nothing
    bool is_detail;         // in the full text only
    size_t lines_max;       // of text
    // Where JSON has how many rows found no room, and text has not; null: as others.
    const char* more = nullptr;
};
// That told nothing; no rows have this subject.
constexpr const char* kTeams = "teams";
constexpr size_t kLinesMax = 8;
constexpr size_t kAllLines = SIZE_MAX;
// Not a list but an object, which has the facts of all its rows.
constexpr std::string_view kObject = "arrivals";
constexpr Subject kSubjects[] = {
    {"arrivals/calls", false, false, kAllLines, "/arrivals/more"},
    {"arrivals", false, false, kAllLines},
    {"tuning/calls", false, false, kLinesMax},
    {"nodes", true, true, kLinesMax},
    {"verbs", true, false, kAllLines},
    {"multicast", true, false, kAllLines},
    {kTeams, false, false, kAllLines},
};

Json json_of(const Fact::Value& value) {
    return std::visit([](const auto& held) { return Json(held); }, value);
}

Fact::Value value_of(const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_unsigned()) return json.get<uint64_t>();
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    if (json.is_array()) return json.get<Fact::ByRank>();
    return nullptr;
}

Json packed_row(const FactRow& row, uint32_t rank) {
    Json facts = Json::array();
    for (const Fact& fact : row.facts) {
        const double* real = row.by_rank ? std::get_if<double>(&fact.value) : nullptr;
        const Fact::Value value = real ? Fact::ByRank{{rank, *real}} : fact.value;
        facts.push_back(
            {fact.name, json_of(value), fact.unit, fact.merge, fact.phrase, fact.said_from});
    }
    return {row.subject, row.key, row.weight, row.by_rank, std::move(facts)};
}

FactRow unpacked_row(const Json& packed) {
    FactRow row{packed[0], packed[1], packed[2], true, packed[3], {}};
    for (const Json& one : packed[4]) {
        Fact& fact = row.add(one[0], value_of(one[1]));
        fact.unit = one[2];
        fact.merge = one[3];
        fact.say(one[4], one[5]);
    }
    return row;
}

// All subjects, those without a place of their own behind.
std::vector<Subject> ordered_subjects(const std::vector<std::string>& found) {
    std::vector<Subject> subjects(std::begin(kSubjects), std::end(kSubjects));
    for (const std::string& name : found) {
        if (std::ranges::find(kSubjects, name, &Subject::name) == std::end(kSubjects)) {
            subjects.push_back({name.c_str(), false, false, kLinesMax});
        }
    }
    return subjects;
}

Json& list_of(Json& json, const std::string& path) {
    Json& list = json[Json::json_pointer("/" + path)];
    if (list.is_null()) list = Json::array();
    return list;
}

// A rank that has told nothing has 0.
Json list_of_ranks(const Fact::ByRank& told, uint32_t ranks) {
    std::vector<double> values(ranks);
    for (const auto& [rank, value] : told) {
        if (rank < ranks) values[rank] = value;
    }
    return values;
}

void add_to(Json& object, const FactRow& row, uint32_t ranks) {
    for (const Fact& fact : row.facts) {
        if (fact.name.ends_with('/')) {
            list_of(object, fact.name.substr(0, fact.name.size() - 1));
            continue;
        }
        const auto* told = std::get_if<Fact::ByRank>(&fact.value);
        object[Json::json_pointer("/" + fact.name)] =
            told ? list_of_ranks(*told, ranks) : json_of(fact.value);
    }
}

void add_rows(Json& json, const char* subject, std::span<const FactRow> rows, uint32_t ranks) {
    if (subject == kObject) {
        for (const FactRow& row : rows) add_to(json[subject], row, ranks);
        return;
    }
    Json& list = list_of(json, subject);
    for (const FactRow& row : rows) {
        Json object = Json::object();
        add_to(object, row, ranks);
        list.push_back(std::move(object));
    }
}

// A line each, of those that have words.
std::vector<std::string> texts_of(const std::vector<FactRow>& rows) {
    std::vector<std::string> texts;
    for (const FactRow& row : rows) {
        std::string lines = row.text();
        if (lines.empty()) continue;
        for (size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; ++at) {
            lines.replace(at, 1, "\ntutti: ");
        }
        texts.push_back("tutti: " + lines + "\n");
    }
    return texts;
}

}  // namespace

void FactLog::add(FactRow row) {
    const auto is_of_subject = [&](const FactRow& one) { return one.subject == row.subject; };
    const auto same = std::ranges::find_if(rows_, [&](const FactRow& one) {
        return is_of_subject(one) && one.key == row.key && !row.key.empty();
    });
    if (same != rows_.end()) {
        same->merge(std::move(row));
        return;
    }
    if (static_cast<size_t>(std::ranges::count_if(rows_, is_of_subject)) < rows_max_) {
        rows_.push_back(std::move(row));
        return;
    }
    ++left_out_[row.subject];
    FactRow* lightest = nullptr;
    for (FactRow& one : rows_) {
        if (!is_of_subject(one)) continue;
        if (lightest == nullptr || one.weight < lightest->weight) lightest = &one;
    }
    if (lightest != nullptr && lightest->weight < row.weight) *lightest = std::move(row);
}

std::vector<FactRow> FactLog::rows(std::string_view subject) const {
    std::vector<FactRow> found;
    std::ranges::copy_if(rows_, std::back_inserter(found),
                         [&](const FactRow& row) { return row.subject == subject; });
    std::ranges::stable_sort(found, std::greater{}, &FactRow::weight);
    return found;
}

void FactLog::change(std::string_view subject, const std::function<void(FactRow&)>& visit) {
    std::ranges::stable_sort(rows_, std::greater{}, &FactRow::weight);
    for (FactRow& row : rows_) {
        if (row.subject == subject) visit(row);
    }
}

std::vector<std::string> FactLog::subjects() const {
    std::vector<std::string> found;
    for (const FactRow& row : rows_) {
        if (std::ranges::find(found, row.subject) == found.end()) found.push_back(row.subject);
    }
    return found;
}

uint64_t FactLog::left_out(const std::string& subject) const {
    const auto found = left_out_.find(subject);
    return found == left_out_.end() ? 0 : found->second;
}

std::string FactLog::packed(std::optional<uint32_t> rank) const {
    std::string lines;
    const auto add_line = [&](const Json& json) {
        // Texts may hold a message cut in the middle of a character.
        lines += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    for (const FactRow& row : rows_) {
        if (rank || !row.by_rank) add_line(packed_row(row, rank.value_or(0)));
    }
    for (const auto& [subject, count] : left_out_) add_line({subject, count});
    if (lost_ > 0) add_line({kTeams, lost_});
    return lines;
}

void FactLog::add_packed(std::string_view lines) {
    while (!lines.empty()) {
        const size_t end = std::min(lines.find('\n'), lines.size());
        const Json line = Json::parse(lines.substr(0, end));
        if (line.size() == 2) {
            left_out_[line[0]] += line[1].get<uint64_t>();
        } else {
            add(unpacked_row(line));
        }
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
}

std::string facts_text(const FactLog& log, bool is_full) {
    std::string text;
    const std::vector<std::string> found = log.subjects();
    for (const Subject& subject : ordered_subjects(found)) {
        if (subject.is_detail && !is_full) continue;
        const std::vector<std::string> texts = texts_of(log.rows(subject.name));
        const size_t shown = std::min(texts.size(), subject.lines_max);
        for (size_t i = 0; i < shown; ++i) text += texts[i];
        if (texts.size() > shown) {
            const size_t more = texts.size() - shown;
            text += "tutti: and " + std::to_string(more) + " more such line" +
                    (more == 1 ? "" : "s") + "\n";
        }
        const uint64_t left_out = subject.more == nullptr ? log.left_out(subject.name) : 0;
        if (left_out > 0) {
            text += "tutti: " + std::to_string(left_out) + " more found no room in the report\n";
        }
    }
    return text;
}

void add_facts(Json& json, const FactLog& log, uint32_t ranks) {
    const std::vector<std::string> found = log.subjects();
    for (const Subject& subject : ordered_subjects(found)) {
        const std::vector<FactRow> rows = log.rows(subject.name);
        if (!rows.empty() || subject.is_always_listed) {
            add_rows(json, subject.name, rows, ranks);
        }
        const uint64_t left_out = log.left_out(subject.name);
        if (left_out > 0 && subject.more != nullptr) {
            json[Json::json_pointer(subject.more)] = left_out;
        } else if (left_out > 0) {
            json["left_out"][subject.name] = left_out;
        }
    }
}

}  // namespace tutti::mpi
