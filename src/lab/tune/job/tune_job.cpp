// SPDX-License-Identifier: BSD-3-Clause
#include "lab/tune/job/tune_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

#include "base/files/text_file.h"
#include "base/files/whole_file.h"
#include "base/text.h"
#include "lab/bench/bench_cell.h"
#include "lab/explain/fabric_text.h"
#include "run/arena/process.h"
#include "run/site/fabric_search.h"
#include "run/site/site.h"
#include "run/site/tuned_search.h"

namespace tutti::tune {
namespace {

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
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

TuneJob::TuneJob(bench::BenchMpi& host_mpi, const TuneOptions& own_options,
                 const TuneAudience& who_hears)
    : mpi(host_mpi),
      options(own_options),
      audience(who_hears),
      speaks(mpi.place().rank == 0),
      placement(topo::Placement::blocks(mpi.place().size, 1)) {
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

JobShape TuneJob::shape() const {
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

Tuned TuneJob::tuned() const {
    Tuned tuned;
    tuned.fingerprint = site::own_fingerprint(mpi.library_version());
    tuned.fingerprint.hosts = select::hosts_of(machines_);
    tuned.on = today();
    tuned.about = text();
    return tuned;
}

std::string TuneJob::write(const Tuned& tuned) const {
    const std::string problem = files::write_whole(options.into, tuned_text(tuned));
    if (problem.empty()) return {};
    return fmt::format("{}: rank 0, on {}, cannot write there: {}", printable(options.into),
                       hosts.front(), problem);
}

Result<select::Rules> read_rules_file(const std::string& name) {
    const auto text = files::read_text_file(name, select::kRulesTextBytesMax);
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

Result<Done> run_tune_job(bench::BenchMpi& mpi, const TuneOptions& options,
                          const TuneAudience& audience) {
    TuneJob job(mpi, options, audience);
    return options.job == "links" ? tune_links(job) : tune_calls(job);
}

}  // namespace tutti::tune
