// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/sim/world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/amounts.h"
#include "base/assert.h"
#include "run/transport/sim/casts.h"

namespace tutti::transport::sim {

class World::Endpoint final : public Transport {
  public:
    Endpoint(World& world, uint32_t process, uint32_t index, uint32_t first)
        : world_(world), process_(process), index_(index), first_(first) {}

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override {
        world_.post_send(*this, peer, id, data, bytes, ticket);
    }
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override {
        world_.post_recv(*this, peer, id, data, bytes, ticket);
    }
    State test(Ticket& ticket) override { return ticket.state; }
    void cancel(Ticket& ticket) override { world_.cancel_recv(ticket); }
    // Messages are matched by their whole names, and nothing was sent for it.
    [[nodiscard]] bool can_withdraw_receives() const override { return true; }
    [[nodiscard]] State withdraw_receive(Rank, const MessageId&, const std::byte*, size_t,
                                         Ticket& ticket) override {
        world_.cancel_recv(ticket);
        return State::kDone;
    }
    [[nodiscard]] std::string error() const override { return error_; }

    [[nodiscard]] uint32_t process() const { return process_; }
    [[nodiscard]] uint32_t index() const { return index_; }
    [[nodiscard]] uint32_t endpoint_of(Rank peer) const { return first_ + peer; }
    [[nodiscard]] Rank rank_of(uint32_t endpoint) const { return endpoint - first_; }
    void set_error(std::string line) { error_ = std::move(line); }
    Traffic sent;

  private:
    World& world_;
    uint32_t process_;
    uint32_t index_;
    uint32_t first_;  // the endpoint of the team's rank 0
    std::string error_;
};

World::World(const Cluster& cluster, std::span<const uint32_t> host_of_process,
             const Weather& weather)
    : cluster_(cluster),
      weather_(weather),
      prng_(weather.seed),
      processes_(host_of_process.size()),
      links_(cluster.fabric.links()),
      casts_(std::make_unique<Casts>(*this)) {
    TUTTI_ASSERT(cluster.is_valid(), "hosts, switches and what they take");
    for (size_t i = 0; i < processes_.size(); ++i) {
        processes_[i].host = host_of_process[i];
        TUTTI_ASSERT(host_of_process[i] < cluster.fabric.hosts(), "the process is on a host");
    }
}

World::~World() = default;

uint32_t World::add_team(std::span<const uint32_t> process_of_rank) {
    const auto first = static_cast<uint32_t>(endpoints_.size());
    for (const uint32_t process : process_of_rank) {
        TUTTI_ASSERT(process < processes_.size(), "the process exists");
        const auto index = static_cast<uint32_t>(endpoints_.size());
        endpoints_.push_back(std::make_unique<Endpoint>(*this, process, index, first));
    }
    first_endpoint_.push_back(first);
    return static_cast<uint32_t>(first_endpoint_.size() - 1);
}

Transport& World::endpoint(uint32_t team, Rank rank) {
    return *endpoints_[first_endpoint_[team] + rank];
}

Multicast& World::multicast_endpoint(uint32_t team, Rank rank) {
    return casts_->endpoint(team, rank);
}

const Traffic& World::multicast_traffic() const { return casts_->traffic(); }

size_t World::under_way() const { return messages_.under_way() + casts_->under_way(); }

const Traffic& World::sent(uint32_t team, Rank rank) const {
    return endpoints_[first_endpoint_[team] + rank]->sent;
}

uint64_t World::time_of(uint32_t process) const {
    return std::max(now_ns_, processes_[process].busy_until_ns);
}

void World::work(uint32_t process, uint64_t ns) {
    processes_[process].busy_until_ns = time_of(process) + ns;
}

void World::schedule(What what, uint32_t index, uint64_t at_ns) {
    const uint64_t tie = weather_.shuffles ? prng_.next() : ties_++;
    events_.push({at_ns, tie, index, what});
}

void World::wake(uint32_t process, uint64_t at_ns) {
    Process& sleeper = processes_[process];
    const uint64_t due_ns = std::max(at_ns, time_of(process));
    if (sleeper.is_woken && sleeper.wake_ns <= due_ns) return;
    sleeper.is_woken = true;
    sleeper.wake_ns = due_ns;
    schedule(What::kWake, process, due_ns);
}

uint32_t World::process_of(uint32_t endpoint) const { return endpoints_[endpoint]->process(); }

uint32_t World::host_of(uint32_t endpoint) const { return processes_[process_of(endpoint)].host; }

// Of a message without load.
uint64_t World::way_ns(const Message& message) const {
    const uint32_t from = host_of(message.key.from);
    const uint32_t to = host_of(message.key.to);
    if (from == to) return cluster_.memory_ns;
    return topo::route_latency_ns(cluster_.fabric, topo::link_route(cluster_.fabric, from, to));
}

uint64_t World::delay_ns() {
    if (weather_.delay_ns_max == 0) return 0;
    const uint64_t delay = prng_.below(weather_.delay_ns_max + 1);
    return prng_.below(16) == 0 ? 16 * delay : delay;
}

// Both sides know how long the message is. Where they differ the receive fails, unless there may be
// more room.
bool World::refuse_size(Message& message) {
    if (!message.is_sent || !message.is_asked || message.bytes == message.room_bytes) return false;
    if (message.key.id.may_be_short && message.bytes < message.room_bytes) return false;
    Endpoint& to = *endpoints_[message.key.to];
    to.set_error("a message of " + std::to_string(message.bytes) + " bytes from rank " +
                 std::to_string(to.rank_of(message.key.from)) + " met a receive of " +
                 std::to_string(message.room_bytes) + " bytes");
    message.recv->state = State::kFailed;
    message.recv = nullptr;
    message.target = nullptr;
    wake(to.process(), now_ns_);
    return true;
}

void World::post_send(Endpoint& from, Rank peer, const MessageId& id, const std::byte* data,
                      size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(bytes <= kMessageBytesMax, "the message is not too long");
    work(from.process(), cluster_.overhead_ns);
    const uint64_t at_ns = time_of(from.process());
    const uint32_t index = messages_.find_or_make({from.index(), from.endpoint_of(peer), id});
    Message& message = messages_[index];
    TUTTI_ASSERT(!message.is_sent, "no two messages of one name are under way");
    message.is_sent = true;
    message.send = &ticket;
    message.source = data;
    message.bytes = bytes;
    message.is_rendezvous = bytes > cluster_.eager_bytes_max;
    ticket.state = State::kPending;
    const bool is_local = host_of(message.key.from) == host_of(message.key.to);
    for (Traffic* traffic : {&from.sent, is_local ? &memory_traffic_ : &network_traffic_}) {
        ++traffic->messages;
        traffic->bytes += bytes;
    }
    refuse_size(message);
    if (message.is_rendezvous) {
        schedule(What::kRequest, index, at_ns + way_ns(message));
    } else {
        depart(index, at_ns);
    }
}

void World::post_recv(Endpoint& to, Rank peer, const MessageId& id, std::byte* data, size_t bytes,
                      Ticket& ticket) {
    work(to.process(), cluster_.overhead_ns);
    const uint32_t index = messages_.find_or_make({to.endpoint_of(peer), to.index(), id});
    Message& message = messages_[index];
    TUTTI_ASSERT(!message.is_asked, "no two receives of one name are under way");
    message.is_asked = true;
    message.recv = &ticket;
    ticket.number = index;
    message.target = data;
    message.room_bytes = bytes;
    message.asked_ns = time_of(to.process());
    ticket.state = State::kPending;
    if (weather_.poisons && weather_.has_data && bytes > 0) std::memset(data, 0xEE, bytes);
    refuse_size(message);
    if (message.is_requested) depart(index, message.asked_ns + way_ns(message));
    if (message.is_arrived) deliver(index);
}

// Nobody sends it: else it stays.
void World::cancel_recv(const Ticket& ticket) {
    const auto index = static_cast<uint32_t>(ticket.number);
    if (messages_[index].recv == &ticket && !messages_[index].is_sent) messages_.release(index);
}

void World::depart(uint32_t index, uint64_t at_ns) {
    Message& message = messages_[index];
    const uint32_t from = host_of(message.key.from);
    const uint32_t to = host_of(message.key.to);
    if (from == to) {
        const uint64_t copied_ns = at_ns + bytes_ns(message.bytes, cluster_.memory_bytes_per_s);
        if (!message.is_rendezvous) schedule(What::kSent, index, copied_ns);
        schedule(What::kArrive, index, copied_ns + cluster_.memory_ns + delay_ns());
        return;
    }
    message.route = topo::link_route(cluster_.fabric, from, to);
    Flight flight;
    flight.owner = index;
    flight.link = message.route[0];
    flight.bytes = message.bytes;
    flight.tail_ns = at_ns;
    schedule(What::kHead, flights_.add(flight), at_ns);
}

void World::head_comes(uint32_t flight) {
    const uint32_t number = flights_[flight].link;
    Link& link = links_[number];
    if (link.first_waiting == kNone && link.busy_until_ns <= now_ns_) {
        take_link(flight);
        return;
    }
    if (link.first_waiting == kNone) {
        link.first_waiting = flight;
        schedule(What::kFree, number, link.busy_until_ns);
    } else {
        flights_[link.last_waiting].waiting = flight;
    }
    link.last_waiting = flight;
}

void World::take_link(uint32_t index) {
    Flight& flight = flights_[index];
    Link& link = links_[flight.link];
    const uint64_t own_ns =
        now_ns_ + bits_ns(flight.bytes, cluster_.fabric.link_bits_per_s(flight.link));
    link.busy_until_ns = std::max(own_ns, flight.tail_ns);
    ++link.traffic.messages;
    link.traffic.bytes += flight.bytes;
    const uint64_t latency_ns = cluster_.fabric.link_latency_ns(flight.link);
    flight.tail_ns = link.busy_until_ns + latency_ns;
    if (flight.hop++ == 0) {
        if (flight.is_multicast) {
            schedule(What::kCastLeft, flight.owner, link.busy_until_ns);
        } else if (!messages_[flight.owner].is_rendezvous) {
            schedule(What::kSent, flight.owner, link.busy_until_ns);
        }
    }
    go_on(index, now_ns_ + latency_ns);
}

// To the next link, or what is behind the last one; the head is there at this time.
void World::go_on(uint32_t index, uint64_t head_ns) {
    Flight& flight = flights_[index];
    if (flight.is_multicast) {
        const Flight branch = flight;
        flights_.release(index);
        casts_->go_on(branch, head_ns);
        return;
    }
    const topo::LinkRoute& route = messages_[flight.owner].route;
    if (flight.hop < route.hops()) {
        flight.link = route[flight.hop];
        schedule(What::kHead, index, head_ns);
    } else {
        schedule(What::kArrive, flight.owner, flight.tail_ns + delay_ns());
        flights_.release(index);
    }
}

void World::link_frees(uint32_t number) {
    Link& link = links_[number];
    const uint32_t flight = link.first_waiting;
    link.first_waiting = std::exchange(flights_[flight].waiting, kNone);
    take_link(flight);
    if (link.first_waiting != kNone) schedule(What::kFree, number, link.busy_until_ns);
}

void World::complete(Ticket*& ticket, uint32_t endpoint) {
    ticket->state = State::kDone;
    ticket = nullptr;
    wake(endpoints_[endpoint]->process(), now_ns_);
}

// The sender's memory is read at the last moment, so that a sender that changes it too early is
// found out.
void World::leave(uint32_t index) {
    Message& message = messages_[index];
    if (weather_.has_data && message.bytes > 0) {
        if (!message.is_asked) {
            message.kept = payloads_.take(message.bytes);
            std::memcpy(message.kept.get(), message.source, message.bytes);
        } else if (message.target) {
            std::memcpy(message.target, message.source, message.bytes);
        }
    }
    complete(message.send, message.key.from);
}

void World::request_comes(uint32_t index) {
    Message& message = messages_[index];
    message.is_requested = true;
    if (message.is_asked) depart(index, std::max(now_ns_, message.asked_ns) + way_ns(message));
}

void World::arrive(uint32_t index) {
    Message& message = messages_[index];
    message.is_arrived = true;
    if (message.is_rendezvous) {
        if (weather_.has_data && message.target && message.bytes > 0) {
            std::memcpy(message.target, message.source, message.bytes);
        }
        complete(message.send, message.key.from);
    }
    if (message.is_asked) deliver(index);
}

void World::deliver(uint32_t index) {
    Message& message = messages_[index];
    if (message.kept) {
        if (message.target) std::memcpy(message.target, message.kept.get(), message.bytes);
        payloads_.give(std::move(message.kept), message.bytes);
    }
    if (message.recv) complete(message.recv, message.key.to);
    messages_.release(index);
}

// True for a process that is woken.
bool World::handle(const Event& event) {
    switch (event.what) {
        case What::kHead:
            head_comes(event.index);
            return false;
        case What::kFree:
            link_frees(event.index);
            return false;
        case What::kSent:
            leave(event.index);
            return false;
        case What::kRequest:
            request_comes(event.index);
            return false;
        case What::kArrive:
            arrive(event.index);
            return false;
        case What::kCastLeft:
            casts_->leave(event.index);
            return false;
        case What::kCastCome:
            casts_->come(event.index);
            return false;
        default:
            break;
    }
    Process& process = processes_[event.index];
    if (!process.is_woken || process.wake_ns != event.at_ns) return false;
    process.is_woken = false;
    if (process.busy_until_ns <= now_ns_) return true;
    wake(event.index, process.busy_until_ns);
    return false;
}

std::optional<uint32_t> World::next() {
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        now_ns_ = event.at_ns;
        ++events_count_;
        if (handle(event)) return event.index;
    }
    return std::nullopt;
}

}  // namespace tutti::transport::sim
