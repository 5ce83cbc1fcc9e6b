// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/ud_datagrams.h"

#include <sys/random.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/assert.h"
#include "run/transport/ud/addresses.h"
#include "run/transport/ud/ud_alarm.h"
#include "run/transport/ud/ud_receives.h"
#include "run/transport/ud/ud_sends.h"
#include "run/transport/ud/ud_ways.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {
namespace {

using carrier::Address;
using carrier::WayParams;
using verbs::kGrhBytes;
using verbs::UdCard;
using verbs::UdEndpoint;
using verbs::UdQueue;
using verbs::UdRoute;

const UdWay& own_way(const carrier::Way& way) { return static_cast<const UdWay&>(way); }

// The buffers to send from, behind those to receive into (registered_bytes()).
std::span<std::byte> send_memory(UdEndpoint& end, uint32_t receives) {
    const size_t packet_bytes = end.card().port.mtu_bytes;
    return end.memory().subspan(receives * (kGrhBytes + packet_bytes), kSends * packet_bytes);
}

class UdDatagrams final : public carrier::Datagrams {
  public:
    UdDatagrams(std::shared_ptr<verbs::Device> device, std::unique_ptr<UdEndpoint> end,
                uint32_t receives, uint64_t number);

    [[nodiscard]] Address address() const override;
    [[nodiscard]] Result<carrier::Path> choose_path(std::span<const Address> members,
                                                    mcast::Member own) const override {
        return choose_path_of(members, own);
    }
    [[nodiscard]] std::string describe(const carrier::Way& way) const override;
    [[nodiscard]] std::span<const carrier::WaitFd> wait_fds() const override { return wait_fds_; }

    Result<std::unique_ptr<carrier::Way>> join(const WayParams& params) override;
    void leave(std::unique_ptr<carrier::Way> way) override { ways_.leave(own_way(*way)); }

    [[nodiscard]] uint32_t sources() const override { return 1; }
    carrier::Batch receive(uint32_t source) override;
    [[nodiscard]] std::span<std::byte> space() override;
    void add(const carrier::Way& way, mcast::Member to, size_t bytes, bool is_urgent) override;
    bool flush() override;
    // What waits refers to the way's routes.
    void forget(const carrier::Way& /*way*/) override { flush(); }
    // A queue pair hears the others of its port, and hardware stamps are not asked for.
    void set_needs(bool /*shares_host*/, bool /*wants_ages*/) override {}
    bool arm(carrier::Wake wake, bool wants_room) override;
    [[nodiscard]] Counters counters() const override;

    Result<Done> post_all() { return receives_.post_all(); }

  private:
    [[nodiscard]] bool has_room() const { return is_broken_ || sends_.has_room(); }
    void break_down();

    std::shared_ptr<verbs::Device> device_;
    std::unique_ptr<UdEndpoint> end_;
    Address address_;  // without what changes
    std::array<carrier::WaitFd, 2> wait_fds_;
    // Under the carrier's lock; ways_ is of join() and leave().
    UdReceives receives_;
    UdSends sends_;
    UdAlarm alarm_;
    bool is_broken_ = false;
    UdWays ways_;
};

UdDatagrams::UdDatagrams(std::shared_ptr<verbs::Device> device, std::unique_ptr<UdEndpoint> end,
                         uint32_t receives, uint64_t number)
    : device_(std::move(device)),
      end_(std::move(end)),
      wait_fds_{
          {{end_->wait_fd(UdQueue::kReceived), false}, {end_->wait_fd(UdQueue::kSent), false}}},
      receives_(*end_, receives),
      sends_(*end_, send_memory(*end_, receives)),
      alarm_(*end_),
      ways_(*end_, sends_, receives) {
    // No other host has a port of this address.
    const verbs::PortCard& port = end_->card().port;
    std::memcpy(&address_.host, port.gid + 8, sizeof address_.host);
    address_.host ^= port.lid;
    address_.carrier = number;
    address_.kind = carrier::Kind::kUd;
}

// ---------------------------------------------------------------- groups

Address UdDatagrams::address() const {
    const UdCard& card = end_->card();
    Address address = address_;
    say({card, packet_bytes_of(card.port), ways_.free_receives()}, address);
    return address;
}

Result<std::unique_ptr<carrier::Way>> UdDatagrams::join(const WayParams& params) {
    auto way = ways_.join(params);
    if (!way) return way.error();
    return std::unique_ptr<carrier::Way>(std::move(way.value()));
}

std::string UdDatagrams::describe(const carrier::Way& way) const {
    return device_->name() + ", unreliable datagrams of " +
           std::to_string(own_way(way).packet_bytes) + " bytes";
}

// ---------------------------------------------------------------- packets

carrier::Batch UdDatagrams::receive(uint32_t /*source*/) {
    alarm_.take_off();
    if (is_broken_) return {};
    if (receives_.renew()) return receives_.take();
    break_down();
    return {};
}

std::span<std::byte> UdDatagrams::space() {
    if (!has_room()) return {};
    return sends_.space();
}

// A longer packet would be sent with success, and lost.
void UdDatagrams::add(const carrier::Way& way, mcast::Member to, size_t bytes, bool is_urgent) {
    const UdWay& mine = own_way(way);
    TUTTI_ASSERT(bytes <= mine.packet_bytes, "a packet is as long as the group's members take");
    const UdRoute& route = to == mcast::kEverybody ? mine.to_all : mine.to_member[to];
    sends_.add(route, bytes, is_urgent);
}

bool UdDatagrams::flush() {
    if (is_broken_ || !sends_.flush()) break_down();
    return has_room();
}

// From here on nothing comes or goes. Routes of what is under way stay until the queue pair goes.
void UdDatagrams::break_down() {
    is_broken_ = true;
    sends_.drop();
    receives_.drop();
}

// What came before the request nobody tells of, so there is one more look behind it.
bool UdDatagrams::arm(carrier::Wake wake, bool wants_room) {
    if (!alarm_.arm_receives(wake) || (wants_room && !alarm_.arm_sends())) break_down();
    if (is_broken_) return true;
    if (!receives_.poll() || (wants_room && !sends_.poll())) break_down();
    return !receives_.has_batch() && (!wants_room || !has_room());
}

carrier::Datagrams::Counters UdDatagrams::counters() const {
    Counters all;
    all.sent = sends_.sent();
    all.refused = sends_.lost();
    all.own = receives_.own();
    all.receive_bytes = receives_.bytes();
    return all;
}

}  // namespace

Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(std::shared_ptr<verbs::Device> device) {
    const verbs::PortCard& port = device->port();
    if (packet_bytes_of(port) < mcast::kControlBytesMax) {
        return Error{ErrorCode::kNetwork, "multicast: packets of " + device->name() +
                                              " have only " +
                                              std::to_string(packet_bytes_of(port)) + " bytes"};
    }
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        return Error{ErrorCode::kSystem, "multicast: no random numbers"};
    }
    uint32_t receives = kReceivesMax;
    auto end = device->make_ud({receives, kSends});
    const auto are_too_many = [&] { return !end && end.error().code == ErrorCode::kMemory; };
    while (are_too_many() && receives > kReceivesMin) {
        end = device->make_ud({receives /= 2, kSends});
    }
    if (!end) return end.error();
    auto made =
        std::make_unique<UdDatagrams>(std::move(device), std::move(end.value()), receives, number);
    if (const auto posted = made->post_all(); !posted) return posted.error();
    return std::unique_ptr<carrier::Datagrams>(std::move(made));
}

carrier::GroupAddress make_group_address(uint64_t random) {
    carrier::GroupAddress address{carrier::Kind::kUd, {}};
    address.bytes[0] = 239;
    address.bytes[1] = static_cast<uint8_t>(192 + (random >> 16) % 4);
    address.bytes[2] = static_cast<uint8_t>(random >> 8);
    address.bytes[3] = static_cast<uint8_t>(random);
    return address;
}

}  // namespace tutti::transport::ud
