// SPDX-License-Identifier: BSD-3-Clause
#include "cli/skew_words.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/text.h"
#include "cli/words.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kMostNsMax = 60'000'000'000;
constexpr size_t kLevelsMax = 32;
constexpr std::string_view kExample = "expected DISTRIBUTION:MAX, such as uniform:10ms";

std::optional<uint64_t> most_of(std::string_view text) {
    const auto ns = text == "0" ? 0 : parse_duration(text);
    return ns && *ns <= kMostNsMax ? ns : std::nullopt;
}

}  // namespace

Result<SkewOptions> parse_skew(std::string_view text) {
    const size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::string said = "--skew '" + printable(text) + "': ";
    if (name == "report") {
        return wrong(said + "reports have no arrivals yet that could be replayed");
    }
    const auto skew = adapt::find_skew(name);
    if (!skew) {
        const auto close = nearest(name, adapt::kSkewNames);
        return wrong(said + (close ? "did you mean " + std::string(*close) + "?"
                                   : fmt::format("{}; distributions are {}", kExample,
                                                 fmt::join(adapt::kSkewNames, ", "))));
    }
    SkewOptions options{*skew, {}};
    if (*skew == adapt::Skew::kNone) {
        if (colon != std::string_view::npos) return wrong(said + "none has no MAX");
        options.most_ns.push_back(0);
        return options;
    }
    if (colon == std::string_view::npos) return wrong(said + std::string(kExample));
    for (const std::string_view level : split(text.substr(colon + 1), ',')) {
        const auto ns = most_of(level);
        if (!ns) {
            return wrong(said +
                         "MAX is a time such as 500us or 10ms, of at most a minute, or "
                         "some of these: 0,1ms,10ms");
        }
        if (!options.most_ns.empty() && *ns <= options.most_ns.back()) {
            return wrong(said + "each MAX is to be longer than the one before it");
        }
        options.most_ns.push_back(*ns);
    }
    if (options.most_ns.size() > kLevelsMax) {
        return wrong(said + fmt::format("more than {} times MAX", kLevelsMax));
    }
    return options;
}

}  // namespace tutti::cli
