// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/findings.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tutti::engine {

NodeFacts Findings::facts_of(uint64_t processes) {
    const std::lock_guard lock(mutex_);
    const auto found = facts_.find(processes);
    return found == facts_.end() ? NodeFacts{} : found->second;
}

void Findings::keep_facts(uint64_t processes, const NodeFacts& facts) {
    const std::lock_guard lock(mutex_);
    if (facts_.size() >= kFactsMax) facts_.clear();
    facts_[processes] = facts;
}

void Findings::change_facts(uint64_t processes, const NodeFacts& facts) {
    const std::lock_guard lock(mutex_);
    const auto found = facts_.find(processes);
    if (found != facts_.end()) found->second = facts;
}

std::optional<node::Times> Findings::once() {
    const std::lock_guard lock(mutex_);
    return once_;
}

void Findings::keep_once(const node::Times& once) {
    const std::lock_guard lock(mutex_);
    once_ = once;
}

sched::Speed Findings::speed_of(const std::vector<uint64_t>& hosts) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        speeds_, [&](const KnownSpeed& one) { return std::ranges::includes(one.hosts, hosts); });
    return found == speeds_.end() ? sched::Speed{} : found->speed;
}

void Findings::keep_speed(const std::vector<uint64_t>& hosts, const sched::Speed& speed) {
    KnownSpeed known{hosts, speed};
    const std::lock_guard lock(mutex_);
    if (speeds_.size() >= kSpeedsMax) speeds_.clear();
    speeds_.push_back(std::move(known));
}

void Findings::note_no_single_copy(const char* why) {
    const std::lock_guard lock(mutex_);
    std::snprintf(no_single_copy_.data(), no_single_copy_.size(), "%s", why);
}

}  // namespace tutti::engine
