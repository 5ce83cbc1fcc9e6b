// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/fact_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace tutti::mpi {

namespace {

using Json = nlohmann::ordered_json;

// Subjects in the order of the report.
struct Subject {
    const char* name;
    bool is_always_listed;  // in JSON, though there be nothing
    bool is_detail;         // in the full text only
    size_t lines_max;       // of text
};
// That told nothing; no rows have this subject.
constexpr const char* kTeams = "teams";
constexpr size_t kLinesMax = 8;
constexpr size_t kAllLines = SIZE_MAX;
constexpr Subject kSubjects[] = {
    {"tuning/calls", false, false, kLinesMax}, {"nodes", true, true, kLinesMax},
    {"verbs", true, false, kAllLines},         {"multicast", true, false, kAllLines},
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
    return nullptr;
}

Json packed_row(const FactRow& row) {
    Json facts = Json::array();
    for (const Fact& fact : row.facts) {
        facts.push_back(
            {fact.name, json_of(fact.value), fact.unit, fact.merge, fact.phrase, fact.said_from});
    }
    return {row.subject, row.key, row.weight, std::move(facts)};
}

FactRow unpacked_row(const Json& packed) {
    FactRow row{packed[0], packed[1], packed[2], true, {}};
    for (const Json& one : packed[3]) {
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

Json object_of(const FactRow& row) {
    Json object = Json::object();
    for (const Fact& fact : row.facts) {
        if (fact.name.ends_with('/')) {
            list_of(object, fact.name.substr(0, fact.name.size() - 1));
        } else {
            object[Json::json_pointer("/" + fact.name)] = json_of(fact.value);
        }
    }
    return object;
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

std::string FactLog::packed() const {
    std::string lines;
    const auto add_line = [&](const Json& json) {
        // Texts may hold a message cut in the middle of a character.
        lines += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    for (const FactRow& row : rows_) add_line(packed_row(row));
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
        const std::vector<FactRow> rows = log.rows(subject.name);
        for (size_t i = 0; i < std::min(rows.size(), subject.lines_max); ++i) {
            std::string lines = rows[i].text();
            for (size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; ++at) {
                lines.replace(at, 1, "\ntutti: ");
            }
            text += "tutti: " + lines + "\n";
        }
        if (rows.size() > subject.lines_max) {
            const size_t more = rows.size() - subject.lines_max;
            text += "tutti: and " + std::to_string(more) + " more such line" +
                    (more == 1 ? "" : "s") + "\n";
        }
        if (const uint64_t left_out = log.left_out(subject.name); left_out > 0) {
            text += "tutti: " + std::to_string(left_out) + " more found no room in the report\n";
        }
    }
    return text;
}

void add_facts(Json& json, const FactLog& log) {
    const std::vector<std::string> found = log.subjects();
    for (const Subject& subject : ordered_subjects(found)) {
        const std::vector<FactRow> rows = log.rows(subject.name);
        if (!rows.empty() || subject.is_always_listed) {
            Json& list = list_of(json, subject.name);
            for (const FactRow& row : rows) list.push_back(object_of(row));
        }
        if (const uint64_t left_out = log.left_out(subject.name); left_out > 0) {
            json["left_out"][subject.name] = left_out;
        }
    }
}

}  // namespace tutti::mpi
