// SPDX-License-Identifier: BSD-3-Clause
// Several carriers in one process as the hosts of a group, on the loopback interface, each with a
// ring and one rank.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "run/transport/carrier/carrier.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/ring_feed.h"
#include "run/transport/carrier/route.h"
#include "run/transport/udp/udp_datagrams.h"
#include "unit/threads.h"

namespace tutti::transport::carrier {

using test::eventually;

// Several processes may run these tests at a time on one machine: a hundred of them, with ports
// that differ from test to test by less than 400. Their keys differ too: with one key they would be
// the same members, and take each other's packets for their own.
inline uint16_t own_port(uint32_t port) {
    return static_cast<uint16_t>(port + static_cast<uint32_t>(getpid()) % 100 * 400);
}

inline Result<std::unique_ptr<Carrier>> open_carrier(const CarrierParams& params,
                                                     const udp::DatagramsParams& udp) {
    auto datagrams = udp::open_datagrams(udp);
    if (!datagrams) return datagrams.error();
    return Carrier::open(params, std::move(datagrams.value()));
}

struct ClusterParams {
    uint32_t hosts = 4;
    CarrierParams carrier;
    udp::DatagramsParams udp;
    uint16_t port = own_port(20'001);
    uint32_t group = 77;
    Key key = random_key().value();
    std::string address = "239.192.77.1";
    // This one joins another address: as if no multicast reached it.
    uint32_t deaf_host = UINT32_MAX;
    uint64_t bytes_per_s = 50'000'000;
    bool wakes_by_pipe = false;
};

inline ClusterParams on_port(uint16_t port, uint32_t hosts = 4) {
    ClusterParams params;
    params.port = own_port(port);
    params.hosts = hosts;
    return params;
}

class Cluster {
  public:
    explicit Cluster(const ClusterParams& params) : params_(params) {
        for (uint32_t i = 0; i < params.hosts; ++i) numbers_.push_back(static_cast<uint16_t>(i));
    }
    ~Cluster() {
        routes_.clear();
        hosts_.clear();
    }
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    // An error's text, or nothing.
    std::string open() {
        for (uint32_t i = 0; i < params_.hosts; ++i) {
            udp::DatagramsParams own = params_.udp;
            own.port = params_.port;
            auto opened = open_carrier(params_.carrier, own);
            if (!opened) return opened.error().message;
            hosts_.push_back({std::move(opened.value()), nullptr, nullptr, Fd(), nullptr});
            addresses_.push_back(hosts_.back().carrier->address());
        }
        return join_again(params_.group);
    }

    // After leave(), in another group. Who is in it already stays there if another's room is short.
    std::string join_again(uint32_t group) {
        params_.group = group;
        while (routes_.size() < params_.hosts) {
            const std::string error = join(static_cast<uint32_t>(routes_.size()), addresses_);
            if (!error.empty()) return error;
        }
        return "";
    }

    Carrier& carrier(uint32_t host) { return *hosts_[host].carrier; }
    Membership* membership(uint32_t host) { return hosts_[host].membership; }
    Route& route(uint32_t host) { return *routes_[host]; }
    [[nodiscard]] Ring ring(uint32_t host) const { return Ring(hosts_[host].ring.get()); }
    Bell& bell(uint32_t host) { return ring(host).header().bell; }
    [[nodiscard]] uint32_t size() const { return params_.hosts; }

    // What a rank that waits does.
    void poll() {
        if (params_.carrier.has_thread) return;
        for (Host& host : hosts_) host.carrier->poll();
    }
    bool wait(const std::function<bool()>& is_so) {
        return eventually([&] {
            poll();
            return is_so();
        });
    }

    bool probe() {
        for (Host& host : hosts_) host.carrier->start_probe(host.membership);
        return wait([&] {
            for (Host& host : hosts_) {
                if (!host.carrier->probe_state(host.membership).is_done) return false;
            }
            return true;
        });
    }

    bool is_ring_free(uint32_t host) { return hosts_[host].is_ring_free(); }
    // On one host; its group goes when nobody needs it.
    void leave(uint32_t host) { routes_[host]->leave(); }
    void leave() {
        for (uint32_t host = 0; host < size(); ++host) leave(host);
        // The carriers use the rings until then.
        EXPECT_TRUE(wait([&] {
            return std::all_of(hosts_.begin(), hosts_.end(),
                               [](const Host& host) { return host.is_ring_free(); });
        }));
        for (uint32_t host = 0; host < size(); ++host) {
            EXPECT_TRUE(ring(host).is_ended() || ring(host).is_frozen()) << host;
        }
        routes_.clear();
    }

  private:
    struct Host {
        std::unique_ptr<Carrier> carrier;
        Membership* membership = nullptr;
        std::unique_ptr<std::byte, void (*)(void*)> ring{nullptr, &std::free};
        Fd pipe;
        std::unique_ptr<Waker> waker;
        std::shared_ptr<std::atomic<bool>> has_ring = std::make_shared<std::atomic<bool>>(false);

        // The carrier has done with it.
        [[nodiscard]] bool is_ring_free() const { return !has_ring->load(); }
        Host(std::unique_ptr<Carrier> opened, Membership*, std::nullptr_t, Fd, std::nullptr_t)
            : carrier(std::move(opened)) {}
        Host(Host&&) = default;
        // The carrier uses the ring until it is gone.
        ~Host() { carrier.reset(); }
    };

    std::string join(uint32_t index, const std::vector<Address>& addresses) {
        Host& host = hosts_[index];
        const RingParams ring{kRingSlots, 1, params_.hosts};
        const size_t bytes = (ring_bytes(ring) + 4095) / 4096 * 4096;
        host.ring.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
        Ring::format(host.ring.get(), ring);
        JoinParams join;
        join.group_address =
            udp::parse_group_address(index == params_.deaf_host ? "239.192.77.9" : params_.address)
                .value();
        join.key = params_.key;
        join.group = params_.group;
        join.member = static_cast<mcast::Member>(index);
        join.members = addresses;
        join.bytes_per_s = params_.bytes_per_s;
        join.seed = index + 1;
        host.has_ring->store(true);
        join.memory = {host.ring.get(), [has = host.has_ring](void*) { has->store(false); }};
        join.make_client = [&host](mcast::Group& group) {
            return std::make_unique<Feed>(Ring(host.ring.get()), group);
        };
        const auto joined = host.carrier->join(join);
        if (!joined) return joined.error().message;
        host.membership = joined.value();
        Waker* waker = &host.carrier->waker();
        if (params_.wakes_by_pipe) {
            const std::string path = "/proc/self/fd/" + std::to_string(host.carrier->wake_fd());
            host.pipe = Fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
            host.waker = std::make_unique<PipeWaker>(host.pipe.get());
            waker = host.waker.get();
        }
        routes_.push_back(
            std::make_unique<Route>(Ring(host.ring.get()), *waker, RouteParams{index, numbers_}));
        return "";
    }

    ClusterParams params_;
    std::vector<mcast::Member> numbers_;
    std::vector<Address> addresses_;
    std::vector<Host> hosts_;
    std::vector<std::unique_ptr<Route>> routes_;
};

inline std::vector<std::byte> message_of(uint64_t number) {
    const size_t sizes[] = {0, 1, 1408, 1409, 5000, kMulticastBytesMax};
    std::vector<std::byte> data(sizes[number % 6]);
    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<std::byte>(i * 7 + number * 31 + i / 251);
    }
    return data;
}

// Numbers from `first` on, sent by each host in turn; all of it posted as far as may be. What went
// wrong, or nothing.
inline std::string exchange(Cluster& cluster, uint64_t first, uint32_t count) {
    struct Rank {
        std::vector<Ticket> tickets;
        std::vector<std::vector<std::byte>> data;
        uint32_t posted = 0;
        uint32_t done = 0;
    };
    std::vector<Rank> ranks(cluster.size());
    for (Rank& rank : ranks) {
        rank.tickets.resize(count);
        rank.data.resize(count);
    }
    const auto step = [&](uint32_t host) {
        Rank& rank = ranks[host];
        Route& route = cluster.route(host);
        if (rank.posted < count && rank.posted - rank.done < kMulticastsInFlightMax) {
            const uint64_t number = first + rank.posted;
            const auto sender = static_cast<uint32_t>(number % cluster.size());
            std::vector<std::byte>& data = rank.data[rank.posted];
            data = message_of(number);
            Ticket& ticket = rank.tickets[rank.posted++];
            if (sender == host) {
                route.multicast(number, data.data(), data.size(), ticket);
            } else {
                std::fill(data.begin(), data.end(), std::byte{0xee});
                route.recv_multicast(number, sender, data.data(), data.size(), ticket);
            }
        }
        for (uint32_t i = rank.done; i < rank.posted; ++i) {
            if (route.test(rank.tickets[i]) == State::kFailed) return false;
        }
        while (rank.done < rank.posted && rank.tickets[rank.done].state == State::kDone) {
            ++rank.done;
        }
        return true;
    };
    std::string error;
    const bool is_over = cluster.wait([&] {
        bool all = true;
        for (uint32_t host = 0; host < cluster.size(); ++host) {
            if (!step(host))
                error = "host " + std::to_string(host) + ": " + cluster.route(host).error();
            all &= ranks[host].done == count;
        }
        return all || !error.empty();
    });
    if (!error.empty()) return error;
    if (!is_over) return "not all arrived";
    for (uint32_t host = 0; host < cluster.size(); ++host) {
        for (uint32_t i = 0; i < count; ++i) {
            if (ranks[host].data[i] != message_of(first + i)) {
                return "host " + std::to_string(host) + " has a wrong message " +
                       std::to_string(first + i);
            }
        }
    }
    return "";
}

}  // namespace tutti::transport::carrier
