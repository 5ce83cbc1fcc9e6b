// SPDX-License-Identifier: BSD-3-Clause
// The networks whose lives the suites run: those that carry messages (lives_test.cpp), those that
// carry multicast (multicast_lives_test.cpp). A new one is one line in networks() or in
// multicast_networks().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "run/engine/context.h"

namespace tutti::test {

// Where the processes of the members are: what their networks find there.
class Surroundings {
  public:
    virtual ~Surroundings() = default;
    // Of member `rank`, before its first team. False: it finds no device, where there are such.
    virtual void settle(engine::Context& process, uint32_t rank, bool finds_device) = 0;
    // The thread that calls this is that member's.
    virtual void be(uint32_t rank) { static_cast<void>(rank); }
    // What members did that is forbidden, or left behind; empty: nothing.
    virtual std::string fault() { return {}; }
};

// What befalls one member while a team gets its network, by the seed: the same on all members.
enum class Mishap { kNone, kNoDevice, kNoMemory, kNoTalk, kFailedCall };
struct Trouble {
    Mishap mishap = Mishap::kNone;
    uint32_t victim = 0;
    long at = 0;  // an allocation, or a round
    bool for_good = false;

    [[nodiscard]] std::string text(uint32_t ranks) const {
        return "mishap " + std::to_string(static_cast<int>(mishap)) + " of rank " +
               std::to_string(victim) + " at " + std::to_string(at) + ", " + std::to_string(ranks) +
               " ranks";
    }
};

struct NetworkMaker {
    std::string name;     // of its row; of multicast, the word
    const char* setting;  // that asks for it
    bool has_devices = false;
    std::function<std::unique_ptr<Surroundings>(uint32_t ranks, uint64_t seed)> make;
};
// For the names of failed tests.
inline void PrintTo(const NetworkMaker& maker, std::ostream* out) { *out << maker.name; }
const std::vector<NetworkMaker>& networks();
const std::vector<NetworkMaker>& multicast_networks();

}  // namespace tutti::test
