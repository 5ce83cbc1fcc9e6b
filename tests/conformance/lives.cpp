// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/lives.h"

#include <utility>

#include "conformance/fake_ud.h"
#include "run/networks/rdma/rdma_network.h"
#include "unit/failing_memory.h"
#include "unit/run/engine/fake_network.h"

namespace tutti::test {
namespace {

class RdmaSurroundings final : public Surroundings {
  public:
    RdmaSurroundings(uint32_t ranks, uint64_t seed) : network_(ranks, seed) {
        // Memory is short for the members, not for what they find.
        network_.on_use = [](bool is_begun) {
            static thread_local long kept = -1;
            if (is_begun) kept = std::exchange(left_until_failure, -1);
            if (!is_begun) left_until_failure = kept;
        };
    }
    void settle(engine::Context& process, uint32_t, bool finds_device) override {
        if (!finds_device) return;
        networks::rdma::network_of(process.networks()).set_device(network_.device());
    }
    void be(uint32_t rank) override { FakeNetwork::be(rank); }
    std::string fault() override {
        if (network_.endpoints() != 0) return "an endpoint is left";
        return network_.fault();
    }

  private:
    FakeNetwork network_;
};

class UdSurroundings final : public Surroundings {
  public:
    explicit UdSurroundings(uint64_t seed)
        : ports_(std::make_shared<FakeUd>(FakeUdRules{.seed = seed})) {}
    void settle(engine::Context& process, uint32_t, bool finds_device) override {
        if (!finds_device) return;
        networks::rdma::network_of(process.networks()).set_device(FakeUd::add_port(ports_));
    }
    std::string fault() override { return ports_->fault(); }

  private:
    std::shared_ptr<FakeUd> ports_;
};

// Sockets of this machine.
class PlainSurroundings final : public Surroundings {
  public:
    void settle(engine::Context&, uint32_t, bool) override {}
};

}  // namespace

const std::vector<NetworkMaker>& networks() {
    static const std::vector<NetworkMaker> all = {
        {"rdma", "TUTTI_VERBS=on", true,
         [](uint32_t ranks, uint64_t seed) {
             return std::make_unique<RdmaSurroundings>(ranks, seed);
         }},
        {"loopback", "TUTTI_LOOPBACK=on", false,
         [](uint32_t, uint64_t) { return std::make_unique<PlainSurroundings>(); }},
    };
    return all;
}

const std::vector<NetworkMaker>& multicast_networks() {
    static const std::vector<NetworkMaker> all = {
        {"verbs", "TUTTI_MCAST_OVER=verbs", true,
         [](uint32_t, uint64_t seed) { return std::make_unique<UdSurroundings>(seed); }},
        {"udp", "TUTTI_MCAST_IF=lo", false,
         [](uint32_t, uint64_t) { return std::make_unique<PlainSurroundings>(); }},
    };
    return all;
}

}  // namespace tutti::test
