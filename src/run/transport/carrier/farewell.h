// SPDX-License-Identifier: BSD-3-Clause
// The byes of a group: each member says one when its client has left, and hears those of the others
// (docs/protocol/multicast.md, "Leaving"). Under the carrier's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/mcast/group.h"

namespace tutti::transport::carrier {

class Farewell {
  public:
    // Takes a team of the group, which outlives this. Throws std::bad_alloc.
    explicit Farewell(mcast::Group& group);
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;

    [[nodiscard]] static bool is_bye(const mcast::Data& data);
    // Whether a bye may be so.
    [[nodiscard]] bool may_come(const mcast::Data& data) const {
        return data.total == said_.size();
    }
    // A packet has come, perhaps a bye.
    void expect() { must_look_ = true; }
    // True where it has looked, since a packet came.
    bool look(uint64_t now_ns);
    // Says the own one, unless it has; not where there is no room for it now.
    void say(uint64_t now_ns);
    [[nodiscard]] bool has_said() const { return own_.is_taken; }
    // All others have said theirs.
    [[nodiscard]] bool has_heard_all() const { return left_ == 0; }

  private:
    void post(uint64_t now_ns);

    mcast::Group& group_;
    std::array<std::byte, 1> said_{};
    mcast::Outgoing own_;
    std::array<std::byte, 1> heard_{};
    mcast::PostId post_;       // of the next one, whosever it is
    std::vector<bool> is_of_;  // by member: it has come
    uint32_t left_;
    bool must_look_ = false;
};

}  // namespace tutti::transport::carrier
