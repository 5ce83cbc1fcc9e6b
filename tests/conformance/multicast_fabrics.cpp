// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/multicast_fabrics.h"

#include <numeric>

#include "conformance/carrier_fabric.h"
#include "run/transport/faulty/faulty_multicast.h"
#include "run/transport/sim/world.h"

namespace tutti::test {
namespace {

using transport::Faults;
using transport::FaultyMulticast;
using transport::Multicast;
using transport::Rank;
using transport::carrier::Protection;
using transport::sim::Cluster;
using transport::sim::Weather;
using transport::sim::World;

class SimFabric final : public MulticastFabric {
  public:
    SimFabric(const Cluster& cluster, const std::vector<uint32_t>& hosts, const Weather& weather,
              uint32_t teams)
        : world_(cluster, hosts, weather), waits_for_all_(cluster.eager_bytes_max == 0) {
        std::vector<uint32_t> everybody(hosts.size());
        std::iota(everybody.begin(), everybody.end(), 0);
        for (uint32_t team = 0; team < teams; ++team) world_.add_team(everybody);
    }
    Multicast& end(uint32_t team, Rank rank) override {
        return world_.multicast_endpoint(team, rank);
    }
    void pump() override { world_.next(); }
    [[nodiscard]] bool waits_for_all() const override { return waits_for_all_; }

  private:
    World world_;
    bool waits_for_all_;
};

class FaultyFabric final : public MulticastFabric {
  public:
    FaultyFabric(std::unique_ptr<MulticastFabric> inner, uint32_t teams)
        : inner_(std::move(inner)) {
        for (uint32_t i = 0; i < teams * kMulticastRanks; ++i) {
            const Faults faults{.seed = i + 1, .hold_tests_max = 20 * (i % 3)};
            Multicast& end = inner_->end(i / kMulticastRanks, i % kMulticastRanks);
            ends_.push_back(std::make_unique<FaultyMulticast>(end, faults));
        }
    }
    Multicast& end(uint32_t team, Rank rank) override {
        return *ends_[team * kMulticastRanks + rank];
    }
    void pump() override { inner_->pump(); }
    [[nodiscard]] bool waits_for_all() const override { return inner_->waits_for_all(); }
    [[nodiscard]] uint32_t turns_max() const override { return inner_->turns_max(); }

  private:
    std::unique_ptr<MulticastFabric> inner_;
    std::vector<std::unique_ptr<FaultyMulticast>> ends_;
};

const std::vector<uint32_t> kHosts(std::begin(kHostOfRank), std::end(kHostOfRank));
constexpr Weather kStorm{.seed = 7, .delay_ns_max = 50'000, .shuffles = true, .poisons = true};

std::unique_ptr<MulticastFabric> sim(uint32_t teams, const Weather& weather) {
    return std::make_unique<SimFabric>(Cluster::leaves(std::vector<uint32_t>{1, 2}), kHosts,
                                       weather, teams);
}

// Sends end when all receives are posted, and few are kept.
std::unique_ptr<MulticastFabric> sim_narrow(uint32_t teams) {
    Cluster cluster = Cluster::one_switch(kMulticastHosts);
    cluster.eager_bytes_max = 0;
    cluster.multicast_slots = 2;
    return std::make_unique<SimFabric>(cluster, kHosts, kStorm, teams);
}

std::unique_ptr<MulticastFabric> sim_one_host(uint32_t teams) {
    return std::make_unique<SimFabric>(Cluster::one_switch(1),
                                       std::vector<uint32_t>(kMulticastRanks, 0), Weather{}, teams);
}

void add_memory(std::vector<MulticastFabricMaker>* all) {
    CarrierFabricParams params;
    params.is_in_memory = true;
    all->push_back({"memory", [params](uint32_t teams) { return carrier_fabric(params, teams); }});
    params.carrier.faults = {.drop_ppm = 50'000, .dup_ppm = 10'000, .reorder = 8, .seed = 7};
    all->push_back(
        {"memory_faulty", [params](uint32_t teams) { return carrier_fabric(params, teams); }});
}

// As the fabric is at its worst: losses and the like are its own.
void add_ud(std::vector<MulticastFabricMaker>* all) {
    CarrierFabricParams params;
    params.ud = FakeUdRules{};
    all->push_back({"ud", [params](uint32_t teams) { return carrier_fabric(params, teams); }});
    CarrierFabricParams polled = params;
    polled.carrier.has_thread = false;
    polled.ud = FakeUdRules{.receives_max = 256};
    all->push_back({std::string("ud") + kPolled,
                    [polled](uint32_t teams) { return carrier_fabric(polled, teams); }});
    params.ud = FakeUdRules{.seed = 7,
                            .is_ethernet = true,
                            .mtu_bytes = 1024,
                            .loss_ppm = 50'000,
                            .dup_ppm = 10'000,
                            .overtakers_max = 8,
                            .completes_late = true,
                            .receives_max = 512};
    all->push_back(
        {"ud_faulty", [params](uint32_t teams) { return carrier_fabric(params, teams); }});
    params.protection = Protection::kHeader;
    all->push_back(
        {"ud_faulty_header", [params](uint32_t teams) { return carrier_fabric(params, teams); }});
}

void add_ud_ports(std::vector<MulticastFabricMaker>* all) {
    CarrierFabricParams params;
    params.ports = test_ports();
    all->push_back(
        {"ud_ports", [params](uint32_t teams) { return carrier_fabric(params, teams); }});
}

// The same over loopback and over the hosts of a lab.
void add_udp(const std::string& name, const std::vector<std::string>& namespaces,
             std::vector<MulticastFabricMaker>* all) {
    const auto add = [&](const std::string& suffix, const CarrierFabricParams& params) {
        all->push_back(
            {name + suffix, [params](uint32_t teams) { return carrier_fabric(params, teams); }});
    };
    CarrierFabricParams params;
    params.namespaces = namespaces;
    add("", params);
    params.carrier.has_thread = false;
    add(kPolled, params);
    params.carrier.has_thread = true;
    params.udp.family = transport::udp::Family::kIpv6;
    params.carrier.faults = {.drop_ppm = 50'000, .dup_ppm = 10'000, .reorder = 8, .seed = 7};
    add("_6_faulty", params);
    params.protection = Protection::kSecret;
    add("_6_faulty_secret", params);
    params.protection = Protection::kHeader;
    add("_6_faulty_header", params);
    params.protection = Protection::kNone;
    add("_6_faulty_unprotected", params);
}

}  // namespace

const std::vector<MulticastFabricMaker>& multicast_fabrics() {
    static const std::vector<MulticastFabricMaker> all = [] {
        std::vector<MulticastFabricMaker> makers = {
            {"sim", [](uint32_t teams) { return sim(teams, {}); }},
            {"sim_storm", [](uint32_t teams) { return sim(teams, kStorm); }},
            {"sim_narrow", sim_narrow},
            {"sim_one_host", sim_one_host},
            {"faulty_sim",
             [](uint32_t teams) {
                 return std::make_unique<FaultyFabric>(sim(teams, kStorm), teams);
             }},
        };
        add_memory(&makers);
        add_ud(&makers);
        add_udp("udp", {}, &makers);
        const std::vector<std::string> lab = test_namespaces();
        if (!lab.empty()) add_udp("udp_lab", lab, &makers);
        if (test_ports().size() >= kMulticastHosts) add_ud_ports(&makers);
        return makers;
    }();
    return all;
}

}  // namespace tutti::test
