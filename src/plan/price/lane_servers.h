// SPDX-License-Identifier: BSD-3-Clause
// What serves one lane while it is followed, one operation after the other: the processors of its
// participants, the links between their hosts, and multicasts. Inside price/ only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plan/price/lanes.h"
#include "plan/price/link_buckets.h"

namespace tutti::price {

// Does one thing after the other.
class Server {
  public:
    // Behind what it does already; when it is done.
    uint64_t serve(uint64_t ready_ns, uint64_t ns) {
        if (ns == 0) return ready_ns;
        const uint64_t begin_ns = std::max(ready_ns, busy_until_ns_);
        begun_ns_ = std::min(begun_ns_, begin_ns);
        busy_until_ns_ = begin_ns + ns;
        load_ns_ += ns;
        return busy_until_ns_;
    }
    [[nodiscard]] uint64_t busy_until_ns() const { return busy_until_ns_; }
    [[nodiscard]] Work work() const {
        if (load_ns_ == 0) return {};
        return {.load_ns = load_ns_, .window_ns = busy_until_ns_ - begun_ns_};
    }
    // Of both together.
    [[nodiscard]] Server with(const Server& other) const;

  private:
    uint64_t begun_ns_ = UINT64_MAX;
    uint64_t busy_until_ns_ = 0;
    uint64_t load_ns_ = 0;
};

class LaneServers {
  public:
    LaneServers(const Network& network, const NodeParameters& node, const Lanes& lanes);

    // A participant posts one message, or works so long where it would post; when it has.
    uint64_t post(sched::Rank rank, uint64_t ready_ns) {
        return posters_[rank].serve(ready_ns, network_.message_ns);
    }
    uint64_t post(sched::Rank rank, uint64_t ready_ns, uint64_t ns) {
        return posters_[rank].serve(ready_ns, ns);
    }
    // It folds and copies.
    uint64_t move(sched::Rank rank, uint64_t ready_ns, uint64_t ns) {
        return movers_[rank].serve(ready_ns, ns);
    }
    uint64_t fold(sched::Rank rank, uint64_t ready_ns, uint64_t bytes);
    uint64_t copy(sched::Rank rank, uint64_t ready_ns, uint64_t bytes);
    [[nodiscard]] uint64_t posting_until_ns(sched::Rank rank) const {
        return posters_[rank].busy_until_ns();
    }

    // When the last byte of a message has left, and when it has come.
    struct Passed {
        uint64_t left_ns;
        uint64_t come_ns;
    };
    Passed pass(sched::Rank from, sched::Rank to, uint64_t bytes, uint64_t at_ns);
    // How long nothing is under way.
    [[nodiscard]] uint64_t way_ns(sched::Rank from, sched::Rank to) const;

    // When a multicast has come to all hosts.
    uint64_t pass_multicast(sched::Rank from, uint64_t bytes, uint64_t at_ns);
    // The same of a short one, which is not followed along links.
    uint64_t pass_short_multicast(uint64_t bytes, uint64_t at_ns);

    // What they have done.
    [[nodiscard]] const Links& links() const { return links_; }
    [[nodiscard]] Work multicasts() const { return multicast_.work(); }
    // Both of its parts, which one lane alone may leave waiting for each other.
    [[nodiscard]] Work processor(sched::Rank rank) const {
        return posters_[rank].with(movers_[rank]).work();
    }

  private:
    const std::vector<uint32_t>& links_from(uint32_t host);

    const Network& network_;
    const NodeParameters& node_;
    const Lanes& lanes_;
    Links links_;
    std::unordered_map<uint32_t, std::vector<uint32_t>> links_from_;  // by host
    // By participant: its processor, as it posts messages and as it folds and copies. Messages are
    // posted in between, so these are two.
    std::vector<Server> posters_;
    std::vector<Server> movers_;
    Server multicast_;
};

}  // namespace tutti::price
