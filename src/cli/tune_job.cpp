// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tune_job.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>

#include "base/files/whole_file.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/bench_host.h"
#include "cli/text_file.h"
#include "lab/bench/bench_cell.h"
#include "lab/explain/fabric_text.h"
#include "run/arena/process.h"
#include "run/site/fabric_search.h"
#include "run/site/site.h"
#include "run/site/tuned_search.h"

namespace tutti::cli {
namespace {

// Rank 0 says first that nothing goes on; the others, should its host be the one that is gone.
constexpr unsigned kOthersWaitSeconds = 5;

void say_failed(const std::string& message) {
    const std::string line = "tutti tune: " + message + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void end_what_hangs(int) {
    constexpr std::string_view kLine =
        "tutti tune: no progress: is a host gone? The job is ended, no file was written\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(kTuneFailed);
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

void arm(double seconds, bool speaks) {
    struct sigaction action {};
    action.sa_handler = end_what_hangs;
    sigaction(SIGALRM, &action, nullptr);
    alarm(static_cast<unsigned>(seconds) + 1 + (speaks ? 0 : kOthersWaitSeconds));
}

struct Whereabouts {
    uint64_t node = 0;
    uint64_t kernel = 0;              // hosts of a test bed have one together, and its memory
    std::array<char, 256> name{};     // in the cluster's description
    std::array<char, 256> machine{};  // the real one's, where hosts are pretended
};

std::vector<Whereabouts> whereabouts(bench::BenchMpi& mpi) {
    Whereabouts own;
    const std::string name = mpi.host_name();
    name.copy(own.name.data(), own.name.size() - 1);
    arena::host_name().copy(own.machine.data(), own.machine.size() - 1);
    own.kernel = arena::machine_hash();
    own.node = arena::hash_text(name, arena::node_hash());
    std::vector<Whereabouts> all(mpi.place().size);
    mpi.gather_all(&own, sizeof own, all.data());
    return all;
}

topo::Placement placement_of(const std::vector<Whereabouts>& all) {
    std::vector<uint64_t> nodes;
    nodes.reserve(all.size());
    for (const Whereabouts& one : all) nodes.push_back(one.node);
    return topo::Placement(nodes);
}

}  // namespace

TuneJob::TuneJob(bench::BenchMpi& host_mpi, const TuneOptions& own_options, bool has_terminal)
    : mpi(host_mpi),
      options(own_options),
      speaks(mpi.place().rank == 0),
      placement(topo::Placement::blocks(mpi.place().size, 1)),
      has_terminal_(has_terminal) {
    const auto all = whereabouts(mpi);
    placement = placement_of(all);
    std::map<uint64_t, uint32_t> on_kernel;
    for (const Whereabouts& one : all) {
        neighbours_ = std::max(neighbours_, ++on_kernel[one.kernel]);
    }
    for (uint32_t node = 0; node < placement.nodes(); ++node) {
        rank_of_host.push_back(placement.members(node).front());
        hosts.emplace_back(all[rank_of_host.back()].name.data());
        machines_.emplace_back(all[rank_of_host.back()].machine.data());
    }
}

tune::JobShape TuneJob::shape() const {
    const bool is_even = placement.members_min() == placement.members_max();
    // As rules ask it: along the walk through the switches, where they are known.
    const topo::OnSwitches* switches = placement.switches();
    const topo::Placement& walked = switches ? switches->placement() : placement;
    return {.ranks = placement.ranks(),
            .hosts = placement.nodes(),
            .ranks_per_host = is_even ? placement.members_max() : 0,
            .is_contiguous = walked.is_contiguous()};
}

std::string TuneJob::text() const {
    const uint32_t most = placement.members_max();
    std::string text = explain::counted(placement.nodes(), "host", "hosts") + ", ";
    if (most != placement.members_min()) text += fmt::format("{} to ", placement.members_min());
    return text + explain::counted(most, "rank", "ranks") + " a host";
}

uint64_t TuneJob::memory_bytes() const {
    return bench::memory_for_buffers() / neighbours_ * placement.ranks();
}

tune::Tuned TuneJob::tuned() const {
    tune::Tuned tuned;
    tuned.fingerprint = site::own_fingerprint(mpi.library_version());
    tuned.fingerprint.hosts = select::hosts_of(machines_);
    tuned.on = today();
    tuned.about = text();
    return tuned;
}

void TuneJob::say(const std::string& line) const {
    if (!speaks) return;
    show_progress("");
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

void TuneJob::show_progress(const std::string& line) const {
    if (!speaks || !has_terminal_) return;
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
}

void TuneJob::expect_word_within(double seconds) const { arm(seconds, speaks); }

std::string TuneJob::write(const tune::Tuned& tuned) const {
    const std::string problem = files::write_whole(options.into, tune::tuned_text(tuned));
    if (problem.empty()) return {};
    return fmt::format("{}: rank 0, on {}, cannot write there: {}", printable(options.into),
                       hosts.front(), problem);
}

Result<select::Rules> read_rules_file(const std::string& name) {
    const auto text = read_text_file(name, select::kRulesTextBytesMax);
    if (!text) return text.error();
    return select::Rules::parse(text.value(), name);
}

Result<Done> TuneJob::agree(const std::string& problem) const {
    std::array<char, 512> line{};
    if (speaks) problem.copy(line.data(), line.size() - 1);
    mpi.bcast(line.data(), line.size(), 0);
    if (line[0] == '\0') return Done{};
    return Error{ErrorCode::kArgument, line.data()};
}

Result<std::optional<topo::SwitchTree>> TuneJob::described(const std::string& file) const {
    std::string name = file;
    if (name.empty()) {
        const auto search = site::own_fabric_search();
        if (!search) return search.error();
        const auto found = site::find_fabric(search.value());
        if (!found) return found.error();
        name = found.value().file;
    }
    if (name.empty()) return std::optional<topo::SwitchTree>();
    const auto part = site::fabric_part(name, hosts);
    if (!part) return part.error();
    if (part.value().text.empty()) return std::optional<topo::SwitchTree>();
    const auto fabric = site::parse_fabric_part(part.value().text);
    if (!fabric) return fabric.error();
    std::vector<uint32_t> found;
    found.reserve(hosts.size());
    for (const std::string& host : hosts) found.push_back(fabric.value().find(host));
    return std::optional(topo::restrict_tree(fabric.value().tree, found));
}

int tune_job_main(const TuneOptions& options, int argc, char** argv) {
    const bool speaks_before_init = launched_rank().value_or(0) == 0;
    const auto settings =
        parse_settings(site::merge(site::read_site(), "", tutti_entries(environ)).entries);
    const std::string library = settings ? settings.value().command.mpi_library : "";
    const auto above = ancestors();
    const auto host = load_host(library, above);
    if (!host) {
        if (speaks_before_init) say_failed(host.error().message);
        return kTuneUsage;
    }
    arm(kTuneSilenceSeconds, speaks_before_init);
    auto mpi = bench::start_bench_mpi(host.value(), &argc, &argv);
    if (!mpi) {
        if (speaks_before_init) say_failed(mpi.error().message);
        return kTuneFailed;
    }
    TuneJob job(*mpi.value(), options, errors_reach_terminal(above));
    const Result<Done> done = options.job == "links" ? tune_links(job) : tune_calls(job);
    job.show_progress("");
    if (!done) {
        if (job.speaks) say_failed(done.error().message);
        std::fflush(nullptr);
        // Then messages may be under way still.
        if (done.error().code == ErrorCode::kNetwork) _exit(kTuneFailed);
    }
    alarm(0);
    mpi.value()->finalize();
    return done ? 0 : kTuneFailed;
}

}  // namespace tutti::cli
