// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/process_multicast.h"

#include <algorithm>

namespace tutti::multicast {

using transport::carrier::Carrier;
using transport::carrier::CarrierParams;

Result<Carrier*> ProcessMulticast::open(size_t network, const Settings& all, uint32_t process) {
    const McastSettings& settings = all.mcast;
    const std::lock_guard lock(mutex_);
    ByNetwork& own = by_[network];
    if (own.error) return *own.error;
    if (own.carrier) return own.carrier.get();
    CarrierParams params;
    params.groups_max = static_cast<uint32_t>(settings.teams);
    params.has_thread = settings.thread;
    params.faults = all.faults;
    params.faults.seed += process;
    auto datagrams = networks_[network]->open();
    auto opened = datagrams ? Carrier::open(params, std::move(datagrams.value()))
                            : Result<std::unique_ptr<Carrier>>(datagrams.error());
    if (!opened) {
        own.error = opened.error();
        return opened.error();
    }
    own.carrier = std::move(opened.value());
    if (!params.has_thread) own.polled.store(own.carrier.get(), std::memory_order_release);
    return own.carrier.get();
}

void ProcessMulticast::set_carrier(size_t network, std::unique_ptr<Carrier> carrier) {
    const std::lock_guard lock(mutex_);
    by_[network].carrier = std::move(carrier);
}

void ProcessMulticast::remember_failure(size_t network, std::vector<uint64_t> hosts,
                                        std::string reason) {
    std::sort(hosts.begin(), hosts.end());
    const std::lock_guard lock(mutex_);
    std::vector<Failure>& failures = by_[network].failures;
    // One that is tried again and again is one failure.
    const bool is_known = std::any_of(failures.begin(), failures.end(),
                                      [&](const Failure& one) { return one.hosts == hosts; });
    if (is_known || failures.size() == kFailuresMax) return;
    failures.push_back({std::move(hosts), std::move(reason)});
}

void ProcessMulticast::forget_failures(size_t network, std::vector<uint64_t> hosts) {
    std::sort(hosts.begin(), hosts.end());
    const std::lock_guard lock(mutex_);
    std::erase_if(by_[network].failures, [&](const Failure& one) {
        return std::includes(hosts.begin(), hosts.end(), one.hosts.begin(), one.hosts.end());
    });
}

std::optional<std::string> ProcessMulticast::known_failure(size_t network,
                                                           std::vector<uint64_t> hosts) {
    std::sort(hosts.begin(), hosts.end());
    const std::lock_guard lock(mutex_);
    const std::vector<Failure>& failures = by_[network].failures;
    for (const Failure& failure : failures) {
        if (std::includes(hosts.begin(), hosts.end(), failure.hosts.begin(), failure.hosts.end())) {
            return failure.reason;
        }
    }
    if (failures.size() < kFailuresMax) return std::nullopt;
    return failures.back().reason;
}

void ProcessMulticast::remember_speed(uint64_t host, const sched::Speed& speed) {
    const std::lock_guard lock(mutex_);
    speeds_[host] = speed;
}

sched::Speed ProcessMulticast::known_speed(uint64_t host) {
    const std::lock_guard lock(mutex_);
    const auto known = speeds_.find(host);
    return known == speeds_.end() ? sched::Speed{} : known->second;
}

void ProcessMulticast::enroll(RecoveryClient& team) {
    const std::lock_guard lock(attended_mutex_);
    attended_.push_back(&team);
}

void ProcessMulticast::withdraw(RecoveryClient& team) {
    const std::lock_guard lock(attended_mutex_);
    std::erase(attended_, &team);
}

void ProcessMulticast::attend_all() {
    for (const ByNetwork& one : by_) {
        if (Carrier* carrier = one.polled.load(std::memory_order_acquire)) carrier->poll();
    }
    const std::unique_lock lock(attended_mutex_, std::try_to_lock);
    if (!lock) return;
    for (RecoveryClient* team : attended_) team->attend();
}

void ProcessMulticast::watch_all_for_others(bool is_wanted) {
    const std::lock_guard lock(attended_mutex_);
    for (RecoveryClient* team : attended_) team->watch_for_others(is_wanted);
}

bool ProcessMulticast::is_new(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    return reasons_.size() < kReasonsMax && reasons_.insert(reason).second;
}

bool ProcessMulticast::falls_silent(const std::string& host) {
    const std::lock_guard lock(mutex_);
    return silent_.insert(host).second;
}

bool ProcessMulticast::answers_again(const std::string& host) {
    const std::lock_guard lock(mutex_);
    return silent_.erase(host) > 0;
}

}  // namespace tutti::multicast
