// SPDX-License-Identifier: BSD-3-Clause
// Gives a note to the ranks of all other nodes: first to one rank of each, which passes it on there
// by the node's memory, then to the others, of whom one may look sooner.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/topo/placement.h"
#include "run/notes/notes.h"

namespace tutti::notes {

// Any thread may call any of these: what is done is done under a lock of its own.
class Broadcast {
  public:
    // Both outlive this.
    Broadcast(Notes& notes, const topo::Placement& placement, uint32_t rank)
        : notes_(notes), placement_(placement), rank_(rank) {}
    // In place of the last one. As far as there is room; go_on() does the rest. Allocates nothing.
    void begin(const Note& note);
    // Does nothing while another thread is at it.
    void go_on();
    [[nodiscard]] bool is_over();

  private:
    bool send_next();

    Notes& notes_;
    const topo::Placement& placement_;
    const uint32_t rank_;
    std::mutex mutex_;
    Note note_;
    uint32_t done_ = 0;  // of the nodes, and behind them of the ranks
    bool is_under_way_ = false;
};

}  // namespace tutti::notes
