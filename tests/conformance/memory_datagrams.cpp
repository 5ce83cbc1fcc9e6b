// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/memory_datagrams.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/fd.h"

namespace tutti::test {

using transport::carrier::Address;
using transport::carrier::Arrived;
using transport::carrier::Batch;
using transport::carrier::Datagrams;
using transport::carrier::GroupAddress;
using transport::carrier::kBatchPackets;
using transport::carrier::Kind;
using transport::carrier::Path;
using transport::carrier::WaitFd;
using transport::carrier::Wake;
using transport::carrier::Way;
using transport::carrier::WayParams;

namespace {

constexpr Kind kMemory{99};
constexpr uint32_t kPacketBytes = 1500;
constexpr uint32_t kQueuePackets = 256;
constexpr uint32_t kWindowPackets = 32;

struct Packet {
    std::array<std::byte, kPacketBytes> bytes{};
    size_t count = 0;
    [[nodiscard]] std::span<std::byte> content() { return std::span(bytes).first(count); }
};

// What waits at a host: a ring, which takes no memory.
struct Port {
    std::vector<Packet> queue{kQueuePackets};
    uint64_t come = 0;
    uint64_t taken = 0;
    uint64_t overflowed = 0;
    bool is_armed = false;
    bool is_for_urgent = false;
    Fd event{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::vector<GroupAddress> groups;  // one as often as it was joined
};

}  // namespace

class MemorySwitch {
  public:
    std::mutex lock;
    std::vector<std::unique_ptr<Port>> ports;

    static void put(Port& port, std::span<const std::byte> bytes, bool is_urgent) {
        if (port.come - port.taken == kQueuePackets) {
            ++port.overflowed;
            return;
        }
        Packet& packet = port.queue[port.come++ % kQueuePackets];
        std::copy(bytes.begin(), bytes.end(), packet.bytes.begin());
        packet.count = bytes.size();
        if (!port.is_armed || (port.is_for_urgent && !is_urgent)) return;
        port.is_armed = false;
        const uint64_t one = 1;
        static_cast<void>(write(port.event.get(), &one, sizeof(one)));
    }
};

std::shared_ptr<MemorySwitch> make_memory_switch() { return std::make_shared<MemorySwitch>(); }

GroupAddress memory_group(uint8_t number) { return {kMemory, {number}}; }

namespace {

struct MemoryWay final : Way {
    GroupAddress group;
    std::vector<size_t> port_of_member;
};

const MemoryWay& memory_way(const Way& way) { return static_cast<const MemoryWay&>(way); }

class MemoryDatagrams final : public Datagrams {
  public:
    explicit MemoryDatagrams(std::shared_ptr<MemorySwitch> memory) : switch_(std::move(memory)) {
        const std::lock_guard guard(switch_->lock);
        number_ = switch_->ports.size();
        switch_->ports.push_back(std::make_unique<Port>());
        address_.host = number_ + 1;
        address_.carrier = number_ + 1;
        address_.kind = kMemory;
        wait_fd_[0].fd = port().event.get();
    }
    ~MemoryDatagrams() override {
        const std::lock_guard guard(switch_->lock);
        port().groups.clear();
    }

    [[nodiscard]] Address address() const override { return address_; }
    [[nodiscard]] Result<Path> choose_path(std::span<const Address> /*members*/,
                                           mcast::Member /*own*/) const override {
        return Path{kPacketBytes, kWindowPackets, false};
    }
    [[nodiscard]] std::string describe(const Way& /*way*/) const override { return "memory"; }
    [[nodiscard]] std::span<const WaitFd> wait_fds() const override { return wait_fd_; }

    Result<std::unique_ptr<Way>> join(const WayParams& params) override {
        auto way = std::make_unique<MemoryWay>();
        way->group = params.group;
        for (const Address& one : params.members) way->port_of_member.push_back(one.carrier - 1);
        const std::lock_guard guard(switch_->lock);
        port().groups.push_back(params.group);
        return std::unique_ptr<Way>(std::move(way));
    }
    void leave(std::unique_ptr<Way> way) override {
        const std::lock_guard guard(switch_->lock);
        auto& groups = port().groups;
        groups.erase(std::find(groups.begin(), groups.end(), memory_way(*way).group));
    }

    [[nodiscard]] uint32_t sources() const override { return 1; }
    Batch receive(uint32_t /*source*/) override {
        const std::lock_guard guard(switch_->lock);
        uint64_t count = 0;
        static_cast<void>(read(port().event.get(), &count, sizeof(count)));
        size_t got = 0;
        while (got < kBatchPackets && port().taken < port().come) {
            batch_[got] = port().queue[port().taken++ % kQueuePackets];
            arrived_[got] = Arrived{batch_[got].content(), 0};
            ++got;
        }
        return {std::span(arrived_).first(got), port().taken < port().come};
    }
    [[nodiscard]] std::span<std::byte> space() override {
        if (waiting_ == kBatchPackets) return {};
        return out_[waiting_].packet.bytes;
    }
    void add(const Way& way, mcast::Member to, size_t bytes, bool is_urgent) override {
        out_[waiting_].packet.count = bytes;
        out_[waiting_].is_urgent = is_urgent;
        out_[waiting_].way = &memory_way(way);
        out_[waiting_++].to = to;
    }
    bool flush() override {
        const std::lock_guard guard(switch_->lock);
        for (size_t i = 0; i < waiting_; ++i) send(out_[i]);
        waiting_ = 0;
        return true;
    }
    void forget(const Way& /*way*/) override { flush(); }
    void set_needs(bool /*shares_host*/, bool /*wants_ages*/) override {}
    bool arm(Wake wake, bool /*wants_room*/) override {
        const std::lock_guard guard(switch_->lock);
        port().is_for_urgent = wake == Wake::kUrgent;
        port().is_armed = port().taken == port().come;
        return port().is_armed;
    }
    [[nodiscard]] Counters counters() const override {
        const std::lock_guard guard(switch_->lock);
        return {sent_, 0, 0, port().overflowed, kQueuePackets * kPacketBytes};
    }

  private:
    struct Waiting {
        Packet packet;
        const MemoryWay* way = nullptr;
        mcast::Member to = 0;
        bool is_urgent = false;
    };

    [[nodiscard]] Port& port() const { return *switch_->ports[number_]; }
    void send(Waiting& one) {
        ++sent_;
        if (one.to != mcast::kEverybody) {
            MemorySwitch::put(*switch_->ports[one.way->port_of_member[one.to]],
                              one.packet.content(), one.is_urgent);
            return;
        }
        for (const auto& other : switch_->ports) {
            const auto& groups = other->groups;
            const bool is_in =
                std::find(groups.begin(), groups.end(), one.way->group) != groups.end();
            if (is_in && other.get() != &port()) {
                MemorySwitch::put(*other, one.packet.content(), one.is_urgent);
            }
        }
    }

    std::shared_ptr<MemorySwitch> switch_;
    size_t number_ = 0;
    Address address_;
    std::array<WaitFd, 1> wait_fd_;
    std::vector<Packet> batch_{kBatchPackets};
    std::array<Arrived, kBatchPackets> arrived_{};
    std::vector<Waiting> out_{kBatchPackets};
    size_t waiting_ = 0;
    uint64_t sent_ = 0;
};

}  // namespace

std::unique_ptr<Datagrams> open_memory_datagrams(std::shared_ptr<MemorySwitch> memory) {
    return std::make_unique<MemoryDatagrams>(std::move(memory));
}

}  // namespace tutti::test
