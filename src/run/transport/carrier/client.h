// SPDX-License-Identifier: BSD-3-Clause
// The user of a carrier's group, which writes messages into it and takes them out. For a team that
// is the Feed between the group and the node's ring.
#pragma once

#include <cstdint>

#include "run/mcast/packet.h"

namespace tutti::transport::carrier {

// Called under the carrier's lock.
class Client {
  public:
    // Releases whatever it has posted in the group, which outlives it.
    virtual ~Client() = default;
    // Moves what can be moved, both ways; after packets came in and after others asked for it.
    virtual void advance(uint64_t now_ns) = 0;
    // Of a packet of the client's team: a member may send such a one.
    [[nodiscard]] virtual bool may_come(const mcast::Data& data) const = 0;
    // After advance(): no rank here writes or reads any more, and the group has taken all that was
    // to be sent, or never will.
    [[nodiscard]] virtual bool has_left() const = 0;
    // Then, the last call: nobody reads or writes any more on any node.
    virtual void end() = 0;
    // From now on others must wake the carrier. False: there is something to do after all.
    virtual bool may_sleep() = 0;
    // After may_sleep(): a rank of this client is about to sleep in the service's stead, and must
    // be woken by all that it may wait for.
    virtual void wake_for_all() = 0;
    // The carrier looks by itself from now on.
    virtual void wake_up() = 0;
};

}  // namespace tutti::transport::carrier
