// SPDX-License-Identifier: BSD-3-Clause
// Finds members that are gone, among those that this one waits for.
//
// Source: ours. A member that is awaited and silent is asked. One that leaves many asks in a row
// unanswered is gone. Asks are counted, so a member that was itself stopped for a while accuses no
// other on waking. A member that is not awaited may stay silent: idle groups send nothing.
//
// Bound: a member that dies is named by one that waits for it at the latest
//     5/4 ask_ns_first + asks_max * ask_ns_again
// after it was last heard or the waiting began (3.8 s by default), as long as the waiting member
// runs.
#pragma once

#include <cstdint>
#include <vector>

#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

class Watch {
  public:
    explicit Watch(const Params& params);

    // One reason more or less to wait for a member.
    void wait(uint64_t now_ns, Member member);
    void end_wait(Member member);
    // All get another chance.
    void restart(uint64_t now_ns);
    void heard(uint64_t now_ns, Member member) {
        peers_[member].heard_ns = now_ns;
        peers_[member].asks = 0;
    }

    [[nodiscard]] uint64_t next_ns() const { return next_ns_; }
    enum class Finding : uint8_t { kNothing, kAsk, kDead };
    // The next member about which something is to be done by now; call until it finds nothing.
    Finding check(uint64_t now_ns, Member& member);
    // The last one found was not sent.
    void take_back_ask(Member member) {
        if (peers_[member].asks > 0) --peers_[member].asks;
    }
    [[nodiscard]] uint32_t asks(Member member) const { return peers_[member].asks; }
    [[nodiscard]] uint32_t reasons(Member member) const { return peers_[member].reasons; }

  private:
    struct Peer {
        uint32_t reasons = 0;
        uint32_t asks = 0;
        uint64_t heard_ns = 0;
        uint64_t check_ns = kNever;
    };

    // Each member that is awaited is looked at, in time, and no other.
    [[nodiscard]] bool is_sound() const;

    Timing timing_;
    std::vector<Peer> peers_;
    uint64_t next_ns_ = kNever;
};

}  // namespace tutti::mcast
