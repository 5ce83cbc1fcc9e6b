// SPDX-License-Identifier: BSD-3-Clause
// Those who make something together, and how they tell each other. All of a circle call the same
// rounds in the same order; each round is one allgather.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::engine {

enum class Obstacle : uint32_t {
    kNone,
    kCannotOpen,
    kMemory,
    kSystem,
    kForeignMemory,
    kFull,
    kNetwork
};

// Whether a member can go on, and why not.
struct Report {
    Obstacle obstacle = Obstacle::kNone;
    uint32_t is_named = 0;  // detail already says which member it is
    char detail[112] = {};
};

Report report_of(Obstacle obstacle, const std::string& detail);
Report report_of(const Error& error);

struct Circle {
    uint32_t rank = 0;
    uint32_t size = 1;
    // As in tutti_team_params.
    int (*allgather)(void* user, const void* in, void* out, size_t bytes) = nullptr;
    void* user = nullptr;
    // What messages call the members; empty: their ranks in the circle.
    std::span<const uint32_t> names;

    [[nodiscard]] std::string name_of(uint32_t member) const {
        return "rank " + std::to_string(names.empty() ? member : names[member]);
    }

    // What every member says, by rank.
    template <class T>
    Result<std::vector<T>> exchange(const T& mine) const {
        std::vector<T> all(size);
        if (allgather(user, &mine, all.data(), sizeof(T)) != 0) {
            return Error{ErrorCode::kBootstrap, "the allgather callback failed"};
        }
        return all;
    }

    // Done where all can go on; otherwise the first that cannot is named by all alike.
    [[nodiscard]] Result<Done> agree(const Report& mine) const;
    // The same in two rounds, the second only where somebody cannot: for large circles.
    [[nodiscard]] Result<Done> agree_briefly(const Report& mine) const;
};

}  // namespace tutti::engine
