// SPDX-License-Identifier: BSD-3-Clause
// Which seeds a test runs, and the command that runs one of them again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace tutti::test {

// TUTTI_SEED=N runs this one alone, TUTTI_SEEDS=N so many; else `count`, under TESTS_BRIEF (for
// sanitizers, five to ten times slower) a fifth of them, under TESTS_LONG (make nightly) ten times.
struct Seeds {
    uint64_t first = 1;
    uint64_t count = 1;
    static Seeds wanted(uint64_t count) {
        const char* one = std::getenv("TUTTI_SEED");
        if (one) return {std::strtoull(one, nullptr, 10), 1};
        const char* many = std::getenv("TUTTI_SEEDS");
        if (many) return {1, std::strtoull(many, nullptr, 10)};
        if (std::getenv("TESTS_LONG")) return {1, 10 * count};
        return {1, std::getenv("TESTS_BRIEF") ? (count + 4) / 5 : count};
    }
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
