// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "sched/shape.h"
#include "select/rules.h"

namespace tutti::select {
namespace {

using ForcedByCollective = std::array<std::optional<Forced>, TUTTI_COLLECTIVE_COUNT>;

// What TUTTI_ALLREDUCE and its like hold; it must not contradict TUTTI_REPRODUCIBLE.
Result<ForcedByCollective> parse_all_forced(const Settings& settings) {
    ForcedByCollective all;
    for (size_t i = 0; i < settings.forced.size(); ++i) {
        if (settings.forced[i].empty()) continue;
        const auto collective = static_cast<tutti_collective>(i);
        const auto fault = [&](const std::string& what) {
            return Error{ErrorCode::kArgument, std::string(forced_variable(collective)) + "=" +
                                                   printable(settings.forced[i]) + ": " + what};
        };
        auto forced = parse_forced(collective, settings.forced[i]);
        if (!forced) return fault(forced.error().message);
        const std::string& name = forced.value().algorithm;
        if (settings.reproducible && is_reduction(collective) &&
            name != algo::left_fold(collective).name && name != kNodeLevel) {
            return fault("under TUTTI_REPRODUCIBLE only " +
                         std::string(algo::left_fold(collective).name) + " may run");
        }
        all[i] = std::move(forced.value());
    }
    return all;
}

Result<std::string> read_file(const std::string& name) {
    struct Close {
        void operator()(std::FILE* file) const { (void)std::fclose(file); }
    };
    const auto cannot = [&] {
        return Error{ErrorCode::kArgument,
                     "rules file " + printable(name) + ": " + std::strerror(errno)};
    };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(name.c_str(), "rbe"));
    if (!file) return cannot();
    // One more than is allowed, so that a longer file is seen to be longer, whatever it is.
    std::string text(kRulesTextBytesMax + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) return cannot();
    return text;
}

Result<Rules> rules_of(const Settings& settings) {
    if (!settings.rules_text.empty()) {
        return Rules::parse(settings.rules_text,
                            settings.rules_file.empty() ? "TUTTI_RULES_TEXT" : settings.rules_file);
    }
    if (settings.rules_file.empty()) return Rules::built_in();
    const auto text = read_file(settings.rules_file);
    if (!text) return text.error();
    return Rules::parse(text.value(), settings.rules_file);
}

}  // namespace

const Rules& Rules::built_in() {
    static const Rules rules = [] {
        auto parsed = parse(built_in_text(), "built_in.toml");
        TUTTI_ASSERT(parsed, "the built-in rules are right: a test reads them");
        Rules result = std::move(parsed.value());
        result.source_ = "built-in";
        result.has_built_in_after_ = false;
        return result;
    }();
    return rules;
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
