// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/verbs_table.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tutti::mpi {

namespace {

// The largest team speaks for all; of reasons each for itself.
bool are_of_one_row(const VerbsRecord& a, const VerbsRecord& b) {
    if (a.info.state != b.info.state) return false;
    return strncmp(a.info.reason, b.info.reason, sizeof a.info.reason) == 0;
}

// One that has registered memory, of the same size, says more than one that shares it.
bool speaks_before(const VerbsRecord& record, const VerbsRecord& row) {
    if (!are_of_one_row(row, record)) return false;
    if (record.ranks != row.ranks) return record.ranks > row.ranks;
    return record.info.shares < row.info.shares;
}

void add_to(VerbsRecord& row, const VerbsRecord& record) {
    const uint32_t teams = row.teams + record.teams;
    const uint32_t sharing = row.sharing + record.sharing;
    const uint64_t straight = row.info.long_messages + record.info.long_messages;
    const uint64_t copied = row.info.long_copied + record.info.long_copied;
    const uint64_t additions = row.info.additions + record.info.additions;
    if (speaks_before(record, row)) row = record;
    row.teams = teams;
    row.sharing = sharing;
    row.info.long_messages = straight;
    row.info.long_copied = copied;
    row.info.additions = additions;
}

std::string memory_text(uint64_t bytes) {
    char text[32];
    snprintf(text, sizeof text, "%.3g MiB", static_cast<double>(bytes) / (1 << 20));
    return text;
}

std::string counts_text(const tutti_verbs_info& info) {
    std::string text;
    if (info.additions > 0) {
        text += "; " + std::to_string(info.additions) + " messages as additions to counters";
    }
    if (info.long_messages > 0) {
        text += "; " + std::to_string(info.long_messages) + " long messages without a copy";
    }
    if (info.long_copied > 0) {
        text += "; " + std::to_string(info.long_copied) +
                " long messages copied, as their memory could not be registered (ulimit -l)";
    }
    return text;
}

}  // namespace

void VerbsLog::add(const tutti_verbs_info& info, uint32_t rank, uint32_t ranks) {
    if (rank != 0 || info.state == TUTTI_VERBS_NONE) return;
    VerbsRecord record;
    memset(&record, 0, sizeof record);  // padding too: the record travels as bytes
    record.ranks = ranks;
    record.teams = 1;
    record.sharing = info.shares != 0 ? 1 : 0;
    record.info = info;
    VerbsRecord* const end = records_ + count_;
    VerbsRecord* same = std::find_if(
        records_, end, [&](const VerbsRecord& known) { return are_of_one_row(known, record); });
    if (same == end && count_ < kRecordsMax) {
        records_[count_++] = record;
        return;
    }
    add_to(same == end ? *(end - 1) : *same, record);
}

std::vector<VerbsRecord> merge_verbs(std::span<const VerbsRecord> records) {
    std::vector<VerbsRecord> rows;
    for (const VerbsRecord& record : records) {
        const auto same = std::find_if(rows.begin(), rows.end(), [&](const VerbsRecord& row) {
            return are_of_one_row(row, record);
        });
        if (same == rows.end()) {
            rows.push_back(record);
        } else {
            add_to(*same, record);
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const VerbsRecord& a, const VerbsRecord& b) {
        return a.info.state == TUTTI_VERBS_ON && b.info.state != TUTTI_VERBS_ON;
    });
    return rows;
}

std::string verbs_text(std::span<const VerbsRecord> rows) {
    std::string text;
    for (const VerbsRecord& row : rows) {
        const tutti_verbs_info& info = row.info;
        const bool is_on = info.state == TUTTI_VERBS_ON;
        text += is_on ? "tutti: messages by RDMA on " : "tutti: no messages by RDMA on ";
        text += std::string(info.name) + " (" + std::to_string(row.ranks) + " ranks, " +
                std::to_string(info.hosts) + " hosts)";
        if (row.teams > 1) text += " and " + std::to_string(row.teams - 1) + " more";
        if (row.sharing > 0) {
            text += ", " + std::to_string(row.sharing) + " by connections of others";
        }
        if (is_on) {
            text += ": its first rank by " + std::string(info.port) + " to " +
                    std::to_string(info.peers) + (info.peers == 1 ? " rank, " : " ranks, ") +
                    memory_text(info.memory_bytes) + " registered" +
                    (info.polls_tails != 0 ? ", messages found by their ends" : "") +
                    counts_text(info) + "\n";
        } else {
            text += std::string(": ") + info.reason + "\n";
        }
    }
    return text;
}

nlohmann::ordered_json verbs_json(std::span<const VerbsRecord> rows) {
    auto json = nlohmann::ordered_json::array();
    for (const VerbsRecord& row : rows) {
        const tutti_verbs_info& info = row.info;
        nlohmann::ordered_json entry;
        entry["communicator"] = info.name;
        entry["communicators"] = row.teams;
        if (info.state == TUTTI_VERBS_ON) entry["sharing"] = row.sharing;
        entry["ranks"] = row.ranks;
        entry["hosts"] = info.hosts;
        entry["state"] = info.state == TUTTI_VERBS_ON ? "on" : "off";
        if (info.state == TUTTI_VERBS_ON) {
            entry["port"] = info.port;
            entry["peers"] = info.peers;
            entry["registered_bytes"] = info.memory_bytes;
            entry["polls_tails"] = info.polls_tails != 0;
            entry["long_messages"] = info.long_messages;
            entry["long_copied"] = info.long_copied;
            entry["additions"] = info.additions;
        } else {
            entry["reason"] = info.reason;
        }
        json.push_back(std::move(entry));
    }
    return json;
}

}  // namespace tutti::mpi
