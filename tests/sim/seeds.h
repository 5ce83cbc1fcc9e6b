// SPDX-License-Identifier: BSD-3-Clause
// Which seeds a test runs, and the command that runs one of them again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace tutti::test {

// TUTTI_SEED=N runs this one alone. Else they begin at TESTS_FIRST_SEED, which tools/test takes
// from the commit, or at 1. There are TUTTI_SEEDS of them, or `count`; under TESTS_BRIEF (make
// check, and sanitizers, five to ten times slower) a twentieth of that, under TESTS_LONG (make
// nightly) ten times.
struct Seeds {
    uint64_t first = 1;
    uint64_t count = 1;
    static Seeds wanted(uint64_t count) {
        if (const char* one = std::getenv("TUTTI_SEED")) return {number(one), 1};
        const char* from = std::getenv("TESTS_FIRST_SEED");
        const uint64_t first = from ? number(from) : 1;
        if (const char* many = std::getenv("TUTTI_SEEDS")) return {first, number(many)};
        if (std::getenv("TESTS_LONG")) return {first, 10 * count};
        return {first, std::getenv("TESTS_BRIEF") ? (count + 19) / 20 : count};
    }

  private:
    static uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }
};

inline std::string replay(uint64_t seed) {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    return "\nreplay: TUTTI_SEED=" + std::to_string(seed) +
           " <this binary> --gtest_filter=" + info->test_suite_name() + "." + info->name();
}

// run(seed) for each, until one fails.
template <class Run>
void for_each_seed(uint64_t count, Run run) {
    const Seeds seeds = Seeds::wanted(count);
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(replay(seed));
        run(seed);
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace tutti::test
