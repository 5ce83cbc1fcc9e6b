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
inline constexpr const char* kMcastOvers[] = {"udp", "verbs", "auto"};
inline constexpr const char* kMcastCodes[] = {"all", "header", "none"};

inline constexpr auto kNetworkEntries = std::to_array<Entry>({
    {{"TUTTI_HOSTS", "--hosts", "N|N:round-robin", "the real ones",
      "Pretends that the job runs on N hosts, its ranks in blocks or in turn: only ranks of one "
      "pretended host share memory; for tests."},
     set_hosts,
     hosts_text,
     "with N from 1 to 1048576"},
    {{"TUTTI_MCAST", "--mcast", "auto|on|off", "auto",
      "Hardware multicast across hosts: auto tries it when a communicator has made some calls that "
      "would use it, and does without where it does not reach everybody (not on pretended hosts); "
      "on tries it with every communicator at once, and says in a line where it has none; off "
      "does not try."},
     [](Settings& s, std::string_view v) {
         return assign(s.mcast.choice, parse_auto_on_off<McastChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.mcast.choice); }},
    {{"TUTTI_MCAST_OVER", "--mcast-over", "udp|verbs|auto", "udp",
      "What carries multicast: verbs by unreliable datagrams of RDMA ports (InfiniBand, RoCE) "
      "where they reach everybody, else udp, and says in a line why; auto whichever of those "
      "that do is predicted to be faster by what their trials measured, verbs where they are near "
      "each other; udp alone unless asked otherwise: verbs was tried on soft-RoCE alone. See "
      "docs/verbs.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.mcast.over, parse_word<McastOver>(v, {{"udp", McastOver::kUdp},
                                                               {"verbs", McastOver::kVerbs},
                                                               {"auto", McastOver::kAuto}}));
     },
     [](const Settings& s) { return shown(kMcastOvers[static_cast<size_t>(s.mcast.over)]); }},
    {{"TUTTI_MCAST_IF", "--mcast-if", "NAME|ADDRESS", "the one that leads to the other hosts",
      "The network interface of multicast on every host, by name or by the host's address on it."},
     [](Settings& s, std::string_view v) { return set_text(s.mcast.interface, v); },
     [](const Settings& s) { return shown(s.mcast.interface); }},
    {{"TUTTI_MCAST_ADDRESS", "--mcast-address", "239.X.Y.Z|ff1X::X", "one for each communicator",
      "The multicast address of all communicators; jobs may share one."},
     [](Settings& s, std::string_view v) { return set_group_address(s.mcast.address, v); },
     [](const Settings& s) { return shown(s.mcast.address); },
     "with a scope from 2 to e in ff1X"},
    {{"TUTTI_MCAST_PORT", "--mcast-port", "PORT", "17717",
      "The UDP port of multicast packets, 1024 to 65535; jobs may share one."},
     [](Settings& s, std::string_view v) { return set_between(s.mcast.port, v, 1024, 65'535); },
     [](const Settings& s) { return shown(s.mcast.port); },
     "from 1024 to 65535"},
    {{"TUTTI_MCAST_TTL", "--mcast-ttl", "HOPS", "1",
      "How many routers a multicast packet may pass, plus one; 1 to 255."},
     [](Settings& s, std::string_view v) { return set_between(s.mcast.ttl, v, 1, 255); },
     [](const Settings& s) { return shown(s.mcast.ttl); },
     "from 1 to 255"},
    {{"TUTTI_MCAST_RATE", "--mcast-rate", "RATE|auto", "auto",
      "Bits per second at which a sender multicasts, as in 25mbit or 10Gbit; auto: as the slowest "
      "receiver measured it when the communicator was first used. No faster than packets are "
      "coded (TUTTI_MCAST_CODE)."},
     [](Settings& s, std::string_view v) { return set_rate(s.mcast.bits_per_s, v); },
     [](const Settings& s) {
         return s.mcast.bits_per_s == 0 ? "auto" : shown(s.mcast.bits_per_s) + "bit";
     },
     "from 1mbit to 1000gbit"},
    {{"TUTTI_MCAST_CODE", "--mcast-code", "all|header|none", "all",
      "What the code of a multicast packet covers, for fabrics that nobody else reaches: all; "
      "header, all but the payload, so that whoever joins can send a packet again with other data; "
      "none, and whoever joins can forge packets, and end or hang the job. TUTTI_MCAST_SECRET=1 "
      "covers all. See "
      "docs/protocol/multicast.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.mcast.code, parse_word<McastCode>(v, {{"all", McastCode::kAll},
                                                               {"header", McastCode::kHeader},
                                                               {"none", McastCode::kNone}}));
     },
     [](const Settings& s) { return shown(kMcastCodes[static_cast<size_t>(s.mcast.code)]); }},
    {{"TUTTI_MCAST_SECRET", "--mcast-secret", "0|1", "0",
      "Multicast packets are encrypted, so that only the job's own processes can read them. "
      "Without it nobody else can forge or change one, but whoever joins the address reads the "
      "data."},
     [](Settings& s, std::string_view v) { return assign(s.mcast.secret, parse_switch(v)); },
     [](const Settings& s) { return shown(s.mcast.secret); }},
    {{"TUTTI_MCAST_THREAD", "--mcast-thread", "0|1", "1",
      "A thread in one process of each host, asleep while nothing comes, that serves multicast "
      "while the program computes; 0: only while that process is in a collective."},
     [](Settings& s, std::string_view v) { return assign(s.mcast.thread, parse_switch(v)); },
     [](const Settings& s) { return shown(s.mcast.thread); }},
    {{"TUTTI_MCAST_TEAMS", "--mcast-teams", "COUNT", "8",
      "So many communicators of one process have multicast at a time; 1 to 64."},
     [](Settings& s, std::string_view v) { return set_between(s.mcast.teams, v, 1, 64); },
     [](const Settings& s) { return shown(s.mcast.teams); },
     "from 1 to 64"},
    {{"TUTTI_VERBS", "--verbs", "off|on|auto", "off",
      "Messages across hosts go by RDMA writes (InfiniBand, RoCE) to the peers that algorithms "
      "send most to, where all processes of a communicator can and a probe has shown it; else all "
      "go by the host MPI's. on says in a line why where they cannot; auto does not, and leaves "
      "pretended hosts alone. Off unless asked for: it was tried on soft-RoCE alone. See "
      "docs/verbs.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.verbs.choice, parse_auto_on_off<VerbsChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.verbs.choice); }},
    {{"TUTTI_VERBS_DEVICE", "--verbs-device", "NAME[:PORT]", "the first port that is up",
      "The RDMA device and port, as in mlx5_0:1; else, of ports of one InfiniBand network, the one "
      "nearest to the process. Each process's own variable goes before rank 0's."},
     [](Settings& s, std::string_view v) { return set_port(s.verbs.device, v); },
     [](const Settings& s) { return shown(s.verbs.device); },
     "with a port from 1 to 4"},
    {{"TUTTI_VERBS_GID", "--verbs-gid", "INDEX|auto", "auto",
      "On Ethernet, which of the port's GIDs (its addresses), 0 to 255; auto: the first of RoCE v2 "
      "over IPv4, else over IPv6. Each process's own variable goes before rank 0's."},
     [](Settings& s, std::string_view v) { return set_gid(s.verbs.gid, v); },
     [](const Settings& s) { return s.verbs.gid ? shown(*s.verbs.gid) : "auto"; },
     "from 0 to 255"},
    {{"TUTTI_VERBS_PKEY", "--verbs-pkey", "KEY|auto", "auto",
      "The partition of RDMA packets (InfiniBand) by its key, as in 0x8001; auto: the first in the "
      "port's table."},
     [](Settings& s, std::string_view v) { return set_partition(s.verbs.partition, v); },
     [](const Settings& s) { return s.verbs.partition ? hex_word(*s.verbs.partition) : "auto"; },
     "from 0x0001 to 0xffff, and not 0x8000"},
    {{"TUTTI_VERBS_SL", "--verbs-sl", "LEVEL", "0",
      "The service level of RDMA packets (InfiniBand; on Ethernet their priority), 0 to 15."},
     [](Settings& s, std::string_view v) { return set_count(s.verbs.service_level, v, 15); },
     [](const Settings& s) { return shown(s.verbs.service_level); },
     "from 0 to 15"},
    {{"TUTTI_VERBS_TC", "--verbs-tc", "CLASS", "0",
      "The traffic class of RDMA packets that have an address (RoCE: DSCP times 4, and ECN), 0 to "
      "255."},
     [](Settings& s, std::string_view v) { return set_count(s.verbs.traffic_class, v, 255); },
     [](const Settings& s) { return shown(s.verbs.traffic_class); },
     "from 0 to 255"},
    {{"TUTTI_VERBS_TIMEOUT", "--verbs-timeout", "EXPONENT", "18",
      "After 4.096 us times two to the power of it (18: 1.07 s), and up to four times as long, an "
      "RDMA packet that was not acknowledged is sent again; 8 to 20."},
     [](Settings& s, std::string_view v) { return set_between(s.verbs.timeout, v, 8, 20); },
     [](const Settings& s) { return shown(s.verbs.timeout); },
     "from 8 to 20"},
    {{"TUTTI_VERBS_RETRIES", "--verbs-retries", "COUNT", "6",
      "So often, 1 to 6, before the peer counts as gone and the call fails (7 would be without "
      "end)."},
     [](Settings& s, std::string_view v) { return set_between(s.verbs.retries, v, 1, 6); },
     [](const Settings& s) { return shown(s.verbs.retries); },
     "from 1 to 6"},
    {{"TUTTI_VERBS_DIRECT", "--verbs-direct", "BYTES|auto|off", "auto",
      "RDMA messages from so many bytes on, 4K to 1G, go straight from memory to memory, which is "
      "registered (and locked) for them or for their call; auto: from 256K on, and from 64K on "
      "where that is done once for a call and takes less than to copy; off: all are copied."},
     [](Settings& s, std::string_view v) { return set_direct(s.verbs.direct_bytes, v); },
     [](const Settings& s) {
         if (!s.verbs.direct_bytes) return std::string("auto");
         return *s.verbs.direct_bytes == 0 ? "off" : shown(*s.verbs.direct_bytes);
     },
     "from 4K to 1G"},
    {{"TUTTI_VERBS_MEMORY", "--verbs-memory", "BYTES|off", "256M",
      "A process registers (and locks) so much at most, 1M to 1T, for RDMA messages of all its "
      "communicators; one that would need more goes by the host MPI's. Long messages' own memory "
      "does not count, nor that of multicast; off: no bound."},
     [](Settings& s, std::string_view v) {
         return set_bytes_or_off(s.verbs.memory_bytes, v, 1u << 20, uint64_t{1} << 40);
     },
     [](const Settings& s) {
         return s.verbs.memory_bytes == 0 ? "off" : shown(s.verbs.memory_bytes);
     },
     "from 1M to 1T"},
    {{"TUTTI_VERBS_TAIL", "--verbs-tail", "0|1", "0",
      "Ranks that do not outnumber the processors find RDMA messages by looking at the ends of "
      "their packets in memory, instead of waiting for a completion each. Right on adapters that "
      "place the end of a packet last, which no specification promises: see docs/verbs.md."},
     [](Settings& s, std::string_view v) { return assign(s.verbs.polls_tails, parse_switch(v)); },
     [](const Settings& s) { return shown(s.verbs.polls_tails); }},
});

}  // namespace tutti::setting_values
