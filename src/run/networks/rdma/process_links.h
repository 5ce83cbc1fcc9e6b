// SPDX-License-Identifier: BSD-3-Clause
// Connections by RDMA that teams of a process share (run/transport/verbs/links.h), as long as one
// of them lives. Only teams whose calls are made one after the other (tutti_team_params.in_turn).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/allowance.h"
#include "run/transport/verbs/links.h"

namespace tutti::networks::rdma {

struct ProcessLinks {
    uint64_t id = 0;                // the same at all processes that made them together
    std::vector<uint64_t> members;  // by link: the peer (Process::member())
    uint64_t exposed_bytes = 0;     // from where registering memory for a call pays
    Allowance::Part memory;         // registered
    std::unique_ptr<transport::verbs::Links> links;

    // Which links go to these, by their order; nothing where one is missing.
    [[nodiscard]] std::optional<std::vector<uint32_t>> to(std::span<const uint64_t> others) const {
        if (!links->teams().are_open()) return std::nullopt;
        std::vector<uint32_t> found;
        for (const uint64_t other : others) {
            const auto at = std::ranges::find(members, other);
            if (at == members.end()) return std::nullopt;
            const auto link = static_cast<uint32_t>(at - members.begin());
            if (!links->at(link).is_good()) return std::nullopt;
            found.push_back(link);
        }
        return found;
    }
    // Links that have the whole of it for their owner.
    static std::shared_ptr<transport::verbs::Links> owned(std::shared_ptr<ProcessLinks> all) {
        transport::verbs::Links* const links = all->links.get();
        return {std::move(all), links};
    }
};

}  // namespace tutti::networks::rdma
