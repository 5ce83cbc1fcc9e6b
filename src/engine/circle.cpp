// SPDX-License-Identifier: BSD-3-Clause
#include "engine/circle.h"

#include <algorithm>
#include <cstring>

namespace tutti::engine {
namespace {

ErrorCode code_of(Obstacle obstacle) {
    switch (obstacle) {
        case Obstacle::kMemory:
        case Obstacle::kFull:
            return ErrorCode::kMemory;
        case Obstacle::kSystem:
            return ErrorCode::kSystem;
        case Obstacle::kNetwork:
            return ErrorCode::kNetwork;
        case Obstacle::kNone:
        case Obstacle::kCannotOpen:
        case Obstacle::kForeignMemory:
            break;
    }
    return ErrorCode::kNode;
}

}  // namespace

Report report_of(Obstacle obstacle, const std::string& detail) {
    Report report;
    report.obstacle = obstacle;
    std::strncpy(report.detail, detail.c_str(), sizeof(report.detail) - 1);
    return report;
}

Report report_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::kMemory:
            return report_of(Obstacle::kMemory, error.message);
        case ErrorCode::kNode:
            return report_of(Obstacle::kForeignMemory, error.message);
        case ErrorCode::kNetwork:
        case ErrorCode::kBootstrap:
            return report_of(Obstacle::kNetwork, error.message);
        default:
            return report_of(Obstacle::kSystem, error.message);
    }
}

Result<Done> Circle::agree(const Report& mine) const {
    auto reports = exchange(mine);
    if (!reports) return reports.error();
    for (uint32_t member = 0; member < size; ++member) {
        const Report& report = reports.value()[member];
        if (report.obstacle == Obstacle::kNone) continue;
        const std::string who = report.is_named ? "" : name_of(member) + ": ";
        return Error{code_of(report.obstacle), who + report.detail};
    }
    return Done{};
}

Result<Done> Circle::agree_briefly(const Report& mine) const {
    const auto obstacles = exchange(mine.obstacle);
    if (!obstacles) return obstacles.error();
    const auto& all = obstacles.value();
    const bool good =
        std::all_of(all.begin(), all.end(), [](Obstacle one) { return one == Obstacle::kNone; });
    return good ? Result<Done>(Done{}) : agree(mine);
}

}  // namespace tutti::engine
