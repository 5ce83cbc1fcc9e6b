// SPDX-License-Identifier: BSD-3-Clause
// The bundles that a leader sends to leaders of other nodes, and receives from them: a bounded
// number under way each way.
//
// A leader sends in the order of its distances to other nodes, and receives in the order of theirs
// to it. Of all bundles that have not come take one of the least distance: at both ends those
// before it are over, so that both have posted it. So nobody waits in a circle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/exec/call_context.h"

namespace tutti::exec {

class BundleFlights {
  public:
    // Between this leader and that of another node.
    struct Way {
        sched::Rank peer = 0;
        const std::byte* out = nullptr;
        size_t out_bytes = 0;  // 0: nothing is sent
        std::byte* in = nullptr;
        size_t in_bytes_max = 0;  // 0: nothing comes
    };

    explicit BundleFlights(CallContext& call) : call_(call) {}
    // Memory for so many ways. May throw std::bad_alloc; then it may be tried again.
    void reserve(uint32_t ways) { ways_.reserve(ways); }
    // The next call.
    void clear();
    // By the distance to the other node.
    void add(const Way& way) { ways_.push_back(way); }
    [[nodiscard]] const std::vector<Way>& ways() const { return ways_; }

    // Of this operation.
    void begin(Ref ref);
    // True where something came or left. The call may have failed.
    bool step();
    [[nodiscard]] bool have_all_come() const { return in_.under_way == 0; }
    [[nodiscard]] bool have_all_left() const { return out_.under_way == 0; }

    // Leaders whose bundles have not come, or not left.
    void add_waits(std::vector<sched::Rank>& ranks) const;
    void cancel();

  private:
    static constexpr size_t kFlights = 16;
    struct Flight {
        sched::Rank peer = 0;
        bool is_under_way = false;
        transport::Ticket ticket;
    };
    struct Direction {
        size_t next = 0;  // of the ways, from the first one or from the last one
        uint32_t under_way = 0;
        std::array<Flight, kFlights> flights;
    };

    bool post(Direction& direction, bool sends);
    [[nodiscard]] const Way* next_way(Direction& direction, bool sends) const;
    bool test(Direction& direction);

    CallContext& call_;
    transport::MessageId id_;
    std::vector<Way> ways_;
    Direction out_;
    Direction in_;
};

}  // namespace tutti::exec
