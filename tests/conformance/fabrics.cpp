// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/fabrics.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <deque>

#include "conformance/fake_verbs.h"
#include "conformance/first_team.h"
#include "conformance/mailbox.h"
#include "run/networks/loopback/stream_messages.h"
#include "run/transport/faulty/faulty.h"
#include "run/transport/p2p/p2p.h"
#include "run/transport/routes/routes.h"
#include "run/transport/sim/world.h"
#include "run/transport/verbs/rc.h"

namespace tutti::test {
namespace {

using transport::Faults;
using transport::Faulty;
using transport::MessageId;
using transport::P2p;
using transport::Rank;
using transport::Routes;
using transport::State;
using transport::Ticket;
using transport::Transport;
using transport::sim::Cluster;
using transport::sim::Weather;
using transport::sim::World;

class SimFabric final : public Fabric {
  public:
    SimFabric(const Cluster& cluster, std::vector<uint32_t> hosts, const Weather& weather)
        : world_(cluster, hosts, weather) {
        for (uint32_t rank = 0; rank < hosts.size(); ++rank) hosts[rank] = rank;
        team_ = world_.add_team(hosts);
    }
    Transport& end(Rank rank) override { return world_.endpoint(team_, rank); }
    void pump() override { world_.next(); }

  private:
    World world_;
    uint32_t team_ = 0;
};

class P2pFabric final : public Fabric {
  public:
    // Ranks in the reverse order of the embedder's numbers, so that mixing them up is seen.
    explicit P2pFabric(uint32_t ranks) : mailbox_(ranks) {
        for (uint32_t rank = 0; rank < ranks; ++rank) peers_.push_back(ranks - 1 - rank);
        for (const uint32_t peer : peers_) {
            ends_.push_back(std::make_unique<P2p>(mailbox_.callbacks(peer), 900, peers_));
        }
    }
    Transport& end(Rank rank) override { return *ends_[rank]; }

  private:
    Mailbox mailbox_;
    std::vector<uint32_t> peers_;
    std::vector<std::unique_ptr<P2p>> ends_;
};

class FaultyFabric final : public Fabric {
  public:
    FaultyFabric(std::unique_ptr<Fabric> inner, uint32_t ranks) : inner_(std::move(inner)) {
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            const Faults faults{.seed = rank + 1, .hold_tests_max = 20};
            ends_.push_back(std::make_unique<Faulty>(inner_->end(rank), faults));
        }
    }
    Transport& end(Rank rank) override { return *ends_[rank]; }
    void pump() override { inner_->pump(); }

  private:
    std::unique_ptr<Fabric> inner_;
    std::vector<std::unique_ptr<Faulty>> ends_;
};

// One queue tells of all that has come and gone, and test() looks at nothing else.
class PolledEnd final : public Transport {
  public:
    explicit PolledEnd(Transport& inner) : inner_(inner) {}
    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override {
        inner_.send(peer, id, data, bytes, begin(ticket));
    }
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override {
        inner_.recv(peer, id, data, bytes, begin(ticket));
    }
    void poll() override {
        for (Posted& posted : posted_) {
            if (!posted.ticket) continue;
            posted.ticket->state = inner_.test(posted.own);
            if (posted.ticket->state != State::kPending) posted.ticket = nullptr;
        }
    }
    State test(Ticket& ticket) override { return ticket.state; }
    [[nodiscard]] std::string error() const override { return inner_.error(); }

  private:
    struct Posted {
        Ticket* ticket = nullptr;  // nullptr: free
        Ticket own;
    };
    Ticket& begin(Ticket& ticket) {
        ticket.state = State::kPending;
        for (Posted& posted : posted_) {
            if (posted.ticket) continue;
            posted.ticket = &ticket;
            return posted.own;
        }
        posted_.push_back({&ticket, {}});
        return posted_.back().own;
    }

    Transport& inner_;
    std::deque<Posted> posted_;
};

class PolledFabric final : public Fabric {
  public:
    PolledFabric(std::unique_ptr<Fabric> inner, uint32_t ranks) : inner_(std::move(inner)) {
        for (Rank rank = 0; rank < ranks; ++rank) ends_.emplace_back(inner_->end(rank));
    }
    Transport& end(Rank rank) override { return ends_[rank]; }
    void pump() override { inner_->pump(); }

  private:
    std::unique_ptr<Fabric> inner_;
    std::deque<PolledEnd> ends_;
};

// Every other pair of neighbours by messages that are polled, the others by plain ones.
class RoutedFabric final : public Fabric {
  public:
    explicit RoutedFabric(uint32_t ranks)
        : plain_(ranks), polled_(std::make_unique<P2pFabric>(ranks), ranks) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            Routes& routes = ends_.emplace_back(plain_.end(rank));
            routes.reserve(ranks);
            const uint8_t way = routes.add(polled_.end(rank));
            for (Rank peer = 0; peer < ranks; ++peer) {
                if ((rank + peer) % 2 == 1) routes.use(peer, way);
            }
        }
    }
    Transport& end(Rank rank) override { return ends_[rank]; }

  private:
    P2pFabric plain_;
    PolledFabric polled_;
    std::deque<Routes> ends_;
};

// All ranks connected with all, over the fake.
class VerbsFabric final : public Fabric {
  public:
    // Messages from direct_bytes on go straight; where ends land last, the ends look for them.
    VerbsFabric(uint32_t ranks, size_t direct_bytes, const FakeRules& rules = {})
        : verbs_(ranks, rules) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            auto endpoint =
                verbs_.device(rank).make_endpoint(transport::verbs::need_of(ranks - 1, kMtuBytes));
            std::vector<Rank> peers;
            for (Rank peer = 0; peer < ranks; ++peer) {
                if (peer != rank) peers.push_back(peer);
            }
            ends_.push_back(make_first(std::move(endpoint.value()), verbs_, kMtuBytes, peers,
                                       direct_bytes, rules.ends_last));
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            for (Rank peer = rank + 1; peer < ranks; ++peer) {
                connect(rank, peer - 1, peer, rank);
                connect(peer, rank, rank, peer - 1);
            }
        }
    }
    ~VerbsFabric() override { EXPECT_EQ(verbs_.fault(), ""); }
    VerbsFabric(const VerbsFabric&) = delete;
    VerbsFabric& operator=(const VerbsFabric&) = delete;
    Transport& end(Rank rank) override { return *ends_[rank]; }
    void pump() override { verbs_.pump(); }

  private:
    static constexpr uint32_t kMtuBytes = 1024;
    void connect(Rank rank, uint32_t pair, Rank peer, uint32_t theirs) {
        const auto connected = ends_[rank]->links()->at(pair).connect(
            verbs_.device(peer).port(), ends_[peer]->links()->at(theirs).card());
        EXPECT_TRUE(connected);
    }
    FakeVerbs verbs_;
    std::vector<std::unique_ptr<transport::verbs::Rc>> ends_;
};

// All ranks connected with all, by pairs of sockets.
class LoopbackFabric final : public Fabric {
  public:
    explicit LoopbackFabric(uint32_t ranks) {
        std::vector<std::vector<Fd>> sockets(ranks);
        std::vector<std::vector<Rank>> peers(ranks);
        for (Rank rank = 0; rank < ranks; ++rank) {
            for (Rank peer = rank + 1; peer < ranks; ++peer) {
                int pair[2];
                EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
                sockets[rank].emplace_back(pair[0]);
                peers[rank].push_back(peer);
                sockets[peer].emplace_back(pair[1]);
                peers[peer].push_back(rank);
            }
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            ends_.push_back(std::make_unique<networks::loopback::StreamMessages>(
                std::move(peers[rank]), std::move(sockets[rank])));
        }
    }
    Transport& end(Rank rank) override { return *ends_[rank]; }

  private:
    std::vector<std::unique_ptr<networks::loopback::StreamMessages>> ends_;
};

std::unique_ptr<Fabric> sim(uint32_t ranks, const Weather& weather, size_t eager_bytes_max) {
    Cluster cluster = Cluster::leaves(std::vector<uint32_t>{1, 1 + ranks});
    cluster.eager_bytes_max = eager_bytes_max;
    std::vector<uint32_t> hosts;
    for (uint32_t rank = 0; rank < ranks; ++rank) hosts.push_back(rank);
    return std::make_unique<SimFabric>(cluster, hosts, weather);
}

std::unique_ptr<Fabric> sim_one_host(uint32_t ranks) {
    return std::make_unique<SimFabric>(Cluster::one_switch(1), std::vector<uint32_t>(ranks, 0),
                                       Weather{});
}

constexpr Weather kStorm{.seed = 7, .delay_ns_max = 5000, .shuffles = true, .poisons = true};

}  // namespace

const std::vector<FabricMaker>& fabrics() {
    static const std::vector<FabricMaker> all = {
        {"sim", [](uint32_t ranks) { return sim(ranks, {}, 65536); }},
        {"sim_storm", [](uint32_t ranks) { return sim(ranks, kStorm, 1000); }},
        {"sim_rendezvous", [](uint32_t ranks) { return sim(ranks, kStorm, 0); }},
        {"sim_one_host", sim_one_host},
        {"p2p", [](uint32_t ranks) { return std::make_unique<P2pFabric>(ranks); }},
        {"faulty_sim",
         [](uint32_t ranks) {
             return std::make_unique<FaultyFabric>(sim(ranks, kStorm, 1000), ranks);
         }},
        {"faulty_p2p",
         [](uint32_t ranks) {
             return std::make_unique<FaultyFabric>(std::make_unique<P2pFabric>(ranks), ranks);
         }},
        {"polled_sim",
         [](uint32_t ranks) {
             return std::make_unique<PolledFabric>(sim(ranks, kStorm, 1000), ranks);
         }},
        {"loopback", [](uint32_t ranks) { return std::make_unique<LoopbackFabric>(ranks); }},
        {"verbs", [](uint32_t ranks) { return std::make_unique<VerbsFabric>(ranks, 0); }},
        {"verbs_direct", [](uint32_t ranks) { return std::make_unique<VerbsFabric>(ranks, 4096); }},
        // Which of the messages are registered depends on how many are at a time.
        {"verbs_scarce",
         [](uint32_t ranks) {
             return std::make_unique<VerbsFabric>(ranks, 4096,
                                                  FakeRules{.exposed_bytes_max = 200'000});
         }},
        {"verbs_tails",
         [](uint32_t ranks) {
             return std::make_unique<VerbsFabric>(ranks, 4096, FakeRules{.ends_last = true});
         }},
        {"routes", [](uint32_t ranks) { return std::make_unique<RoutedFabric>(ranks); }},
        {"faulty_routes",
         [](uint32_t ranks) {
             return std::make_unique<FaultyFabric>(std::make_unique<RoutedFabric>(ranks), ranks);
         }},
    };
    return all;
}

}  // namespace tutti::test
