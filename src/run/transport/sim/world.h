// SPDX-License-Identifier: BSD-3-Clause
// A cluster in virtual time, in one thread: processes on the hosts of a Cluster, teams of them, and
// the messages between them. Its driver asks for the next process to which something happened, and
// lets that one move. The same seed is the same run, to the nanosecond.
//
// Messages match by their whole MessageId, may overtake each other, and are kept where they come
// before their receive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "base/prng.h"
#include "run/transport/multicast.h"
#include "run/transport/sim/cluster.h"
#include "run/transport/sim/flights.h"
#include "run/transport/sim/match.h"
#include "run/transport/transport.h"

namespace tutti::transport::sim {

// What a seed may make harder.
struct Weather {
    uint64_t seed = 1;
    // Each message is up to so late, one in 16 up to 16 times that: they overtake each other.
    uint64_t delay_ns_max = 0;
    // What happens at the same time happens in any order, else in the order in which it was caused.
    bool shuffles = false;
    // A posted receive's memory is overwritten at once, so that nobody may read it too early.
    bool poisons = false;
    // Without, messages take their time, but no byte is moved.
    bool has_data = true;
};

struct Traffic {
    uint64_t messages = 0;
    uint64_t bytes = 0;
};

class World {
  public:
    World(const Cluster& cluster, std::span<const uint32_t> host_of_process,
          const Weather& weather);
    ~World();

    // A team of distinct processes in the order of its ranks; returns its number.
    uint32_t add_team(std::span<const uint32_t> process_of_rank);
    // Rank's end, used at the time of its process. Lives as long as the world.
    Transport& endpoint(uint32_t team, Rank rank);
    // And its end of the team's multicast.
    Multicast& multicast_endpoint(uint32_t team, Rank rank);

    [[nodiscard]] uint64_t now_ns() const { return now_ns_; }
    // Where the process stands: at the world's time, or ahead of it where it is at work.
    [[nodiscard]] uint64_t time_of(uint32_t process) const;
    // The process works for so long from where it stands; what it posts after that is later.
    void work(uint32_t process, uint64_t ns);
    // next() is to return this process at this time, or earlier if something else happens to it.
    void wake(uint32_t process, uint64_t at_ns);
    // Lets time pass up to the next process that is woken or one of whose messages has completed.
    // None: nothing will happen any more.
    std::optional<uint32_t> next();

    // Between ranks of different hosts, of one host, over a link (topo::Fabric::links), and sent by
    // a rank.
    [[nodiscard]] const Traffic& network_traffic() const { return network_traffic_; }
    [[nodiscard]] const Traffic& memory_traffic() const { return memory_traffic_; }
    [[nodiscard]] const Traffic& link_traffic(uint32_t link) const { return links_[link].traffic; }
    [[nodiscard]] const Traffic& sent(uint32_t team, Rank rank) const;
    // Multicasts, each counted once; on a link, each that passes it.
    [[nodiscard]] const Traffic& multicast_traffic() const;
    // Messages of which the send or the receive is not complete, and multicasts that are not
    // complete on all ranks.
    [[nodiscard]] size_t under_way() const;
    [[nodiscard]] uint64_t events() const { return events_count_; }

  private:
    class Endpoint;
    class Casts;
    enum class What : uint8_t {
        kHead,      // the head of a flight has come to its next link
        kFree,      // a link for which flights wait has become free
        kSent,      // the last byte of an eager message has left
        kRequest,   // a rendezvous request has come
        kArrive,    // the last byte has come
        kCastLeft,  // the last byte of a multicast has left its sender
        kCastCome,  // a multicast has come to a rank
        kWake       // a process
    };
    struct Event {
        uint64_t at_ns;
        uint64_t tie;
        uint32_t index;
        What what;
        bool operator>(const Event& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : tie > other.tie;
        }
    };
    struct Link {
        uint64_t busy_until_ns = 0;
        uint32_t first_waiting = kNone;
        uint32_t last_waiting = kNone;
        Traffic traffic;
    };
    struct Process {
        uint32_t host = 0;
        uint64_t busy_until_ns = 0;
        uint64_t wake_ns = 0;  // of the event that counts; others are stale
        bool is_woken = false;
    };

    void schedule(What what, uint32_t index, uint64_t at_ns);
    void post_send(Endpoint& from, Rank peer, const MessageId& id, const std::byte* data,
                   size_t bytes, Ticket& ticket);
    void post_recv(Endpoint& to, Rank peer, const MessageId& id, std::byte* data, size_t bytes,
                   Ticket& ticket);
    bool refuse_size(Message& message);
    [[nodiscard]] uint32_t process_of(uint32_t endpoint) const;
    [[nodiscard]] uint32_t host_of(uint32_t endpoint) const;
    [[nodiscard]] uint64_t way_ns(const Message& message) const;
    uint64_t delay_ns();
    void cancel_recv(const Ticket& ticket);
    void depart(uint32_t index, uint64_t at_ns);
    void head_comes(uint32_t flight);
    void take_link(uint32_t flight);
    void go_on(uint32_t flight, uint64_t head_ns);
    void link_frees(uint32_t link);
    void leave(uint32_t index);
    void request_comes(uint32_t index);
    void arrive(uint32_t index);
    void deliver(uint32_t index);
    void complete(Ticket*& ticket, uint32_t endpoint);
    bool handle(const Event& event);

    Cluster cluster_;
    Weather weather_;
    Prng prng_;
    uint64_t now_ns_ = 0;
    uint64_t ties_ = 0;
    uint64_t events_count_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Process> processes_;
    std::vector<Link> links_;
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
    std::vector<uint32_t> first_endpoint_;  // by team
    Messages messages_;
    Flights flights_;
    std::unique_ptr<Casts> casts_;
    Payloads payloads_;
    Traffic network_traffic_;
    Traffic memory_traffic_;
};

}  // namespace tutti::transport::sim
