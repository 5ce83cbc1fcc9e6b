// SPDX-License-Identifier: BSD-3-Clause
// What the report says about how data moves within nodes: one row a set of processes. Knows no MPI.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::mpi {

// What one process says of a set of processes that it is the first of; sent to rank 0 as bytes.
struct NodeRecord {
    uint32_t teams;  // of these processes
    uint32_t more;   // teams of other sets, that found no room
    tutti_node_info info;
    uint32_t lean = 0;  // of the teams
};

// The records of one process: a table of fixed size.
class NodeLog {
  public:
    // Who speaks: the first member of each node, if it is not alone there.
    void add(const tutti_node_info& info);
    [[nodiscard]] std::span<const NodeRecord> records() const { return {records_, count_}; }

  private:
    static constexpr uint32_t kRecordsMax = 32;
    NodeRecord records_[kRecordsMax] = {};
    uint32_t count_ = 0;
};

// One row a set, those of many ranks first. Teams of one set may have different first members.
std::vector<NodeRecord> merge_nodes(std::span<const NodeRecord> records);
// Lines, or nothing; a few sets only.
std::string node_text(std::span<const NodeRecord> rows);
nlohmann::ordered_json node_json(std::span<const NodeRecord> rows);

}  // namespace tutti::mpi
