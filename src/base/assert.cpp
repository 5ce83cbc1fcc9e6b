// SPDX-License-Identifier: BSD-3-Clause
#include "base/assert.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tutti {
namespace {

void print_and_abort(const char* file, int line, const char* condition, const char* message) {
    std::fprintf(stderr, "tutti: %s:%d: assertion failed: %s (%s)\n", file, line, condition,
                 message);
    std::abort();
}

std::atomic<AssertHandler> handler{print_and_abort};

}  // namespace

AssertHandler set_assert_handler(AssertHandler replacement) noexcept {
    return handler.exchange(replacement ? replacement : print_and_abort);
}

void assert_failed(const char* file, int line, const char* condition,
                   const char* message) noexcept {
    handler.load()(file, line, condition, message);
    std::abort();  // A handler that returns must not let the caller go on.
}

}  // namespace tutti
