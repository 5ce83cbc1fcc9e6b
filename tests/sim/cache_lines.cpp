// SPDX-License-Identifier: BSD-3-Clause
#include "sim/cache_lines.h"

#include <algorithm>

namespace tutti::test {

std::string Machine::synthetic() const {
    const auto level = [](const char* what, uint32_t count) {
        return std::string(what) + ":" + std::to_string(count) + " ";
    };
    return level("pack", cores / socket_cores) + level("numa", socket_cores / domain_cores) +
           level("l3", domain_cores / cache_cores) + level("core", cache_cores);
}

uint64_t CacheLines::visible_at(uint32_t core, size_t line) const {
    const auto found = lines_.find(line);
    if (found == lines_.end()) return 0;
    for (const Copy& copy : found->second.copies) {
        if (copy.core == core) return 0;
    }
    return found->second.visible_at;
}

uint64_t CacheLines::read(uint32_t core, size_t line, uint64_t now) {
    Line& state = lines_[line];
    for (const Copy& copy : state.copies) {
        if (copy.core == core) return now + model_.hit_ns;
    }
    // The first read after a wait is one that the core has not foreseen; those behind it began when
    // it was answered, as far as there was room for them.
    std::deque<uint64_t>& arrivals = cores_[core].arrivals;
    const bool has_room = !arrivals.empty() && model_.reads_ahead > 1;
    const uint64_t begun = has_room ? std::min(arrivals.front(), now) : now;
    const uint64_t ready = std::max({begun, state.visible_at, state.free_at});
    uint64_t arrival = state.copies.empty() ? ready + machine_.latency_ns[2] : UINT64_MAX;
    for (const Copy& copy : state.copies) {
        const uint64_t from = std::max(ready, copy.since);
        arrival = std::min(arrival, from + machine_.between(core, copy.core));
    }
    arrival = std::max(arrival, now + model_.hit_ns);
    state.free_at = ready + model_.serve_ns;
    state.copies.push_back({core, arrival});
    arrivals.push_back(arrival);
    if (arrivals.size() > model_.reads_ahead) arrivals.pop_front();
    return arrival;
}

CacheLines::Taken CacheLines::write(uint32_t core, size_t line, uint64_t now) {
    Line& state = lines_[line];
    Core& writer = cores_[core];
    Taken taken;
    uint64_t farthest_ns = 0;
    for (const Copy& copy : state.copies) {
        if (copy.core == core) continue;
        taken.from.push_back(copy.core);
        farthest_ns = std::max<uint64_t>(farthest_ns, machine_.between(core, copy.core));
    }
    // Lines are asked for while older stores wait; they come as close together as reads do.
    taken.at = std::max(now + farthest_ns, writer.stored_at + farthest_ns / model_.reads_ahead);
    writer.stored_at = taken.at;
    state.visible_at = taken.at;
    state.copies = {{core, taken.at}};
    return taken;
}

}  // namespace tutti::test
