// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/context.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/topo/switch_order.h"

namespace tutti::engine {
namespace {

// How long the end of a team waits for others (settle_end_ns()).
constexpr uint64_t kSettleNsMax = 5'000'000'000;

// In these settings processes may differ.
bool is_of_one_process(std::string_view entry) {
    return entry.starts_with("TUTTI_VERBS_DEVICE=") || entry.starts_with("TUTTI_VERBS_GID=");
}

}  // namespace

uint64_t RealClock::now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

Result<std::unique_ptr<Context>> Context::create(const tutti_context_params& params) {
    std::vector<std::string> entries;
    for (size_t i = 0; i < params.settings_count; ++i) entries.emplace_back(params.settings[i]);
    auto settings = parse_settings(entries);
    if (!settings) return settings.error();

    const long page_bytes = sysconf(_SC_PAGESIZE);
    if (const auto fits = arena::check_page_size(static_cast<size_t>(page_bytes)); !fits) {
        return fits.error();
    }

    auto rules = select::load_rules(settings.value());
    if (!rules) return rules.error();
    if (!settings.value().node.topology.empty()) {
        const auto topology = topo::read_node_topology(settings.value().node.topology);
        if (!topology) {
            return Error{ErrorCode::kArgument, "TUTTI_TOPOLOGY: " + topology.error().message};
        }
    }

    std::unique_ptr<Context> context(new Context);
    context->settings_ = settings.value();
    context->rules_ = std::move(rules.value());
    context->params_ = params;
    context->params_.settings = nullptr;  // The caller's array need not outlive the call.
    context->process_ = arena::this_process();
    context->machine_.node = arena::node_hash();
    context->machine_.hash = arena::machine_hash();
    std::sort(entries.begin(), entries.end());
    uint64_t hash = arena::hash_text(TUTTI_VERSION_STRING);
    for (const std::string& entry : entries) {
        if (is_of_one_process(entry)) continue;
        hash = arena::hash_text(entry, hash);
    }
    context->settings_hash_ = hash;
    context->machine_.isa = node::best_isa(context->settings_.node.isa);
    context->machine_.cpus = topo::affinity();
    if (settings.value().node.single_copy == SingleCopyChoice::kXpmem) {
        if (auto xpmem = arena::XpmemLibrary::open()) {
            context->machine_.xpmem = std::move(xpmem.value());
        } else {
            context->log(TUTTI_LOG_INFO, "TUTTI_SINGLE_COPY=xpmem: " + xpmem.error().message);
        }
    }
    context->machine_.scheduling_group = arena::scheduling_group();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    context->machine_.usable_cpus = online > 0 ? static_cast<uint32_t>(online) : 1;
    if (const auto quota = topo::cgroup_cpu_quota("/")) {
        context->machine_.usable_cpus =
            std::max(1u, std::min(context->machine_.usable_cpus, *quota));
    }
    context->fill_setting_texts();
    if (params.job_rank == 0) context->tell_of_settings(entries);
    return context;
}

void Context::tell_of_settings(std::span<const std::string> entries) const {
    for (const std::string& line : settings_.unknown) log(TUTTI_LOG_WARN, line);
    // Of one rank all calls are the host MPI's, and nobody expects more.
    const bool is_on_one_host =
        params_.job_size > 1 && params_.ranks_on_node == params_.job_size && settings_.hosts == 0;
    if (!is_on_one_host || !settings_.on) return;
    const std::string idle = idle_on_one_host(entries);
    if (!idle.empty()) {
        log(TUTTI_LOG_WARN, "without effect, since all ranks are on one host: " + idle);
    }
}

arena::ProcessId Context::process() const {
    return process_.pid == getpid() ? process_ : arena::this_process();
}

void Context::fill_setting_texts() {
    for (const SettingDoc& doc : setting_docs()) {
        setting_texts_.emplace(doc.variable, *setting_text(settings_, doc.variable));
    }
}

uint64_t Context::pretended_host(uint32_t team_rank, uint32_t team_size) const {
    const bool knows_job = params_.job_size > 0;
    const uint64_t rank = knows_job ? params_.job_rank : team_rank;
    const uint64_t size = knows_job ? params_.job_size : team_size;
    const uint64_t hosts = std::min(settings_.hosts, size);
    if (settings_.hosts_in_turn) return rank % hosts;
    // Blocks as equal as can be, the first ones larger by one.
    const uint64_t block = size / hosts;
    const uint64_t border = size % hosts * (block + 1);
    return rank < border ? rank / (block + 1) : size % hosts + (rank - border) / block;
}

uint64_t Context::node_of(const tutti_team_params& team) const {
    if (team.apart != 0)
        return arena::hash_text("rank " + std::to_string(team.rank), machine_.node);
    if (settings_.hosts == 0) return machine_.node;
    return arena::hash_text(std::to_string(pretended_host(team.rank, team.size)), machine_.node);
}

std::string Context::host_of(const tutti_team_params& team) const {
    if (settings_.hosts == 0) return arena::host_name();
    return "pretended host " + std::to_string(pretended_host(team.rank, team.size));
}

std::string Context::fabric_host() const {
    if (settings_.hosts == 0 || params_.job_size == 0) return arena::host_name();
    return "pretended-host-" + std::to_string(pretended_host(0, 1));
}

void Context::set_fabric(topo::SwitchTree tree, uint32_t own_host, const char* text) {
    fabric_ = std::make_unique<const OwnFabric>(
        OwnFabric{std::move(tree), own_host, arena::hash_text(text)});
}

uint32_t Context::OwnFabric::switches() const { return topo::SwitchOrder(tree).leaves(); }

const char* Context::setting(std::string_view variable) const {
    const auto found = setting_texts_.find(variable);
    return found == setting_texts_.end() ? nullptr : found->second.c_str();
}

uint64_t Context::settle_end_ns() {
    return settle_end_ns_ != 0 ? settle_end_ns_ : clock_.now_ns() + kSettleNsMax;
}

// What is left of its teams goes with its members.
Context::~Context() { settle_end_ns_ = settle_end_ns(); }

}  // namespace tutti::engine
