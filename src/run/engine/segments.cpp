// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/segments.h"

#include <algorithm>
#include <utility>

namespace tutti::engine {

std::shared_ptr<arena::Arena> Segments::find_arena(uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = arenas_.find(id);
    if (found == arenas_.end()) return nullptr;
    auto arena = found->second.lock();
    return arena && arena->is_intact() ? arena : nullptr;
}

Result<std::shared_ptr<arena::Arena>> Segments::own_arena(
    const std::vector<arena::ProcessId>& members) {
    const std::lock_guard lock(mutex_);
    auto& known = led_[members];
    if (auto arena = known.lock(); arena && arena->is_intact()) return arena;
    auto arena = arena::Arena::create(arena::random_token());
    if (!arena) return arena;
    known = arena.value();
    arenas_[arena.value()->id()] = arena.value();
    return arena;
}

void Segments::keep_arena(const std::shared_ptr<arena::Arena>& arena) {
    const std::lock_guard lock(mutex_);
    std::erase_if(arenas_, [](const auto& entry) { return entry.second.expired(); });
    std::erase_if(led_, [](const auto& entry) { return entry.second.expired(); });
    arenas_[arena->id()] = arena;
}

std::shared_ptr<arena::Home> Segments::home() {
    const std::lock_guard lock(mutex_);
    return homes_[0] && homes_[0]->is_usable() ? homes_[0] : nullptr;
}

std::shared_ptr<arena::Home> Segments::find_home(uint64_t id) {
    const std::lock_guard lock(mutex_);
    for (const auto& home : homes_) {
        if (home && home->id() == id && home->is_usable()) return home;
    }
    return nullptr;
}

void Segments::set_home(std::shared_ptr<arena::Home> home) {
    // What goes, goes outside the lock.
    std::shared_ptr<arena::Home> forgotten;
    const std::lock_guard lock(mutex_);
    forgotten = std::exchange(homes_[1], std::exchange(homes_[0], std::move(home)));
}

void Segments::hold_arena(const std::shared_ptr<arena::Arena>& arena) {
    // What goes, goes outside the lock: it gives memory back.
    std::shared_ptr<arena::Arena> forgotten;
    const std::lock_guard lock(mutex_);
    auto place = std::find(held_.begin(), held_.end(), arena);
    if (place == held_.end()) {
        --place;
        forgotten = std::exchange(*place, arena);
    }
    std::rotate(held_.begin(), place, place + 1);
}

}  // namespace tutti::engine
