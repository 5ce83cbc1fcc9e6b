// SPDX-License-Identifier: BSD-3-Clause
// The part of the table in settings.cpp that is about several hosts: how their packets and messages
// go. For settings.cpp alone.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/setting_values.h"
#include "base/settings.h"

namespace tutti::setting_values {

// By value.
inline constexpr const char* kMcastCodes[] = {"all", "header", "none"};

// "auto", or the word of a network.
inline bool set_over(McastOver& target, std::string_view text) {
    const bool is_auto = text == "auto";
    const size_t first = is_auto ? 0 : multicast_network_number(text);
    if (first >= kMulticastNetworks.size()) return false;
    target = {.first = first, .takes_faster = is_auto};
    return true;
}
inline std::string over_text(const McastOver& over) {
    return over.takes_faster ? "auto" : std::string(kMulticastNetworks[over.first].word);
}

inline constexpr auto kMulticastEntries = std::to_array<Entry>({
    {{SettingGroup::kTest, "TUTTI_HOSTS", "--hosts", "N|N:round-robin", "the real ones",
      "Pretends that the job runs on N hosts, its ranks in blocks or in turn. Only ranks of one "
      "pretended host share memory."},
     set_hosts,
     hosts_text,
     "with N from 1 to 1048576"},
    {{SettingGroup::kSite, "TUTTI_MCAST", "--mcast", "auto|on|off", "auto",
      "Hardware multicast across hosts. auto: tried once a communicator has made some calls that "
      "would use it, and dropped where it does not reach every host. on: tried with each "
      "communicator at once; a line says where there is none. off: not tried. auto leaves "
      "pretended hosts alone."},
     [](Settings& s, std::string_view v) {
         return assign(s.mcast.choice, parse_auto_on_off<McastChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.mcast.choice); }},
    {{SettingGroup::kExpert, "TUTTI_MCAST_OVER", "--mcast-over", "udp|verbs|auto", "udp",
      "What carries multicast. verbs: unreliable datagrams of RDMA ports (InfiniBand, RoCE) where "
      "they reach every host; else udp, and a line says why. auto: the one that is predicted to be "
      "faster. verbs was tried on soft-RoCE only. See docs/verbs.md."},
     [](Settings& s, std::string_view v) { return set_over(s.mcast.over, v); },
     [](const Settings& s) { return over_text(s.mcast.over); }},
    {{SettingGroup::kSite, "TUTTI_MCAST_IF", "--mcast-if", "NAME|ADDRESS",
      "the one that leads to the other hosts",
      "The network interface of multicast on each host, by its name or by the host's address on "
      "it."},
     [](Settings& s, std::string_view v) { return set_text(s.mcast.interface, v); },
     [](const Settings& s) { return shown(s.mcast.interface); }},
    {{SettingGroup::kExpert, "TUTTI_MCAST_ADDRESS", "--mcast-address", "239.X.Y.Z|ff1X::X",
      "one for each communicator",
      "The multicast address of all communicators. Jobs may share one."},
     [](Settings& s, std::string_view v) { return set_group_address(s.mcast.address, v); },
     [](const Settings& s) { return shown(s.mcast.address); },
     "with a scope from 2 to e in ff1X"},
    {{SettingGroup::kExpert, "TUTTI_MCAST_PORT", "--mcast-port", "PORT", "17717",
      "The UDP port of multicast packets, 1024 to 65535. Jobs may share one."},
     [](Settings& s, std::string_view v) { return set_between(s.mcast.port, v, 1024, 65'535); },
     [](const Settings& s) { return shown(s.mcast.port); },
     "from 1024 to 65535"},
    {{SettingGroup::kExpert, "TUTTI_MCAST_TTL", "--mcast-ttl", "HOPS", "1",
      "How many routers a multicast packet may pass, plus one; 1 to 255."},
     [](Settings& s, std::string_view v) { return set_between(s.mcast.ttl, v, 1, 255); },
     [](const Settings& s) { return shown(s.mcast.ttl); },
     "from 1 to 255"},
    {{SettingGroup::kSite, "TUTTI_MCAST_RATE", "--mcast-rate", "RATE|auto", "auto",
      "Bits per second of a multicast sender, as in 25mbit or 10Gbit. auto: as the slowest "
      "receiver measured when the communicator was first used. The code of packets "
      "(TUTTI_MCAST_CODE) may be slower."},
     [](Settings& s, std::string_view v) { return set_rate(s.mcast.bits_per_s, v); },
     [](const Settings& s) {
         return s.mcast.bits_per_s == 0 ? "auto" : shown(s.mcast.bits_per_s) + "bit";
     },
     "from 1mbit to 1000gbit"},
    {{SettingGroup::kExpert, "TUTTI_MCAST_CODE", "--mcast-code", "all|header|none", "all",
      "What the authentication code of a multicast packet covers. all: the packet. header: all but "
      "the data, so that somebody who joins can resend a packet with other data. none: somebody "
      "who joins can forge packets, and end or hang the job. Less than all is for networks that "
      "nobody else reaches. TUTTI_MCAST_SECRET=1 covers all. See docs/protocol/multicast.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.mcast.code, parse_word<McastCode>(v, {{"all", McastCode::kAll},
                                                               {"header", McastCode::kHeader},
                                                               {"none", McastCode::kNone}}));
     },
     [](const Settings& s) { return shown(kMcastCodes[static_cast<size_t>(s.mcast.code)]); }},
    {{SettingGroup::kExpert, "TUTTI_MCAST_SECRET", "--mcast-secret", "0|1", "0",
      "Encrypts multicast packets, so that only the job's own processes can read them. Without it "
      "nobody else can forge or change one, but those who join the address can read the data."},
     [](Settings& s, std::string_view v) { return assign(s.mcast.secret, parse_switch(v)); },
     [](const Settings& s) { return shown(s.mcast.secret); }},
    {{SettingGroup::kExpert, "TUTTI_MCAST_THREAD", "--mcast-thread", "0|1", "1",
      "A thread in one process of each host that serves multicast while the program computes. It "
      "sleeps while nothing arrives. 0: multicast is served only while that process is in a "
      "collective."},
     [](Settings& s, std::string_view v) { return assign(s.mcast.thread, parse_switch(v)); },
     [](const Settings& s) { return shown(s.mcast.thread); }},
    {{SettingGroup::kExpert, "TUTTI_MCAST_TEAMS", "--mcast-teams", "COUNT", "8",
      "How many communicators of one process have multicast at a time; 1 to 64."},
     [](Settings& s, std::string_view v) { return set_between(s.mcast.teams, v, 1, 64); },
     [](const Settings& s) { return shown(s.mcast.teams); },
     "from 1 to 64"},
});

// Which networks teams use: a setting for each row of networks.inc.
template <size_t kNumber>
bool set_network(Settings& s, std::string_view v) {
    return assign(s.networks[kNumber], parse_auto_on_off<NetworkChoice>(v));
}
template <size_t kNumber>
std::string network_text(const Settings& s) {
    return shown_auto_on_off(s.networks[kNumber]);
}
inline constexpr auto kNetworkChoices = std::to_array<Entry>({
#define TUTTI_NETWORK(name, title, group, variable, option, text) \
    {{group, variable, option, "off|on|auto", "off", text},       \
     set_network<network_number(#name)>,                          \
     network_text<network_number(#name)>},
#include "base/networks.inc"
#undef TUTTI_NETWORK
});

inline constexpr auto kVerbsEntries = std::to_array<Entry>({
    {{SettingGroup::kSite, "TUTTI_VERBS_DEVICE", "--verbs-device", "NAME[:PORT]",
      "the first port that is up",
      "The RDMA device and port, as in mlx5_0:1. Without it: of the ports of one InfiniBand "
      "network, the one nearest to the process. A process's own variable goes before rank 0's."},
     [](Settings& s, std::string_view v) { return set_port(s.verbs.device, v); },
     [](const Settings& s) { return shown(s.verbs.device); },
     "with a port from 1 to 4"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_GID", "--verbs-gid", "INDEX|auto", "auto",
      "On Ethernet, which of the port's GIDs (its addresses), 0 to 255. auto: the first of RoCE v2 "
      "over IPv4, else over IPv6. A process's own variable goes before rank 0's."},
     [](Settings& s, std::string_view v) { return set_gid(s.verbs.gid, v); },
     [](const Settings& s) { return s.verbs.gid ? shown(*s.verbs.gid) : "auto"; },
     "from 0 to 255"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_PKEY", "--verbs-pkey", "KEY|auto", "auto",
      "The partition of RDMA packets (InfiniBand) by its key, as in 0x8001. auto: the first in the "
      "port's table."},
     [](Settings& s, std::string_view v) { return set_partition(s.verbs.partition, v); },
     [](const Settings& s) { return s.verbs.partition ? hex_word(*s.verbs.partition) : "auto"; },
     "from 0x0001 to 0xffff, and not 0x8000"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_SL", "--verbs-sl", "LEVEL", "0",
      "The service level of RDMA packets (InfiniBand; on Ethernet their priority), 0 to 15."},
     [](Settings& s, std::string_view v) { return set_count(s.verbs.service_level, v, 15); },
     [](const Settings& s) { return shown(s.verbs.service_level); },
     "from 0 to 15"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_TC", "--verbs-tc", "CLASS", "0",
      "The traffic class of RDMA packets that have an address (RoCE: DSCP times 4, and ECN), 0 to "
      "255."},
     [](Settings& s, std::string_view v) { return set_count(s.verbs.traffic_class, v, 255); },
     [](const Settings& s) { return shown(s.verbs.traffic_class); },
     "from 0 to 255"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_TIMEOUT", "--verbs-timeout", "EXPONENT", "18",
      "When an RDMA packet without acknowledgement is sent again: after 4.096 us times two to the "
      "power of this (18: 1.07 s), and up to four times as long; 8 to 20."},
     [](Settings& s, std::string_view v) { return set_between(s.verbs.timeout, v, 8, 20); },
     [](const Settings& s) { return shown(s.verbs.timeout); },
     "from 8 to 20"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_RETRIES", "--verbs-retries", "COUNT", "6",
      "How often a packet is sent again, 1 to 6, before the peer counts as gone and the call "
      "fails."},
     [](Settings& s, std::string_view v) { return set_between(s.verbs.retries, v, 1, 6); },
     [](const Settings& s) { return shown(s.verbs.retries); },
     "from 1 to 6"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_DIRECT", "--verbs-direct", "BYTES|auto|off", "auto",
      "From how many bytes on (4K to 1G) RDMA messages go straight from memory to memory, which is "
      "registered and locked for them. auto: from 256K on; from 64K on where memory is registered "
      "once for a call and that takes less than a copy. off: all are copied."},
     [](Settings& s, std::string_view v) { return set_direct(s.verbs.direct_bytes, v); },
     [](const Settings& s) {
         if (!s.verbs.direct_bytes) return std::string("auto");
         return *s.verbs.direct_bytes == 0 ? "off" : shown(*s.verbs.direct_bytes);
     },
     "from 4K to 1G"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_MEMORY", "--verbs-memory", "BYTES|off", "256M",
      "How much memory a process registers and locks at most, 1M to 1T, for RDMA messages of all "
      "its communicators. A communicator that would need more uses your MPI's messages. The "
      "program's own buffers and multicast do not count. off: no bound."},
     [](Settings& s, std::string_view v) {
         return set_bytes_or_off(s.verbs.memory_bytes, v, 1u << 20, uint64_t{1} << 40);
     },
     [](const Settings& s) {
         return s.verbs.memory_bytes == 0 ? "off" : shown(s.verbs.memory_bytes);
     },
     "from 1M to 1T"},
    {{SettingGroup::kExpert, "TUTTI_VERBS_TAIL", "--verbs-tail", "0|1", "0",
      "Ranks look for RDMA messages at the ends of their packets in memory, and do not wait for "
      "completions. Only where ranks do not outnumber processors, and only right on adapters that "
      "write the end of a packet last; no specification promises that. See docs/verbs.md."},
     [](Settings& s, std::string_view v) { return assign(s.verbs.polls_tails, parse_switch(v)); },
     [](const Settings& s) { return shown(s.verbs.polls_tails); }},
});

}  // namespace tutti::setting_values
