// SPDX-License-Identifier: BSD-3-Clause
#include "multicast/process_multicast.h"

#include <algorithm>

#include "transport/fabrics/fabrics.h"

namespace tutti::multicast {

using transport::carrier::Carrier;
using transport::carrier::CarrierParams;

Result<Carrier*> ProcessMulticast::open(const Settings& all, uint32_t process) {
    const McastSettings& settings = all.mcast;
    const std::lock_guard lock(mutex_);
    if (error_) return *error_;
    if (carrier_) return carrier_.get();
    CarrierParams params;
    params.groups_max = static_cast<uint32_t>(settings.teams);
    params.has_thread = settings.thread;
    params.faults = all.faults;
    params.faults.seed += process;
    auto datagrams = transport::fabrics::open_datagrams(settings);
    auto opened = datagrams ? Carrier::open(params, std::move(datagrams.value()))
                            : Result<std::unique_ptr<Carrier>>(datagrams.error());
    if (!opened) {
        error_ = opened.error();
        return opened.error();
    }
    carrier_ = std::move(opened.value());
    if (!params.has_thread) polled_.store(carrier_.get(), std::memory_order_release);
    return carrier_.get();
}

void ProcessMulticast::remember_failure(std::vector<uint64_t> hosts, std::string reason) {
    std::sort(hosts.begin(), hosts.end());
    const std::lock_guard lock(mutex_);
    // One that is tried again and again is one failure.
    const bool is_known = std::any_of(failures_.begin(), failures_.end(),
                                      [&](const Failure& one) { return one.hosts == hosts; });
    if (is_known || failures_.size() == kFailuresMax) return;
    failures_.push_back({std::move(hosts), std::move(reason)});
}

void ProcessMulticast::forget_failures(std::vector<uint64_t> hosts) {
    std::sort(hosts.begin(), hosts.end());
    const std::lock_guard lock(mutex_);
    std::erase_if(failures_, [&](const Failure& one) {
        return std::includes(hosts.begin(), hosts.end(), one.hosts.begin(), one.hosts.end());
    });
}

std::optional<std::string> ProcessMulticast::known_failure(std::vector<uint64_t> hosts) {
    std::sort(hosts.begin(), hosts.end());
    const std::lock_guard lock(mutex_);
    for (const Failure& failure : failures_) {
        if (std::includes(hosts.begin(), hosts.end(), failure.hosts.begin(), failure.hosts.end())) {
            return failure.reason;
        }
    }
    if (failures_.size() < kFailuresMax) return std::nullopt;
    return failures_.back().reason;
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
    if (Carrier* carrier = polled_.load(std::memory_order_acquire)) carrier->poll();
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
