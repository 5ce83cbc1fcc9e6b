// SPDX-License-Identifier: BSD-3-Clause
// One application of a call's operator. Inside exec/ only.
#pragma once

#include <cstddef>
#include <cstring>

#include "run/node/reducer.h"
#include "tutti/tutti.h"

namespace tutti::exec {

// A user's operator leaves its result where its right operand stood. Where it is wanted in place of
// the left one, it passes through a space of so many bytes.
inline constexpr size_t kUserBytes = 64 * 1024;
static_assert(kUserBytes >= TUTTI_ELEMENT_BYTES_MAX);

// to = left op right; to may be either. With a user's operator and `to` the left one, bytes are
// kUserBytes at most, and user_space has room for them.
inline void combine(const node::Reducer& reducer, std::byte* user_space, std::byte* to,
                    const std::byte* left, const std::byte* right, size_t bytes) {
    const size_t count = bytes / reducer.element_bytes;
    if (reducer.kernel) return reducer.kernel(to, left, right, count);
    if (to == left) {
        std::memcpy(user_space, right, bytes);
        reducer.user_fn(reducer.user, left, user_space, count);
        std::memcpy(to, user_space, bytes);
        return;
    }
    if (to != right) std::memcpy(to, right, bytes);
    reducer.user_fn(reducer.user, left, to, count);
}

}  // namespace tutti::exec
