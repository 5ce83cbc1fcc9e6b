// SPDX-License-Identifier: BSD-3-Clause
// The groups that a queue pair is attached to, and the routes by which its packets go. Inside ud/
// only.
//
// join() and leave() come from one thread at a time, while packets come and go in another.
// Invariant: a route is dropped only when all that went by it is complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/ud/promises.h"
#include "run/transport/ud/ud_sends.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {

struct UdWay final : carrier::Way {
    verbs::UdGroup group{};
    verbs::UdRoute to_all;
    std::vector<verbs::UdRoute> to_member;  // none to this one
    uint32_t packet_bytes = 0;
    uint32_t promised = 0;
};

class UdWays {
  public:
    UdWays(verbs::UdEndpoint& end, const UdSends& sends, uint32_t receives)
        : end_(end), sends_(sends), promisable_(promisable(receives)) {}

    // Any thread: not promised to any group.
    [[nodiscard]] uint32_t free_receives() const { return promisable_ - promised_; }
    // As Datagrams has them.
    Result<std::unique_ptr<UdWay>> join(const carrier::WayParams& params);
    void leave(const UdWay& way);

  private:
    struct Joined {
        verbs::UdGroup group{};
        verbs::UdRoute to_all;
        uint32_t uses = 0;
    };
    struct Retired {
        verbs::UdRoute route;
        uint64_t sends = 0;  // until so many are complete one of them may go by it
    };

    Result<std::unique_ptr<UdWay>> make(const carrier::WayParams& params);
    Result<Done> make_routes(UdWay& way, const carrier::WayParams& params);
    Result<verbs::UdRoute> join(const verbs::UdGroup& group);
    void leave(const verbs::UdGroup& group);
    void retire(const verbs::UdRoute& route) { retired_.push_back({route, sends_.added()}); }
    void drop_retired();

    verbs::UdEndpoint& end_;
    const UdSends& sends_;
    const uint32_t promisable_;
    std::atomic<uint32_t> promised_{0};
    std::vector<Joined> joined_;
    std::vector<Retired> retired_;
    size_t live_routes_ = 0;  // of all ways, at most
};

}  // namespace tutti::transport::ud
