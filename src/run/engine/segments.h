// SPDX-License-Identifier: BSD-3-Clause
// The shared memory that a process has with others of its node: the arenas of its teams, and its
// homes. Teams own their arenas, and so does this for the last few; of others it knows how to find
// them again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "run/arena/arena.h"
#include "run/arena/home.h"
#include "run/arena/process.h"

namespace tutti::engine {

class Segments {
  public:
    // A program that works with rows, columns, planes and their like has as many sets of processes.
    static constexpr size_t kHeldArenasMax = 8;

    // The arena with this identity, if this process has it open.
    std::shared_ptr<arena::Arena> find_arena(uint64_t id);
    // The leader's: the arena of this set of processes, made where there is none.
    Result<std::shared_ptr<arena::Arena>> own_arena(const std::vector<arena::ProcessId>& members);
    void keep_arena(const std::shared_ptr<arena::Arena>& arena);
    // Holds a segment for the next team of its processes; forgets the one that was not used for
    // longest. Allocates nothing.
    void hold_arena(const std::shared_ptr<arena::Arena>& arena);

    // This process's home, of the largest set of which it has one; nullptr: it has none.
    std::shared_ptr<arena::Home> home();
    // That one or the one before, which another thread's team has just replaced.
    std::shared_ptr<arena::Home> find_home(uint64_t id);
    void set_home(std::shared_ptr<arena::Home> home);

  private:
    std::mutex mutex_;
    std::map<uint64_t, std::weak_ptr<arena::Arena>> arenas_;
    std::map<std::vector<arena::ProcessId>, std::weak_ptr<arena::Arena>> led_;
    std::array<std::shared_ptr<arena::Arena>, kHeldArenasMax> held_;  // the last one used first
    std::array<std::shared_ptr<arena::Home>, 2> homes_;               // the present one first
};

}  // namespace tutti::engine
