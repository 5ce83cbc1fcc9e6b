// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.h"

#include <algorithm>
#include <array>
#include <iterator>
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
    {{SettingGroup::kEveryday, "TUTTI", "", "on|off", "on", "Off: your MPI runs every call."},
     [](Settings& s, std::string_view v) { return assign(s.on, parse_switch(v)); },
     [](const Settings& s) { return shown(s.on); }},
    {{SettingGroup::kEveryday, "TUTTI_REPORT", "--report", "1|full|FILE.json", "none",
      "Prints a table at the end: which collectives ran, how often, how long, by which algorithm, "
      "and what your MPI ran and why. full adds what was measured on each host. FILE.json writes "
      "all of it to a file. In its name %j is the job's number, %p the process of rank 0, %h its "
      "host. A second program of one `tutti run` writes FILE.2.json. See docs/tutorial.md."},
     [](Settings& s, std::string_view v) { return set_report(s.watch.report, v); },
     [](const Settings& s) { return shown(s.watch.report); }},
    {{SettingGroup::kEveryday, "TUTTI_CHECK", "--check", "0|1", "0",
      "Compares collective, root, operator, type and bytes of all ranks before each call. Where "
      "they differ, the call ends with an error and a line names the ranks. A line at the end says "
      "how many calls were compared."},
     [](Settings& s, std::string_view v) { return assign(s.watch.check, parse_switch(v)); },
     [](const Settings& s) { return shown(s.watch.check); }},
    {{SettingGroup::kEveryday, "TUTTI_VERIFY", "--verify", "SHARE[:SEED]", "0",
      "Your MPI runs this share of the calls too (0.01 or 1%), and Tutti compares the results. A "
      "difference is one line with all that repeats it. A line at the end says how many calls were "
      "compared. SEED chooses the same calls again; without it each run draws its own."},
     set_verify,
     verify_text,
     "with a share from 0 to 1 or 0% to 100% and a seed from 1 on"},
    {{SettingGroup::kEveryday, "TUTTI_STALL", "--stall", "SECONDS", "0 (never)",
      "After so many seconds of waiting in a collective that Tutti runs, a rank prints which ranks "
      "have not arrived, and waits on. A line at the end says how often ranks waited for so long."},
     [](Settings& s, std::string_view v) { return assign(s.watch.stall_s, parse_seconds(v)); },
     [](const Settings& s) { return shown(s.watch.stall_s); },
     "or a time, as in 100ms, 10s or 5min"},
    {{SettingGroup::kSite, "TUTTI_START_WAIT", "--start-wait", "SECONDS", "10",
      "How long MPI_Init waits for ranks that may have no Tutti. Where one does not answer in "
      "time, one line names it and your MPI runs everything. Each process reads its own value. See "
      "docs/protocol/presence.md."},
     [](Settings& s, std::string_view v) {
         const auto seconds = parse_decimal(v);
         return seconds > 0.0 && seconds <= 1e6 && assign(s.start_wait_s, seconds);
     },
     [](const Settings& s) { return shown(s.start_wait_s); },
     "above 0 and at most 1000000"},
    {{SettingGroup::kExpert, "TUTTI_ARRIVALS", "--arrivals", "auto|on|off", "auto",
      "Observes which ranks come late, by one call in 64 of a communicator. The report says who "
      "was last and what the others lost. Across hosts with multicast, barriers and short integer "
      "allreduces may switch to a tree rooted at the last arriver, if that measured faster. auto: "
      "for that switch, and where there is a report. See docs/protocol/arrival.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.watch.arrivals, parse_auto_on_off<ArrivalsChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.watch.arrivals); }},
    {{SettingGroup::kEveryday, "TUTTI_TUNE", "--tune", "off|live|live:all", "off",
      "live: at most one call in 20 tries another algorithm or your MPI's own, and the others run "
      "by the fastest so far. Algorithms that you chose stay. live:all also tries floating-point "
      "sums, whose last bits may change. See docs/live.md."},
     [](Settings& s, std::string_view v) {
         if (parse_switch(v) == false) return assign(s.tune, std::optional(TuneChoice::kOff));
         return assign(s.tune, parse_word<TuneChoice>(v, {{"live", TuneChoice::kLive},
                                                          {"live:all", TuneChoice::kLiveAll}}));
     },
     [](const Settings& s) { return shown(kTuneChoices[static_cast<size_t>(s.tune)]); }},
    {{SettingGroup::kEveryday, "TUTTI_REPRODUCIBLE", "--reproducible", "0|1", "0",
      "Combines operands in rank order always: the same bits whatever the algorithm. Short "
      "reductions of many ranks take longer."},
     [](Settings& s, std::string_view v) {
         return assign(s.results.reproducible, parse_switch(v));
     },
     [](const Settings& s) { return shown(s.results.reproducible); }},
    {{SettingGroup::kSite, "TUTTI_HETEROGENEOUS", "--heterogeneous", "0|1", "0",
      "For hosts with different processors: each element of an allreduce is computed on one host "
      "only, so all ranks have the same bits."},
     [](Settings& s, std::string_view v) {
         return assign(s.results.heterogeneous, parse_switch(v));
     },
     [](const Settings& s) { return shown(s.results.heterogeneous); }},
    {{SettingGroup::kExpert, "TUTTI_WARMUP", "--warmup", "CALLS", "2",
      "How many first calls on a communicator your MPI runs, so that communicators that are used "
      "once cost nothing. Floating-point reductions and those of user operators never go there, "
      "nor does anything under TUTTI_CHECK, TUTTI_REPRODUCIBLE or TUTTI_HETEROGENEOUS."},
     [](Settings& s, std::string_view v) { return set_count(s.warmup_calls, v, 1u << 30); },
     [](const Settings& s) { return shown(s.warmup_calls); },
     "from 0 to 1073741824"},
    {{SettingGroup::kSite, "TUTTI_MEMORY", "--memory", "BYTES", "256M",
      "Shared memory that the processes of a node may use together, for all their communicators."},
     [](Settings& s, std::string_view v) {
         return set_bytes(s.node.memory_bytes, v, 64u << 10, 1ull << 40);
     },
     [](const Settings& s) { return shown(s.node.memory_bytes); },
     "from 64K to 1024G"},
    {{SettingGroup::kExpert, "TUTTI_CHUNK", "--chunk", "BYTES", "by team size",
      "Bytes of one chunk of a pipeline in shared memory, 1K to 16M, rounded up to 64."},
     [](Settings& s, std::string_view v) {
         return set_bytes(s.node.chunk_bytes, v, 1024, 16u << 20);
     },
     [](const Settings& s) { return s.node.chunk_bytes == 0 ? "" : shown(s.node.chunk_bytes); },
     "from 1K to 16M"},
    {{SettingGroup::kExpert, "TUTTI_LAYOUT", "--layout", "auto|flat|tree", "auto",
      "How the ranks of a node exchange short data: flat, all with all; tree, along shared caches, "
      "NUMA domains and sockets."},
     [](Settings& s, std::string_view v) {
         return assign(s.node.layout, parse_word<LayoutChoice>(v, {{"auto", LayoutChoice::kAuto},
                                                                   {"flat", LayoutChoice::kFlat},
                                                                   {"tree", LayoutChoice::kTree}}));
     },
     [](const Settings& s) { return shown(kLayouts[static_cast<size_t>(s.node.layout)]); }},
    {{SettingGroup::kSite, "TUTTI_SINGLE_COPY", "--single-copy", "auto|on|off|allow|xpmem", "auto",
      "Ranks of a node read large data in each other's memory. auto: where the kernel permits it "
      "and it measured faster. on: wherever it is permitted. off: never. allow: as auto, and lets "
      "all processes of the same user read this one's memory where the kernel (Yama) permits only "
      "parents. xpmem: as auto, by the kernel module XPMEM."},
     [](Settings& s, std::string_view v) {
         return assign(s.node.single_copy,
                       parse_on_off_or<SingleCopyChoice>(v, {{"auto", SingleCopyChoice::kAuto},
                                                             {"allow", SingleCopyChoice::kAllow},
                                                             {"xpmem", SingleCopyChoice::kXpmem}}));
     },
     [](const Settings& s) {
         return shown(kSingleCopyChoices[static_cast<size_t>(s.node.single_copy)]);
     }},
    {{SettingGroup::kTest, "TUTTI_TOPOLOGY", "--topology", "SYNTHETIC", "this machine",
      "A synthetic hwloc description (\"pack:2 l3:4 core:8 pu:1\") in place of this machine."},
     [](Settings& s, std::string_view v) { return set_text(s.node.topology, v); },
     [](const Settings& s) { return shown(s.node.topology); }},
    {{SettingGroup::kExpert, "TUTTI_ISA", "--isa", "auto|baseline|avx2|avx512", "auto",
      "The instruction set of the reduction kernels, at most what the processor has. The bits of a "
      "result do not depend on it."},
     [](Settings& s, std::string_view v) {
         return assign(s.node.isa, parse_word<IsaChoice>(v, {{"auto", IsaChoice::kAuto},
                                                             {"baseline", IsaChoice::kBaseline},
                                                             {"avx2", IsaChoice::kAvx2},
                                                             {"avx512", IsaChoice::kAvx512}}));
     },
     [](const Settings& s) { return shown(kIsas[static_cast<size_t>(s.node.isa)]); }},
    {{SettingGroup::kExpert, "TUTTI_SPIN", "--spin", "MICROSECONDS", "20",
      "How long a waiting rank polls before it yields the processor. Where ranks outnumber cores "
      "it is 0."},
     [](Settings& s, std::string_view v) { return set_microseconds(s.node.spin_us, v, 1'000'000); },
     [](const Settings& s) { return shown(s.node.spin_us); },
     "from 0 to 1000000, or a time up to 1s, as in 20us"},
    {{SettingGroup::kSite, "TUTTI_RULES", "--rules", "FILE", "built in",
      "A file of rules that choose algorithms across hosts, tried before the built-in rules. Rank "
      "0's file holds for all. See docs/formats/rules.md."},
     [](Settings& s, std::string_view v) { return set_text(s.rules.file, v); },
     [](const Settings& s) { return shown(s.rules.file); }},
    {{SettingGroup::kSite, "TUTTI_TUNED", "--tuned", "FILE",
      "$XDG_CONFIG_HOME/tutti/tuned*.toml, or /etc/tutti's",
      "What `tutti tune` measured on this cluster with this MPI. It counts after TUTTI_RULES and "
      "before the built-in rules. Rank 0's file holds for all. `off`: none. See "
      "docs/formats/tuned.md."},
     [](Settings& s, std::string_view v) { return set_file_or_off(s.rules.tuned_file, v); },
     [](const Settings& s) { return shown(s.rules.tuned_file); }},
    {{SettingGroup::kExpert, "TUTTI_PRICE", "--price", "auto|on|off", "auto",
      "Chooses algorithms across hosts by predicted time, where no file says otherwise. auto: "
      "measures messages after some hundred calls of a communicator, and changes the algorithm of "
      "calls without a reduction where another one is clearly faster. on: measures at the first "
      "call, and chooses for reductions too. off: does not measure. See docs/price.md."},
     [](Settings& s, std::string_view v) {
         return assign(s.rules.price, parse_auto_on_off<PriceChoice>(v));
     },
     [](const Settings& s) { return shown_auto_on_off(s.rules.price); }},
    {{SettingGroup::kExpert, "TUTTI_SCRATCH", "--scratch", "BYTES", "64M",
      "Memory of one rank that an algorithm may use beside the program's buffers. Algorithms that "
      "would need more are passed over."},
     [](Settings& s, std::string_view v) {
         return set_bytes(s.rules.scratch_bytes, v, 64u << 10, 1ull << 40);
     },
     [](const Settings& s) { return shown(s.rules.scratch_bytes); },
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
    "Runs each barrier over several hosts by this algorithm, or by your MPI (host); options as in "
    "ring:segment=64K,lanes=4,leaders=2. `tutti explain barrier --ranks 16` lists the names. "
    "node:NAME: each barrier within a host by this algorithm of the node level (`tutti explain "
    "barrier --ranks 16 --hosts 1`). A call that the algorithm cannot run ends with an error.";

// One a collective, by tutti_collective.
constexpr auto kForcedEntries = []<size_t... i>(std::index_sequence<i...>) {
    return std::array<Entry, sizeof...(i)>{
        {{{SettingGroup::kExpert, kSpelling<i, true>, kSpelling<i, false>,
           "NAME[:OPTIONS]|node:NAME|host", "by the rules",
           i == 0 ? kForcedText
                  : std::string_view("The same for this collective (`tutti explain` wants --bytes "
                                     "1K, too).")},
          set_forced<static_cast<tutti_collective>(i)>,
          [](const Settings& s) { return shown(s.rules.forced[i]); }}...}};
}
(std::make_index_sequence<TUTTI_COLLECTIVE_COUNT>());

constexpr auto kLastEntries = std::to_array<Entry>({
    {{SettingGroup::kTest, "TUTTI_FAULTS", "--faults", "drop:P,dup:P,reorder:N,fail:N,seed:N",
      "none",
      "Makes the network worse, by seed. drop and dup: the share of received packets that are lost "
      "or doubled. reorder: how many (at most 64) overtake another. fail: a multicast group is "
      "given up after so many packets. Messages of your MPI are only delayed."},
     set_faults,
     [](const Settings& s) { return shown(s.faults_text); }},
    {{SettingGroup::kSite, "TUTTI_FABRIC", "--fabric", "FILE", "/etc/tutti/fabric.*, or Slurm's",
      "A file that describes the cluster: which hosts share a switch. Rank 0 reads it, and "
      "algorithms follow the switches. `off`: none. See docs/formats/topology.md."},
     [](Settings& s, std::string_view v) { return set_file_or_off(s.command.fabric_file, v); },
     [](const Settings& s) { return shown(s.command.fabric_file); }},
    {{SettingGroup::kExpert, "TUTTI_MPI_LIBRARY", "", "FILE", "found by `tutti run`",
      "The libmpi of your MPI, for `tutti bench`."},
     [](Settings& s, std::string_view v) { return set_text(s.command.mpi_library, v); },
     [](const Settings& s) { return shown(s.command.mpi_library); }},
    {{SettingGroup::kInternal, "TUTTI_REPORT_MARK", "", "FILE", "set by `tutti run`",
      "A file that is touched when a report was given."},
     [](Settings& s, std::string_view v) { return set_text(s.watch.report_mark, v); },
     [](const Settings& s) { return shown(s.watch.report_mark); }},
    {{SettingGroup::kInternal, "TUTTI_RULES_TEXT", "", "RULES", "read from TUTTI_RULES",
      "The rules that rank 0 read, as it sends them to all ranks."},
     [](Settings& s, std::string_view v) { return set_text(s.rules.text, v); },
     [](const Settings& s) { return shown(s.rules.text); }},
    {{SettingGroup::kInternal, "TUTTI_SITE_NAMES", "", "NAMES", "read from the site's file",
      "The settings of rank 0 that its site gives (docs/formats/settings.md)."},
     [](Settings& s, std::string_view v) { return set_text(s.site.names, v); },
     [](const Settings& s) { return shown(s.site.names); }},
    {{SettingGroup::kInternal, "TUTTI_SITE_OFF", "", "REASON", "read from the site's file",
      "Why rank 0's site wants your MPI to run everything."},
     [](Settings& s, std::string_view v) { return set_text(s.site.off, v); },
     [](const Settings& s) { return shown(s.site.off); }},
    {{SettingGroup::kInternal, "TUTTI_TUNED_NAME", "", "FILE|off", "found by rank 0",
      "The tuned file that rank 0 took."},
     [](Settings& s, std::string_view v) { return set_text(s.rules.tuned_name, v); },
     [](const Settings& s) { return shown(s.rules.tuned_name); }},
    {{SettingGroup::kInternal, "TUTTI_TUNED_TEXT", "", "RULES", "read by rank 0",
      "What rank 0 read in it, as it sends it to all ranks."},
     [](Settings& s, std::string_view v) { return set_text(s.rules.tuned_text, v); },
     [](const Settings& s) { return shown(s.rules.tuned_text); }},
});

constexpr auto kEntries = [] {
    constexpr size_t kCount = kFirstEntries.size() + kForcedEntries.size() +
                              kMulticastEntries.size() + kNetworkChoices.size() +
                              kVerbsEntries.size() + kLastEntries.size();
    std::array<Entry, kCount> all{};
    auto end = std::copy(kFirstEntries.begin(), kFirstEntries.end(), all.begin());
    end = std::copy(kForcedEntries.begin(), kForcedEntries.end(), end);
    end = std::copy(kMulticastEntries.begin(), kMulticastEntries.end(), end);
    end = std::copy(kNetworkChoices.begin(), kNetworkChoices.end(), end);
    end = std::copy(kVerbsEntries.begin(), kVerbsEntries.end(), end);
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

// Its choice, or a setting of its prefix.
bool is_of_network(std::string_view name) {
    return std::ranges::any_of(
        kNetworkChoices, [&](const Entry& one) { return name.starts_with(one.doc.variable); });
}

}  // namespace

std::string idle_on_one_host(std::span<const std::string> entries) {
    constexpr auto kAcross =
        std::to_array<std::string_view>({"TUTTI_PRICE", "TUTTI_FAULTS", "TUTTI_SCRATCH"});
    const auto settings = parse_settings(entries);
    if (!settings) return {};
    const auto of_site = split(settings.value().site.names, ',');
    std::string idle;
    for (const Entry& entry : kEntries) {
        const std::string_view name = entry.doc.variable;
        const bool is_forced = std::ranges::any_of(
            kForcedEntries, [&](const Entry& one) { return one.doc.variable == name; });
        const bool is_across = is_forced || std::ranges::count(kAcross, name) != 0 ||
                               name.starts_with("TUTTI_MCAST") || is_of_network(name);
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

std::vector<SettingDoc> docs_of(const SettingGroupDoc& group) {
    std::vector<SettingDoc> docs;
    std::ranges::copy_if(setting_docs(), std::back_inserter(docs),
                         [&](const SettingDoc& doc) { return &doc_of(doc.group) == &group; });
    return docs;
}

Result<Settings> parse_settings(std::span<const std::string> entries) {
    Settings settings;
    for (const std::string_view text : entries) {
        if (const auto done = apply(settings, text); !done) return done.error();
    }
    if (!settings.site.off.empty()) settings.on = false;
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
