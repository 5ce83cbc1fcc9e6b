// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/overlap.h"

#include <algorithm>

#include "plan/sched/shape.h"

namespace tutti::select {
namespace {

constexpr Range kAll;

bool covers(const std::optional<Range>& wide, const std::optional<Range>& narrow) {
    const Range outer = wide.value_or(kAll);
    const Range inner = narrow.value_or(kAll);
    return outer.low <= inner.low && inner.high <= outer.high;
}

bool covers(const Rule& wide, const Rule& narrow) {
    for (size_t i = 0; i < wide.collectives.size(); ++i) {
        if (narrow.collectives[i] && !wide.collectives[i]) return false;
    }
    if (!wide.mpis.empty()) {
        if (narrow.mpis.empty()) return false;
        for (const std::string& mpi : narrow.mpis) {
            if (std::find(wide.mpis.begin(), wide.mpis.end(), mpi) == wide.mpis.end()) return false;
        }
    }
    if (wide.contiguous && wide.contiguous != narrow.contiguous) return false;
    if (wide.commutative && wide.commutative != narrow.commutative) return false;
    for (size_t i = 0; i < kNetworks.size(); ++i) {
        if (wide.networks[i] && wide.networks[i] != narrow.networks[i]) return false;
    }
    if (wide.multicast && wide.multicast != narrow.multicast) return false;
    if (!covers(wide.multicast_mbit, narrow.multicast_mbit)) return false;
    // None fits where switches are not known.
    if (wide.switches && !(narrow.switches || narrow.hosts_per_switch)) return false;
    if (wide.hosts_per_switch && !(narrow.switches || narrow.hosts_per_switch)) return false;
    if (!covers(wide.switches, narrow.switches)) return false;
    if (!covers(wide.hosts_per_switch, narrow.hosts_per_switch)) return false;
    return covers(wide.bytes, narrow.bytes) && covers(wide.ranks, narrow.ranks) &&
           covers(wide.hosts, narrow.hosts) && covers(wide.ranks_per_host, narrow.ranks_per_host);
}

}  // namespace

Fault never_fits(const Rule& rule) {
    const Range ranks = rule.ranks.value_or(kAll);
    const Range hosts = rule.hosts.value_or(kAll);
    const Range members = rule.ranks_per_host.value_or(kAll);
    if (hosts.high == 0) return "never fits: a team has a host at least";
    if (ranks.high == 0) return "never fits: a team has a rank at least";
    if (members.high == 0) return "never fits: a host has a rank at least";
    if (rule.switches && rule.switches->high == 0) {
        return "never fits: where switches are known, there is one at least";
    }
    if (rule.hosts_per_switch && rule.hosts_per_switch->high == 0) {
        return "never fits: only switches with hosts count";
    }
    const Range switches = rule.switches.value_or(kAll);
    const Range on_each = rule.hosts_per_switch.value_or(kAll);
    const bool is_about_switches = rule.switches || rule.hosts_per_switch;
    if (is_about_switches && (hosts.high == 1 || rule.algorithm == kNodeLevel)) {
        return "never fits: a team on one host knows no switches";
    }
    if (hosts.high < switches.low) return "never fits: fewer hosts than switches";
    if (hosts.high < on_each.low) return "never fits: fewer hosts than on one switch";
    if (ranks.high < hosts.low) return "never fits: fewer ranks than hosts";
    if (ranks.high < members.low) return "never fits: fewer ranks than on one host";
    const bool is_network = rule.algorithm != kHostMpi && rule.algorithm != kNodeLevel;
    if (is_network && hosts.high == 1) {
        return "never fits: on one host only host and node run";
    }
    if (rule.multicast_mbit && !rule.multicast.value_or(false)) {
        return "multicast_mbit: needs multicast = true";
    }
    if (rule.multicast && *rule.multicast && hosts.high == 1) {
        return "never fits: on one host there is no multicast";
    }
    for (size_t i = 0; i < kNetworks.size(); ++i) {
        if (!rule.networks[i].value_or(false) || hosts.high > 1) continue;
        return "never fits: on one host there is no " + std::string(kNetworks[i].title);
    }
    if (rule.algorithm == kNodeLevel && hosts.low > 1) {
        return "never fits: node runs on one host only";
    }
    for (size_t one = 0; one < rule.collectives.size(); ++one) {
        if (!rule.collectives[one]) continue;
        const auto collective = static_cast<tutti_collective>(one);
        if (collective == TUTTI_BARRIER && rule.bytes && rule.bytes->low > 0) {
            return "never fits: a barrier has no bytes";
        }
        if (rule.commutative && !*rule.commutative && !is_reduction(collective)) {
            return "never fits: only reduce and allreduce have an operator";
        }
        const algo::Algorithm* algorithm = algo::find(collective, rule.algorithm);
        if (rule.multicast && !*rule.multicast && algorithm && algorithm->has_multicast) {
            return "never fits: " + rule.algorithm + " needs hardware multicast";
        }
    }
    return std::nullopt;
}

Fault hidden_by(const Rule& rule, std::span<const Rule> earlier) {
    for (const Rule& other : earlier) {
        if (!covers(other, rule)) continue;
        const bool always_runs = other.algorithm == kHostMpi;
        const bool is_twin = other.algorithm == rule.algorithm &&
                             other.node_algorithm == rule.node_algorithm &&
                             other.tuning == rule.tuning;
        if (!always_runs && !is_twin) continue;
        return "is never reached: rule " + std::to_string(other.number) + " in line " +
               std::to_string(other.line) + " takes the same calls first";
    }
    return std::nullopt;
}

}  // namespace tutti::select
