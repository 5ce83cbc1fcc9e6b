// SPDX-License-Identifier: BSD-3-Clause
#include "base/faults.h"

#include <cmath>

#include "base/text.h"

namespace tutti {
namespace {

bool set_share(uint32_t& ppm, std::string_view text) {
    const auto share = parse_decimal(text);
    if (!share || *share > 1) return false;
    ppm = static_cast<uint32_t>(std::llround(*share * 1e6));
    return true;
}

bool set_one(FaultPlan& plan, std::string_view name, std::string_view value) {
    if (name == "drop") return set_share(plan.drop_ppm, value);
    if (name == "dup") return set_share(plan.dup_ppm, value);
    const auto count = parse_count(value);
    if (!count) return false;
    if (name == "seed") {
        plan.seed = *count;
        return true;
    }
    if (name == "fail") {
        plan.fail_after = *count;
        return true;
    }
    plan.reorder = static_cast<uint32_t>(*count);
    return name == "reorder" && *count <= kReorderMax;
}

}  // namespace

std::optional<FaultPlan> parse_faults(std::string_view text) {
    FaultPlan plan;
    std::string_view seen[5];
    size_t count = 0;
    for (const std::string_view part : split(text, ',')) {
        const size_t colon = part.find(':');
        if (colon == std::string_view::npos) return std::nullopt;
        const std::string_view name = part.substr(0, colon);
        if (!set_one(plan, name, part.substr(colon + 1))) return std::nullopt;
        for (size_t i = 0; i < count; ++i) {
            if (seen[i] == name) return std::nullopt;
        }
        seen[count++] = name;  // there are five names, and none comes twice
    }
    return plan;
}

}  // namespace tutti
