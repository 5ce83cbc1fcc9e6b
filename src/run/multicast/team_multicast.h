// SPDX-License-Identifier: BSD-3-Clause
// The hardware multicast of a team across hosts: this rank's end of the node's ring and, in the
// process that carries the packets of its node, the group.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bell.h"
#include "base/multicast_networks.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "run/arena/arena.h"
#include "run/mcast/group.h"
#include "run/mcast/packet.h"
#include "run/multicast/process_multicast.h"
#include "run/transport/carrier/carrier.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/route.h"
#include "run/transport/carrier/waker.h"
#include "tutti/tutti.h"

namespace tutti::multicast {

class TeamMulticast;

// Where the ring stands in a slice: behind the node::SliceHeader.
std::byte* ring_memory(const arena::Mapping& slice);

// The carrier's share in the slice (transport::carrier::JoinParams::memory): keeps it, and leaves
// it at the end.
std::shared_ptr<void> carriers_share(std::shared_ptr<arena::Mapping> slice);

// How making it went.
struct MulticastOutcome {
    std::unique_ptr<TeamMulticast> route;
    // Without: why; the same text on all members. Empty: nobody wanted it.
    std::string obstacle;
};

// What two broadcasts, a short and a long one, take by one network (network_choice.h); 0: it was
// not compared with another.
struct Predicted {
    uint64_t short_ns = 0;
    uint64_t long_ns = 0;
    bool operator==(const Predicted&) const = default;
};

// What all members of a team agree on, and say in reports.
struct AgreedMulticast {
    uint32_t group = 0;
    transport::carrier::Protection protection = transport::carrier::Protection::kAll;
    // By network, where several were tried: why it does not carry this, unless it was compared; and
    // of those that were compared, what each was predicted to take.
    std::array<std::string, kMulticastNetworks.size()> obstacles;
    std::array<Predicted, kMulticastNetworks.size()> predicted;
    // Of two that work: its trial could not tell a latency or a rate, so they were not compared.
    std::array<bool, kMulticastNetworks.size()> lacks_prediction{};
    std::string address;
    uint64_t bytes_per_s = 0;
    uint64_t code_bytes_per_s = 0;  // no stream is faster
    uint64_t round_trip_ns = 0;     // the longest of all
    uint64_t latency_ns = 0;        // of the slowest host at its best, one way
    sched::Speed message;           // between two hosts; 0 where it was not measured
};

// What the process that carries a host's packets has counted.
struct Carried {
    mcast::GroupCounters group;
    transport::carrier::CarrierCounters all;  // of the whole process
    std::string interface_name;               // with its address and the bytes of a packet
};

class TeamMulticast {
  public:
    struct Parts {
        // In which the ring stands, behind a node::SliceHeader.
        std::shared_ptr<arena::Mapping> slice;
        size_t network = 0;                                    // that carries it, by number
        Fd wake_fd;                                            // of a rank that does not carry
        transport::carrier::Membership* membership = nullptr;  // of the one that does
    };
    // network: the way on when the group has failed; outlives this.
    TeamMulticast(ProcessMulticast& process, Parts parts, uint32_t rank,
                  const topo::Placement& placement, transport::Transport& network);
    TeamMulticast(const TeamMulticast&) = delete;
    TeamMulticast& operator=(const TeamMulticast&) = delete;
    ~TeamMulticast();

    [[nodiscard]] AgreedMulticast& agreed() { return agreed_; }
    [[nodiscard]] transport::carrier::Route& route() { return *route_; }
    [[nodiscard]] const transport::carrier::Route& route() const { return *route_; }
    [[nodiscard]] bool carries() const { return parts_.membership != nullptr; }

    // Nobody has used it nor will: the group goes at once.
    void drop();
    // The team is freed on this rank; waits for nobody. The group goes by itself when the others
    // have left as well, and this should stay until the route is not needed any more.
    void leave();
    // The group has failed for all members and nobody misses anything: it goes at once. carried()
    // still says what it did.
    void retire();
    // This comes after `before`, which has been retired: carried() counts what both did.
    void follow(const TeamMulticast& before) { past_ = before.past_; }
    // At which this node sends; on ranks that do not carry it does nothing.
    void set_rate(uint64_t bytes_per_s);
    // Does what is due for all groups of this process, if no thread does.
    void poll();
    // Of the ranks here that wait for the route.
    [[nodiscard]] Bell& bell() const;
    // At most until end_ns, monotonic; on the rank that carries in the service's stead, and there
    // the fd wakes it, too (-1: none).
    void sleep(Sleeper& sleeper, uint64_t end_ns, int also = -1);
    // A rank is about to wait for is_delivered().
    void hasten();
    // All that this node has sent is with all members, as far as this rank knows: the one that
    // carries does, the others say yes. Of a group that has failed nothing more is expected.
    [[nodiscard]] bool is_delivered() const;
    // Nothing of a process that has never carried its host's packets.
    [[nodiscard]] std::optional<Carried> carried() const;
    [[nodiscard]] size_t network() const { return parts_.network; }

  private:
    [[nodiscard]] transport::carrier::Ring ring() const;
    // Of this process, for the network of this team.
    [[nodiscard]] transport::carrier::Carrier* own_carrier() const {
        return process_.carrier(parts_.network);
    }

    ProcessMulticast& process_;
    Parts parts_;
    const bool has_carried_;      // or does
    mcast::GroupCounters past_;   // of groups that are gone
    std::string past_interface_;  // of the last of them
    std::vector<mcast::Member> member_of_rank_;
    std::optional<transport::carrier::PipeWaker> waker_;
    std::unique_ptr<transport::carrier::Route> route_;
    AgreedMulticast agreed_;
};

}  // namespace tutti::multicast
