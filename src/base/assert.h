// SPDX-License-Identifier: BSD-3-Clause
// Assertions that stay on in release builds. One condition per line.
#pragma once

namespace tutti {

using AssertHandler = void (*)(const char* file, int line, const char* condition,
                               const char* message);

// Replaces the handler (tests). Returns the former one. The default prints one line and aborts.
AssertHandler set_assert_handler(AssertHandler handler) noexcept;

[[noreturn]] void assert_failed(const char* file, int line, const char* condition,
                                const char* message) noexcept;

}  // namespace tutti

#define TUTTI_ASSERT(condition, message)                                       \
    do {                                                                       \
        if (!(condition)) [[unlikely]]                                         \
            ::tutti::assert_failed(__FILE__, __LINE__, #condition, (message)); \
    } while (false)

// O(n) checks: only in tests and debug builds.
#if defined(TUTTI_SLOW_ASSERTS)
#define TUTTI_ASSERT_SLOW(condition, message) TUTTI_ASSERT(condition, message)
#else
#define TUTTI_ASSERT_SLOW(condition, message) static_cast<void>(0)
#endif
