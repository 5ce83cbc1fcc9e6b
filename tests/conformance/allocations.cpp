// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/allocations.h"

#include "sanitized.h"

namespace {
size_t count = 0;
}  // namespace

#if !TUTTI_TEST_SANITIZED
extern "C" {
void* __libc_malloc(size_t);
void* malloc(size_t bytes) {
    ++count;
    return __libc_malloc(bytes);
}
}
#endif

namespace tutti::test {

bool counts_allocations() { return TUTTI_TEST_SANITIZED == 0; }
size_t allocations() { return count; }

}  // namespace tutti::test
