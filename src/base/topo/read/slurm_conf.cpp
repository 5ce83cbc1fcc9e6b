// SPDX-License-Identifier: BSD-3-Clause
// Slurm's topology.conf: docs/formats/slurm.md.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/topo/read/read.h"
#include "base/topo/read/slurm.h"

namespace tutti::topo {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr auto kConfKeys = std::to_array<std::string_view>(
    {"switchname", "nodes", "switches", "linkspeed", "blockname", "blocksizes"});

std::string small_letters(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    return result;
}

std::string_view unquoted(std::string_view word) {
    const bool is_quoted = word.size() >= 2 && word.front() == '"' && word.back() == '"';
    return is_quoted ? word.substr(1, word.size() - 2) : word;
}

// Without its comment, and without blanks behind it.
std::string_view bare(std::string_view line) {
    line = line.substr(0, line.find('#'));
    return line.substr(0, line.find_last_not_of(kBlanks) + 1);
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
        const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(kBlanks, end);
    }
    return words;
}

// "NAME=VALUE" words into an entry; false: the line says nothing of switches. What is wrong is an
// error without a place.
Result<bool> parse_words(const std::vector<std::string_view>& words, SlurmEntry& entry) {
    std::vector<std::string> seen;
    bool has_sizes = false;
    for (const std::string_view word : words) {
        const size_t equals = word.find('=');
        const auto wrong = [](std::string what) {
            return Error{ErrorCode::kArgument, std::move(what)};
        };
        if (equals == std::string_view::npos) {
            return wrong("expected NAME=VALUE, not " + printable(word));
        }
        const std::string key = small_letters(word.substr(0, equals));
        const std::string value(unquoted(word.substr(equals + 1)));
        if (std::ranges::find(kConfKeys, key) == kConfKeys.end()) {
            const auto close = nearest(key, kConfKeys);
            return wrong("unknown name " + printable(word.substr(0, equals)) +
                         (close ? "; did you mean " + std::string(*close) + "?" : ""));
        }
        if (value.empty()) return wrong("a value is missing behind " + printable(word));
        if (std::ranges::find(seen, key) != seen.end()) {
            return wrong(printable(word.substr(0, equals)) + " stands here twice");
        }
        seen.push_back(key);
        if (key == "switchname" || key == "blockname") {
            if (!entry.name.empty()) return wrong("a line is of a switch or of a block");
            entry.name = value;
            entry.is_block = key == "blockname";
        }
        if (key == "nodes") entry.nodes = value;
        if (key == "switches") entry.switches = value;
        if (key == "blocksizes") has_sizes = true;
    }
    if (!entry.name.empty()) return true;
    if (has_sizes && words.size() == 1) return false;
    return Error{ErrorCode::kArgument, "a line begins with SwitchName or BlockName"};
}

}  // namespace

Result<Topology> read_slurm_conf(std::string_view text, const std::string& file_name) {
    std::vector<SlurmEntry> entries;
    uint32_t line = 0;
    std::string whole;  // of a line that goes on behind a backslash
    uint32_t begun = 0;
    for (std::string_view piece : split(text, '\n')) {
        ++line;
        if (whole.empty()) begun = line;
        piece = bare(piece);
        if (piece.ends_with('\\')) {
            whole.append(piece.substr(0, piece.size() - 1)).append(" ");
            continue;
        }
        whole.append(piece);
        const auto words = words_of(whole);
        if (!words.empty()) {
            SlurmEntry entry;
            entry.line = begun;
            const auto is_entry = parse_words(words, entry);
            if (!is_entry) return topology_error(file_name, begun, is_entry.error().message);
            if (is_entry.value()) entries.push_back(std::move(entry));
        }
        whole.clear();
    }
    if (!words_of(whole).empty()) {
        return topology_error(file_name, line, "the file ends within a line");
    }
    return topology_of_slurm(file_name, entries);
}

}  // namespace tutti::topo
