// SPDX-License-Identifier: BSD-3-Clause
// What TUTTI_FAULTS asks for: a real run over a worse network than there is, by seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti {

struct FaultPlan {
    // Of packets, of 1,000,000. A transport that is reliable (the host MPI's messages) loses and
    // doubles nothing; there only `reorder` counts.
    uint32_t drop_ppm = 0;
    uint32_t dup_ppm = 0;
    // A packet is overtaken by up to so many others; a message is held back for up to so many looks
    // at it.
    uint32_t reorder = 0;
    uint64_t seed = 1;
    // After so many packets of a multicast group its last member gives it up, as if the first had
    // stood still; 0: never.
    uint64_t fail_after = 0;
    [[nodiscard]] bool is_any() const {
        return drop_ppm != 0 || dup_ppm != 0 || reorder != 0 || fail_after != 0;
    }
    bool operator==(const FaultPlan&) const = default;
};

// Later ones than this would have to be kept somewhere.
inline constexpr uint32_t kReorderMax = 64;

// "drop:0.01,dup:0.001,reorder:8,fail:900,seed:7", in any order, each at most once: shares from 0
// to 1, at most kReorderMax.
std::optional<FaultPlan> parse_faults(std::string_view text);

}  // namespace tutti
