// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/ud_datagrams.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "run/transport/ud/addresses.h"
#include "run/transport/ud/promises.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {
namespace {

using carrier::Address;
using carrier::kBatchPackets;
using carrier::WayParams;
using verbs::Events;
using verbs::kGrhBytes;
using verbs::UdCard;
using verbs::UdEndpoint;
using verbs::UdGroup;
using verbs::UdQueue;
using verbs::UdReceived;
using verbs::UdRoute;
using verbs::UdSend;

struct UdWay final : carrier::Way {
    UdGroup group{};
    UdRoute to_all;
    std::vector<UdRoute> to_member;  // none to this one
    uint32_t packet_bytes = 0;
    uint32_t promised = 0;
};

const UdWay& own_way(const carrier::Way& way) { return static_cast<const UdWay&>(way); }

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
    void leave(std::unique_ptr<carrier::Way> way) override;

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

    Result<Done> post_all();

  private:
    struct Joined {
        UdGroup group{};
        UdRoute to_all;
        uint32_t uses = 0;
    };
    struct Retired {
        UdRoute route;
        uint64_t sends = 0;  // until so many are complete one of them may go by it
    };

    [[nodiscard]] uint32_t free_receives() const { return promisable(receives_) - promised_; }
    [[nodiscard]] std::span<std::byte> receive_buffer(uint32_t place);
    [[nodiscard]] std::span<std::byte> send_buffer(uint32_t place);
    [[nodiscard]] bool is_own(const UdReceived& one, std::span<const std::byte> head) const;
    [[nodiscard]] bool has_room() const { return is_broken_ || added_ - complete_ < kSends; }
    void give_back();
    void poll_receives();
    void poll_sends();
    void take_off(UdQueue queue);
    bool arm_receives(carrier::Wake wake);
    bool arm_sends();
    void break_down();

    Result<std::unique_ptr<UdWay>> make_way(const WayParams& params);
    Result<UdRoute> join(const UdGroup& group);
    void leave(const UdGroup& group);
    void retire(const UdRoute& route) { retired_.push_back({route, added_}); }
    void drop_retired();

    std::shared_ptr<verbs::Device> device_;
    std::unique_ptr<UdEndpoint> end_;
    const uint32_t receives_;
    const uint32_t port_bytes_;  // of a packet; those of the groups may be shorter
    Address address_;            // without what changes
    std::array<carrier::WaitFd, 2> wait_fds_;

    // Of join() and leave(); address() reads what is promised.
    std::atomic<uint32_t> promised_{0};
    std::vector<Joined> joined_;
    std::vector<Retired> retired_;
    size_t live_routes_ = 0;  // of all ways, at most

    // Under the carrier's lock.
    std::array<UdReceived, kBatchPackets> polled_{};
    size_t polled_count_ = 0;
    std::array<uint32_t, kBatchPackets> held_{};  // of the batch that is looked at
    size_t held_count_ = 0;
    std::array<carrier::Arrived, kBatchPackets> arrived_{};
    std::array<UdSend, kBatchPackets> waiting_{};
    size_t waiting_count_ = 0;
    // join() and leave() read them, to see which routes are done with.
    std::atomic<uint64_t> added_{0};
    std::atomic<uint64_t> complete_{0};
    std::array<bool, 2> is_armed_{};  // then it will tell, or has told and was not taken off
    bool is_armed_for_all_ = false;   // what is received
    bool is_broken_ = false;
    uint64_t own_ = 0;
    uint64_t refused_ = 0;
};

UdDatagrams::UdDatagrams(std::shared_ptr<verbs::Device> device, std::unique_ptr<UdEndpoint> end,
                         uint32_t receives, uint64_t number)
    : device_(std::move(device)),
      end_(std::move(end)),
      receives_(receives),
      port_bytes_(end_->card().port.mtu_bytes),
      wait_fds_{
          {{end_->wait_fd(UdQueue::kReceived), false}, {end_->wait_fd(UdQueue::kSent), false}}} {
    // No other host has a port of this address.
    const verbs::PortCard& port = end_->card().port;
    std::memcpy(&address_.host, port.gid + 8, sizeof address_.host);
    address_.host ^= port.lid;
    address_.carrier = number;
    address_.kind = carrier::Kind::kUd;
}

Result<Done> UdDatagrams::post_all() {
    for (uint32_t place = 0; place < receives_;) {
        for (held_count_ = 0; held_count_ < kBatchPackets && place < receives_; ++place) {
            held_[held_count_++] = place;
        }
        const int outcome = end_->post(std::span<const uint32_t>(held_).first(held_count_));
        held_count_ = 0;
        if (outcome == 0) continue;
        return Error{ErrorCode::kSystem,
                     std::string("multicast: no receive: ") + std::strerror(outcome)};
    }
    return Done{};
}

// ---------------------------------------------------------------- groups

Address UdDatagrams::address() const {
    const UdCard& card = end_->card();
    Address address = address_;
    say({card, packet_bytes_of(card.port), free_receives()}, address);
    return address;
}

// Routes of what cannot be joined after all go as those of a way that is left.
Result<std::unique_ptr<UdWay>> UdDatagrams::make_way(const WayParams& params) {
    const auto path = choose_path(params.members, params.own);
    if (!path) return path.error();
    const size_t members = params.members.size();
    auto way = std::make_unique<UdWay>();
    std::copy_n(params.group.bytes.begin(), way->group.size(), way->group.begin());
    way->packet_bytes = path.value().packet_bytes_max;
    way->promised = promise_of(path.value().window_packets_max, members,
                               said_by(params.members[params.own]).free_receives);
    if (free_receives() < way->promised) {
        return Error{ErrorCode::kMemory,
                     "multicast: another group has taken the receives that this one was to have"};
    }
    joined_.reserve(joined_.size() + 1);
    // Whoever leaves needs no memory for it.
    retired_.reserve(retired_.size() + live_routes_ + members + 1);
    way->to_member.resize(members);
    Result<Done> outcome = Done{};
    for (size_t member = 0; member < members && outcome; ++member) {
        if (member == params.own) continue;
        const auto route = end_->make_route(said_by(params.members[member]).card);
        if (route) way->to_member[member] = route.value();
        if (!route) outcome = route.error();
    }
    if (outcome) {
        const auto route = join(way->group);
        if (route) way->to_all = route.value();
        if (!route) outcome = route.error();
    }
    if (outcome) {
        live_routes_ += members + 1;
        return way;
    }
    for (const UdRoute& route : way->to_member) {
        if (route.handle) end_->drop(route);
    }
    return outcome.error();
}

Result<std::unique_ptr<carrier::Way>> UdDatagrams::join(const WayParams& params) {
    if (params.group.kind != carrier::Kind::kUd) {
        return Error{ErrorCode::kArgument, "multicast: the group's address is of another fabric"};
    }
    try {
        drop_retired();
        auto way = make_way(params);
        if (!way) return way.error();
        promised_ += way.value()->promised;
        return std::unique_ptr<carrier::Way>(std::move(way.value()));
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kMemory, "multicast: no memory for a group"};
    }
}

// A queue pair is attached to a group once, whatever the number of teams that use it.
Result<UdRoute> UdDatagrams::join(const UdGroup& group) {
    const auto found = std::find_if(joined_.begin(), joined_.end(),
                                    [&](const Joined& one) { return one.group == group; });
    if (found != joined_.end()) {
        ++found->uses;
        return found->to_all;
    }
    const auto route = end_->join(group);
    if (route) joined_.push_back({group, route.value(), 1});
    return route;
}

void UdDatagrams::leave(const UdGroup& group) {
    const auto found = std::find_if(joined_.begin(), joined_.end(),
                                    [&](const Joined& one) { return one.group == group; });
    TUTTI_ASSERT(found != joined_.end(), "a group that is left was joined");
    if (--found->uses > 0) return;
    end_->leave(group);
    retire(found->to_all);
    joined_.erase(found);
}

void UdDatagrams::leave(std::unique_ptr<carrier::Way> way) {
    const UdWay& mine = own_way(*way);
    promised_ -= mine.promised;
    live_routes_ -= mine.to_member.size() + 1;
    leave(mine.group);
    for (const UdRoute& route : mine.to_member) {
        if (route.handle) retire(route);
    }
    drop_retired();
}

// Those by which nothing goes any more. The others wait for the next one that joins or leaves.
void UdDatagrams::drop_retired() {
    const uint64_t complete = complete_;
    std::erase_if(retired_, [&](const Retired& one) {
        if (one.sends > complete) return false;
        end_->drop(one.route);
        return true;
    });
}

std::string UdDatagrams::describe(const carrier::Way& way) const {
    return device_->name() + ", unreliable datagrams of " +
           std::to_string(own_way(way).packet_bytes) + " bytes";
}

// ---------------------------------------------------------------- packets in

std::span<std::byte> UdDatagrams::receive_buffer(uint32_t place) {
    const size_t bytes = kGrhBytes + port_bytes_;
    return end_->memory().subspan(place * bytes, bytes);
}

// What was sent to the group comes back to the queue pair that sent it. A global route header has
// the sender's address from 8 on; that of RoCE v2 over IPv4 is an IPv4 header at the end of the 40
// bytes, with it from 32 on.
bool UdDatagrams::is_own(const UdReceived& one, std::span<const std::byte> head) const {
    const UdCard& card = end_->card();
    if (!one.has_address || one.queue_pair != card.queue_pair) return false;
    const auto gid = std::as_bytes(std::span(card.port.gid));
    const bool is_mapped = std::memcmp(gid.data(), "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;
    return std::ranges::equal(head.subspan(8, 16), gid) ||
           (is_mapped && std::ranges::equal(head.subspan(32, 4), gid.subspan(12)));
}

// The buffers of the last batch are posted again.
void UdDatagrams::give_back() {
    if (held_count_ == 0) return;
    const int outcome = end_->post(std::span<const uint32_t>(held_).first(held_count_));
    held_count_ = 0;
    if (outcome != 0) break_down();
}

void UdDatagrams::poll_receives() {
    const int count = end_->poll(polled_);
    if (count < 0) return break_down();
    polled_count_ = static_cast<size_t>(count);
}

carrier::Batch UdDatagrams::receive(uint32_t /*source*/) {
    take_off(UdQueue::kReceived);
    take_off(UdQueue::kSent);
    if (!is_broken_) give_back();
    if (!is_broken_ && polled_count_ == 0) poll_receives();
    const auto polled = std::span(polled_).first(polled_count_);
    // Only a queue pair that has failed says so of receives.
    if (std::ranges::any_of(polled, [](const UdReceived& one) { return one.status != 0; })) {
        break_down();
    }
    if (is_broken_) return {};
    size_t count = 0;
    for (const UdReceived& one : polled) {
        held_[held_count_++] = one.place;
        const std::span<std::byte> buffer = receive_buffer(one.place);
        if (one.bytes < kGrhBytes || one.bytes > buffer.size()) continue;
        if (is_own(one, buffer)) {
            ++own_;
            continue;
        }
        arrived_[count++] = {buffer.subspan(kGrhBytes, one.bytes - kGrhBytes), 0};
    }
    polled_count_ = 0;
    return {std::span(arrived_).first(count), polled.size() == kBatchPackets};
}

// ---------------------------------------------------------------- packets out

std::span<std::byte> UdDatagrams::send_buffer(uint32_t place) {
    const size_t behind = size_t{receives_} * (kGrhBytes + port_bytes_);
    return end_->memory().subspan(behind + size_t{place} * port_bytes_, port_bytes_);
}

std::span<std::byte> UdDatagrams::space() {
    if (waiting_count_ == kBatchPackets || !has_room()) return {};
    return send_buffer(static_cast<uint32_t>(added_ % kSends));
}

// A longer packet would be sent with success, and lost.
void UdDatagrams::add(const carrier::Way& way, mcast::Member to, size_t bytes, bool is_urgent) {
    const UdWay& mine = own_way(way);
    TUTTI_ASSERT(bytes <= mine.packet_bytes, "a packet is as long as the group's members take");
    const UdRoute& route = to == mcast::kEverybody ? mine.to_all : mine.to_member[to];
    const auto place = static_cast<uint32_t>(added_++ % kSends);
    waiting_[waiting_count_++] = {place, static_cast<uint32_t>(bytes), route, is_urgent};
}

void UdDatagrams::poll_sends() {
    const int64_t complete = end_->poll_complete();
    if (complete < 0) return break_down();
    complete_ = static_cast<uint64_t>(complete);
}

bool UdDatagrams::flush() {
    if (!is_broken_ && waiting_count_ > 0) {
        const int outcome = end_->post(std::span<const UdSend>(waiting_).first(waiting_count_));
        if (outcome != 0) break_down();
        if (outcome == 0) waiting_count_ = 0;
    }
    if (!is_broken_) poll_sends();
    if (is_broken_) break_down();
    return has_room();
}

// From here on nothing comes or goes. Routes of what is under way stay until the queue pair goes.
void UdDatagrams::break_down() {
    is_broken_ = true;
    refused_ += waiting_count_;
    waiting_count_ = 0;
    polled_count_ = held_count_ = 0;
}

// ---------------------------------------------------------------- sleep

void UdDatagrams::take_off(UdQueue queue) {
    bool& is_armed = is_armed_[static_cast<size_t>(queue)];
    if (is_armed && end_->take(queue)) is_armed = false;
}

// For all stays for all until it has told: the queue knows no way back.
bool UdDatagrams::arm_receives(carrier::Wake wake) {
    bool& is_armed = is_armed_[static_cast<size_t>(UdQueue::kReceived)];
    const bool is_for_all = wake == carrier::Wake::kAll;
    if (is_armed && (is_armed_for_all_ || !is_for_all)) return true;
    is_armed = end_->arm(UdQueue::kReceived, is_for_all ? Events::kAll : Events::kSolicited);
    is_armed_for_all_ = is_for_all;
    return is_armed;
}

bool UdDatagrams::arm_sends() {
    bool& is_armed = is_armed_[static_cast<size_t>(UdQueue::kSent)];
    if (!is_armed) is_armed = end_->arm(UdQueue::kSent, Events::kAll);
    return is_armed;
}

// What came before the request nobody tells of, so there is one more look behind it.
bool UdDatagrams::arm(carrier::Wake wake, bool wants_room) {
    if (!arm_receives(wake) || (wants_room && !arm_sends())) break_down();
    if (is_broken_) return true;
    if (polled_count_ == 0) poll_receives();
    if (wants_room) poll_sends();
    return polled_count_ == 0 && (!wants_room || !has_room());
}

carrier::Datagrams::Counters UdDatagrams::counters() const {
    Counters all;
    all.sent = added_ - waiting_count_ - refused_;
    all.refused = refused_;
    all.own = own_;
    all.receive_bytes = receives_ * port_bytes_;
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
