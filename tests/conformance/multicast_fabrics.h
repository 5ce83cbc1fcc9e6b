// SPDX-License-Identifier: BSD-3-Clause
// The multicast routes that the suite runs over. A new one is one line in multicast_fabrics().
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "run/transport/multicast.h"

namespace tutti::test {

// Where the ranks of every team are: hosts of one, two and three ranks, not in order.
inline constexpr uint32_t kHostOfRank[] = {1, 0, 2, 0, 1, 0};
inline constexpr uint32_t kMulticastRanks = 6;
inline constexpr uint32_t kMulticastHosts = 3;

// The ends of all ranks of some teams, each of all ranks.
class MulticastFabric {
  public:
    virtual ~MulticastFabric() = default;
    virtual transport::Multicast& end(uint32_t team, transport::Rank rank) = 0;
    // Lets something happen that no call on an end would cause: time, for simulated ones.
    virtual void pump() {}
    // Of one whose hosts' services run in pump() alone (kPolled): from now on this host's does not.
    virtual void stop(uint32_t /*host*/, bool /*is_stopped*/) {}
    // Whether a multicast comes to nobody before all ranks have posted it. The interface allows
    // that, since check/prove proves what runs so.
    [[nodiscard]] virtual bool waits_for_all() const { return false; }
    // Far more turns (a pump, and a test of whatever is pending) than any test needs.
    [[nodiscard]] virtual uint32_t turns_max() const { return 200'000; }
};

struct MulticastFabricMaker {
    std::string name;
    std::function<std::unique_ptr<MulticastFabric>(uint32_t teams)> make;
};
// For the names of failed tests.
inline void PrintTo(const MulticastFabricMaker& maker, std::ostream* out) { *out << maker.name; }
// The names of those that stop() is for end so.
inline constexpr const char* kPolled = "_polled";
const std::vector<MulticastFabricMaker>& multicast_fabrics();

}  // namespace tutti::test
