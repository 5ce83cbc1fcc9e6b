// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/forever.h"
#include "base/read_whole.h"
#include "base/text.h"
#include "plan/sched/shape.h"
#include "plan/select/rules.h"

namespace tutti::select {
namespace {

using ForcedByCollective = std::array<std::optional<Forced>, TUTTI_COLLECTIVE_COUNT>;

// What TUTTI_ALLREDUCE and its like hold; it must not contradict TUTTI_REPRODUCIBLE.
Result<ForcedByCollective> parse_all_forced(const Settings& settings) {
    ForcedByCollective all;
    for (size_t i = 0; i < settings.rules.forced.size(); ++i) {
        if (settings.rules.forced[i].empty()) continue;
        const auto collective = static_cast<tutti_collective>(i);
        const auto fault = [&](const std::string& what) {
            return Error{ErrorCode::kArgument, std::string(forced_variable(collective)) + "=" +
                                                   printable(settings.rules.forced[i]) + ": " +
                                                   what};
        };
        auto forced = parse_forced(collective, settings.rules.forced[i]);
        if (!forced) return fault(forced.error().message);
        const std::string& name = forced.value().algorithm;
        if (settings.results.reproducible && is_reduction(collective) &&
            name != algo::left_fold(collective).name && name != kNodeLevel) {
            return fault("under TUTTI_REPRODUCIBLE only " +
                         std::string(algo::left_fold(collective).name) + " may run");
        }
        all[i] = std::move(forced.value());
    }
    return all;
}

// Of a longer one so much that it is seen to be longer.
Result<std::string> read_file(const std::string& name, const char* what) {
    auto text = read_whole(name, kRulesTextBytesMax);
    if (text) return std::move(*text);
    return Error{ErrorCode::kArgument,
                 std::string(what) + " file " + printable(name) + ": " + std::strerror(errno)};
}

// The user's own, if there are any.
Result<std::optional<Rules>> own_rules(const Settings& settings) {
    const auto parsed = [](std::string_view text,
                           const std::string& name) -> Result<std::optional<Rules>> {
        auto rules = Rules::parse(text, name);
        if (!rules) return rules.error();
        return std::optional(std::move(rules.value()));
    };
    if (!settings.rules.text.empty()) {
        return parsed(settings.rules.text,
                      settings.rules.file.empty() ? "TUTTI_RULES_TEXT" : settings.rules.file);
    }
    if (settings.rules.file.empty()) return std::optional<Rules>();
    const auto text = read_file(settings.rules.file, "rules");
    if (!text) return text.error();
    return parsed(text.value(), settings.rules.file);
}

Result<Rules> rules_of(const Settings& settings) {
    auto own = own_rules(settings);
    if (!own) return own.error();
    auto tuned = load_tuned(settings);
    if (!tuned) return tuned.error();
    if (own.value() && tuned.value()) own.value()->follow_with(std::move(*tuned.value()));
    if (own.value()) return std::move(*own.value());
    if (tuned.value()) return std::move(*tuned.value());
    return Rules::built_in();
}

}  // namespace

const Rules& Rules::built_in() {
    static const Forever<Rules> rules([] {
        auto parsed = parse(built_in_text(), "built_in.toml");
        TUTTI_ASSERT(parsed, "the built-in rules are right: a test reads them");
        Rules result = std::move(parsed.value());
        result.source_ = "built-in";
        result.has_built_in_after_ = false;
        return result;
    });
    return *rules;
}

void Rules::follow_with(Rules tuned) {
    if (!has_built_in_after_) return;
    own_count_ = rules_.size();
    tuned_source_ = std::move(tuned.source_);
    std::ranges::move(tuned.rules_, std::back_inserter(rules_));
    has_built_in_after_ = tuned.has_built_in_after_;
    if (parameters_) return;
    parameters_ = tuned.parameters_;
    preset_ = std::move(tuned.preset_);
}

Result<Rules> parse_tuned(std::string_view text, std::string file_name) {
    auto rules = Rules::parse(text, std::move(file_name));
    if (!rules || rules.value().tuned()) return rules;
    return Error{ErrorCode::kArgument, printable(rules.value().source()) +
                                           ":1:1: no tuned file: it does not say [tuned]"};
}

Result<std::optional<Rules>> load_tuned(const Settings& settings) {
    std::string name = settings.rules.tuned_name;
    std::string text = settings.rules.tuned_text;
    if (text.empty()) {
        const bool is_named =
            !settings.rules.tuned_file.empty() && settings.rules.tuned_file != "off";
        if (!name.empty() || !is_named) return std::optional<Rules>();
        name = settings.rules.tuned_file;
        auto read = read_file(name, "tuned");
        if (!read) return read.error();
        text = std::move(read.value());
    }
    auto rules = parse_tuned(text, name.empty() ? "TUTTI_TUNED_TEXT" : name);
    if (!rules) return rules.error();
    return std::optional(std::move(rules.value()));
}

Result<Rules> load_rules(const Settings& settings) {
    auto forced = parse_all_forced(settings);
    if (!forced) return forced.error();
    auto rules = rules_of(settings);
    if (!rules) return rules;
    for (size_t i = 0; i < forced.value().size(); ++i) {
        auto& one = forced.value()[i];
        if (one) rules.value().force(static_cast<tutti_collective>(i), std::move(*one));
    }
    return rules;
}

}  // namespace tutti::select
