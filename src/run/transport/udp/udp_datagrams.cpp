// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/udp_datagrams.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <new>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "run/transport/udp/batches.h"
#include "run/transport/udp/interfaces.h"
#include "run/transport/udp/sockets.h"

namespace tutti::transport::udp {
namespace {

using carrier::Address;
using carrier::WayParams;

// CLOCK_REALTIME, by which the system stamps packets.
uint64_t real_ns() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

Address address_of(const Endpoint& endpoint) {
    Address address;
    address.host = endpoint.host;
    // Carriers of one host have ports of their own; an odd factor (of the golden ratio) keeps them
    // apart and far from other hosts' numbers.
    address.carrier = endpoint.host ^ (endpoint.port * 0x9e3779b97f4a7c15u);
    address.kind = static_cast<carrier::Kind>(endpoint.family);
    static_assert(sizeof(endpoint) <= sizeof(address.of_kind));
    std::memcpy(address.of_kind.data(), &endpoint, sizeof(endpoint));
    return address;
}

// Of another fabric's address: one that can be reached nowhere.
Endpoint endpoint_of(const Address& address) {
    Endpoint endpoint;
    if (address.kind != carrier::Kind::kUdp4 && address.kind != carrier::Kind::kUdp6) {
        return endpoint;
    }
    std::memcpy(&endpoint, address.of_kind.data(), sizeof(endpoint));
    return endpoint;
}

std::vector<Endpoint> endpoints_of(std::span<const Address> members) {
    std::vector<Endpoint> endpoints;
    for (const Address& member : members) endpoints.push_back(endpoint_of(member));
    return endpoints;
}

struct UdpWay final : carrier::Way {
    AddressBytes group{};
    Candidate own;
    uint32_t packet_bytes_max = 0;
    SocketAddress to_all;
    std::vector<SocketAddress> to_member;
    Via via;
};

// The carrier gives back what it had from join().
const UdpWay& own_way(const carrier::Way& way) { return static_cast<const UdpWay&>(way); }

class UdpDatagrams final : public carrier::Datagrams {
  public:
    UdpDatagrams(const DatagramsParams& params, const Endpoint& endpoint, Sockets sockets)
        : params_(params),
          endpoint_(endpoint),
          address_(address_of(endpoint)),
          sockets_(std::move(sockets)),
          wait_fds_{{{sockets_.group(), false}, {sockets_.own(), true}}},
          inflow_(params.packet_bytes_max),
          outflow_(params.packet_bytes_max) {}

    [[nodiscard]] Address address() const override { return address_; }
    [[nodiscard]] Result<carrier::Path> choose_path(std::span<const Address> members,
                                                    mcast::Member own) const override;
    [[nodiscard]] std::string describe(const carrier::Way& way) const override;
    [[nodiscard]] std::span<const carrier::WaitFd> wait_fds() const override { return wait_fds_; }

    Result<std::unique_ptr<carrier::Way>> join(const WayParams& params) override;
    void leave(std::unique_ptr<carrier::Way> way) override;

    // What came to this member alone, and what came to all.
    [[nodiscard]] uint32_t sources() const override { return 2; }
    carrier::Batch receive(uint32_t source) override;
    [[nodiscard]] std::span<std::byte> space() override {
        return outflow_.is_full() ? std::span<std::byte>() : outflow_.space();
    }
    void add(const carrier::Way& way, mcast::Member to, size_t bytes, bool is_urgent) override;
    bool flush() override { return outflow_.flush(sockets_.own()); }
    // What waits refers to the way's addresses.
    void forget(const carrier::Way& /*way*/) override {
        if (!flush()) outflow_.drop();
    }
    void set_needs(bool shares_host, bool wants_ages) override;
    // Sockets are readable as long as anything waits there.
    bool arm(carrier::Wake /*wake*/, bool /*wants_room*/) override { return true; }
    [[nodiscard]] Counters counters() const override;

  private:
    [[nodiscard]] Result<std::unique_ptr<UdpWay>> make_way(const WayParams& params) const;
    [[nodiscard]] bool is_own(const Received& packet) const;

    DatagramsParams params_;
    Endpoint endpoint_;
    Address address_;
    Sockets sockets_;
    std::array<carrier::WaitFd, 2> wait_fds_;
    Inflow inflow_;
    Outflow outflow_;
    std::array<carrier::Arrived, kBatchPackets> arrived_{};
    bool has_timestamps_ = false;
    uint64_t own_ = 0;
};

// ---------------------------------------------------------------- groups

Result<carrier::Path> UdpDatagrams::choose_path(std::span<const Address> members,
                                                mcast::Member own) const {
    try {
        const auto path = udp::choose_path(endpoints_of(members), own);
        if (!path) return path.error();
        carrier::Path agreed;
        agreed.packet_bytes_max = path.value().packet_bytes_max;
        agreed.window_packets_max = path.value().window_packets_max;
        agreed.shares_host = path.value().shares_host;
        return agreed;
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kMemory, "out of memory"};
    }
}

Result<std::unique_ptr<UdpWay>> UdpDatagrams::make_way(const WayParams& params) const {
    if (params.group.kind != address_.kind) {
        return Error{ErrorCode::kArgument, "multicast: the group's address is of another family"};
    }
    const std::vector<Endpoint> endpoints = endpoints_of(params.members);
    const auto path = udp::choose_path(endpoints, params.own);
    if (!path) return path.error();
    auto way = std::make_unique<UdpWay>();
    way->group = params.group.bytes;
    way->own = path.value().own;
    way->packet_bytes_max = path.value().packet_bytes_max;
    const uint32_t interface = way->own.interface;
    way->to_all = socket_address(params_.family, way->group, sockets_.group_port(), interface);
    way->via = Via(params_.family, way->own);
    for (size_t member = 0; member < endpoints.size(); ++member) {
        way->to_member.push_back(socket_address(params_.family,
                                                path.value().of_member[member].address,
                                                endpoints[member].port, interface));
    }
    return way;
}

Result<std::unique_ptr<carrier::Way>> UdpDatagrams::join(const WayParams& params) {
    try {
        auto way = make_way(params);
        if (!way) return way.error();
        const auto joined = sockets_.join(way.value()->group, way.value()->own.interface);
        if (!joined) return joined.error();
        return std::unique_ptr<carrier::Way>(std::move(way.value()));
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kMemory, "multicast: no memory for a group"};
    }
}

void UdpDatagrams::leave(std::unique_ptr<carrier::Way> way) {
    sockets_.leave(own_way(*way).group, own_way(*way).own.interface);
}

std::string UdpDatagrams::describe(const carrier::Way& way) const {
    const UdpWay& mine = own_way(way);
    std::array<char, IF_NAMESIZE> name{};
    if (!if_indextoname(mine.own.interface, name.data())) name[0] = '?';
    return std::string(name.data()) + ", " + to_text(params_.family, mine.own.address) +
           ", packets of " + std::to_string(mine.packet_bytes_max) + " bytes";
}

// ---------------------------------------------------------------- packets

bool UdpDatagrams::is_own(const Received& packet) const {
    if (packet.port != endpoint_.port) return false;
    const auto candidates = std::span(endpoint_.candidate).first(endpoint_.candidates);
    return std::any_of(candidates.begin(), candidates.end(),
                       [&](const Candidate& one) { return one.address == packet.address; });
}

carrier::Batch UdpDatagrams::receive(uint32_t source) {
    const int socket = source == 0 ? sockets_.own() : sockets_.group();
    const std::span<const Received> packets = inflow_.read(socket);
    const uint64_t now_ns = has_timestamps_ && !packets.empty() ? real_ns() : 0;
    size_t count = 0;
    for (const Received& packet : packets) {
        if (is_own(packet)) {
            ++own_;
            continue;
        }
        const bool is_told = packet.real_ns != 0 && packet.real_ns < now_ns;
        arrived_[count++] = {packet.bytes, is_told ? now_ns - packet.real_ns : 0};
    }
    return {std::span(arrived_).first(count), packets.size() == kBatchPackets};
}

void UdpDatagrams::add(const carrier::Way& way, mcast::Member to, size_t bytes,
                       bool /*is_urgent*/) {
    const UdpWay& mine = own_way(way);
    outflow_.add(bytes, to == mcast::kEverybody ? mine.to_all : mine.to_member[to], &mine.via);
}

void UdpDatagrams::set_needs(bool shares_host, bool wants_ages) {
    sockets_.set_loop(shares_host);
    if (wants_ages != has_timestamps_) sockets_.set_timestamps(wants_ages);
    has_timestamps_ = wants_ages;
}

carrier::Datagrams::Counters UdpDatagrams::counters() const {
    Counters all;
    all.sent = outflow_.sent();
    all.refused = outflow_.refused();
    all.own = own_;
    all.overflowed = sockets_.overflowed();
    all.receive_bytes = sockets_.receive_buffer_bytes();
    return all;
}

Result<Endpoint> make_endpoint(const DatagramsParams& params) {
    const auto all = list_interfaces();
    if (!all) return all.error();
    const auto preferred = connected_interfaces(all.value());
    const auto chosen = choose_candidates(all.value(), params.family, params.interface, preferred,
                                          params.packet_bytes_max);
    if (!chosen) return chosen.error();
    Endpoint endpoint;
    endpoint.host = host_number();
    endpoint.family = static_cast<uint32_t>(params.family);
    endpoint.candidates = static_cast<uint16_t>(chosen.value().size());
    std::copy(chosen.value().begin(), chosen.value().end(), endpoint.candidate.begin());
    return endpoint;
}

}  // namespace

Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(const DatagramsParams& params) {
    TUTTI_ASSERT(params.packet_bytes_max >= mcast::kControlBytesMax, "packets hold control data");
    auto endpoint = make_endpoint(params);
    if (!endpoint) return endpoint.error();
    auto sockets =
        Sockets::open({params.family, params.port, params.ttl, params.receive_buffer_bytes});
    if (!sockets) return sockets.error();
    endpoint.value().port = sockets.value().own_port();
    endpoint.value().receive_bytes = sockets.value().receive_buffer_bytes();
    return std::unique_ptr<carrier::Datagrams>(
        std::make_unique<UdpDatagrams>(params, endpoint.value(), std::move(sockets.value())));
}

}  // namespace tutti::transport::udp
