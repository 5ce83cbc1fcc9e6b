// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/operations.h"

#include <new>

namespace tutti::transport::verbs {

bool OperationPool::grow() {
    // The vector first: what it throws leaves nothing behind.
    try {
        all_.push_back(std::make_unique<Operation[]>(kAtOnce));
    } catch (const std::bad_alloc&) {
        return false;
    }
    for (size_t i = kAtOnce; i-- > 0;) release(&all_.back()[i]);
    return true;
}

}  // namespace tutti::transport::verbs
