// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/ring_waits.h"

#include "base/assert.h"

namespace tutti::transport::carrier {

bool RingWaits::begin(Rank sender) {
    const mcast::Member member = member_of_rank_[sender];
    if (member == own_) return false;
    change(member, true);
    if (ring_.must_wake()) wake();
    return true;
}

void RingWaits::watch_all(bool is_wanted) {
    if (is_wanted == watches_all_) return;
    watches_all_ = is_wanted;
    for (mcast::Member member = 0; member < ring_.members(); ++member) {
        if (member != own_) change(member, is_wanted);
    }
    if (is_wanted && ring_.must_wake()) wake();
}

void RingWaits::change(mcast::Member member, bool is_more) {
    std::atomic<uint32_t>& waiters = ring_.waiters(member);
    if (is_more) {
        waiters.fetch_add(1, std::memory_order_relaxed);
    } else {
        const uint32_t before = waiters.fetch_sub(1, std::memory_order_relaxed);
        TUTTI_ASSERT(before > 0, "a wait that was counted ends");
    }
    ring_.header().waits.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace tutti::transport::carrier
