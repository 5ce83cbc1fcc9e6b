// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/sim/casts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/amounts.h"
#include "base/assert.h"

namespace tutti::transport::sim {

class World::Casts::End final : public Multicast {
  public:
    End(Casts& casts, uint32_t team, Rank rank, uint32_t process)
        : casts_(casts), team_(team), rank_(rank), process_(process) {}

    void multicast(uint64_t number, const std::byte* data, size_t bytes, Ticket& ticket) override {
        casts_.post_send(*this, number, data, bytes, ticket);
    }
    void recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                        Ticket& ticket) override {
        casts_.post_recv(*this, number, sender, data, bytes, ticket);
    }
    Sought seek(uint64_t number, std::byte* data, size_t bytes) override {
        return casts_.seek(*this, number, data, bytes);
    }
    Sought offer(uint64_t number, const std::byte* data, size_t bytes) override {
        return casts_.offer(*this, number, data, bytes);
    }
    State test(Ticket& ticket) override { return ticket.state; }
    [[nodiscard]] std::string error() const override { return error_; }

    [[nodiscard]] uint32_t team() const { return team_; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] uint32_t process() const { return process_; }
    void set_error(std::string line) { error_ = std::move(line); }
    uint64_t next = 0;
    bool is_offering = false;
    Ticket offered;

  private:
    Casts& casts_;
    uint32_t team_;
    Rank rank_;
    uint32_t process_;
    std::string error_;
};

World::Casts::Casts(World& world) : world_(world) {}
World::Casts::~Casts() = default;

Multicast& World::Casts::endpoint(uint32_t team, Rank rank) {
    if (teams_.size() <= team) teams_.resize(team + 1);
    if (!teams_[team]) open_team(team);
    return *teams_[team]->ends[rank];
}

void World::Casts::open_team(uint32_t number) {
    Team& team = *(teams_[number] = std::make_unique<Team>());
    const bool is_last = number + 1 == world_.first_endpoint_.size();
    const uint32_t first = world_.first_endpoint_[number];
    const auto end = is_last ? static_cast<uint32_t>(world_.endpoints_.size())
                             : world_.first_endpoint_[number + 1];
    team.ranks_of_host.resize(world_.cluster_.fabric.hosts());
    std::vector<uint32_t> hosts;
    for (uint32_t endpoint = first; endpoint < end; ++endpoint) {
        const Rank rank = endpoint - first;
        const uint32_t process = world_.process_of(endpoint);
        team.ends.push_back(std::make_unique<End>(*this, number, rank, process));
        std::vector<Rank>& there = team.ranks_of_host[world_.host_of(endpoint)];
        if (there.empty()) hosts.push_back(world_.host_of(endpoint));
        there.push_back(rank);
    }
    team.hosts = static_cast<uint32_t>(hosts.size());
    team.tree = std::make_unique<topo::MulticastTree>(world_.cluster_.fabric, hosts);
    team.first_cast = static_cast<uint32_t>(casts_.size());
    for (uint32_t i = 0; i < casts_of_team(); ++i) casts_.push_back(std::make_unique<Cast>());
}

bool World::Casts::is_complete(const End& end, uint64_t number) const {
    const Team& team = *teams_[end.team()];
    if (number < team.oldest) return true;
    const Cast& cast = *casts_[cast_of(team, number)];
    return cast.sender == end.rank() && cast.is_sent ? cast.has_left
                                                     : cast.shares[end.rank()].is_done;
}

// The multicast that a rank posts its part of.
uint32_t World::Casts::open(End& end, uint64_t number) {
    const Team& team = *teams_[end.team()];
    TUTTI_ASSERT(number == end.next, "each rank posts all multicasts, in order");
    TUTTI_ASSERT(
        number < kMulticastsInFlightMax || is_complete(end, number - kMulticastsInFlightMax),
        "so many multicasts are under way and no more");
    ++end.next;
    world_.work(end.process(), world_.cluster_.overhead_ns);
    const uint32_t index = cast_of(team, number);
    Cast& cast = *casts_[index];
    if (!cast.is_open) {
        cast.is_open = true;
        cast.number = number;
        cast.team = end.team();
        cast.left = static_cast<uint32_t>(team.ends.size());
        cast.shares.assign(team.ends.size(), {});
        ++under_way_;
    }
    TUTTI_ASSERT(cast.number == number, "nobody is further ahead than the ring is long");
    return index;
}

void World::Casts::post_send(End& end, uint64_t number, const std::byte* data, size_t bytes,
                             Ticket& ticket, bool is_offered) {
    TUTTI_ASSERT(bytes <= kMulticastBytesMax, "the multicast is not too long");
    const uint32_t index = open(end, number);
    Cast& cast = *casts_[index];
    TUTTI_ASSERT(!cast.is_sent, "a multicast has one sender");
    cast.is_sent = true;
    cast.is_offered = is_offered;
    cast.sender = end.rank();
    cast.send = &ticket;
    cast.source = data;
    cast.bytes = bytes;
    cast.sent_ns = world_.time_of(end.process());
    ticket.state = State::kPending;
    ++traffic_.messages;
    traffic_.bytes += bytes;
    try_depart(index);
}

void World::Casts::post_recv(End& end, uint64_t number, Rank sender, std::byte* data, size_t bytes,
                             Ticket& ticket) {
    TUTTI_ASSERT(sender != end.rank(), "nobody receives what it sends");
    const uint32_t index = open(end, number);
    Cast& cast = *casts_[index];
    Share& share = cast.shares[end.rank()];
    share = {&ticket, data, bytes, sender, true, share.is_come, false};
    ++cast.asked;
    if (bytes > world_.cluster_.eager_bytes_max) {
        cast.asked_ns = std::max(
            cast.asked_ns, world_.time_of(end.process()) + way_ns(end.team(), end.rank(), sender));
    }
    ticket.state = State::kPending;
    const bool poisons = world_.weather_.poisons && world_.weather_.has_data;
    if (poisons && bytes > 0) std::memset(data, 0xEE, bytes);
    if (share.is_come) {
        give(index, end.rank());
    } else {
        try_depart(index);
    }
}

Multicast::Sought World::Casts::seek(End& end, uint64_t number, std::byte* data, size_t bytes) {
    const Cast& cast = *casts_[cast_of(*teams_[end.team()], number)];
    const bool is_here = cast.is_open && cast.number == number && cast.shares[end.rank()].is_come;
    if (!is_here) return Multicast::Sought::kNotYet;
    Ticket ticket;
    post_recv(end, number, cast.sender, data, bytes, ticket);
    return ticket.state == State::kDone ? Multicast::Sought::kDone : Multicast::Sought::kFailed;
}

Multicast::Sought World::Casts::offer(End& end, uint64_t number, const std::byte* data,
                                      size_t bytes) {
    if (!std::exchange(end.is_offering, true)) {
        post_send(end, number, data, bytes, end.offered, true);
    }
    if (end.offered.state == State::kPending) return Multicast::Sought::kNotYet;
    end.is_offering = false;
    return Multicast::Sought::kDone;
}

// From one rank to another, without load.
uint64_t World::Casts::way_ns(uint32_t team, Rank from_rank, Rank to_rank) const {
    const uint32_t first = world_.first_endpoint_[team];
    const uint32_t from = world_.host_of(first + from_rank);
    const uint32_t to = world_.host_of(first + to_rank);
    if (from == to) return world_.cluster_.memory_ns;
    const topo::Fabric& fabric = world_.cluster_.fabric;
    return topo::route_latency_ns(fabric, topo::link_route(fabric, from, to));
}

void World::Casts::try_depart(uint32_t index) {
    Cast& cast = *casts_[index];
    if (!cast.is_sent || cast.has_departed) return;
    const Team& team = *teams_[cast.team];
    if (cast.number >= team.oldest + world_.cluster_.multicast_slots) return;
    uint64_t at_ns = std::max(cast.sent_ns, world_.now_ns_);
    if (cast.bytes > world_.cluster_.eager_bytes_max && !cast.is_offered) {
        if (cast.asked + 1 < team.ends.size()) return;
        at_ns = std::max(at_ns, cast.asked_ns);
    }
    depart(index, at_ns);
}

void World::Casts::depart(uint32_t index, uint64_t at_ns) {
    Cast& cast = *casts_[index];
    const Team& team = *teams_[cast.team];
    cast.has_departed = true;
    const uint32_t host = world_.host_of(world_.first_endpoint_[cast.team] + cast.sender);
    const uint64_t copy_ns = bytes_ns(cast.bytes, world_.cluster_.memory_bytes_per_s);
    reach_host(index, host, at_ns);
    if (team.hosts == 1) {
        world_.schedule(What::kCastLeft, index, at_ns + copy_ns);
        return;
    }
    Flight branch;
    branch.is_multicast = true;
    branch.owner = index;
    branch.link = topo::MulticastTree::first_link(host);
    branch.bytes = cast.bytes;
    branch.tail_ns = at_ns;
    world_.schedule(What::kHead, world_.flights_.add(branch), at_ns);
}

void World::Casts::go_on(const Flight& flight, uint64_t head_ns) {
    const Team& team = *teams_[casts_[flight.owner]->team];
    if (team.tree->ends_at_host(flight.link)) {
        const Cluster& cluster = world_.cluster_;
        const uint64_t known_ns = cluster.fabric.latency_ns + cluster.memory_ns;
        const uint64_t more_ns = std::max(cluster.multicast_latency_ns, known_ns) - known_ns;
        reach_host(flight.owner, topo::MulticastTree::host_of(flight.link),
                   flight.tail_ns + more_ns);
        return;
    }
    team.tree->for_each_next(flight.link, [&](uint32_t link) {
        Flight branch = flight;
        branch.link = link;
        world_.schedule(What::kHead, world_.flights_.add(branch), head_ns);
    });
}

// All of it is on a host at this time; each of its ranks gets it from there.
void World::Casts::reach_host(uint32_t index, uint32_t host, uint64_t at_ns) {
    const Cast& cast = *casts_[index];
    const Cluster& cluster = world_.cluster_;
    const uint64_t come_ns =
        at_ns + bytes_ns(cast.bytes, cluster.memory_bytes_per_s) + cluster.memory_ns;
    for (const Rank rank : teams_[cast.team]->ranks_of_host[host]) {
        if (rank == cast.sender) continue;
        Flight flight;
        flight.is_multicast = true;
        flight.owner = index;
        flight.rank = rank;
        world_.schedule(What::kCastCome, world_.flights_.add(flight), come_ns + world_.delay_ns());
    }
}

// The sender's memory is read at the last moment, as for messages.
void World::Casts::leave(uint32_t index) {
    Cast& cast = *casts_[index];
    if (world_.weather_.has_data && cast.bytes > 0 && cast.left > 1) {
        if (!cast.kept) cast.kept = std::make_unique<std::byte[]>(kMulticastBytesMax);
        std::memcpy(cast.kept.get(), cast.source, cast.bytes);
    }
    cast.has_left = true;
    cast.send->state = State::kDone;
    world_.wake(teams_[cast.team]->ends[cast.sender]->process(), world_.now_ns_);
    count_down(index);
}

void World::Casts::come(uint32_t flight) {
    const uint32_t index = world_.flights_[flight].owner;
    const Rank rank = world_.flights_[flight].rank;
    world_.flights_.release(flight);
    const Cast& cast = *casts_[index];
    Share& share = casts_[index]->shares[rank];
    share.is_come = true;
    if (share.is_asked) return give(index, rank);
    if (cast.is_offered) world_.wake(teams_[cast.team]->ends[rank]->process(), world_.now_ns_);
}

void World::Casts::give(uint32_t index, Rank rank) {
    Cast& cast = *casts_[index];
    Share& share = cast.shares[rank];
    End& end = *teams_[cast.team]->ends[rank];
    const std::byte* source = cast.has_left ? cast.kept.get() : cast.source;
    share.is_done = true;
    if (share.sender != cast.sender || share.room_bytes != cast.bytes) {
        end.set_error(
            "multicast " + std::to_string(cast.number) + " of " + std::to_string(cast.bytes) +
            " bytes from rank " + std::to_string(cast.sender) + " met a receive of " +
            std::to_string(share.room_bytes) + " bytes from rank " + std::to_string(share.sender));
        share.ticket->state = State::kFailed;
    } else {
        if (world_.weather_.has_data && cast.bytes > 0) {
            std::memcpy(share.target, source, cast.bytes);
        }
        share.ticket->state = State::kDone;
    }
    world_.wake(end.process(), world_.now_ns_);
    count_down(index);
}

// One rank less has to do with it. What is complete everywhere leaves the ring, in order, and each
// lets another one set out.
void World::Casts::count_down(uint32_t index) {
    if (--casts_[index]->left > 0) return;
    Team& team = *teams_[casts_[index]->team];
    while (true) {
        Cast& oldest = *casts_[cast_of(team, team.oldest)];
        if (!oldest.is_open || oldest.left > 0) return;
        Cast next_one;
        // Memory stays for those that come after it.
        next_one.shares = std::move(oldest.shares);
        next_one.kept = std::move(oldest.kept);
        oldest = std::move(next_one);
        --under_way_;
        ++team.oldest;
        const uint64_t admitted = team.oldest + world_.cluster_.multicast_slots - 1;
        const uint32_t next = cast_of(team, admitted);
        if (casts_[next]->is_open) try_depart(next);
    }
}

}  // namespace tutti::transport::sim
