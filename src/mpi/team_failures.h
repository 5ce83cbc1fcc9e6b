// SPDX-License-Identifier: BSD-3-Clause
// Why communicators have no team.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "tutti/tutti.h"

namespace tutti::mpi {

// The reasons for which teams could not be made, kept for the report, which names them when their
// communicators are gone.
class TeamFailures {
  public:
    // They hold numbers and may all differ: beyond so many they are no longer told apart.
    static constexpr uint32_t kKeptMax = 32;

    // A text of it that stays valid.
    const char* keep(const std::string& reason);
    // True at the first call for this status: each is said once.
    [[nodiscard]] bool is_first(tutti_status status);

  private:
    struct Reason {
        std::string text;
        const Reason* next;
    };

    std::mutex mutex_;
    const Reason* last_ = nullptr;
    uint32_t kept_ = 0;
    std::atomic<uint32_t> said_{0};  // bits, by status
};

}  // namespace tutti::mpi
