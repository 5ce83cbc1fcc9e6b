// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/network_settings.h"
#include "base/setting_values.h"
#include "base/text.h"

namespace tutti {

using namespace setting_values;

namespace {

constexpr std::string_view kTutti = "TUTTI_";

// By value.
constexpr const char* kLayouts[] = {"auto", "flat", "tree"};
constexpr const char* kIsas[] = {"auto", "baseline", "avx2", "avx512"};
constexpr const char* kTuneChoices[] = {"off", "live", "live:all"};
constexpr const char* kSingleCopyChoices[] = {"auto", "on", "off", "allow", "xpmem"};

constexpr auto kFirstEntries = std::to_array<Entry>({
    {{"TUTTI", "", "on|off", "on", "Switches everything off: every call goes to the host MPI."},
     [](Settings& s, std::string_view v) { return assign(s.on, parse_switch(v)); },
     [](const Settings& s) { return shown(s.on); }},
    {{"TUTTI_REPORT", "--report", "1|full|FILE.json", "none",
      "Prints a table at the end of the run: which collectives ran, how often, how long, by what, "
      "and what the host MPI ran and why. full: also what was measured on each host. FILE.json: "
      "writes all of it there instead. In the name %j is the job's number, %p rank 0's process, %h "
      "its host; a second program of one `tutti run` writes FILE.2.json. See docs/mpi.md."},
     [](Settings& s, std::string_view v) { return set_report(s.report, v); },
     [](const Settings& s) { return shown(s.report); }},
    {{"TUTTI_CHECK", "--check", "0|1", "0",
      "Compares collective, root, operator, type and bytes of all ranks before every call. Where "
      "they "
      "differ, the call ends with an error and a line that names the ranks. A line at the end says "
      "how many calls were compared."},
     [](Settings& s, std::string_view v) { return assign(s.check, parse_switch(v)); },
     [](const Settings& s) { return shown(s.check); }},
    {{"TUTTI_VERIFY", "--verify", "SHARE[:SEED]", "0",
      "Runs that share of the calls (0.01 or 1%) by the host MPI too and compares the results. A "
      "wrong one is a line with all that is needed to repeat it; a line at the end says how many "
      "were compared. SEED chooses the same calls again; without it each run draws its own."},
     set_verify,
     verify_text,
     "with a share from 0 to 1 or 0% to 100% and a seed from 1 on"},
    {{"TUTTI_STALL", "--stall", "SECONDS", "0 (never)",
      "Ranks that have waited so long in one collective print which ranks have not arrived, and "
      "wait on. A line at the end says how often ranks were in one for so long."},
     [](Settings& s, std::string_view v) { return assign(s.stall_s, parse_seconds(v)); },
     [](const Settings& s) { return shown(s.stall_s); },
     "or a time, as in 100ms, 10s or 5min"},
    {{"TUTTI_START_WAIT", "--start-wait", "SECONDS", "10",
      "In MPI_Init a rank is waited for so long. One that has not come by then counts as one "
      "without Tutti, and all ranks run without it. Each process reads its own value. See "
      "docs/protocol/presence.md."},
     [](Settings& s, std::string_view v) {
         const auto seconds = parse_decimal(v);
         return seconds > 0.0 && seconds <= 1e6 && assign(s.start_wait_s, seconds);
     },
     [](const Settings& s) { return shown(s.start_wait_s); },
     "above 0 and at most 1000000"},
    {{"TUTTI_ARRIVALS", "--arrivals", "auto|on|off", "auto",
      "Which ranks come late: every 64th call of a communicator, in the mean, is looked at, and "
      "the report says who was last and what the others lost. Across hosts with multicast, "
      "barriers and short allreduces whose operands may be put in parentheses in any way then "
      "run by whoever comes last where that is faster. auto: for that choice, and where there is "
      "a report. Members compare what they have once in a thousand calls, and hosts read each "
      "other's clocks, by a few messages, a 200th of the time. See docs/protocol/arrival.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.arrivals, parse_auto_on_off<ArrivalsChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.arrivals); }},
    {{"TUTTI_TUNE", "--tune", "off|live|live:all", "off",
      "live: where a communicator makes many calls of one kind, a twentieth of them at most try "
      "other algorithms and the host MPI's own, and the rest run by what was found to be faster; "
      "calls that a user's rule or setting decides stay. Reductions whose bits could change, of "
      "floating point and of user operators, with live:all alone. See docs/live.md."},
     [](Settings& s, std::string_view v) {
         if (parse_switch(v) == false) return assign(s.tune, std::optional(TuneChoice::kOff));
         return assign(s.tune, parse_word<TuneChoice>(v, {{"live", TuneChoice::kLive},
                                                          {"live:all", TuneChoice::kLiveAll}}));
     },
     [](const Settings& s) { return shown(kTuneChoices[static_cast<size_t>(s.tune)]); }},
    {{"TUTTI_REPRODUCIBLE", "--reproducible", "0|1", "0",
      "Combines operands in rank order always: the same bits whatever the algorithm. Costs the "
      "tree for small reductions of large teams."},
     [](Settings& s, std::string_view v) { return assign(s.reproducible, parse_switch(v)); },
     [](const Settings& s) { return shown(s.reproducible); }},
    {{"TUTTI_HETEROGENEOUS", "--heterogeneous", "0|1", "0",
      "Hosts do not compute alike: each element of an allreduce's result is computed on one host, "
      "which tells it to the others, so all have the same bits (Kini 2003, 5.1)."},
     [](Settings& s, std::string_view v) { return assign(s.heterogeneous, parse_switch(v)); },
     [](const Settings& s) { return shown(s.heterogeneous); }},
    {{"TUTTI_WARMUP", "--warmup", "CALLS", "2",
      "So many first calls on a communicator go to the host MPI, so that one-shot communicators "
      "cost nothing. Reductions of floating point and by user-defined operators never do; nothing "
      "does under TUTTI_CHECK, TUTTI_REPRODUCIBLE and TUTTI_HETEROGENEOUS."},
     [](Settings& s, std::string_view v) { return set_count(s.warmup_calls, v, 1u << 30); },
     [](const Settings& s) { return shown(s.warmup_calls); },
     "from 0 to 1073741824"},
    {{"TUTTI_MEMORY", "--memory", "BYTES", "256M",
      "Shared memory that processes of a node may use together, for all their communicators."},
     [](Settings& s, std::string_view v) {
         return set_bytes(s.memory_bytes, v, 64u << 10, 1ull << 40);
     },
     [](const Settings& s) { return shown(s.memory_bytes); },
     "from 64K to 1024G"},
    {{"TUTTI_CHUNK", "--chunk", "BYTES", "by team size",
      "Bytes of one pipeline chunk of the node level; 1K to 16M, rounded up to 64."},
     [](Settings& s, std::string_view v) { return set_bytes(s.chunk_bytes, v, 1024, 16u << 20); },
     [](const Settings& s) { return s.chunk_bytes == 0 ? "" : shown(s.chunk_bytes); },
     "from 1K to 16M"},
    {{"TUTTI_LAYOUT", "--layout", "auto|flat|tree", "auto",
      "How ranks of a node meet: all with all, or in a tree over shared caches, NUMA domains and "
      "sockets."},
     [](Settings& s, std::string_view v) {
         return assign(s.layout, parse_word<LayoutChoice>(v, {{"auto", LayoutChoice::kAuto},
                                                              {"flat", LayoutChoice::kFlat},
                                                              {"tree", LayoutChoice::kTree}}));
     },
     [](const Settings& s) { return shown(kLayouts[static_cast<size_t>(s.layout)]); }},
    {{"TUTTI_SINGLE_COPY", "--single-copy", "auto|on|off|allow|xpmem", "auto",
      "Within a host, ranks read large data in each other's memory: auto, where they may and where "
      "that was measured to be faster; on, wherever they may; off never. allow is auto, and where "
      "the kernel lets only a process's parents read it (Yama) the ranks open their memory to all "
      "processes of the user; xpmem is auto, by the kernel module XPMEM where it is there."},
     [](Settings& s, std::string_view v) {
         return assign(s.single_copy,
                       parse_on_off_or<SingleCopyChoice>(v, {{"auto", SingleCopyChoice::kAuto},
                                                             {"allow", SingleCopyChoice::kAllow},
                                                             {"xpmem", SingleCopyChoice::kXpmem}}));
     },
     [](const Settings& s) {
         return shown(kSingleCopyChoices[static_cast<size_t>(s.single_copy)]);
     }},
    {{"TUTTI_TOPOLOGY", "--topology", "SYNTHETIC", "this machine",
      "Uses a synthetic hwloc description (\"pack:2 l3:4 core:8 pu:1\") instead of this machine; "
      "for tests."},
     [](Settings& s, std::string_view v) { return set_text(s.topology, v); },
     [](const Settings& s) { return shown(s.topology); }},
    {{"TUTTI_ISA", "--isa", "auto|baseline|avx2|avx512", "auto",
      "Instruction set of the reduction kernels, at most what the processor has; the bits of a "
      "result do not depend on it."},
     [](Settings& s, std::string_view v) {
         return assign(s.isa, parse_word<IsaChoice>(v, {{"auto", IsaChoice::kAuto},
                                                        {"baseline", IsaChoice::kBaseline},
                                                        {"avx2", IsaChoice::kAvx2},
                                                        {"avx512", IsaChoice::kAvx512}}));
     },
     [](const Settings& s) { return shown(kIsas[static_cast<size_t>(s.isa)]); }},
    {{"TUTTI_SPIN", "--spin", "MICROSECONDS", "20",
      "How long a waiting rank polls before it yields the processor (0 where ranks outnumber "
      "cores)."},
     [](Settings& s, std::string_view v) { return set_microseconds(s.spin_us, v, 1'000'000); },
     [](const Settings& s) { return shown(s.spin_us); },
     "from 0 to 1000000, or a time up to 1s, as in 20us"},
    {{"TUTTI_RULES", "--rules", "FILE", "built in",
      "Rules that choose algorithms across hosts, tried before the built-in ones; see "
      "docs/formats/rules.md. Rank 0's file holds for all."},
     [](Settings& s, std::string_view v) { return set_text(s.rules_file, v); },
     [](const Settings& s) { return shown(s.rules_file); }},
    {{"TUTTI_TUNED", "--tuned", "FILE", "$XDG_CONFIG_HOME/tutti/tuned*.toml, or /etc/tutti's",
      "What `tutti tune` has measured on this cluster with this MPI; counts behind TUTTI_RULES and "
      "before the built-in rules. `off`: none. See docs/formats/tuned.md. Rank 0's file holds for "
      "all."},
     [](Settings& s, std::string_view v) { return set_file_or_off(s.tuned_file, v); },
     [](const Settings& s) { return shown(s.tuned_file); }},
    {{"TUTTI_PRICE", "--price", "auto|on|off", "auto",
      "Across hosts, where no rules or parameters of a file say it: messages between hosts are "
      "measured once a communicator has made some hundreds of calls, and auto lets calls without "
      "a reduction run by another algorithm than the built-in rules say where that is predicted to "
      "be clearly faster (not on pretended hosts); on measures at the first call, and the lowest "
      "price goes before the built-in rules, for reductions too; off does not measure. See "
      "docs/price.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.price, parse_auto_on_off<PriceChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.price); }},
    {{"TUTTI_SCRATCH", "--scratch", "BYTES", "64M",
      "Memory of one rank that the schedule of a call may use beside the program's buffers; rules "
      "whose algorithm would need more are passed over."},
     [](Settings& s, std::string_view v) {
         return set_bytes(s.scratch_bytes, v, 64u << 10, 1ull << 40);
     },
     [](const Settings& s) { return shown(s.scratch_bytes); },
     "from 64K to 1024G"},
});

// A collective's name as in a variable or an option.
template <size_t collective, bool is_variable>
constexpr auto kSpelled = [] {
    constexpr std::string_view kName = kCollectives[collective].name;
    constexpr std::string_view kPrefix = is_variable ? kTutti : "--";
    std::array<char, kPrefix.size() + kName.size()> text{};
    char* end = std::copy(kPrefix.begin(), kPrefix.end(), text.begin());
    for (const char letter : kName) {
        if (letter == '_') {
            *end++ = is_variable ? '_' : '-';
        } else {
            *end++ = is_variable ? static_cast<char>(letter - 'a' + 'A') : letter;
        }
    }
    return text;
}();
template <size_t collective, bool is_variable>
constexpr std::string_view kSpelling{kSpelled<collective, is_variable>.data(),
                                     kSpelled<collective, is_variable>.size()};

constexpr std::string_view kForcedText =
    "Runs every barrier over several hosts by this algorithm (`tutti explain barrier` names them), "
    "or hands it to the host MPI; options as in ring:segment=64K,lanes=4,leaders=2. node:NAME "
    "instead: every one within a host by this algorithm of the node level (node:small; `tutti "
    "explain barrier --hosts 1`). An algorithm that cannot run a call is that call's error.";

// One a collective, by tutti_collective.
constexpr auto kForcedEntries = []<size_t... i>(std::index_sequence<i...>) {
    return std::array<Entry, sizeof...(i)>{
        {{{kSpelling<i, true>, kSpelling<i, false>, "NAME[:OPTIONS]|node:NAME|host", "by the rules",
           i == 0 ? kForcedText : std::string_view("The same for this collective.")},
          set_forced<static_cast<tutti_collective>(i)>,
          [](const Settings& s) { return shown(s.forced[i]); }}...}};
}
(std::make_index_sequence<TUTTI_COLLECTIVE_COUNT>());

constexpr auto kLastEntries = std::to_array<Entry>({
    {{"TUTTI_FAULTS", "--faults", "drop:P,dup:P,reorder:N,fail:N,seed:N", "none",
      "Makes the network worse, by seed, for tests: loses and doubles so many of the packets that "
      "a rank receives, lets up to N (at most 64) overtake another, gives up each multicast group "
      "after N packets. Of the host MPI's messages, which nothing may lose, it only holds some "
      "back."},
     set_faults,
     [](const Settings& s) { return shown(s.faults_text); }},
    {{"TUTTI_FABRIC", "--fabric", "FILE", "/etc/tutti/fabric.*, or Slurm's",
      "What describes the cluster: which hosts share a switch. Rank 0 reads it; algorithms then go "
      "along the switches. `off`: none. See docs/formats/topology.md."},
     [](Settings& s, std::string_view v) { return set_file_or_off(s.fabric_file, v); },
     [](const Settings& s) { return shown(s.fabric_file); }},
    {{"TUTTI_MPI_LIBRARY", "", "FILE", "found by `tutti run`",
      "The host MPI's libmpi, for `tutti bench`."},
     [](Settings& s, std::string_view v) { return set_text(s.mpi_library, v); },
     [](const Settings& s) { return shown(s.mpi_library); }},
    {{"TUTTI_REPORT_MARK", "", "FILE", "set by `tutti run`",
      "Internal: a file that is touched when a report has been given."},
     [](Settings& s, std::string_view v) { return set_text(s.report_mark, v); },
     [](const Settings& s) { return shown(s.report_mark); }},
    {{"TUTTI_RULES_TEXT", "", "RULES", "read from TUTTI_RULES",
      "Internal: the rules that rank 0 read, as it hands them to all ranks."},
     [](Settings& s, std::string_view v) { return set_text(s.rules_text, v); },
     [](const Settings& s) { return shown(s.rules_text); }},
    {{"TUTTI_SITE_NAMES", "", "NAMES", "read from the site's file",
      "Internal: the settings among rank 0's that its site gives (docs/formats/settings.md)."},
     [](Settings& s, std::string_view v) { return set_text(s.site_names, v); },
     [](const Settings& s) { return shown(s.site_names); }},
    {{"TUTTI_SITE_OFF", "", "REASON", "read from the site's file",
      "Internal: why rank 0's site wants everything to go to the host MPI."},
     [](Settings& s, std::string_view v) { return set_text(s.site_off, v); },
     [](const Settings& s) { return shown(s.site_off); }},
    {{"TUTTI_TUNED_NAME", "", "FILE|off", "found by rank 0",
      "Internal: the tuned file that rank 0 took."},
     [](Settings& s, std::string_view v) { return set_text(s.tuned_name, v); },
     [](const Settings& s) { return shown(s.tuned_name); }},
    {{"TUTTI_TUNED_TEXT", "", "RULES", "read by rank 0",
      "Internal: what rank 0 read in it, as it hands it to all ranks."},
     [](Settings& s, std::string_view v) { return set_text(s.tuned_text, v); },
     [](const Settings& s) { return shown(s.tuned_text); }},
});

constexpr auto kEntries = [] {
    constexpr size_t kCount =
        kFirstEntries.size() + kForcedEntries.size() + kNetworkEntries.size() + kLastEntries.size();
    std::array<Entry, kCount> all{};
    auto end = std::copy(kFirstEntries.begin(), kFirstEntries.end(), all.begin());
    end = std::copy(kForcedEntries.begin(), kForcedEntries.end(), end);
    end = std::copy(kNetworkEntries.begin(), kNetworkEntries.end(), end);
    std::copy(kLastEntries.begin(), kLastEntries.end(), end);
    return all;
}();

// The words of which the names of modules' variables are made.
constexpr auto kModuleWords = std::to_array<std::string_view>(
    {"BASE",       "BIN",     "BINDIR", "CFLAGS",    "CXXFLAGS", "DATA",       "DIR",
     "DIRS",       "DOC",     "DOCDIR", "DOCS",      "ETC",      "EXAMPLES",   "FLAGS",
     "FOLDER",     "HOME",    "INC",    "INCDIR",    "INCLUDE",  "INCLUDEDIR", "INCLUDES",
     "INSTALL",    "LDFLAGS", "LIB",    "LIB64",     "LIBDIR",   "LIBEXEC",    "LIBPATH",
     "LIBRARIES",  "LIBRARY", "LIBS",   "LINK",      "MAN",      "MANPATH",    "MODULE",
     "OPTS",       "PATH",    "PKG",    "PKGCONFIG", "POST",     "PREFIX",     "PYTHON",
     "PYTHONPATH", "RELEASE", "ROOT",   "SHARE",     "SRC",      "VER",        "VERSION"});

std::string unknown_line(std::string_view name) {
    std::array<std::string_view, kEntries.size()> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].doc.variable;
    std::string message = "unknown variable " + printable(name) + " is ignored";
    if (const auto close = nearest(name, names)) {
        message += "; did you mean " + std::string(*close) + "?";
    }
    return message;
}

Result<Done> apply(Settings& settings, std::string_view text) {
    const size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (name != "TUTTI" && !name.starts_with(kTutti)) return Done{};
    const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    if (value.empty()) return Done{};  // as in a shell's `NAME= command`: unset
    const auto* entry = std::find_if(kEntries.begin(), kEntries.end(),
                                     [&](const Entry& e) { return e.doc.variable == name; });
    if (entry == kEntries.end()) {
        if (!is_of_modules(name)) settings.unknown.push_back(unknown_line(name));
        return Done{};
    }
    if (entry->set(settings, value)) return Done{};
    std::string message =
        std::string(name) + "=" + printable(value) + ": expected " + std::string(entry->doc.value);
    if (!entry->range.empty()) message += " " + std::string(entry->range);
    return Error{ErrorCode::kArgument, std::move(message)};
}

}  // namespace

std::string idle_on_one_host(std::span<const std::string> entries) {
    constexpr auto kAcross =
        std::to_array<std::string_view>({"TUTTI_PRICE", "TUTTI_FAULTS", "TUTTI_SCRATCH"});
    const auto settings = parse_settings(entries);
    if (!settings) return {};
    const auto of_site = split(settings.value().site_names, ',');
    std::string idle;
    for (const Entry& entry : kEntries) {
        const std::string_view name = entry.doc.variable;
        const bool is_forced = std::ranges::any_of(
            kForcedEntries, [&](const Entry& one) { return one.doc.variable == name; });
        const bool is_across = is_forced || std::ranges::count(kAcross, name) != 0 ||
                               name.starts_with("TUTTI_MCAST") || name.starts_with("TUTTI_VERBS");
        if (!is_across || std::ranges::count(of_site, name) != 0) continue;
        const std::string text = entry.text(settings.value());
        // What is not to be, is not.
        constexpr auto kNothing = std::to_array<std::string_view>({"", "auto", "off", "0"});
        if (std::ranges::count(kNothing, text) != 0 || text == entry.text(Settings())) continue;
        // The host MPI and the node level serve one host, too.
        if (is_forced && (text == "host" || text.starts_with("node:"))) continue;
        idle += (idle.empty() ? "" : ", ") + std::string(name) + "=" + printable(text);
    }
    return idle;
}

std::optional<std::string> setting_text(const Settings& settings, std::string_view variable) {
    for (const Entry& entry : kEntries) {
        if (entry.doc.variable == variable) return entry.text(settings);
    }
    return std::nullopt;
}

std::string_view forced_variable(tutti_collective collective) {
    return kForcedEntries[collective].doc.variable;
}

std::span<const SettingDoc> setting_docs() {
    static constexpr auto docs = [] {
        std::array<SettingDoc, kEntries.size()> all{};
        for (size_t i = 0; i < all.size(); ++i) all[i] = kEntries[i].doc;
        return all;
    }();
    return docs;
}

Result<Settings> parse_settings(std::span<const std::string> entries) {
    Settings settings;
    for (const std::string_view text : entries) {
        if (const auto done = apply(settings, text); !done) return done.error();
    }
    if (!settings.site_off.empty()) settings.on = false;
    return settings;
}

bool is_of_modules(std::string_view variable) {
    if (!variable.starts_with(kTutti)) return false;
    return std::ranges::all_of(
        split(variable.substr(kTutti.size()), '_'),
        [](std::string_view word) { return std::ranges::count(kModuleWords, word) != 0; });
}

std::vector<std::string> tutti_entries(const char* const* environment) {
    std::vector<std::string> entries;
    for (; environment && *environment; ++environment) {
        const std::string_view text(*environment);
        if (!text.starts_with(kTutti) && !text.starts_with("TUTTI=")) continue;
        if (is_of_modules(text.substr(0, text.find('=')))) continue;
        if (!text.ends_with('=') || text.find('=') != text.size() - 1) entries.emplace_back(text);
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

}  // namespace tutti
