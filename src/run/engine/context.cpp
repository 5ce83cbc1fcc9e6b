// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/context.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/topo/switch_order.h"

namespace tutti::engine {
namespace {

// Choosing an algorithm and making its plan takes a few KiB.
constexpr size_t kFundBytes = size_t{64} << 10;
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
    if (!settings.value().topology.empty()) {
        const auto topology = topo::read_node_topology(settings.value().topology);
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
    context->node_ = arena::node_hash();
    context->machine_ = arena::machine_hash();
    std::sort(entries.begin(), entries.end());
    uint64_t hash = arena::hash_text(TUTTI_VERSION_STRING);
    for (const std::string& entry : entries) {
        if (is_of_one_process(entry)) continue;
        hash = arena::hash_text(entry, hash);
    }
    context->settings_hash_ = hash;
    context->isa_ = node::best_isa(context->settings_.isa);
    context->cpus_ = topo::affinity();
    if (settings.value().single_copy == SingleCopyChoice::kXpmem) {
        if (auto xpmem = arena::XpmemLibrary::open()) {
            context->xpmem_ = std::move(xpmem.value());
        } else {
            context->log(TUTTI_LOG_INFO, "TUTTI_SINGLE_COPY=xpmem: " + xpmem.error().message);
        }
    }
    context->scheduling_group_ = arena::scheduling_group();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    context->usable_cpus_ = online > 0 ? static_cast<uint32_t>(online) : 1;
    if (const auto quota = topo::cgroup_cpu_quota("/")) {
        context->usable_cpus_ = std::max(1u, std::min(context->usable_cpus_, *quota));
    }
    context->fill_setting_texts();
    context->fill_fund();
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
    if (team.apart != 0) return arena::hash_text("rank " + std::to_string(team.rank), node_);
    if (settings_.hosts == 0) return node_;
    return arena::hash_text(std::to_string(pretended_host(team.rank, team.size)), node_);
}

std::string Context::host_of(const tutti_team_params& team) const {
    if (settings_.hosts == 0) return arena::host_name();
    return "pretended host " + std::to_string(pretended_host(team.rank, team.size));
}

Result<std::shared_ptr<transport::verbs::Device>> Context::verbs_device() {
    const std::lock_guard lock(verbs_mutex_);
    if (verbs_) return *verbs_;
    auto opened = transport::verbs::open_library(settings_.verbs);
    if (opened) return verbs_.emplace(std::move(opened.value()));
    return verbs_.emplace(opened.error());
}

std::vector<std::shared_ptr<ProcessLinks>> Context::links() {
    const std::lock_guard lock(verbs_mutex_);
    std::vector<std::shared_ptr<ProcessLinks>> alive;
    std::erase_if(links_, [](const std::weak_ptr<ProcessLinks>& one) { return one.expired(); });
    for (const auto& one : links_) alive.push_back(one.lock());
    return alive;
}

void Context::keep_links(const std::shared_ptr<ProcessLinks>& links) {
    const std::lock_guard lock(verbs_mutex_);
    links_.push_back(links);
}

void Context::set_verbs_device(std::shared_ptr<transport::verbs::Device> device) {
    const std::lock_guard lock(verbs_mutex_);
    verbs_.emplace(std::move(device));
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

std::shared_ptr<arena::Arena> Context::find_arena(uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = arenas_.find(id);
    if (found == arenas_.end()) return nullptr;
    auto arena = found->second.lock();
    return arena && arena->is_intact() ? arena : nullptr;
}

Result<std::shared_ptr<arena::Arena>> Context::own_arena(
    const std::vector<arena::ProcessId>& members) {
    const std::lock_guard lock(mutex_);
    auto& known = led_[members];
    if (auto arena = known.lock(); arena && arena->is_intact()) return arena;
    auto arena = arena::Arena::create(arena::random_token());
    if (!arena) return arena;
    known = arena.value();
    arenas_[arena.value()->id()] = arena.value();
    return arena;
}

void Context::keep_arena(const std::shared_ptr<arena::Arena>& arena) {
    const std::lock_guard lock(mutex_);
    std::erase_if(arenas_, [](const auto& entry) { return entry.second.expired(); });
    std::erase_if(led_, [](const auto& entry) { return entry.second.expired(); });
    arenas_[arena->id()] = arena;
}

std::shared_ptr<arena::Home> Context::home() {
    const std::lock_guard lock(mutex_);
    return homes_[0] && homes_[0]->is_usable() ? homes_[0] : nullptr;
}

std::shared_ptr<arena::Home> Context::find_home(uint64_t id) {
    const std::lock_guard lock(mutex_);
    for (const auto& home : homes_) {
        if (home && home->id() == id && home->is_usable()) return home;
    }
    return nullptr;
}

void Context::set_home(std::shared_ptr<arena::Home> home) {
    // What goes, goes outside the lock.
    std::shared_ptr<arena::Home> forgotten;
    const std::lock_guard lock(mutex_);
    forgotten = std::exchange(homes_[1], std::exchange(homes_[0], std::move(home)));
}

void Context::hold_arena(const std::shared_ptr<arena::Arena>& arena) {
    // What goes, goes outside the lock: it gives memory back.
    std::shared_ptr<arena::Arena> forgotten;
    const std::lock_guard lock(mutex_);
    auto place = std::find(held_.begin(), held_.end(), arena);
    if (place == held_.end()) {
        --place;
        forgotten = std::exchange(*place, arena);
    }
    std::rotate(held_.begin(), place, place + 1);
}

NodeFacts Context::facts_of(uint64_t processes) {
    const std::lock_guard lock(mutex_);
    const auto found = facts_.find(processes);
    return found == facts_.end() ? NodeFacts{} : found->second;
}

void Context::keep_facts(uint64_t processes, const NodeFacts& facts) {
    const std::lock_guard lock(mutex_);
    if (facts_.size() >= kFactsMax) facts_.clear();
    facts_[processes] = facts;
}

void Context::change_facts(uint64_t processes, const NodeFacts& facts) {
    const std::lock_guard lock(mutex_);
    const auto found = facts_.find(processes);
    if (found != facts_.end()) found->second = facts;
}

sched::Speed Context::speed_of(const std::vector<uint64_t>& hosts) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        speeds_, [&](const KnownSpeed& one) { return std::ranges::includes(one.hosts, hosts); });
    return found == speeds_.end() ? sched::Speed{} : found->speed;
}

void Context::keep_speed(const std::vector<uint64_t>& hosts, const sched::Speed& speed) {
    KnownSpeed known{hosts, speed};
    const std::lock_guard lock(mutex_);
    if (speeds_.size() >= kSpeedsMax) speeds_.clear();
    speeds_.push_back(std::move(known));
}

void Context::note_no_single_copy(const char* why) {
    const std::lock_guard lock(mutex_);
    std::snprintf(no_single_copy_.data(), no_single_copy_.size(), "%s", why);
}

uint64_t Context::settle_end_ns() {
    return settle_end_ns_ != 0 ? settle_end_ns_ : clock_.now_ns() + kSettleNsMax;
}

// What is left of its teams goes with its members.
Context::~Context() { settle_end_ns_ = settle_end_ns(); }

void Context::tidy() {
    std::unique_ptr<Retired> over;  // goes after the lock
    const std::lock_guard lock(mutex_);
    for (auto* link = &kept_; *link;) {
        if (!(*link)->is_over()) {
            link = &(*link)->next;
            continue;
        }
        auto one = std::move(*link);
        *link = std::move(one->next);
        one->next = std::move(over);
        over = std::move(one);
    }
}

void Context::keep(std::unique_ptr<Retired> what) {
    const std::lock_guard lock(mutex_);
    what->next = std::move(kept_);
    kept_ = std::move(what);
}

void Context::spend_fund() {
    const std::lock_guard lock(mutex_);
    fund_.reset();
}

void Context::fill_fund() {
    const std::lock_guard lock(mutex_);
    if (!fund_) fund_.reset(new (std::nothrow) std::byte[kFundBytes]);
}

}  // namespace tutti::engine
