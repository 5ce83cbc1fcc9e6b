// SPDX-License-Identifier: BSD-3-Clause
// Any command line behind `tutti run --`: rewriting adds words and changes values of variables, but
// loses none of the user's words and keeps their order; and the preload is somewhere in it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/rewrite.h"

namespace {

using tutti::cli::Style;

void demand(bool condition) {
    if (!condition) std::abort();
}

bool mentions(const std::string& text, const std::string& wanted) {
    return text.find(wanted) != std::string::npos;
}

// Words that carry a variable may be merged into another one; all others stay.
bool may_change(const std::string& word) {
    return mentions(word, "LD_PRELOAD") || mentions(word, "TUTTI") || mentions(word, "env") ||
           mentions(word, "export") || word == "-x";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    if (bytes < 2) return 0;
    std::vector<std::string> command;
    if (data[0] & 64) command.emplace_back(data[0] & 128 ? "srun" : "mpirun");
    const std::string_view text(reinterpret_cast<const char*>(data + 1), bytes - 1);
    for (const auto word : tutti::split(text, ' ')) command.emplace_back(word);

    tutti::cli::Passing passing;
    passing.style = static_cast<Style>(data[0] % 4);
    passing.library = "/prefix/lib/libtutti.so";
    passing.settings = {{"TUTTI_CHECK", "1"}, {"TUTTI_REPORT", "a,b"}};
    if (data[0] & 16) passing.own_preload = "/own.so";
    if (data[0] & 32) passing.own_export = "NONE";
    const auto is_program = [](const std::string& word) { return word.starts_with("./"); };

    const auto launcher = tutti::cli::find_launcher(command, is_program);
    if (!launcher && passing.style != Style::kInherit) return 0;
    passing.launcher = launcher.value_or(0);
    const auto rewritten = tutti::cli::rewrite_command(command, passing, is_program);

    const bool keeps_all = std::none_of(command.begin(), command.end(), may_change);
    auto at = rewritten.command.begin();
    for (const auto& word : command) {
        if (!keeps_all) break;
        at = std::find(at, rewritten.command.end(), word);
        demand(at != rewritten.command.end());
        ++at;
    }
    bool preloads = false;
    for (const auto& word : rewritten.command) preloads |= mentions(word, passing.library);
    for (const auto& variable : rewritten.environment) {
        preloads |= mentions(variable.value, passing.library);
    }
    demand(preloads);
    return 0;
}
