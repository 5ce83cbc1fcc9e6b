// SPDX-License-Identifier: BSD-3-Clause
// The hardware multicast of all teams of a process: a carrier for each network, opened with the
// first team that tries it, and the teams that need help after a failure.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/multicast_networks.h"
#include "base/result.h"
#include "base/settings.h"
#include "plan/sched/shape.h"
#include "run/networks/multicast_network.h"
#include "run/transport/carrier/carrier.h"

namespace tutti::multicast {

// A team that may have to go on by messages when its group fails. All its ranks take part in that
// (run/transport/carrier/recovery.h), also those that have left the call in which others still
// wait, and now wait for them in a call of another team.
class RecoveryClient {
  public:
    virtual ~RecoveryClient() = default;
    // Goes on with that, if there is anything to do.
    virtual void attend() = 0;
    // Whether a call of another team has waited for long: its cause may be a failure of this team's
    // group that is not known here yet.
    virtual void watch_for_others(bool is_wanted) = 0;
};

class ProcessMulticast {
  public:
    // All networks, by number.
    explicit ProcessMulticast(networks::MulticastNetworks networks)
        : networks_(std::move(networks)) {}
    [[nodiscard]] networks::MulticastNetwork& network(size_t number) const {
        return *networks_[number];
    }
    // Errors: why this process can have no multicast by that network; nothing is tried again.
    // process: its number among those that draw faults by the same seed.
    Result<transport::carrier::Carrier*> open(size_t network, const Settings& settings,
                                              uint32_t process);
    // Before that: another one than it would make.
    void set_carrier(size_t network, std::unique_ptr<transport::carrier::Carrier> carrier);
    // nullptr before open().
    [[nodiscard]] transport::carrier::Carrier* carrier(size_t network) const {
        return by_[network].carrier.get();
    }

    // A group of these hosts, or of more, would fail there like an earlier one did: another probe
    // would only take time. After a few failures nothing is tried any more. Hosts by number, in any
    // order.
    void remember_failure(size_t network, std::vector<uint64_t> hosts, std::string reason);
    // These hosts do hear each other.
    void forget_failures(size_t network, std::vector<uint64_t> hosts);
    std::optional<std::string> known_failure(size_t network, std::vector<uint64_t> hosts);

    // How fast the embedder's messages are from here to another host's carrier, once measured; else
    // 0.
    void remember_speed(uint64_t host, const sched::Speed& speed);
    sched::Speed known_speed(uint64_t host);

    // Teams across nodes, from when they can be called until withdraw(), each at most once.
    void enroll(RecoveryClient& team);
    void withdraw(RecoveryClient& team);
    // In long waits of any team, and of no team in particular: lets every one of them go on. Does
    // nothing while another thread is at it. Where no thread serves the carrier, this does, also
    // when no team is left here: others may still need what its groups have to say.
    void attend_all();
    void watch_all_for_others(bool is_wanted);
    // While this is held, no other thread goes on with a team: its multicast can come or go.
    [[nodiscard]] std::unique_lock<std::mutex> keep_still() {
        return std::unique_lock(attended_mutex_);
    }

    // True the first time.
    bool is_new(const std::string& reason);
    // A host that stands still does so for all teams of this process: true for the first one that
    // finds out, and for the first one that has it back, which speak for the others.
    bool falls_silent(const std::string& host);
    bool answers_again(const std::string& host);

  private:
    struct Failure {
        std::vector<uint64_t> hosts;  // ascending
        std::string reason;
    };
    static constexpr size_t kFailuresMax = 4;  // a second each
    static constexpr size_t kReasonsMax = 16;

    struct ByNetwork {
        std::unique_ptr<transport::carrier::Carrier> carrier;
        std::atomic<transport::carrier::Carrier*> polled{nullptr};  // the same, without a thread
        std::optional<Error> error;
        std::vector<Failure> failures;
    };

    const networks::MulticastNetworks networks_;
    std::mutex mutex_;
    std::array<ByNetwork, kMulticastNetworks.size()> by_;
    std::set<std::string> reasons_;
    std::map<uint64_t, sched::Speed> speeds_;
    std::set<std::string> silent_;  // hosts

    // Not mutex_: others look at carriers and failures meanwhile.
    std::mutex attended_mutex_;
    std::vector<RecoveryClient*> attended_;
};

}  // namespace tutti::multicast
