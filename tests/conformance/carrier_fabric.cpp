// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/carrier_fabric.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "base/fd.h"
#include "conformance/memory_datagrams.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/ring_feed.h"
#include "run/transport/carrier/route.h"
#include "run/transport/ud/ud_datagrams.h"
#include "run/transport/verbs/library.h"

namespace tutti::test {
namespace {

using namespace transport::carrier;
using transport::Multicast;
using transport::Rank;

constexpr size_t kPageBytes = 4096;
// Fast enough for tests, slow enough for the queues of a lab's links of 200 Mbit/s.
constexpr uint64_t kBytesPerS = 20'000'000;

template <typename T>
T value_of(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(result.value());
}

std::vector<std::string> words_of(const char* variable, char between) {
    const char* text = std::getenv(variable);
    std::vector<std::string> words;
    for (std::string rest = text == nullptr ? "" : text; !rest.empty();) {
        const size_t end = std::min(rest.find(between), rest.size());
        words.push_back(rest.substr(0, end));
        rest.erase(0, end + 1);
    }
    return words;
}

// This thread stands in another network while it lives. Sockets stay where they were made.
class InNetwork {
  public:
    explicit InNetwork(const std::string& file)
        : home_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
        const Fd there(open(file.c_str(), O_RDONLY | O_CLOEXEC));
        if (setns(there.get(), CLONE_NEWNET) != 0) throw std::runtime_error("cannot enter " + file);
    }
    ~InNetwork() {
        if (setns(home_.get(), CLONE_NEWNET) != 0) std::abort();
    }
    InNetwork(const InNetwork&) = delete;
    InNetwork& operator=(const InNetwork&) = delete;

  private:
    Fd home_;
};

struct RingMemory {
    std::unique_ptr<std::byte, void (*)(void*)> memory{nullptr, &std::free};

    explicit RingMemory(const RingParams& params) {
        const size_t bytes = (ring_bytes(params) + kPageBytes - 1) / kPageBytes * kPageBytes;
        memory.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
        Ring::format(memory.get(), params);
    }
    [[nodiscard]] Ring ring() const { return Ring(memory.get()); }
};

// One team: its ring on each host, and each rank's end.
struct Team {
    std::vector<RingMemory> rings;
    std::vector<std::unique_ptr<Route>> routes;
};

class CarrierFabric final : public MulticastFabric {
  public:
    CarrierFabric(const CarrierFabricParams& params, uint32_t teams) : params_(params) {
        for (const uint32_t host : kHostOfRank) {
            member_of_rank_.push_back(static_cast<mcast::Member>(host));
        }
        // Tests of several processes at once keep out of each other's way.
        params_.udp.port = static_cast<uint16_t>(20'000 + getpid() % 20'000);
        if (params_.ud) ud_ = std::make_shared<FakeUd>(*params_.ud);
        for (uint32_t host = 0; host < kMulticastHosts; ++host) open_carrier(host);
        for (uint32_t team = 0; team < teams; ++team) add_team(team + 1);
    }
    ~CarrierFabric() override {
        // Carriers use the rings until they are gone.
        for (Team& team : teams_) team.routes.clear();
        carriers_.clear();
        if (!ud_) return;
        EXPECT_EQ(ud_->fault(), "");
    }
    Multicast& end(uint32_t team, Rank rank) override { return *teams_[team].routes[rank]; }
    void pump() override {
        if (params_.carrier.has_thread) {
            std::this_thread::yield();
        } else {
            for (uint32_t host = 0; host < kMulticastHosts; ++host) {
                if (!is_stopped_[host]) carriers_[host]->poll();
            }
        }
    }
    void stop(uint32_t host, bool is_stopped) override { is_stopped_[host] = is_stopped; }
    // A turn is a few microseconds of real time.
    [[nodiscard]] uint32_t turns_max() const override { return 50'000'000; }

  private:
    void open_carrier(uint32_t host) {
        if (params_.namespaces.empty()) {
            carriers_.push_back(make_carrier());
        } else {
            const InNetwork there(params_.namespaces[host]);
            carriers_.push_back(make_carrier());
        }
    }
    [[nodiscard]] std::unique_ptr<Carrier> make_carrier() const {
        return value_of(Carrier::open(params_.carrier, open_datagrams()));
    }
    [[nodiscard]] std::unique_ptr<Datagrams> open_datagrams() const {
        if (params_.is_in_memory) return open_memory_datagrams(switch_);
        if (ud_) return value_of(transport::ud::open_datagrams(FakeUd::add_port(ud_)));
        if (!params_.ports.empty()) {
            VerbsSettings settings;
            settings.device = params_.ports[carriers_.size()];
            auto port = value_of(transport::verbs::open_library(settings));
            return value_of(transport::ud::open_datagrams(std::move(port)));
        }
        return value_of(transport::udp::open_datagrams(params_.udp));
    }
    [[nodiscard]] GroupAddress group_address(uint32_t group) const {
        if (params_.is_in_memory) return memory_group(static_cast<uint8_t>(group));
        if (ud_ || !params_.ports.empty()) return transport::ud::make_group_address(group);
        return transport::udp::make_group_address(params_.udp.family, group);
    }

    void add_team(uint32_t group) {
        Team& team = teams_.emplace_back();
        std::vector<Address> addresses;
        for (const auto& carrier : carriers_) addresses.push_back(carrier->address());
        JoinParams join;
        join.group_address = group_address(group);
        join.key = value_of(random_key());
        join.key.protection = params_.protection;
        join.group = group;
        join.members = addresses;
        join.bytes_per_s = kBytesPerS;
        for (uint32_t host = 0; host < kMulticastHosts; ++host) {
            const auto ranks = std::ranges::count(kHostOfRank, host);
            team.rings.emplace_back(
                RingParams{kRingSlots, static_cast<uint32_t>(ranks), kMulticastHosts});
            join.member = static_cast<mcast::Member>(host);
            join.seed = host + 1;
            join.make_client = [ring = team.rings.back().ring()](mcast::Group& of) {
                return std::make_unique<Feed>(ring, of);
            };
            value_of(carriers_[host]->join(join));
        }
        for (Rank rank = 0; rank < kMulticastRanks; ++rank) {
            const uint32_t host = kHostOfRank[rank];
            team.routes.push_back(std::make_unique<Route>(team.rings[host].ring(),
                                                          carriers_[host]->waker(),
                                                          RouteParams{rank, member_of_rank_}));
        }
    }

    CarrierFabricParams params_;
    std::shared_ptr<MemorySwitch> switch_ = make_memory_switch();
    std::shared_ptr<FakeUd> ud_;
    std::vector<mcast::Member> member_of_rank_;
    std::vector<std::unique_ptr<Carrier>> carriers_;
    std::array<bool, kMulticastHosts> is_stopped_{};
    std::vector<Team> teams_;
};

}  // namespace

std::unique_ptr<MulticastFabric> carrier_fabric(const CarrierFabricParams& params, uint32_t teams) {
    return std::make_unique<CarrierFabric>(params, teams);
}

std::vector<std::string> test_namespaces() {
    std::vector<std::string> files = words_of("TUTTI_TEST_NAMESPACES", ',');
    if (!files.empty() && files.size() != kMulticastHosts) {
        throw std::runtime_error("TUTTI_TEST_NAMESPACES: one for each of " +
                                 std::to_string(kMulticastHosts) + " hosts");
    }
    return files;
}

std::vector<std::string> test_ports() { return words_of("TUTTI_TEST_VERBS", ' '); }

}  // namespace tutti::test
