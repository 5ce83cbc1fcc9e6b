// SPDX-License-Identifier: BSD-3-Clause
// A tree of switches on which transfers flow like water, with noise by seed: what a survey is tried
// on. It shares no code with what it tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "lab/survey/experiment.h"

namespace tutti::survey {

struct Network {
    static constexpr uint32_t kNone = UINT32_MAX;
    // By switch; parents come before children, switch 0 is the root.
    std::vector<uint32_t> parent;
    std::vector<double> up_speed;  // bytes per nanosecond, each way
    // By host.
    std::vector<uint32_t> switch_of;
    std::vector<double> host_speed;
    std::vector<bool> is_dead;

    double hop_ns = 0;           // each link, one way
    double overhead_ns = 20000;  // each message
    double noise = 0.2;          // a time is up to so much longer
    double outliers = 0.01;      // of so many transfers the time is three times as long

    uint32_t add_switch(uint32_t above, double speed);
    void add_hosts(uint32_t at, uint32_t count, double speed);
    [[nodiscard]] uint32_t hosts() const { return static_cast<uint32_t>(switch_of.size()); }
    void shuffle_hosts(Prng& random);
    // The switches whose links upwards lie between two hosts.
    [[nodiscard]] std::vector<uint32_t> way(uint32_t one, uint32_t other) const;
    // How many times more its hosts, or all others if these are fewer, could send than it carries.
    [[nodiscard]] double crowding(uint32_t at) const;
};

// The times of an experiment's transfers.
std::vector<uint64_t> run(const Network& network, const Experiment& experiment, Prng& random);

}  // namespace tutti::survey
