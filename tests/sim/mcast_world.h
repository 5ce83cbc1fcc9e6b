// SPDX-License-Identifier: BSD-3-Clause
// Whole multicast groups in virtual time, over a network that loses, doubles, delays and reorders
// packets by seed, with members that are stopped for a while or die. The members are the real
// machines; only the wire and the clock are made up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/prng.h"
#include "run/mcast/group.h"

namespace tutti::test {

// Of the whole process so far.
uint64_t allocations_so_far();

struct Weather {
    uint64_t latency_ns = 200'000;
    uint64_t jitter_ns = 0;  // up to so much more; what overtakes is reordered
    double loss = 0;         // of each packet at each receiver
    double shared_loss = 0;  // of each packet at all receivers
    double doubled = 0;
    uint64_t bytes_per_s = 0;  // of each member's link to the network; 0: no limit
    uint64_t late_ns = 0;      // a member that has looked does not look again for up to so long
};

class McastWorld {
  public:
    // What the test may forbid: a packet that it returns true for is lost.
    using Filter =
        std::function<bool(mcast::Member from, mcast::Member to, const mcast::Packet& packet)>;

    McastWorld(const mcast::Params& params, const Weather& weather, uint64_t seed);

    [[nodiscard]] uint64_t now_ns() const { return now_ns_; }
    [[nodiscard]] mcast::Group& group(mcast::Member member) { return *nodes_[member].group; }
    [[nodiscard]] mcast::Member members() const {
        return static_cast<mcast::Member>(nodes_.size());
    }
    void set_weather(const Weather& weather) { weather_ = weather; }
    // What is for everybody reaches only those, by a bit each, to whom the switches still copy it.
    void replicate_to(uint64_t members) { replicated_to_ = members; }
    void set_filter(Filter filter) { filter_ = std::move(filter); }
    // Somebody records all packets and plays each again to everybody, its sender too, so many times
    // within that time after it left.
    void set_replayer(uint32_t times, uint64_t within_ns) {
        replays_ = times;
        replayed_within_ns_ = within_ns;
    }
    // Somebody sends this in whatever name; it comes after `in_ns`.
    void inject(mcast::Member to, std::span<const std::byte> packet, uint64_t in_ns);
    // The member does nothing until then; what comes for it waits.
    void stop_until(mcast::Member member, uint64_t ns) { nodes_[member].stopped_ns = ns; }
    void kill(mcast::Member member) { nodes_[member].is_dead = true; }
    [[nodiscard]] bool is_dead(mcast::Member member) const { return nodes_[member].is_dead; }
    // The member's application wants to be called at that time.
    void wake_app(mcast::Member member, uint64_t ns) { nodes_[member].app_ns = ns; }
    // Called whenever something happened at a member and it is not stopped.
    void set_app(std::function<void(mcast::Member)> app) { app_ = std::move(app); }

    // Called after packets and timers of a member, before the application: what a carrier does
    // then.
    void set_service(std::function<void(mcast::Member)> service) { service_ = std::move(service); }

    // Sends what a member has to send; after calls from outside run().
    void flush(mcast::Member member);
    // Until `done` or the time; false if the time came first.
    bool run(uint64_t until_ns, const std::function<bool()>& done);
    // Nobody has anything to do any more and nothing is on the wire.
    [[nodiscard]] bool is_silent() const;
    [[nodiscard]] uint64_t packets() const { return packets_; }
    // By the members' own code, after they were made.
    [[nodiscard]] uint64_t allocations() const { return allocations_; }

  private:
    struct Node {
        std::unique_ptr<mcast::Group> group;
        uint64_t stopped_ns = 0;
        uint64_t looks_ns = 0;  // the next time, at the earliest
        uint64_t app_ns = mcast::kNever;
        uint64_t link_free_ns = 0;
        bool is_dead = false;
    };
    struct Flight {
        uint64_t ns;
        uint64_t number;  // keeps equal times in order
        mcast::Member to;
        uint32_t buffer;
        bool operator>(const Flight& other) const {
            return ns != other.ns ? ns > other.ns : number > other.number;
        }
    };

    bool chance(double probability);
    void transmit(mcast::Member from, mcast::Member to, size_t bytes, bool is_shared_loss,
                  uint64_t leaves_ns);
    void replay(size_t bytes, uint64_t leaves_ns);
    uint32_t new_buffer(std::span<const std::byte> packet);
    [[nodiscard]] uint64_t wake_ns(const Node& node) const;
    void arrive();
    void have_looked(Node& node);
    void wake(mcast::Member member);
    template <class Call>
    auto counted(Call call);

    Weather weather_;
    Prng prng_;
    Prng replayer_{77};  // of its own: the network's draws are the same with and without it
    Prng lateness_{78};  // likewise
    uint32_t replays_ = 0;
    uint64_t replayed_within_ns_ = 0;
    Filter filter_;
    uint64_t replicated_to_ = ~uint64_t{0};
    std::function<void(mcast::Member)> app_;
    std::function<void(mcast::Member)> service_;
    std::vector<Node> nodes_;
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights_;
    std::vector<std::vector<std::byte>> buffers_;
    std::vector<uint32_t> free_buffers_;
    std::vector<std::byte> out_;
    uint64_t now_ns_ = 1'000'000;
    uint64_t packets_ = 0;
    uint64_t flight_number_ = 0;
    uint64_t allocations_ = 0;
};

}  // namespace tutti::test
