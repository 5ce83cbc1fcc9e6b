// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/fake_ud.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/fd.h"

namespace tutti::test {

using transport::verbs::Device;
using transport::verbs::Endpoint;
using transport::verbs::Events;
using transport::verbs::kGrhBytes;
using transport::verbs::Need;
using transport::verbs::PortCard;
using transport::verbs::UdCard;
using transport::verbs::UdEndpoint;
using transport::verbs::UdGroup;
using transport::verbs::UdNeed;
using transport::verbs::UdQueue;
using transport::verbs::UdReceived;
using transport::verbs::UdRoute;
using transport::verbs::UdSend;

namespace {

constexpr std::byte kJunk{0xa5};
// All have the same, so that a queue pair is known by its port's address too.
constexpr uint32_t kQueuePair = 17;
constexpr uint32_t kGroupQueuePair = 0xffffff;
constexpr size_t kOvertakenMax = 16;

// A queue of what there is room for, which takes no memory.
template <class One>
class Fifo {
  public:
    void make_room(size_t count) { ring_.resize(count); }
    [[nodiscard]] size_t size() const { return end_ - begin_; }
    [[nodiscard]] bool is_full() const { return size() == ring_.size(); }
    One& push() { return ring_[end_++ % ring_.size()]; }
    One& pop() { return ring_[begin_++ % ring_.size()]; }

  private:
    std::vector<One> ring_;
    size_t begin_ = 0;
    size_t end_ = 0;
};

}  // namespace

struct FakeUd::Packet {
    std::vector<std::byte> data;  // with the 40 bytes
    bool has_address = false;
    bool is_urgent = false;
    uint32_t overtakers = 0;
};

struct FakeUd::Route {
    bool is_group = false;
    UdGroup group{};
    size_t node = 0;
    uint64_t under_way = 0;
    bool is_dropped = false;
};

struct FakeUd::Node {
    struct Sent {
        uint32_t place = 0;
        Route* route = nullptr;
        std::vector<std::byte> data;  // as it was when it was posted
    };

    size_t number = 0;
    bool is_open = false;  // it has its endpoint
    UdCard card;
    UdNeed need;
    std::vector<std::byte> memory;
    std::vector<bool> is_posted;  // by place
    Fifo<uint32_t> receives;
    Fifo<UdReceived> received;
    Fifo<Sent> sent;
    uint64_t complete = 0;
    std::vector<UdGroup> groups;
    std::vector<Packet> overtaken;  // in use: those that have overtakers
    Packet packet;                  // the one that arrives
    bool is_held = false;
    std::deque<Packet> held;
    std::array<bool, 2> is_armed{};
    bool is_for_urgent = false;  // what is received
    std::array<bool, 2> is_to_tell{};
    std::array<Fd, 2> told;

    std::span<std::byte> receive_buffer(uint32_t place) {
        const size_t bytes = kGrhBytes + card.port.mtu_bytes;
        return std::span(memory).subspan(place * bytes, bytes);
    }
    std::span<std::byte> send_buffer(uint32_t place) {
        const size_t behind = size_t{need.receives} * (kGrhBytes + card.port.mtu_bytes);
        return std::span(memory).subspan(behind + size_t{place} * card.port.mtu_bytes,
                                         card.port.mtu_bytes);
    }
};

class FakeUdEndpoint final : public UdEndpoint {
  public:
    FakeUdEndpoint(FakeUd& fake, FakeUd::Node& node) : fake_(fake), node_(node) {}
    ~FakeUdEndpoint() override {
        const std::lock_guard guard(fake_.lock_);
        node_.is_open = false;
    }
    [[nodiscard]] const UdCard& card() const override { return node_.card; }
    std::span<std::byte> memory() override { return node_.memory; }

    int post(std::span<const uint32_t> receive_places) override {
        const std::lock_guard guard(fake_.lock_);
        for (const uint32_t place : receive_places) {
            if (place >= node_.need.receives || node_.is_posted[place]) {
                fake_.blame("a receive was posted twice");
                return EINVAL;
            }
            node_.is_posted[place] = true;
            std::ranges::fill(node_.receive_buffer(place), kJunk);
            node_.receives.push() = place;
        }
        return 0;
    }
    int post(std::span<const UdSend> sends) override {
        const std::lock_guard guard(fake_.lock_);
        ++fake_.posts_;
        if (fake_.posts_ > fake_.rules_.fails_after) return EIO;
        for (const UdSend& one : sends) {
            if (node_.sent.is_full()) {
                fake_.blame("a send without room in the queue");
                return ENOMEM;
            }
            fake_.send(node_, one);
        }
        for (const auto& other : fake_.nodes_) fake_.complete_sends(*other);
        return 0;
    }
    int poll(std::span<UdReceived> received) override {
        const std::lock_guard guard(fake_.lock_);
        for (const auto& other : fake_.nodes_) fake_.complete_sends(*other);
        size_t count = 0;
        while (count < received.size() && node_.received.size() > 0) {
            received[count++] = node_.received.pop();
        }
        return static_cast<int>(count);
    }
    int64_t poll_complete() override {
        const std::lock_guard guard(fake_.lock_);
        fake_.complete_sends(node_);
        return static_cast<int64_t>(node_.complete);
    }
    [[nodiscard]] int wait_fd(UdQueue queue) const override {
        return node_.told[static_cast<size_t>(queue)].get();
    }
    // A request for all stands until it has told, whatever is asked for behind it.
    bool arm(UdQueue queue, Events of) override {
        const std::lock_guard guard(fake_.lock_);
        bool& is_armed = node_.is_armed[static_cast<size_t>(queue)];
        if (queue == UdQueue::kReceived) {
            node_.is_for_urgent = of == Events::kSolicited && (!is_armed || node_.is_for_urgent);
        } else if (of == Events::kSolicited) {
            fake_.blame("sends are not urgent");
        }
        return is_armed = true;
    }
    bool take(UdQueue queue) override {
        uint64_t count = 0;
        return read(wait_fd(queue), &count, sizeof count) == sizeof count;
    }

    Result<UdRoute> make_route(const UdCard& to) override {
        const std::lock_guard guard(fake_.lock_);
        for (const auto& other : fake_.nodes_) {
            if (std::memcmp(other->card.port.gid, to.port.gid, sizeof to.port.gid) != 0) continue;
            FakeUd::Route route;
            route.node = other->number;
            return fake_.add_route(route);
        }
        return Error{ErrorCode::kNetwork, "no way there"};
    }
    void drop(const UdRoute& route) override {
        const std::lock_guard guard(fake_.lock_);
        FakeUd::Route* const one = fake_.route_of(route);
        if (!one || one->is_dropped) return fake_.blame("a route was dropped twice");
        if (one->under_way > 0) fake_.blame("a route was dropped under what was sent by it");
        one->is_dropped = true;
    }
    Result<UdRoute> join(const UdGroup& group) override {
        const std::lock_guard guard(fake_.lock_);
        if (node_.number == fake_.rules_.groupless_port) {
            return Error{ErrorCode::kNetwork, "the group cannot be joined"};
        }
        if (std::ranges::count(node_.groups, group) > 0) fake_.blame("a group was joined twice");
        node_.groups.push_back(group);
        FakeUd::Route route;
        route.is_group = true;
        route.group = group;
        return fake_.add_route(route);
    }
    void leave(const UdGroup& group) override {
        const std::lock_guard guard(fake_.lock_);
        if (std::erase(node_.groups, group) != 1) fake_.blame("a group was left twice");
    }

  private:
    FakeUd& fake_;
    FakeUd::Node& node_;
};

class FakeUdDevice final : public Device {
  public:
    FakeUdDevice(std::shared_ptr<FakeUd> fake, size_t number)
        : fake_(std::move(fake)), number_(number) {
        const auto host = static_cast<uint8_t>(number + 1);
        port_.mtu_bytes = fake_->rules_.mtu_bytes;
        port_.bytes_per_s = fake_->rules_.bytes_per_s;
        port_.is_ethernet = port_.needs_address = fake_->rules_.is_ethernet ? 1 : 0;
        if (port_.is_ethernet != 0) {
            const uint8_t mapped[] = {0xff, 0xff, 10, 0, 0, host};
            std::copy(std::begin(mapped), std::end(mapped), port_.gid + 10);
        } else {
            port_.gid[0] = 0xfe;
            port_.gid[1] = 0x80;
            port_.gid[15] = host;
            port_.subnet = 0xfe80;
            port_.lid = host;
        }
    }
    [[nodiscard]] std::string name() const override { return "fake" + std::to_string(number_); }
    [[nodiscard]] const PortCard& port() const override { return port_; }
    Result<std::unique_ptr<Endpoint>> make_endpoint(const Need& /*need*/) override {
        return Error{ErrorCode::kSystem, "the fake has no reliable connections"};
    }
    Result<std::unique_ptr<UdEndpoint>> make_ud(const UdNeed& need) override {
        if (need.receives > fake_->rules_.receives_max) {
            return Error{ErrorCode::kMemory, "no room for so many receives"};
        }
        const std::lock_guard guard(fake_->lock_);
        // Anew, also where one came to nothing or has gone.
        const FakeUd::Node& before = *fake_->nodes_[number_];
        if (before.is_open) return Error{ErrorCode::kSystem, "the fake has one at a time"};
        auto made = std::make_unique<FakeUd::Node>();
        FakeUd::Node& node = *made;
        node.number = number_;
        node.is_held = before.is_held;
        node.card = {port_, kQueuePair, 0};
        node.need = need;
        node.memory.assign(size_t{need.receives} * (kGrhBytes + port_.mtu_bytes) +
                               size_t{need.sends} * port_.mtu_bytes,
                           kJunk);
        node.is_posted.resize(need.receives);
        node.receives.make_room(need.receives);
        node.received.make_room(need.receives);
        node.sent.make_room(need.sends);
        for (uint32_t i = 0; i < need.sends; ++i) {
            node.sent.push().data.reserve(port_.mtu_bytes);
            node.sent.pop();
        }
        node.overtaken.resize(kOvertakenMax);
        node.packet.data.reserve(kGrhBytes + port_.mtu_bytes);
        for (FakeUd::Packet& one : node.overtaken) one.data.reserve(kGrhBytes + port_.mtu_bytes);
        for (Fd& fd : node.told) fd = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        auto endpoint = std::make_unique<FakeUdEndpoint>(*fake_, node);
        node.is_open = true;
        std::swap(fake_->nodes_[number_], made);
        return std::unique_ptr<UdEndpoint>(std::move(endpoint));
    }

  private:
    std::shared_ptr<FakeUd> fake_;
    size_t number_;
    PortCard port_;
};

FakeUd::FakeUd(const FakeUdRules& rules) : rules_(rules), prng_(rules.seed) {}
FakeUd::~FakeUd() = default;

std::unique_ptr<Device> FakeUd::add_port(const std::shared_ptr<FakeUd>& fake) {
    const std::lock_guard guard(fake->lock_);
    auto node = std::make_unique<Node>();
    const size_t number = node->number = fake->nodes_.size();
    fake->nodes_.push_back(std::move(node));
    return std::make_unique<FakeUdDevice>(fake, number);
}

uint64_t FakeUd::routes() const {
    return static_cast<uint64_t>(
        std::ranges::count_if(routes_, [](const auto& one) { return !one->is_dropped; }));
}

uint64_t FakeUd::attachments() const {
    uint64_t count = 0;
    for (const auto& node : nodes_) count += node->groups.size();
    return count;
}

FakeUd::Route* FakeUd::route_of(const UdRoute& route) { return static_cast<Route*>(route.handle); }

UdRoute FakeUd::add_route(const Route& route) {
    routes_.push_back(std::make_unique<Route>(route));
    return {routes_.back().get(), route.is_group ? kGroupQueuePair : kQueuePair};
}

void FakeUd::send(Node& from, const UdSend& one) {
    Node::Sent& sent = from.sent.push();
    const auto data =
        from.send_buffer(one.place).first(std::min(one.bytes, from.card.port.mtu_bytes));
    sent.place = one.place;
    sent.data.assign(data.begin(), data.end());
    sent.route = route_of(one.to);
    if (sent.route->is_dropped) blame("sent by a route that was dropped");
    ++sent.route->under_way;
    if (watch_) watch_(from.number, sent.route->is_group, one.is_urgent, data);
    if (one.bytes > from.card.port.mtu_bytes) {
        ++too_long_;
        return;
    }
    if (!sent.route->is_group) {
        return carry(from, *nodes_[sent.route->node], data, false, one.is_urgent);
    }
    for (const auto& other : nodes_) {
        const bool is_in = std::ranges::count(other->groups, sent.route->group) > 0;
        if (is_in) carry(from, *other, data, true, one.is_urgent);
    }
}

void FakeUd::carry(const Node& from, Node& to, std::span<const std::byte> data, bool is_group,
                   bool is_urgent) {
    if (!to.is_open || prng_.below(1'000'000) < rules_.loss_ppm) return;
    const auto gid = std::as_bytes(std::span(from.card.port.gid));
    std::array<std::byte, kGrhBytes> head{};
    head.fill(kJunk);
    if (rules_.is_ethernet) std::ranges::copy(gid.subspan(12), head.begin() + 32);
    if (!rules_.is_ethernet && is_group) std::ranges::copy(gid, head.begin() + 8);
    Packet* packet = &to.packet;
    packet->overtakers = 0;
    const auto unused = std::ranges::find(to.overtaken, 0u, &Packet::overtakers);
    const bool is_overtaken = rules_.overtakers_max > 0 && prng_.below(8) == 0;
    if (is_overtaken && unused != to.overtaken.end()) {
        packet = &*unused;
        packet->overtakers = 1 + static_cast<uint32_t>(prng_.below(rules_.overtakers_max));
    }
    packet->data.assign(head.begin(), head.end());
    packet->data.insert(packet->data.end(), data.begin(), data.end());
    packet->has_address = rules_.is_ethernet || is_group;
    packet->is_urgent = is_urgent;
    if (packet->overtakers > 0) return;
    if (to.is_held) return to.held.push_back(*packet);
    deliver(to, *packet);
    if (prng_.below(1'000'000) < rules_.dup_ppm) deliver(to, *packet);
    for (Packet& other : to.overtaken) {
        if (other.overtakers > 0 && --other.overtakers == 0) deliver(to, other);
    }
}

void FakeUd::deliver(Node& to, Packet& packet) {
    if (to.receives.size() == 0) {
        ++unreceived_;
        return;
    }
    const uint32_t place = to.receives.pop();
    to.is_posted[place] = false;
    std::ranges::copy(packet.data, to.receive_buffer(place).begin());
    to.received.push() = {place, static_cast<uint32_t>(packet.data.size()), kQueuePair,
                          packet.has_address, 0};
    if (to.is_for_urgent && !packet.is_urgent) return;
    if (!tell(to, UdQueue::kReceived) || !wakes_) return;
    wakes_(to.number, std::span<const std::byte>(packet.data).subspan(kGrhBytes));
}

// In order. Until then the memory was the device's.
void FakeUd::complete_sends(Node& node) {
    if (node.sent.size() == 0 || (rules_.completes_late && prng_.below(4) != 0)) return;
    while (node.sent.size() > 0) {
        const Node::Sent& sent = node.sent.pop();
        const auto memory = node.send_buffer(sent.place).first(sent.data.size());
        if (!std::ranges::equal(sent.data, memory)) blame("memory was changed under a send");
        --sent.route->under_way;
        ++node.complete;
    }
    tell(node, UdQueue::kSent);
}

// True if somebody wanted to know.
bool FakeUd::tell(Node& node, UdQueue queue) {
    const auto which = static_cast<size_t>(queue);
    if (!node.is_armed[which]) return false;
    node.is_armed[which] = false;
    node.is_to_tell[which] = true;
    if (rules_.tells_late) return true;
    node.is_to_tell[which] = false;
    const uint64_t once = 1;
    static_cast<void>(!write(node.told[which].get(), &once, sizeof once));
    return true;
}

bool FakeUd::is_armed(size_t port) {
    const std::lock_guard guard(lock_);
    return nodes_[port]->is_armed[static_cast<size_t>(UdQueue::kReceived)];
}

bool FakeUd::is_armed_for_all(size_t port) {
    const std::lock_guard guard(lock_);
    const Node& node = *nodes_[port];
    return node.is_armed[static_cast<size_t>(UdQueue::kReceived)] && !node.is_for_urgent;
}

void FakeUd::hold(size_t port) {
    const std::lock_guard guard(lock_);
    nodes_[port]->is_held = true;
}

std::vector<std::byte> FakeUd::held(size_t port, size_t index) {
    const std::lock_guard guard(lock_);
    const auto& held = nodes_[port]->held;
    if (index >= held.size()) return {};
    return {held[index].data.begin() + kGrhBytes, held[index].data.end()};
}

void FakeUd::release(size_t port, size_t index) {
    const std::lock_guard guard(lock_);
    Node& node = *nodes_[port];
    deliver(node, node.held[index]);
    node.held.erase(node.held.begin() + static_cast<ptrdiff_t>(index));
}

void FakeUd::drop(size_t port, size_t index) {
    const std::lock_guard guard(lock_);
    auto& held = nodes_[port]->held;
    held.erase(held.begin() + static_cast<ptrdiff_t>(index));
}

void FakeUd::tick() {
    const std::lock_guard guard(lock_);
    const uint64_t once = 1;
    for (const auto& node : nodes_) {
        complete_sends(*node);
        for (size_t which = 0; which < 2; ++which) {
            if (!node->is_to_tell[which]) continue;
            node->is_to_tell[which] = false;
            static_cast<void>(!write(node->told[which].get(), &once, sizeof once));
        }
    }
}

}  // namespace tutti::test
