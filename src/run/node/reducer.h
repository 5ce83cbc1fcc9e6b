// SPDX-License-Identifier: BSD-3-Clause
// How two vectors are combined. The left operand always belongs to the lower ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/tutti.h"

namespace tutti::node {

// out[i] = left[i] op right[i], i < count. out may be the same array as left or right, exactly;
// other overlaps are not allowed. Any alignment of the element type or worse.
using Kernel = void (*)(void* out, const void* left, const void* right, size_t count);

struct Reducer {
    Kernel kernel = nullptr;            // a predefined operator, or
    tutti_reduce_fn user_fn = nullptr;  // the user's
    void* user = nullptr;
    uint32_t element_bytes = 1;
};

}  // namespace tutti::node
