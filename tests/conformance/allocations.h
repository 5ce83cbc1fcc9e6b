// SPDX-License-Identifier: BSD-3-Clause
// Counts this binary's allocations: linked with allocations.cpp, it has a malloc of its own.
#pragma once

#include <cstddef>

namespace tutti::test {

// False under a sanitizer, which has its own malloc.
bool counts_allocations();
// So far.
size_t allocations();

}  // namespace tutti::test
