// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/remnants.h"

#include <utility>

namespace tutti::engine {

void Remnants::tidy() {
    std::unique_ptr<Retired> over;  // goes after the lock
    const std::lock_guard lock(mutex_);
    for (auto* link = &kept_; *link;) {
        if (!(*link)->is_over()) {
            link = &(*link)->next;
            continue;
        }
        auto one = std::move(*link);
        *link = std::move(one->next);
        one->next = std::move(over);
        over = std::move(one);
    }
}

void Remnants::keep(std::unique_ptr<Retired> what) {
    const std::lock_guard lock(mutex_);
    what->next = std::move(kept_);
    kept_ = std::move(what);
}

}  // namespace tutti::engine
