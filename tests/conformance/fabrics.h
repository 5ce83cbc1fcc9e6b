// SPDX-License-Identifier: BSD-3-Clause
// The fabrics that the suite runs over. A new one is one line in fabrics().
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "run/transport/transport.h"

namespace tutti::test {

// The ends of all ranks of one team.
class Fabric {
  public:
    virtual ~Fabric() = default;
    virtual transport::Transport& end(transport::Rank rank) = 0;
    // Lets something happen that no call on an end would cause: time, for simulated ones.
    virtual void pump() {}
};

struct FabricMaker {
    std::string name;
    std::function<std::unique_ptr<Fabric>(uint32_t ranks)> make;
};
// For the names of failed tests.
inline void PrintTo(const FabricMaker& maker, std::ostream* out) { *out << maker.name; }
const std::vector<FabricMaker>& fabrics();

}  // namespace tutti::test
