// SPDX-License-Identifier: BSD-3-Clause
// What comes of every order of events, as explorers find it that do not enter a state twice.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

namespace tutti::adapt::test {

struct Explored {
    std::string wrong;  // and by which way
    size_t states = 0;
    size_t ends = 0;
};

// key(state) names a state, explore(state, seen, found, way) enters all that follow it.
template <class State>
Explored explored_from(const State& begin) {
    Explored found;
    std::unordered_set<std::string> seen;
    seen.insert(key(begin));
    explore(begin, seen, found, "");
    found.states = seen.size();
    return found;
}

}  // namespace tutti::adapt::test
