// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/multicast_table.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tutti::mpi {

namespace {

using Info = tutti_multicast_info;

bool has_group(const Info& info) {
    return info.state == TUTTI_MULTICAST_ON || info.state == TUTTI_MULTICAST_FAILED;
}

struct Figure {
    const char* name;
    uint64_t Info::*value;
};

// What adds up over the hosts.
constexpr Figure kSums[] = {
    {"data_packets", &Info::data_packets},
    {"repairs_to_one", &Info::repairs_to_one},
    {"repairs_to_all", &Info::repairs_to_all},
    {"losses", &Info::losses},
    {"naks", &Info::naks},
    {"repaired", &Info::repaired},
    {"repaired_in_10_ms", &Info::repaired_in_10_ms},
    {"duplicates", &Info::duplicates},
    {"rejected", &Info::rejected},
    {"ungrouped", &Info::ungrouped},
    {"malformed", &Info::malformed},
    {"wakeups", &Info::wakeups},
};

void add_figures(Info& sum, const Info& one) {
    for (const Figure& figure : kSums) sum.*figure.value += one.*figure.value;
    sum.repair_ns_max = std::max(sum.repair_ns_max, one.repair_ns_max);
    sum.round_trip_ns = std::max(sum.round_trip_ns, one.round_trip_ns);
    sum.failures = std::max(sum.failures, one.failures);
    sum.returns = std::max(sum.returns, one.returns);
}

// Nothing is to be told of others that have not tried it.
bool has_tried(const Info& info) {
    return info.state != TUTTI_MULTICAST_NONE && info.state != TUTTI_MULTICAST_LATER;
}

// The same group, or teams that go without for the same reason, with messages as fast.
bool are_alike(const MulticastRecord& a, const MulticastRecord& b) {
    if (has_group(a.info) != has_group(b.info)) return false;
    if (has_group(a.info)) return a.info.group == b.info.group;
    if (has_tried(a.info) != has_tried(b.info) ||
        a.info.message_latency_ns != b.info.message_latency_ns ||
        a.info.message_bytes_per_s != b.info.message_bytes_per_s) {
        return false;
    }
    return strncmp(a.info.reason, b.info.reason, sizeof a.info.reason) == 0;
}

std::string rate_text(uint64_t bytes_per_s) {
    if (bytes_per_s == 0) return "not paced";
    char text[32];
    snprintf(text, sizeof text, "%.4g Mbit/s", static_cast<double>(bytes_per_s) * 8e-6);
    return text;
}

std::string milliseconds(uint64_t ns) {
    char text[32];
    snprintf(text, sizeof text, "%.3g ms", static_cast<double>(ns) * 1e-6);
    return text;
}

std::string speed_text(const Info& info) {
    return milliseconds(info.message_latency_ns) + ", " + rate_text(info.message_bytes_per_s);
}

// What the choice between multicasts and messages went by.
std::string message_text(const Info& info) {
    if (info.message_bytes_per_s == 0) return {};
    return " (one way at best " + milliseconds(info.latency_ns) + "; messages " + speed_text(info) +
           ")";
}

// Of no repairs, all were quick.
double share_in_10_ms(const Info& info) {
    if (info.repaired == 0) return 1;
    return static_cast<double>(info.repaired_in_10_ms) / static_cast<double>(info.repaired);
}

std::string team_text(const MulticastRecord& row) {
    std::string text = std::string(row.info.name) + " (" + std::to_string(row.ranks) + " ranks, " +
                       std::to_string(row.info.hosts) + " hosts)";
    if (row.teams > 1) text += " and " + std::to_string(row.teams - 1) + " more";
    return text;
}

std::string times(uint32_t count) {
    if (count == 1) return "once";
    return count == 2 ? "twice" : std::to_string(count) + " times";
}

// Why it is not there, or how it came back.
std::string course_text(const Info& info) {
    switch (info.state) {
        case TUTTI_MULTICAST_ON:
            if (info.returns == 0) return {};
            return "came back " + times(info.returns) + " (" + info.reason + "); ";
        case TUTTI_MULTICAST_FAILED:
            if (info.returns == 0) return std::string(info.reason) + "; ";
            return std::string(info.reason) + ", after it came back " + times(info.returns) + "; ";
        default:
            return info.reason;
    }
}

// As the setting has it.
const char* over_text(tutti_multicast_fabric fabric) {
    return fabric == TUTTI_MULTICAST_VERBS ? "verbs" : "udp";
}

// Both fabrics were tried.
bool was_chosen(const Info& info) { return info.predicted_short_ns[TUTTI_MULTICAST_UDP] != 0; }

std::string predicted_text(const char* what, const uint64_t (&ns)[TUTTI_MULTICAST_FABRICS]) {
    return std::string(what) + " " + milliseconds(ns[TUTTI_MULTICAST_VERBS]) + " by verbs, " +
           milliseconds(ns[TUTTI_MULTICAST_UDP]) + " by UDP";
}

// Verbs say so in their name of the interface.
std::string fabric_text(const Info& info) {
    std::string text;
    if (info.no_verbs[0] != '\0') text += " (not by verbs: " + std::string(info.no_verbs) + ")";
    if (info.no_udp[0] != '\0') {
        text += " (not compared with UDP: " + std::string(info.no_udp) + ")";
    }
    if (!was_chosen(info)) return text;
    return text + " (broadcasts predicted: " + predicted_text("8 B", info.predicted_short_ns) +
           "; " + predicted_text("64 KiB", info.predicted_long_ns) + ")";
}

// By tutti_multicast_protection.
constexpr const char* kProtections[] = {
    "authenticated, readable by whoever joins",
    "encrypted",
    "headers authenticated: whoever joins reads packets, and can send them again with other data "
    "(TUTTI_MCAST_CODE=header)",
    "not authenticated: whoever joins reads packets, and can forge them (TUTTI_MCAST_CODE=none)",
};
// What the code covers, as the setting has it.
constexpr const char* kCovered[] = {"all", "all", "header", "none"};

// Where processors bound it, what to do is about them and not about the network.
std::string pace_text(const Info& info) {
    const bool is_bound = info.bytes_per_s > 0 && info.bytes_per_s == info.code_bytes_per_s;
    return rate_text(info.bytes_per_s) + (is_bound ? " (as fast as packets are coded)" : "");
}

std::string figures_text(const Info& info) {
    char quick[32];
    snprintf(quick, sizeof quick, "%.4g %%", 100 * share_in_10_ms(info));
    return std::to_string(info.data_packets) + " packets, " + std::to_string(info.losses) +
           " losses, " + std::to_string(info.naks) + " NAKs, " +
           std::to_string(info.repairs_to_one) + " repairs to one and " +
           std::to_string(info.repairs_to_all) + " to all (" + quick + " within 10 ms, at most " +
           milliseconds(info.repair_ns_max) + "), " + std::to_string(info.duplicates) +
           " duplicates, " + std::to_string(info.rejected) + " rejected, " +
           std::to_string(info.ungrouped) + " ungrouped, " + std::to_string(info.malformed) +
           " malformed";
}

}  // namespace

void MulticastLog::add(const Info& info, uint32_t rank, uint32_t ranks) {
    if (!has_tried(info) && info.message_bytes_per_s == 0) return;
    if (has_group(info) ? info.carries == 0 : rank != 0) return;
    MulticastRecord record;
    memset(&record, 0, sizeof record);  // padding too: the record travels as bytes
    record.ranks = ranks;
    record.teams = 1;
    record.info = info;
    MulticastRecord* const end = records_ + count_;
    MulticastRecord* same = std::find_if(
        records_, end, [&](const MulticastRecord& known) { return are_alike(known, record); });
    if (same == end && count_ < kRecordsMax) {
        records_[count_++] = record;
        return;
    }
    if (same == end) same = end - 1;
    ++same->teams;
    add_figures(same->info, info);
}

std::vector<MulticastRecord> merge_multicasts(std::span<const MulticastRecord> records) {
    std::vector<MulticastRecord> rows;
    for (const MulticastRecord& record : records) {
        const auto same = std::find_if(rows.begin(), rows.end(), [&](const MulticastRecord& row) {
            return are_alike(row, record);
        });
        if (same == rows.end()) {
            rows.push_back(record);
            continue;
        }
        // Each host of a group counts the group; reasons are counted by one rank of each team.
        const bool is_group = has_group(record.info);
        same->teams = is_group ? std::max(same->teams, record.teams) : same->teams + record.teams;
        add_figures(same->info, record.info);
        if (is_group && record.info.state == TUTTI_MULTICAST_FAILED) {
            same->info.state = TUTTI_MULTICAST_FAILED;
            memcpy(same->info.reason, record.info.reason, sizeof record.info.reason);
        }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const MulticastRecord& a, const MulticastRecord& b) {
                         return has_group(a.info) && !has_group(b.info);
                     });
    return rows;
}

std::string multicast_text(std::span<const MulticastRecord> rows) {
    std::string text;
    for (const MulticastRecord& row : rows) {
        const Info& info = row.info;
        const bool failed = info.state == TUTTI_MULTICAST_FAILED;
        if (!has_group(info) && info.message_bytes_per_s != 0) {
            text += "tutti: messages on " + team_text(row) + ": measured " + speed_text(info) +
                    "; where prices decide, by that (TUTTI_PRICE)\n";
        }
        if (!has_tried(info)) continue;
        text += "tutti: multicast ";
        text += info.state == TUTTI_MULTICAST_ON ? "on" : failed ? "until a failure on" : "off on";
        text += " " + team_text(row) + ": " + course_text(info);
        if (has_group(info)) {
            text += info.interface_name + fabric_text(info) + ", " + info.address + ", " +
                    pace_text(info) + ", round trip " + milliseconds(info.round_trip_ns) +
                    message_text(info) + ", " + kProtections[info.protection] + "; " +
                    figures_text(info);
        }
        text += "\n";
    }
    return text;
}

namespace {

// Of broadcasts of 8 bytes and of 64 KiB.
nlohmann::ordered_json predicted_json(const Info& info) {
    nlohmann::ordered_json json;
    for (const tutti_multicast_fabric fabric : {TUTTI_MULTICAST_VERBS, TUTTI_MULTICAST_UDP}) {
        json[over_text(fabric)] = {
            {"short_s", static_cast<double>(info.predicted_short_ns[fabric]) * 1e-9},
            {"long_s", static_cast<double>(info.predicted_long_ns[fabric]) * 1e-9}};
    }
    return json;
}

}  // namespace

nlohmann::ordered_json multicast_json(std::span<const MulticastRecord> rows) {
    constexpr const char* kStates[] = {"none", "on", "off", "failed", "later"};
    auto json = nlohmann::ordered_json::array();
    for (const MulticastRecord& row : rows) {
        const Info& info = row.info;
        nlohmann::ordered_json entry;
        entry["communicator"] = info.name;
        entry["communicators"] = row.teams;
        entry["ranks"] = row.ranks;
        entry["hosts"] = info.hosts;
        entry["state"] = kStates[info.state];
        if (info.reason[0] != '\0') entry["reason"] = info.reason;
        if (has_group(info) || info.message_bytes_per_s != 0) {
            entry["message_bytes_per_s"] = info.message_bytes_per_s;
            entry["message_latency_s"] = static_cast<double>(info.message_latency_ns) * 1e-9;
        }
        if (has_group(info)) {
            entry["failures"] = info.failures;
            entry["returns"] = info.returns;
            entry["over"] = over_text(info.fabric);
            if (info.no_verbs[0] != '\0') entry["no_verbs"] = info.no_verbs;
            if (info.no_udp[0] != '\0') entry["no_udp"] = info.no_udp;
            if (was_chosen(info)) entry["predicted"] = predicted_json(info);
            entry["interface"] = info.interface_name;
            entry["address"] = info.address;
            entry["encrypted"] = info.protection == TUTTI_MULTICAST_ENCRYPTED;
            entry["code"] = kCovered[info.protection];
            entry["code_bytes_per_s"] = info.code_bytes_per_s;
            entry["bytes_per_s"] = info.bytes_per_s;
            entry["round_trip_s"] = static_cast<double>(info.round_trip_ns) * 1e-9;
            entry["latency_s"] = static_cast<double>(info.latency_ns) * 1e-9;
            for (const Figure& figure : kSums) entry[figure.name] = info.*figure.value;
            entry["repair_s_max"] = static_cast<double>(info.repair_ns_max) * 1e-9;
        }
        json.push_back(std::move(entry));
    }
    return json;
}

}  // namespace tutti::mpi
