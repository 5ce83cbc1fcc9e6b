// SPDX-License-Identifier: BSD-3-Clause
// Which packets of a group need service at once when they arrive. Only these wake a host on which
// no rank waits in the library.
//
// Source: Kini 2003, 4.2.5 (a NAK is sent with the solicited flag, so that it is served while the
// program computes); ours is that all but the bulk of a message's data are such.
//
// Anything that a rank or another host may wait for comes with an urgent packet: a message is
// complete with its last one or with a repair, and all else that is sent is urgent anyway. The one
// exception, a last packet that overtakes others, its receiver sees (mcast::Group::is_missing()).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::transport::carrier {

class Urgency {
  public:
    // Acknowledgements come at every quarter of a window at the latest, or the sender would have
    // to stop and wait: so a receiver must be awake in each.
    explicit Urgency(uint32_t window_packets) : quiet_max_(std::max(window_packets / 4, 1u)) {}

    // Of the next packet that leaves, before it is sealed.
    bool is_urgent(std::span<const std::byte> packet);

  private:
    uint32_t quiet_max_;
    uint32_t data_ = 0;  // since the last one that was urgent
};

}  // namespace tutti::transport::carrier
