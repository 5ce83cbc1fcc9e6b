// SPDX-License-Identifier: BSD-3-Clause
// A call as `tutti explain` and `tutti simulate` are told it: what is called, by how many ranks, on
// which hosts, under which settings.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algo/registry.h"
#include "base/result.h"
#include "base/settings.h"
#include "cli/words.h"
#include "sched/shape.h"
#include "select/rules.h"
#include "select/select.h"
#include "topo/placement.h"

namespace tutti::cli {

// 2^17 ranks are more than any machine runs today, and their Programs fit into memory here.
inline constexpr uint64_t kRanksMax = 1u << 17;
inline constexpr uint64_t kCallBytesMax = 1ull << 36;

// Options that say what is called; each command adds its own.
std::span<const OptionDoc> call_options();

struct Call {
    tutti_collective collective = TUTTI_BARRIER;
    uint32_t ranks = 1;
    uint32_t hosts = 1;
    uint32_t root = 0;
    bool is_round_robin = false;
    bool is_commutative = true;
    bool has_multicast = false;
    std::string host_mpi;        // empty: none
    Settings settings;           // the environment's, then the options'
    std::string_view forced_by;  // empty: a variable
    select::Rules rules;

    // Elements are of 8 bytes where that divides the vector, else of 4, 2 or 1.
    [[nodiscard]] sched::Shape shape(uint64_t bytes) const;
    [[nodiscard]] topo::Placement placement() const;
    // "allreduce of 1 MiB, 16 ranks on 4 hosts"
    [[nodiscard]] std::string text(uint64_t bytes) const;
    [[nodiscard]] Result<select::Choice> choose(const sched::Shape& shape,
                                                const topo::Placement& placement,
                                                const select::NodeCall* on_node = nullptr) const;
    // What --algorithm says, in the place of the variable.
    [[nodiscard]] Result<Done> force(const std::string& algorithm);
};

// environment: the settings in force, as for `tutti run`. --algorithm is for the caller, see
// force().
Result<Call> read_call(std::string_view command, const Words& words,
                       std::span<const std::string> environment);
// What --bytes lists; one zero for a barrier.
Result<std::vector<uint64_t>> read_bytes(std::string_view command, const Words& words,
                                         const Call& call);

// "segments of 64 KiB, 4 lanes in flight, 2 leaders a host, flat", or an empty text. Segments are
// worth a word only where the vector is longer.
std::string tuning_text(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                        uint64_t bytes);

}  // namespace tutti::cli
