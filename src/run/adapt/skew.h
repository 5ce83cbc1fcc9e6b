// SPDX-License-Identifier: BSD-3-Clause
// How late ranks come to a call, for benchmarks and simulations: a function of seed, call and rank
// alone, so that all ranks know the delays of all without communication.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::adapt {

enum class Skew : uint8_t {
    kNone,         // all at once
    kOne,          // one rank, drawn anew for each call, by the most
    kUniform,      // 0 to the most
    kExponential,  // a quarter of the most in the mean, cut at the most
    kNode,         // all ranks of one host, drawn anew for each call, by the most
    kAlternating,  // odd ranks by the most
    kReport,       // as recorded in a run
};
inline constexpr auto kSkewNames = std::to_array<std::string_view>(
    {"none", "one", "uniform", "exponential", "node", "alternating", "report"});

std::optional<Skew> find_skew(std::string_view name);
constexpr std::string_view skew_name(Skew skew) { return kSkewNames[static_cast<size_t>(skew)]; }

// By call and rank: how long after the first it came; at least one call.
using RecordedDelays = std::vector<std::vector<uint64_t>>;

struct Delays {
    Skew skew = Skew::kNone;
    uint64_t most_ns = 0;
    uint64_t seed = 0;
    uint32_t ranks = 1;
    uint32_t hosts = 1;
    // kReport: of so many ranks. Call after call, from the one that the seed says, and again.
    const RecordedDelays* recorded = nullptr;

    // Of a rank < ranks on host < hosts.
    [[nodiscard]] uint64_t delay_ns(uint64_t call, uint32_t rank, uint32_t host) const;
};

}  // namespace tutti::adapt
