// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/verbs_multicast.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/assert.h"

namespace tutti::bench {
namespace {

using transport::verbs::Device;
using transport::verbs::kGrhBytes;
using transport::verbs::UdEndpoint;
using transport::verbs::UdGroup;
using transport::verbs::UdNeed;
using transport::verbs::UdReceived;
using transport::verbs::UdRoute;
using transport::verbs::UdSend;

// One is under way at a time, and what comes late or twice.
constexpr uint32_t kReceives = 16;
constexpr uint32_t kSends = 4;
constexpr uint64_t kPacketsBefore = 8;
constexpr uint64_t kLostNs = kNsPerSecond / 10;
// How often who waits looks at the clock.
constexpr uint64_t kClockEvery = 256;

struct Port {
    std::unique_ptr<UdEndpoint> endpoint;
    size_t packet_bytes = 0;
    std::optional<UdRoute> route;  // to the group, while it is a member
    uint64_t posted = 0;
    bool has_it = false;  // the packet that is under way
};

class Multicasts {
  public:
    Multicasts(std::span<Device* const> devices, const MulticastOrder& order, Clock& clock,
               const std::function<void()>& turn)
        : devices_(devices), order_(order), clock_(clock), turn_(turn) {}
    ~Multicasts();
    Multicasts(const Multicasts&) = delete;
    Multicasts& operator=(const Multicasts&) = delete;
    Result<MulticastFigures> measure();

  private:
    Result<Done> open(Device& device);
    Result<Done> join(Port& port);
    Result<double> median_us(size_t bytes, MulticastCounts& counts);
    Result<std::optional<uint64_t>> pass(size_t bytes, MulticastCounts& counts);
    Result<Done> post(size_t bytes);
    Result<Done> take(Port& port, size_t bytes, MulticastCounts& counts);
    [[nodiscard]] std::span<Port> receivers() { return std::span(ports_).subspan(1, members_); }

    std::span<Device* const> devices_;
    const MulticastOrder& order_;
    Clock& clock_;
    const std::function<void()>& turn_;
    std::vector<Port> ports_;  // the sender's first
    size_t members_ = 0;       // beside it, the first ones
    uint64_t number_ = 0;      // of the packet that is under way
};

Error broken(const char* what) { return {ErrorCode::kNetwork, what}; }

Multicasts::~Multicasts() {
    for (const Port& port : ports_) {
        if (port.route) port.endpoint->leave(order_.group);
    }
}

Result<Done> Multicasts::open(Device& device) {
    auto endpoint = device.make_ud(UdNeed{kReceives, kSends});
    if (!endpoint) return endpoint.error();
    Port port;
    port.endpoint = std::move(endpoint.value());
    port.packet_bytes = device.port().mtu_bytes;
    std::array<uint32_t, kReceives> places;
    for (uint32_t i = 0; i < kReceives; ++i) places[i] = i;
    if (port.endpoint->post(places) != 0) return broken("no receive can be posted");
    ports_.push_back(std::move(port));
    return Done{};
}

Result<Done> Multicasts::join(Port& port) {
    auto route = port.endpoint->join(order_.group);
    if (!route) return route.error();
    port.route = route.value();
    return Done{};
}

// All that has come there; the receives are posted anew.
Result<Done> Multicasts::take(Port& port, size_t bytes, MulticastCounts& counts) {
    std::array<UdReceived, kReceives> found;
    const int count = port.endpoint->poll(found);
    if (count < 0) return broken("a port has failed");
    for (int i = 0; i < count; ++i) {
        const UdReceived& one = found[static_cast<size_t>(i)];
        if (one.status != 0) return broken("a receive has failed");
        const std::byte* packet = port.endpoint->memory().data() +
                                  one.place * (kGrhBytes + port.packet_bytes) + kGrhBytes;
        uint64_t number = 0;
        if (one.bytes == kGrhBytes + bytes) std::memcpy(&number, packet, sizeof number);
        if (number == number_ && !port.has_it) {
            const auto mark = static_cast<std::byte>(number_);
            if (!std::all_of(packet + sizeof number, packet + bytes,
                             [&](std::byte byte) { return byte == mark; })) {
                return broken("a packet has come with other bytes than were sent");
            }
            port.has_it = true;
            ++(&port == ports_.data() ? counts.echoed : counts.received);
        }
        if (port.endpoint->post(std::span(&one.place, 1)) != 0) {
            return broken("no receive can be posted");
        }
    }
    return Done{};
}

// One that was sent long ago is not the device's any more.
Result<Done> Multicasts::post(size_t bytes) {
    Port& sender = ports_[0];
    const uint64_t end_ns = clock_.now_ns() + kNsPerSecond;
    for (;;) {
        const int64_t complete = sender.endpoint->poll_complete();
        if (complete < 0) return broken("the sender's port has failed");
        if (sender.posted - static_cast<uint64_t>(complete) < kSends) break;
        if (clock_.now_ns() > end_ns) return broken("what was sent is not complete in a second");
        turn_();
    }
    const auto place = static_cast<uint32_t>(number_ % kSends);
    std::byte* packet = sender.endpoint->memory().data() +
                        kReceives * (kGrhBytes + sender.packet_bytes) + place * sender.packet_bytes;
    std::memset(packet, static_cast<int>(number_ & 0xff), bytes);
    std::memcpy(packet, &number_, sizeof number_);
    const UdSend send{place, static_cast<uint32_t>(bytes), *sender.route, false};
    ++sender.posted;
    if (sender.endpoint->post(std::span(&send, 1)) != 0) return broken("nothing can be posted");
    return Done{};
}

// How many ns it took, from its posting until the last of them has it and has posted the receive
// anew; none: it was lost on its way to one.
Result<std::optional<uint64_t>> Multicasts::pass(size_t bytes, MulticastCounts& counts) {
    ++number_;
    ++counts.packets;
    ++counts.posts;
    for (Port& port : ports_) port.has_it = false;
    const uint64_t begin_ns = clock_.now_ns();
    if (auto posted = post(bytes); !posted) return posted.error();
    for (uint64_t turns = 1;; ++turns) {
        bool have_all = true;
        for (Port& port : receivers()) {
            if (port.has_it) continue;
            if (auto taken = take(port, bytes, counts); !taken) return taken.error();
            have_all &= port.has_it;
        }
        if (have_all) break;
        if (turns % kClockEvery == 0 && clock_.now_ns() - begin_ns > kLostNs) {
            ++counts.lost;
            return std::optional<uint64_t>();
        }
        turn_();
    }
    const uint64_t end_ns = clock_.now_ns();
    if (auto taken = take(ports_[0], bytes, counts); !taken) return taken.error();
    return std::optional(end_ns - begin_ns);
}

Result<double> Multicasts::median_us(size_t bytes, MulticastCounts& counts) {
    std::vector<uint64_t> all_ns;
    all_ns.reserve(order_.packets);
    MulticastCounts warm_up;
    for (uint64_t i = 0; i < kPacketsBefore + order_.packets; ++i) {
        const auto ns = pass(bytes, i < kPacketsBefore ? warm_up : counts);
        if (!ns) return ns.error();
        if (i >= kPacketsBefore && ns.value()) all_ns.push_back(*ns.value());
    }
    if (all_ns.empty()) return broken("no packet has come to all");
    const auto middle = all_ns.begin() + static_cast<ptrdiff_t>(all_ns.size() / 2);
    std::nth_element(all_ns.begin(), middle, all_ns.end());
    return static_cast<double>(*middle) / 1e3;
}

Result<MulticastFigures> Multicasts::measure() {
    for (Device* device : devices_) {
        if (auto opened = open(*device); !opened) return opened.error();
    }
    if (devices_.size() == 1) {
        if (auto opened = open(*devices_[0]); !opened) return opened.error();
    }
    if (auto joined = join(ports_[0]); !joined) return joined.error();
    MulticastFigures figures;
    for (const bool is_to_all : {false, true}) {
        const size_t wanted = is_to_all ? ports_.size() - 1 : 1;
        for (; members_ < wanted; ++members_) {
            if (auto joined = join(ports_[members_ + 1]); !joined) return joined.error();
        }
        for (const uint64_t bytes : order_.bytes) {
            const auto us = median_us(bytes, is_to_all ? figures.to_all : figures.to_one);
            if (!us) return us.error();
            (is_to_all ? figures.to_all_us : figures.to_one_us).push_back(us.value());
        }
    }
    return figures;
}

}  // namespace

Result<MulticastFigures> measure_multicast(std::span<Device* const> ports,
                                           const MulticastOrder& order, Clock& clock,
                                           const std::function<void()>& turn) {
    TUTTI_ASSERT(!ports.empty() && !order.bytes.empty(), "there are ports and lengths");
    return Multicasts(ports, order, clock, turn).measure();
}

}  // namespace tutti::bench
