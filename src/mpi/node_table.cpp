// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/node_table.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

namespace tutti::mpi {

namespace {

bool is_measured(const tutti_node_info& info) {
    return info.state == TUTTI_NODE_MEASURED || info.state == TUTTI_NODE_EARLIER;
}

bool are_of_one_set(const tutti_node_info& a, const tutti_node_info& b) {
    return a.processes == b.processes && strncmp(a.host, b.host, sizeof a.host) == 0;
}

// Of two teams of the same processes: what was measured last, as far as can be told.
bool knows_more(const tutti_node_info& a, const tutti_node_info& b) {
    const auto rank = [](const tutti_node_info& info) {
        return std::tuple(is_measured(info), info.again, info.state == TUTTI_NODE_MEASURED);
    };
    return rank(a) > rank(b);
}

void add_record(NodeRecord& sum, const NodeRecord& one) {
    const uint32_t again = sum.info.again + one.info.again;
    if (knows_more(one.info, sum.info)) sum.info = one.info;
    sum.info.again = again;
    sum.teams += one.teams;
    sum.lean += one.lean;
    sum.more += one.more;
}

std::string head_text(const NodeRecord& row) {
    std::string text = "tutti: within " + std::string(row.info.host) + ", " +
                       std::to_string(row.info.ranks) + " ranks, " + std::to_string(row.teams) +
                       (row.teams == 1 ? " communicator" : " communicators");
    if (row.lean > 0) text += " (" + std::to_string(row.lean) + " lean)";
    if (row.info.again == 1) text += ", measured again once";
    if (row.info.again > 1) {
        text += ", measured again " + std::to_string(row.info.again) + " times";
    }
    return text + ": ";
}

constexpr const char* kWays[TUTTI_NODE_WAYS] = {"plain", "prefetch", "string", "stream"};
constexpr uint32_t kBytes[TUTTI_NODE_SIZES] = {8u << 10,  16u << 10,  32u << 10,
                                               64u << 10, 128u << 10, 256u << 10};

nlohmann::ordered_json ways_json(const tutti_node_info& info) {
    auto json = nlohmann::ordered_json::object();
    for (size_t i = 0; i < TUTTI_NODE_WAYS; ++i) {
        if (info.way_ns[i] != 0) json[kWays[i]] = info.way_ns[i];
    }
    if (info.short_ring_ns != 0) json["short_ring"] = info.short_ring_ns;
    return json;
}

nlohmann::ordered_json times_json(const uint32_t (&ring)[TUTTI_NODE_SIZES],
                                  const uint32_t (&single)[TUTTI_NODE_SIZES]) {
    auto json = nlohmann::ordered_json::array();
    for (size_t i = 0; i < TUTTI_NODE_SIZES; ++i) {
        if (ring[i] == 0 && single[i] == 0) continue;
        nlohmann::ordered_json entry;
        entry["bytes"] = kBytes[i];
        if (ring[i] != 0) entry["rings_ns"] = ring[i];
        if (single[i] != 0) entry["single_copy_ns"] = single[i];
        json.push_back(std::move(entry));
    }
    return json;
}

nlohmann::ordered_json readers_json(const tutti_node_info& info) {
    auto json = nlohmann::ordered_json::array();
    for (size_t i = 0; i < TUTTI_NODE_READERS; ++i) {
        if (info.readers_ns[i] == 0) continue;
        nlohmann::ordered_json entry;
        entry["readers"] = 1u << i;
        entry["single_copy_ns"] = info.readers_ns[i];
        json.push_back(std::move(entry));
    }
    return json;
}

// null: never.
nlohmann::ordered_json from_json(uint64_t bytes) {
    if (bytes == UINT64_MAX) return nullptr;
    return bytes;
}

nlohmann::ordered_json follows_json(const tutti_node_info& info) {
    nlohmann::ordered_json json;
    json["way"] = kWays[info.way];
    json["pieces"] = info.piece_count;
    json["piece_bytes_min"] = info.piece_bytes_min;
    json["piece_bytes_max"] = info.piece_bytes_max;
    json["ring_bytes"] = info.ring_bytes;
    json["single_copy"] = info.reads != 0;
    json["single_copy_one_way_from_bytes"] = from_json(info.single_one_way_bytes);
    json["single_copy_all_ways_from_bytes"] = from_json(info.single_all_ways_bytes);
    json["single_copy_scatter_from_bytes"] = from_json(info.single_scatter_bytes);
    json["single_copy_readers_max"] = nullptr;
    if (info.single_readers_max != UINT32_MAX) {
        json["single_copy_readers_max"] = info.single_readers_max;
    }
    return json;
}

}  // namespace

void NodeLog::add(const tutti_node_info& info) {
    if (info.state == TUTTI_NODE_ALONE || info.rank != 0) return;
    NodeRecord record;
    memset(static_cast<void*>(&record), 0,
           sizeof record);  // padding too: the record travels as bytes
    record.teams = 1;
    record.lean = info.lean != 0 ? 1 : 0;
    record.info = info;
    NodeRecord* const end = records_ + count_;
    NodeRecord* const same = std::find_if(
        records_, end, [&](const NodeRecord& known) { return are_of_one_set(known.info, info); });
    if (same != end) {
        add_record(*same, record);
    } else if (count_ < kRecordsMax) {
        records_[count_++] = record;
    } else {
        ++records_[kRecordsMax - 1].more;
    }
}

std::vector<NodeRecord> merge_nodes(std::span<const NodeRecord> records) {
    std::vector<NodeRecord> rows;
    for (const NodeRecord& record : records) {
        const auto same = std::find_if(rows.begin(), rows.end(), [&](const NodeRecord& row) {
            return are_of_one_set(row.info, record.info);
        });
        if (same == rows.end()) {
            rows.push_back(record);
        } else {
            add_record(*same, record);
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const NodeRecord& a, const NodeRecord& b) {
        return a.info.ranks > b.info.ranks;
    });
    return rows;
}

std::string node_text(std::span<const NodeRecord> rows) {
    constexpr size_t kRowsMax = 8;
    std::string text;
    uint64_t more = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const tutti_node_info& info = rows[i].info;
        more += rows[i].more;
        if (i >= kRowsMax) {
            more += rows[i].teams;
            continue;
        }
        text += head_text(rows[i]);
        text += is_measured(info) ? info.figures : "not measured: " + std::string(info.reason);
        text += "\ntutti:   -> " + std::string(info.follows) + "\n";
    }
    if (more > 0) {
        text += "tutti: and of " + std::to_string(more) + " communicators of other processes\n";
    }
    return text;
}

nlohmann::ordered_json node_json(std::span<const NodeRecord> rows) {
    auto json = nlohmann::ordered_json::array();
    for (const NodeRecord& row : rows) {
        const tutti_node_info& info = row.info;
        nlohmann::ordered_json entry;
        entry["host"] = info.host;
        entry["ranks"] = info.ranks;
        entry["communicators"] = row.teams;
        entry["lean_communicators"] = row.lean;
        entry["measured"] = is_measured(info);
        if (is_measured(info)) {
            entry["measured_again"] = info.again;
            entry["barrier_ns"] = info.barrier_ns;
            entry["one_way_64k_ns"] = ways_json(info);
            entry["one_way"] = times_json(info.one_way_ring_ns, info.one_way_single_ns);
            entry["all_ways"] = times_json(info.all_ways_ring_ns, info.all_ways_single_ns);
            if (info.short_ns != 0) entry["one_way_1k_ns"] = info.short_ns;
            if (info.fold_ns != 0) entry["folded_64k_ns"] = info.fold_ns;
            entry["one_way_64k_readers"] = readers_json(info);
        } else {
            entry["reason"] = info.reason;
        }
        entry["follows"] = follows_json(info);
        if (row.more > 0) entry["communicators_of_other_processes"] = row.more;
        json.push_back(std::move(entry));
    }
    return json;
}

}  // namespace tutti::mpi
