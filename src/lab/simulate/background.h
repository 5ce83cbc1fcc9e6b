// SPDX-License-Identifier: BSD-3-Clause
// Ranks of another job that keep the links between switches busy while a call runs, as the second
// job of Kandalla, Subramoni, Panda (Topology-Aware Collectives, section 5) does: an alltoall in a
// loop of which only those exchanges are made that go from one switch to another.
//
// Foreign ranks use the network as all do, but nobody waits for them: each goes through its
// partners by pairwise exchange, for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/topo/fabric.h"
#include "run/transport/sim/world.h"

namespace tutti::simulate {

struct BackgroundLoad {
    // Of the fabric, a foreign rank on each, on two switches at least; empty: there is none.
    std::vector<uint32_t> hosts;
    uint64_t bytes = 0;  // of each message
};

// More than this is one message all the time.
inline constexpr uint64_t kBackgroundBytesMax = uint64_t{64} << 20;

// Whether anything goes from one switch to another.
bool crosses_switches(const topo::Fabric& fabric, const BackgroundLoad& load);

class Background {
  public:
    // Its ranks are the world's processes from first_process on.
    Background(transport::sim::World& world, const topo::Fabric& fabric, const BackgroundLoad& load,
               uint32_t first_process);

    [[nodiscard]] bool owns(uint32_t process) const { return process >= first_process_; }
    // All begin at the world's time.
    void start();
    // Something happened to one of them.
    void step(uint32_t process);
    // Every rank has made two exchanges: by then its messages have met the others'.
    [[nodiscard]] bool has_filled_network() const { return filling_ == 0; }
    [[nodiscard]] transport::sim::Traffic sent() const;

  private:
    // kNobody: at this turn there is nobody on another switch.
    static constexpr uint32_t kNobody = UINT32_MAX;
    struct Partners {
        uint32_t to = kNobody;
        uint32_t from = kNobody;
    };
    struct Rank {
        uint32_t turn = 0;   // it sends to the rank so many further
        uint32_t round = 0;  // how often it has gone through all
        uint64_t exchanges = 0;
        transport::Ticket send;
        transport::Ticket recv;
    };
    [[nodiscard]] Partners partners_of(uint32_t number, uint32_t turn) const;
    void exchange(uint32_t number);

    transport::sim::World& world_;
    uint32_t first_process_;
    uint32_t team_ = 0;
    uint64_t filling_ = 0;  // ranks that have made fewer
    std::vector<uint32_t> switch_of_rank_;
    std::deque<Rank> ranks_;  // tickets stay where they are
    // What all send, and where all receive: nobody reads it.
    std::vector<std::byte> source_;
    std::vector<std::byte> target_;
};

}  // namespace tutti::simulate
