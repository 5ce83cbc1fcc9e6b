// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a survey that no longer answer.
//
// A transfer that came speaks for both its ends. One that is missing speaks against an end only if
// the other one has answered last: a host is not lost because it was to meet a dead one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/survey/experiment.h"

namespace tutti::survey {

// A host none of whose transfers came in so many experiments is lost.
inline constexpr uint32_t kMissingMax = 3;

class LostHosts {
  public:
    explicit LostHosts(uint32_t hosts) : is_lost_(hosts), missing_in_a_row_(hosts) {}
    // By transfer: its time; kMissingNs where it did not end in time. True: a host was lost now.
    bool take(std::span<const Transfer> transfers, std::span<const uint64_t> times_ns);
    void lose(uint32_t host) { is_lost_[host] = true; }

    [[nodiscard]] bool is_lost(uint32_t host) const { return is_lost_[host]; }
    [[nodiscard]] const std::vector<bool>& by_host() const { return is_lost_; }
    // Ascending.
    [[nodiscard]] std::vector<uint32_t> alive() const;

  private:
    std::vector<bool> is_lost_;
    std::vector<uint32_t> missing_in_a_row_;
};

}  // namespace tutti::survey
