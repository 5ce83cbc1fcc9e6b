// SPDX-License-Identifier: BSD-3-Clause
// What cache lines cost that cores pass to each other, by a directory of who has a copy. Times are
// virtual nanoseconds.
//
// After Ramos and Hoefler, "Modeling Communication in Cache-Coherent SMP Systems" (HPDC 2013,
// Section 3): a copy costs what the state of the line and the distance to whoever has it say, and
// readers of one line stand in a queue. Differs from the paper: a read is served by the nearest
// copy; stores leave through a buffer in their order, so that a writer goes on at once and others
// see the line when it has been taken from them; and a core has several reads under way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace tutti::test {

// Processors that share caches, these within domains (quadrants of a socket), these within sockets.
struct Machine {
    const char* name = "";
    uint32_t cache_cores = 1;
    uint32_t domain_cores = 1;
    uint32_t socket_cores = 1;
    uint32_t cores = 1;
    // One way, from core to core: within a cache, a domain, a socket, and between sockets.
    std::array<uint32_t, 4> latency_ns{};

    [[nodiscard]] uint32_t between(uint32_t one, uint32_t other) const {
        if (one / cache_cores == other / cache_cores) return latency_ns[0];
        if (one / domain_cores == other / domain_cores) return latency_ns[1];
        if (one / socket_cores == other / socket_cores) return latency_ns[2];
        return latency_ns[3];
    }
    // For hwloc.
    [[nodiscard]] std::string synthetic() const;
};

// What the table of a machine does not say.
struct CoreModel {
    uint32_t hit_ns = 1;
    // Reads of a core under way at once: of lines of one payload, or flags found set one after the
    // other. The code asks for so many lines ahead, too (write_slot()).
    uint32_t reads_ahead = 8;
    // A line hands out one copy after the other.
    uint32_t serve_ns = 5;
};

class CacheLines {
  public:
    CacheLines(const Machine& machine, const CoreModel& model)
        : machine_(machine), model_(model), cores_(machine.cores) {}

    // What was written there last can be seen from then on; a core that reads earlier waits for it.
    [[nodiscard]] uint64_t visible_at(uint32_t core, size_t line) const;
    // When a core that reads at `now` has the line. `now` of a core's accesses only grows.
    uint64_t read(uint32_t core, size_t line, uint64_t now);
    // A core writes at `now`; it goes on after hit_ns. Says who loses a copy, and when.
    struct Taken {
        uint64_t at = 0;
        std::vector<uint32_t> from;  // cores
    };
    Taken write(uint32_t core, size_t line, uint64_t now);
    // The core has waited: what it reads next is read alone.
    void pause(uint32_t core) { cores_[core].arrivals.clear(); }

  private:
    struct Copy {
        uint32_t core = 0;
        uint64_t since = 0;
    };
    struct Line {
        std::vector<Copy> copies;
        uint64_t visible_at = 0;  // what was written last
        uint64_t free_at = 0;     // for the next reader
    };
    struct Core {
        std::deque<uint64_t> arrivals;  // of the last reads_ahead reads since it waited
        uint64_t stored_at = 0;         // its last store has left the buffer
    };

    const Machine machine_;
    const CoreModel model_;
    std::unordered_map<size_t, Line> lines_;
    std::vector<Core> cores_;
};

}  // namespace tutti::test
