// SPDX-License-Identifier: BSD-3-Clause
// One group of a carrier: the protocol's machine, its client, and where its packets go. Under the
// carrier's lock.
//
// Source: ours; docs/protocol/multicast.md, "Leaving". When its client has left, the member says
// bye in a message of its own. Until it has said that and has all members' byes the client stays:
// the group may still fail, and ranks elsewhere then need those here. The group itself outlives the
// client: it is over when all have acknowledged its own bye and a second has passed in which it
// answered for the others, or when it has failed and said so. Given up before its bye it never says
// it; then no member has all byes, and every client stays until the group has failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "run/mcast/group.h"
#include "run/transport/carrier/carrier.h"
#include "run/transport/carrier/code.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/carrier/farewell.h"
#include "run/transport/carrier/urgency.h"
#include "run/transport/faulty/packets.h"

namespace tutti::transport::carrier {

class Membership {
  public:
    // Errors: a key that cannot be used, no memory.
    static Result<std::unique_ptr<Membership>> create(const JoinParams& params, const Path& path,
                                                      const FaultPlan& faults);
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    [[nodiscard]] uint32_t number() const { return group_->params().group; }
    [[nodiscard]] const Key& key() const { return key_; }
    [[nodiscard]] bool shares_host() const { return shares_host_; }
    // Once, before it is used.
    void set_way(std::unique_ptr<Way> way) { way_ = std::move(way); }
    [[nodiscard]] const Way& way() const { return *way_; }
    // When it is not used any more.
    std::unique_ptr<Way> take_way() { return std::move(way_); }
    mcast::Group& group() { return *group_; }
    [[nodiscard]] uint64_t faults() const;

    void make_client(const JoinParams& params) {
        memory_ = params.memory;
        client_ = params.make_client(*group_);
    }
    // None when all members have left.
    Client* client() { return client_.get(); }

    void start_probe(uint64_t now_ns);
    // Probes may come before this member has begun itself.
    [[nodiscard]] bool may_probe() const { return !group_->prober().is_done(); }
    [[nodiscard]] ProbeState probe_state() const;

    // A packet whose code is right.
    void on_packet(uint64_t now_ns, uint64_t arrival_ns, std::span<const std::byte> packet);
    void advance(uint64_t now_ns);
    [[nodiscard]] uint64_t next_deadline() const;
    // Writes the next packet with its code, to whom it goes, and whether the receiver must look at
    // once.
    size_t next_packet(uint64_t now_ns, std::span<std::byte> out, mcast::Member& to,
                       bool& is_urgent);

    // Its client has left. The process that joined must not use it any more: it ends by itself.
    [[nodiscard]] bool is_leaving() const { return is_leaving_; }
    // Left by all, and all know: it only answers once more for those who have not heard it.
    [[nodiscard]] bool is_done() const { return is_done_; }
    [[nodiscard]] bool is_over(uint64_t now_ns) const { return is_leaving_ && now_ns >= over_ns_; }

  private:
    Membership(const JoinParams& params, const Path& path, std::unique_ptr<mcast::Group> group);
    [[nodiscard]] bool may_come(const mcast::Data& data) const;
    void advance_leaving(uint64_t now_ns);
    void try_end_client(uint64_t now_ns);

    std::unique_ptr<mcast::Group> group_;
    std::shared_ptr<void> memory_;  // the client's; goes after it
    std::unique_ptr<Client> client_;
    Key key_;
    std::unique_ptr<Way> way_;
    std::optional<Urgency> urgency_;  // where the fabric marks packets
    bool shares_host_ = false;
    uint64_t bytes_per_s_max_ = 0;  // of the links; 0: not known
    std::optional<PacketFaults> faults_;
    uint64_t packets_ = 0;     // that came, counted for fail_after_
    uint64_t fail_after_ = 0;  // as FaultPlan::fail_after
    PacketFaults::Sink sink_;
    uint64_t now_ns_ = 0;      // of the packet being handled
    uint64_t arrival_ns_ = 0;  // the same

    bool is_leaving_ = false;
    bool is_done_ = false;
    Farewell farewell_;
    uint64_t over_ns_ = mcast::kNever;
};

}  // namespace tutti::transport::carrier
