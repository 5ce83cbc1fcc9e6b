// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>

#include "mpi/denied.h"

namespace tutti {
namespace {

// Runs `check` in a process of its own in which these calls fail; true where it held.
bool holds_without(std::initializer_list<int> calls, int error, bool (*check)()) {
    const pid_t child = fork();
    if (child == 0) {
        for (const int call : calls) {
            if (deny_call(call, error) != 0) _exit(2);
        }
        _exit(check() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool has_secret() {
    std::array<std::byte, 600> bytes{};  // more than one call must give
    if (!random_secret(bytes)) return false;
    return std::set(bytes.begin(), bytes.end()).size() > 100;
}

bool has_no_secret() {
    std::array<std::byte, 32> bytes{};
    return !random_secret(bytes);
}

bool has_numbers() {
    std::set<uint64_t> numbers;
    for (int i = 0; i < 1000; ++i) numbers.insert(random_number());
    return numbers.size() == 1000 && !numbers.contains(0);
}

TEST(Random, IsThere) {
    EXPECT_TRUE(has_secret());
    EXPECT_TRUE(has_numbers());
}

TEST(Random, ComesFromTheDeviceWhereTheCallIsDenied) {
    for (const int error : {EPERM, ENOSYS}) {
        EXPECT_TRUE(holds_without({SYS_getrandom}, error, has_secret)) << error;
        EXPECT_TRUE(holds_without({SYS_getrandom}, error, has_numbers)) << error;
    }
}

TEST(Random, HasNumbersButNoSecretWhereBothAreDenied) {
    for (const int error : {EPERM, ENOSYS}) {
        EXPECT_TRUE(holds_without({SYS_getrandom, SYS_openat}, error, has_no_secret)) << error;
        EXPECT_TRUE(holds_without({SYS_getrandom, SYS_openat}, error, has_numbers)) << error;
    }
}

TEST(Random, DiffersBetweenProcessesWithoutAGenerator) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    constexpr int kProcesses = 20;
    for (int i = 0; i < kProcesses; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            if (deny_call(SYS_getrandom, EPERM) != 0 || deny_call(SYS_openat, EPERM) != 0) _exit(2);
            const uint64_t number = random_number();
            _exit(write(ends[1], &number, sizeof number) == sizeof number ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        ASSERT_EQ(status, 0);
    }
    std::set<uint64_t> numbers;
    for (int i = 0; i < kProcesses; ++i) {
        uint64_t number = 0;
        ASSERT_EQ(read(ends[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
        numbers.insert(number);
    }
    EXPECT_EQ(numbers.size(), static_cast<size_t>(kProcesses));
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace tutti
