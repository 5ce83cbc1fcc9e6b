// SPDX-License-Identifier: BSD-3-Clause
// Every TUTTI_ variable, in one table. The command's options, docs/settings.md and the error
// messages are all made from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/collectives.h"
#include "base/faults.h"
#include "base/multicast_networks.h"
#include "base/networks.h"
#include "base/result.h"

namespace tutti {

enum class LayoutChoice { kAuto, kFlat, kTree };
enum class IsaChoice { kAuto, kBaseline, kAvx2, kAvx512 };
enum class McastChoice { kAuto, kOn, kOff };
// By which of multicast_networks.inc multicast goes. They are tried in their order, from the first
// on that is wanted: until one reaches all hosts, or all of them, and the one stays that is
// predicted to be faster.
struct McastOver {
    size_t first = kMulticastNetworks.size() - 1;  // by number
    bool takes_faster = false;
    bool operator==(const McastOver&) const = default;
};
// What of a multicast packet its code covers.
enum class McastCode { kAll, kHeader, kNone };
// Of a network (networks.inc). kOn: a line says where it is not.
enum class NetworkChoice { kAuto, kOn, kOff };
// Of algorithms, by what messages between hosts are measured to take.
enum class PriceChoice { kAuto, kOn, kOff };
// kAuto: where there is a report to say it in.
enum class ArrivalsChoice { kAuto, kOn, kOff };
// How calls run: as was chosen before them, or as calls of this run are found to be faster;
// kLiveAll: reductions whose bits change with it, too.
enum class TuneChoice { kOff, kLive, kLiveAll };
// kAllow: as kAuto, and lets all processes of the user read this one's memory where the kernel
// would keep them from it (Yama). kXpmem: as kAuto, through XPMEM where that is there.
enum class SingleCopyChoice { kAuto, kOn, kOff, kAllow, kXpmem };

// Hardware multicast across hosts.
struct McastSettings {
    McastChoice choice = McastChoice::kAuto;
    McastOver over;
    std::string interface;    // name or address; empty: the one that leads to the other hosts
    std::string address;      // of all groups; empty: each has one of its own
    uint64_t port = 17'717;   // below the range from which Linux gives ports to anybody
    uint64_t ttl = 1;         // hops; 1: stays on the local network
    uint64_t bits_per_s = 0;  // of one sender; 0: as measured
    McastCode code = McastCode::kAll;
    bool secret = false;  // packets are encrypted, and covered whole
    bool thread = true;   // repairs are served while the program computes
    uint64_t teams = 8;   // of one process that have it at a time
};

// Messages across hosts by RDMA.
struct VerbsSettings {
    std::string device;                 // "mlx5_0", "mlx5_0:1"; empty: the first that is up
    std::optional<uint64_t> gid;        // its index at the port; none: found by itself
    std::optional<uint64_t> partition;  // its key; none: the first of the port
    uint64_t service_level = 0;
    uint64_t traffic_class = 0;
    // 4.096 us times two to the power of it, and devices take up to four of them: a try waits for
    // 1.07 s as in UCX (UCX_RC_TIMEOUT), since a switch that starts anew or stands in congestion is
    // silent for seconds, so seven tries are over in 7.5 s to 30 s. Not seven retries: of tries
    // that find no receive that means without end, and soft-RoCE (rxe_comp.c, Linux 6.1) takes it
    // so for all.
    uint64_t timeout = 18;
    uint64_t retries = 6;
    // 0: never; none: kDirectBytes, and fewer where memory is registered for more than a message.
    std::optional<uint64_t> direct_bytes;
    // Of two copies of so many bytes and two registrations of so many pages about the same is
    // expected to take as long; measured on no adapter yet.
    static constexpr uint64_t kDirectBytes = 256u << 10;
    bool polls_tails = false;
    // A process registers so much at most for the packets of its teams; beyond, a team goes
    // without. That of 40 communicators of 25 hosts, or of 20 over 65,536. 0: no bound.
    uint64_t memory_bytes = 256u << 20;
};

using NetworkChoices = std::array<NetworkChoice, kNetworks.size()>;
constexpr NetworkChoices all_off() {
    NetworkChoices choices{};
    choices.fill(NetworkChoice::kOff);
    return choices;
}

// For the command alone.
struct CommandSettings {
    std::string fabric_file;  // `tutti fabric`: what describes the cluster
    std::string mpi_library;  // `tutti bench`: the host MPI's libmpi
};

// Reports, and checks of calls.
struct WatchSettings {
    std::string report;       // empty: none; "1": a table; else a file for JSON
    std::string report_mark;  // internal: a file that says that a report was given
    bool check = false;
    double stall_s = 0;        // 0: never
    double verify_share = 0;   // of the calls, run by the host too; 0: none
    uint64_t verify_seed = 0;  // which calls; 0: drawn for each run
    ArrivalsChoice arrivals = ArrivalsChoice::kAuto;
    // Calls are compared, or late ranks are named.
    [[nodiscard]] bool watches_calls() const { return check || stall_s > 0; }
};

// Guarantees about results.
struct ResultSettings {
    bool reproducible = false;
    bool heterogeneous = false;
};

// The ranks of a node with each other.
struct NodeSettings {
    uint64_t chunk_bytes = 0;              // 0: chosen by team size
    uint64_t memory_bytes = 256ull << 20;  // of shared memory, per node
    LayoutChoice layout = LayoutChoice::kAuto;
    IsaChoice isa = IsaChoice::kAuto;
    SingleCopyChoice single_copy = SingleCopyChoice::kAuto;
    std::string topology;  // empty: this machine; else a synthetic description for hwloc
    uint64_t spin_us = 20;
};

// What chooses the algorithms of a call.
struct RulesSettings {
    std::string file;        // empty: the built-in rules alone
    std::string text;        // internal: what rank 0 read in it
    std::string tuned_file;  // empty: found by itself; "off": none
    std::string tuned_name;  // internal: which one rank 0 took; "off": none
    std::string tuned_text;  // internal: what rank 0 read in it
    PriceChoice price = PriceChoice::kAuto;
    uint64_t scratch_bytes = 64ull << 20;  // of one rank, for the plans of one team
    std::array<std::string, TUTTI_COLLECTIVE_COUNT>
        forced;  // by tutti_collective: an algorithm, "host", or empty
};

// Of rank 0's site.
struct SiteSettings {
    std::string names;  // internal: which settings it gave
    std::string off;    // internal: why it wants everything off, or empty
};

struct Settings {
    bool on = true;
    double start_wait_s = 10;  // read by each process itself, before ranks can tell each other
    uint64_t warmup_calls = 2;
    TuneChoice tune = TuneChoice::kOff;
    WatchSettings watch;
    ResultSettings results;
    NodeSettings node;
    RulesSettings rules;
    SiteSettings site;
    uint64_t hosts = 0;          // pretended ones; 0: none
    bool hosts_in_turn = false;  // rank r on pretended host r modulo hosts, not in blocks
    McastSettings mcast;
    NetworkChoices networks = all_off();  // by number
    VerbsSettings verbs;
    FaultPlan faults;
    std::string faults_text;  // as it was given
    CommandSettings command;
    // A line for each variable that is none of these; it has no effect.
    std::vector<std::string> unknown;

    // When ranks come to their calls is looked at; not where calls are watched, which each rank
    // then has to find as the program made them.
    [[nodiscard]] bool watches_arrivals() const {
        if (watch.watches_calls()) return false;
        if (tunes_live()) return true;
        if (watch.arrivals == ArrivalsChoice::kAuto) return !watch.report.empty();
        return watch.arrivals == ArrivalsChoice::kOn;
    }
    // Calls may run otherwise since ranks come late. Live tuning tries that itself.
    [[nodiscard]] bool may_follow_arrivals() const {
        return watch.arrivals != ArrivalsChoice::kOff && !tunes_live() && !watch.watches_calls();
    }
    [[nodiscard]] bool tunes_live() const {
        return tune != TuneChoice::kOff && !watch.watches_calls();
    }
    // Whether teams across hosts are to have it. Pretended hosts have no need of it, except for
    // tests.
    [[nodiscard]] bool wants_network(size_t number) const {
        return networks[number] == NetworkChoice::kOn ||
               (networks[number] == NetworkChoice::kAuto && hosts == 0);
    }
};

// For whom a setting is, in the order of the documentation.
enum class SettingGroup { kEveryday, kSite, kExpert, kTest, kInternal };
struct SettingGroupDoc {
    std::string_view title;  // "Everyday"
    std::string_view text;   // a sentence about such settings
};
inline constexpr auto kSettingGroups = std::to_array<SettingGroupDoc>({
    {"Everyday", "What runs of a program need."},
    {"Site", "What a cluster needs, once for all runs; see docs/formats/settings.md."},
    {"Expert", "What tunes one part. The defaults measure, or were measured."},
    {"Test", "What tests of Tutti itself need."},
    {"Internal", "What `tutti run` and rank 0 tell the ranks. Do not set them."},
});
constexpr const SettingGroupDoc& doc_of(SettingGroup group) {
    return kSettingGroups[static_cast<size_t>(group)];
}

struct SettingDoc {
    SettingGroup group;
    std::string_view variable;  // "TUTTI_CHECK"
    std::string_view option;    // "--check", or empty where there is no twin
    std::string_view value;     // what it takes, as in a usage line: "0|1", "SECONDS"
    std::string_view fallback;  // default, as a person writes it
    std::string_view text;      // one sentence
};

// A setting as it is in force: "1" or "0" for switches, decimal bytes, calls or seconds, text as it
// was given (empty where it was not). Nothing where there is none of this name.
std::optional<std::string> setting_text(const Settings& settings, std::string_view variable);
// The variable that names an algorithm for a collective: "TUTTI_ALLREDUCE".
std::string_view forced_variable(tutti_collective collective);

// The whole table, in the order of the documentation.
std::span<const SettingDoc> setting_docs();
std::vector<SettingDoc> docs_of(const SettingGroupDoc& group);

// What was asked for by these and has no effect in a job on one host: "TUTTI_MCAST=on,
// TUTTI_FAULTS=drop:0.1"; empty where there is nothing. What the site asks for counts for all jobs,
// and is left out.
std::string idle_on_one_host(std::span<const std::string> entries);

// entries: "TUTTI_NAME=value". Entries whose name does not begin with TUTTI are ignored, and so are
// those of modules. A malformed value is an error that names it; an unknown name is a line in
// Settings::unknown, with the nearest known name. An empty value means that the variable is unset.
// Later entries win, but TUTTI_SITE_OFF is above all.
Result<Settings> parse_settings(std::span<const std::string> entries);

// A variable such as TUTTI_ROOT or TUTTI_LIB_DIR: module systems and package managers set these for
// every package, and so for this one. No setting has such a name.
bool is_of_modules(std::string_view variable);

// The TUTTI entries of an environment block that are not empty, sorted by name; without those of
// modules.
std::vector<std::string> tutti_entries(const char* const* environment);

}  // namespace tutti
