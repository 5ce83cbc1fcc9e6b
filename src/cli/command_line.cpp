// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/collectives.h"
#include "base/text.h"

namespace tutti::cli {

Result<CommandLine> CommandLine::parse(std::string_view command, std::span<const std::string> words,
                                       std::span<const OptionDoc> known) {
    CommandLine result;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--help" || word == "-h") {
            result.wants_help_ = true;
            continue;
        }
        if (!word.starts_with('-')) {
            result.others_.push_back(word);
            continue;
        }
        const size_t equals = word.find('=');
        const std::string_view name = std::string_view(word).substr(0, equals);
        const auto found = std::find_if(known.begin(), known.end(), [&](const OptionDoc& option) {
            return option.name == name;
        });
        if (found == known.end()) {
            if (name == "--help") return wrong_value(name, word.substr(equals + 1), "no value");
            std::vector<std::string_view> names{"--help"};
            for (const OptionDoc& option : known) names.push_back(option.name);
            return unknown_word("option", name, names);
        }
        std::string value;
        if (equals != std::string::npos) {
            value = word.substr(equals + 1);
        } else if (!found->value.empty() && i + 1 < words.size()) {
            value = words[++i];
        }
        if (found->value.empty() != value.empty()) {
            return found->value.empty()
                       ? wrong_value(name, value, "no value")
                       : Error{ErrorCode::kArgument,
                               fmt::format("{}: {} expected {}", command, name, found->value)};
        }
        result.values_[found->name] = value;
    }
    return result;
}

const std::string* CommandLine::find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
}

Result<uint64_t> CommandLine::count(std::string_view name, uint64_t fallback, uint64_t low,
                                    uint64_t high) const {
    const std::string* text = find(name);
    if (!text) return fallback;
    const auto value = parse_count(*text);
    if (!value || *value < low || *value > high) {
        return wrong_value(name, *text, fmt::format("a number from {} to {}", low, high));
    }
    return *value;
}

Error wrong(std::string message) { return {ErrorCode::kArgument, std::move(message)}; }

Error unknown_word(std::string_view what, std::string_view word,
                   std::span<const std::string_view> known) {
    std::string message = fmt::format("unknown {} {}", what, printable(word));
    if (const auto close = nearest(word, known)) {
        message += fmt::format("; did you mean {}?", *close);
    }
    return wrong(std::move(message));
}

Error unknown_collective(std::string_view word, std::string_view also) {
    std::vector<std::string_view> known(kCollectiveNames.begin(), kCollectiveNames.end());
    if (!also.empty()) known.push_back(also);
    if (nearest(word, known)) return unknown_word("collective", word, known);
    return wrong(fmt::format("unknown collective {}: Tutti runs {}, your MPI the others",
                             printable(word), fmt::join(kCollectiveNames, ", ")));
}

Error wrong_value(std::string_view name, std::string_view value, std::string_view expected) {
    return {ErrorCode::kArgument,
            fmt::format("{}={}: expected {}", name, printable(value), expected)};
}

std::string help_text(std::string_view summary, std::string_view usage,
                      std::span<const OptionDoc> options) {
    std::string text = fmt::format("{}\nUsage: {}\n\nOptions:\n", summary, usage);
    text += fmt::format("  {:<24} {}\n", "-h,--help", "Print this help message and exit");
    for (const OptionDoc& option : options) {
        text += fmt::format("  {:<24} {}\n", fmt::format("{} {}", option.name, option.value),
                            option.text);
    }
    return text;
}

}  // namespace tutti::cli
