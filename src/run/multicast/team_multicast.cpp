// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/team_multicast.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "run/node/slice.h"

namespace tutti::multicast {

namespace carrier = transport::carrier;

namespace {

// What carried() tells.
void add_figures(mcast::GroupCounters& sum, const mcast::GroupCounters& one) {
    sum.sent.data += one.sent.data;
    sum.sent.repairs_to_one += one.sent.repairs_to_one;
    sum.sent.repairs_to_all += one.sent.repairs_to_all;
    sum.received.gaps += one.received.gaps;
    sum.received.naks += one.received.naks;
    sum.received.repaired += one.received.repaired;
    sum.received.repaired_in_10_ms += one.received.repaired_in_10_ms;
    sum.received.repair_ns_max = std::max(sum.received.repair_ns_max, one.received.repair_ns_max);
    sum.received.duplicates += one.received.duplicates;
    sum.packets_replayed += one.packets_replayed;
    sum.packets_malformed += one.packets_malformed;
}

node::SliceHeader& header_of(const arena::Mapping& slice) {
    return *reinterpret_cast<node::SliceHeader*>(slice.base());
}

}  // namespace

std::shared_ptr<void> carriers_share(std::shared_ptr<arena::Mapping> slice) {
    std::byte* const base = slice->base();
    const auto leave = [slice = std::move(slice)](std::byte*) {
        arena::leave_slice(header_of(*slice));
    };
    return {base, leave};
}

std::byte* ring_memory(const arena::Mapping& slice) { return slice.base() + node::kPageBytes; }

TeamMulticast::TeamMulticast(ProcessMulticast& process, Parts parts, uint32_t rank,
                             const topo::Placement& placement, transport::Transport& network)
    : process_(process), parts_(std::move(parts)), has_carried_(carries()) {
    for (uint32_t one = 0; one < placement.ranks(); ++one) {
        member_of_rank_.push_back(static_cast<mcast::Member>(placement.node_of(one)));
    }
    carrier::Waker* waker = nullptr;
    if (carries()) {
        waker = &own_carrier()->waker();
    } else {
        waker = &waker_.emplace(parts_.wake_fd.get());
    }
    route_ = std::make_unique<carrier::Route>(
        ring(), *waker, carrier::RouteParams{rank, member_of_rank_, &network});
}

// One that came to nothing while its team was made has not left.
TeamMulticast::~TeamMulticast() {
    route_.reset();
    drop();
    arena::leave_slice(header_of(*parts_.slice));
}

void TeamMulticast::drop() {
    if (carries()) own_carrier()->drop(std::exchange(parts_.membership, nullptr));
}

// From the route's word on the carrier may be through with the group at any time. What earlier ones
// have left behind goes here and not later, for it may take the system long.
void TeamMulticast::leave() {
    if (std::exchange(parts_.membership, nullptr)) own_carrier()->tidy();
    route_->leave();
}

void TeamMulticast::retire() {
    if (!carries()) return;
    carrier::Carrier& carrier = *own_carrier();
    add_figures(past_, carrier.group_counters(parts_.membership));
    past_interface_ = carrier.describe(parts_.membership);
    drop();
}

void TeamMulticast::set_rate(uint64_t bytes_per_s) {
    if (carries()) own_carrier()->set_rate(parts_.membership, bytes_per_s);
}

void TeamMulticast::poll() {
    if (carrier::Carrier* carrier = own_carrier()) carrier->poll();
}

carrier::Ring TeamMulticast::ring() const { return carrier::Ring(ring_memory(*parts_.slice)); }

Bell& TeamMulticast::bell() const { return ring().header().bell; }

void TeamMulticast::sleep(Sleeper& sleeper, uint64_t end_ns, int also) {
    if (carries()) {
        own_carrier()->attend(parts_.membership, sleeper, end_ns, also);
    } else {
        sleeper.sleep(end_ns, route_->awaited());
    }
}

void TeamMulticast::hasten() {
    if (carries()) own_carrier()->hasten(parts_.membership);
}

bool TeamMulticast::is_delivered() const {
    if (!carries() || route_->has_failed()) return true;
    const carrier::RingHeader& header = ring().header();
    return header.filled.load(std::memory_order_acquire) ==
               header.sent.load(std::memory_order_acquire) &&
           own_carrier()->is_acknowledged(parts_.membership);
}

std::optional<Carried> TeamMulticast::carried() const {
    if (!has_carried_) return std::nullopt;
    carrier::Carrier& carrier = *own_carrier();
    Carried found{past_, carrier.counters(), past_interface_};
    if (carries()) {
        add_figures(found.group, carrier.group_counters(parts_.membership));
        found.interface_name = carrier.describe(parts_.membership);
    }
    return found;
}

}  // namespace tutti::multicast
