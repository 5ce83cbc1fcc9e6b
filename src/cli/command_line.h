// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a subcommand: options from a table, and the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::cli {

struct OptionDoc {
    std::string_view name;   // "--ranks"
    std::string_view value;  // what it takes, as in a usage line: "N"; empty: it is a switch
    std::string_view text;
};

class CommandLine {
  public:
    // "--name value", "--name=value"; the last of several holds. An unknown option is an error that
    // names the nearest one. command: for the messages.
    static Result<CommandLine> parse(std::string_view command, std::span<const std::string> words,
                                     std::span<const OptionDoc> known);

    [[nodiscard]] bool wants_help() const { return wants_help_; }
    // Arguments that are no options.
    [[nodiscard]] const std::vector<std::string>& others() const { return others_; }
    [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
    // nullptr where it was not given.
    [[nodiscard]] const std::string* find(std::string_view name) const;
    // The number behind an option, `fallback` where it was not given; out of range is an error.
    [[nodiscard]] Result<uint64_t> count(std::string_view name, uint64_t fallback, uint64_t low,
                                         uint64_t high) const;

  private:
    bool wants_help_ = false;
    std::vector<std::string> others_;
    std::map<std::string_view, std::string> values_;
};

// Something about the words typed is wrong.
Error wrong(std::string message);
// "unknown option --reprot; did you mean --report?"
Error unknown_word(std::string_view what, std::string_view word,
                   std::span<const std::string_view> known);
// The same, or a list of those that Tutti runs.
// also: a word that stands for several.
Error unknown_collective(std::string_view word, std::string_view also = {});
// "--ranks=0: expected a number from 1 to 8"
Error wrong_value(std::string_view name, std::string_view value, std::string_view expected);

// What `--help` prints.
std::string help_text(std::string_view summary, std::string_view usage,
                      std::span<const OptionDoc> options);

}  // namespace tutti::cli
