// SPDX-License-Identifier: BSD-3-Clause
// What the teams of a process have found out by measuring, for later teams of the same processes or
// hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "plan/sched/shape.h"
#include "run/node/tuning.h"

namespace tutti::engine {

// What the processes of a node have found out of each other (run/bootstrap/node_facts.h); plain
// data, which the leader hands to all.
struct NodeFacts {
    bool is_known = false;
    bool can_read = false;          // all in the memory of all
    char no_single_copy[126] = {};  // why not; empty: they can
    bool is_tried = false;          // measuring was; what came of it:
    node::Figures figures;          // empty: nothing
};

class Findings {
  public:
    // Of the processes with this hash, as they once found out; nothing where they have not.
    NodeFacts facts_of(uint64_t processes);
    void keep_facts(uint64_t processes, const NodeFacts& facts);
    // What is kept of them is no longer so. Allocates nothing.
    void change_facts(uint64_t processes, const NodeFacts& facts);
    // What this process has measured by itself (run/node/read_once.h); nothing: not yet.
    std::optional<node::Times> once();
    void keep_once(const node::Times& once);
    // Why ranks of a node read nothing in each other's memory, of the last team that found it out;
    // empty: they do, or no team has tried. Valid until the next team is made.
    [[nodiscard]] const char* no_single_copy() const { return no_single_copy_.data(); }
    void note_no_single_copy(const char* why);

    // How fast messages are between these hosts, or these among others, as an earlier team of this
    // process has measured; 0: none has. By ascending identities.
    sched::Speed speed_of(const std::vector<uint64_t>& hosts);
    void keep_speed(const std::vector<uint64_t>& hosts, const sched::Speed& speed);

  private:
    // Sets of processes whose facts are kept; beyond, all are found out again.
    static constexpr size_t kFactsMax = 256;
    // Sets of hosts whose speed is kept; beyond, all are measured again.
    static constexpr size_t kSpeedsMax = 64;
    struct KnownSpeed {
        std::vector<uint64_t> hosts;
        sched::Speed speed;
    };

    std::mutex mutex_;
    std::map<uint64_t, NodeFacts> facts_;
    std::vector<KnownSpeed> speeds_;
    std::optional<node::Times> once_;
    std::array<char, sizeof(NodeFacts::no_single_copy)> no_single_copy_{};
};

}  // namespace tutti::engine
