// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells the service of its node: that there is something to do, and for which members
// it waits, whose silence counts as long as it does. Inside carrier/ only.
//
// Source: ours; docs/protocol/multicast.md. In the node's shared memory each member has a count of
// the waits for it. Invariant: what a rank has added there it takes away again, once.
#pragma once

#include <cstdint>
#include <span>

#include "run/mcast/packet.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/waker.h"

namespace tutti::transport::carrier {

class RingWaits {
  public:
    // member_of_rank must outlive it.
    RingWaits(Ring ring, Waker& waker, std::span<const mcast::Member> member_of_rank, Rank own)
        : ring_(ring), waker_(waker), member_of_rank_(member_of_rank), own_(member_of_rank[own]) {}

    void wake() {
        ++wakes_;
        waker_.wake();
    }
    void wake_thread() {
        ++wakes_;
        waker_.wake_thread();
    }
    [[nodiscard]] uint64_t wakes() const { return wakes_; }

    // The rank has waited long for something of `sender`. False: that needs no word, for own node's
    // ranks share its fate; else end() follows.
    bool begin(Rank sender);
    // The service may learn of it when it looks for another reason.
    void end(Rank sender) { change(member_of_rank_[sender], false); }
    // For all nodes, until this is false again.
    void watch_all(bool is_wanted);

  private:
    void change(mcast::Member member, bool is_more);

    Ring ring_;
    Waker& waker_;
    std::span<const mcast::Member> member_of_rank_;
    const mcast::Member own_;
    bool watches_all_ = false;
    uint64_t wakes_ = 0;
};

}  // namespace tutti::transport::carrier
