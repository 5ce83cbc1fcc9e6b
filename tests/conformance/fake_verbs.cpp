// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/fake_verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace tutti::test {
namespace {

using transport::verbs::Completion;
using transport::verbs::Endpoint;
using transport::verbs::Need;
using transport::verbs::PairCard;
using transport::verbs::PortCard;
using transport::verbs::Write;

constexpr uint64_t kRetryNs = 500'000'000;
constexpr uint64_t kBehindNs = 10'000;
constexpr uint64_t kIdleNs = 10'000'000;
constexpr int kArrive = 0;
constexpr int kShow = 1;
constexpr int kAcknowledge = 2;
constexpr int kGiveUp = 3;

// A posted write, and what was read of the memory for it.
struct Posted {
    Write write;
    std::vector<std::byte> bytes;
    bool is_shown = true;
};

struct Queue {
    uint32_t peer_node = 0;
    uint32_t peer_pair = 0;
    bool is_connected = false;
    bool has_failed = false;
    uint32_t recvs = 0;
    uint32_t first_packet = 0;
    uint32_t awaited_packet = 0;  // the other end's first, as it was told
    uint64_t posted = 0;
    uint64_t arrived = 0;
    uint64_t polled = 0;  // completions have been polled up to this write
    uint64_t arrive_ns = 0;
    uint64_t show_ns = 0;
    uint64_t acknowledge_ns = 0;
    std::vector<Posted> ring;
};

}  // namespace

struct FakeVerbs::Event {
    uint64_t at_ns;
    uint64_t order;
    int kind;
    uint32_t node;
    uint32_t pair;
    uint64_t number;  // of the write in its queue, from 0
    bool operator<(const Event& other) const {
        return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
};

struct FakeVerbs::Node {
    uint32_t number = 0;
    uint32_t device = 0;
    Need need;
    bool is_gone = false;
    bool is_overrun = false;
    std::vector<std::byte> memory;
    std::vector<Queue> queues;
    std::vector<Completion> seen;  // a queue that is polled from the front
    size_t entries = 0;

    Posted& at(uint32_t pair, uint64_t which) {
        std::vector<Posted>& ring = queues[pair].ring;
        return ring[which % ring.size()];
    }
};

namespace {

class FakeEndpoint final : public Endpoint {
  public:
    FakeEndpoint(FakeVerbs& verbs, FakeVerbs::Node& node) : verbs_(verbs), node_(node) {}
    ~FakeEndpoint() override { node_.is_gone = true; }
    std::span<std::byte> memory() override { return node_.memory; }
    PairCard card(uint32_t pair) override {
        return {node_.need.pair_bytes * pair, node_.number + 1, pair,
                node_.queues[pair].first_packet, 0};
    }
    Result<Done> connect(uint32_t pair, const PortCard& port, const PairCard& other) override {
        static_cast<void>(port);
        Queue& queue = node_.queues[pair];
        queue.peer_node = other.key - 1;
        queue.peer_pair = other.queue_pair;
        queue.awaited_packet = other.first_packet;
        queue.is_connected = true;
        queue.recvs = node_.need.recvs;
        return Done{};
    }
    int write(uint32_t pair, const Write& write) override {
        const Queue& queue = node_.queues[pair];
        if (!queue.is_connected) return EINVAL;
        if (queue.posted - queue.polled >= node_.need.sends) return ENOMEM;
        verbs_.post(node_, pair, write);
        return 0;
    }
    int recv(uint32_t pair) override {
        Queue& queue = node_.queues[pair];
        if (queue.recvs >= node_.need.recvs) return ENOMEM;
        ++queue.recvs;
        return 0;
    }
    int poll(std::span<Completion> completions) override {
        if (node_.is_overrun) return -1;
        const size_t count = std::min(completions.size(), node_.seen.size());
        for (size_t i = 0; i < count; ++i) {
            const Completion& one = completions[i] = node_.seen[i];
            if (!one.is_recv) node_.queues[one.pair].polled = one.number;
        }
        node_.seen.erase(node_.seen.begin(), node_.seen.begin() + static_cast<ptrdiff_t>(count));
        return static_cast<int>(count);
    }
    [[nodiscard]] std::string status_text(int status) const override {
        return status == kRetryExceeded ? "transport retry counter exceeded"
               : status == kRnrExceeded ? "RNR retry counter exceeded"
                                        : "an error";
    }

  private:
    FakeVerbs& verbs_;
    FakeVerbs::Node& node_;
};

}  // namespace

class FakeDevice final : public transport::verbs::Device {
  public:
    FakeDevice(FakeVerbs& verbs, uint32_t number) : verbs_(verbs), number_(number) {
        port_.lid = number;
        port_.mtu_bytes = 1024;
    }
    [[nodiscard]] std::string name() const override { return "fake" + std::to_string(number_); }
    [[nodiscard]] const PortCard& port() const override { return port_; }
    Result<std::unique_ptr<Endpoint>> make_endpoint(const Need& need) override {
        auto node = std::make_unique<FakeVerbs::Node>();
        node->number = static_cast<uint32_t>(verbs_.nodes_.size());
        node->device = number_;
        node->need = need;
        node->memory.resize(need.pairs * need.pair_bytes);
        node->queues.resize(need.pairs);
        // What is not shown yet at the other end may be older than what is under way here.
        for (Queue& queue : node->queues) {
            queue.first_packet = static_cast<uint32_t>(verbs_.prng_.below(1u << 24));
            queue.ring.resize(size_t{4} * need.sends);
            for (Posted& posted : queue.ring) posted.bytes.reserve(need.mtu_bytes);
        }
        node->entries = size_t{need.pairs} * (need.sends + need.recvs);
        if (verbs_.rules_.cq_entries != 0) node->entries = verbs_.rules_.cq_entries;
        node->seen.reserve(node->entries);
        FakeVerbs::Node& made = *node;
        verbs_.nodes_.push_back(std::move(node));
        return std::unique_ptr<Endpoint>(std::make_unique<FakeEndpoint>(verbs_, made));
    }

  private:
    FakeVerbs& verbs_;
    uint32_t number_;
    PortCard port_;
};

FakeVerbs::FakeVerbs(uint32_t devices, const FakeRules& rules)
    : rules_(rules), prng_(rules.seed), is_cut_(devices) {
    events_.reserve(4096);
    for (uint32_t i = 0; i < devices; ++i) {
        devices_.push_back(std::make_unique<FakeDevice>(*this, i));
    }
}

FakeVerbs::~FakeVerbs() = default;

transport::verbs::Device& FakeVerbs::device(uint32_t number) { return *devices_[number]; }

void FakeVerbs::cut(uint32_t number) { is_cut_[number] = true; }

void FakeVerbs::schedule(uint64_t at_ns, int kind, uint32_t node, uint32_t pair, uint64_t number) {
    events_.push_back({at_ns, order_++, kind, node, pair, number});
    std::push_heap(events_.begin(), events_.end());
}

void FakeVerbs::post(Node& node, uint32_t pair, const Write& write) {
    Queue& queue = node.queues[pair];
    const uint64_t number = queue.posted++;
    ++writes_;
    if (queue.has_failed) {
        put(node, {pair, false, kFlushed, write.number, 0});
        return;
    }
    Posted& posted = node.at(pair, number);
    TUTTI_ASSERT(posted.is_shown, "the fake's ring is long enough");
    posted.write = write;
    if (write.offset + write.bytes > node.memory.size()) fault_ = "a write from elsewhere";
    queue.arrive_ns = std::max(queue.arrive_ns, now_ns_) + delay();
    schedule(queue.arrive_ns, kArrive, node.number, pair, number);
}

void FakeVerbs::pump() {
    if (events_.empty()) {
        now_ns_ += kIdleNs;
        return;
    }
    std::pop_heap(events_.begin(), events_.end());
    const Event event = events_.back();
    events_.pop_back();
    now_ns_ = std::max(now_ns_, event.at_ns);
    Node& node = *nodes_[event.node];
    if (event.kind == kShow) {
        show(event);
    } else if (!node.is_gone && !node.queues[event.pair].has_failed) {
        if (event.kind == kArrive) arrive(event);
        if (event.kind == kAcknowledge) acknowledge(event);
        if (event.kind == kGiveUp) fail(node, event.pair, kRetryExceeded, event.number);
    }
}

// The write is at the other end, or tries again.
void FakeVerbs::arrive(const Event& event) {
    Node& node = *nodes_[event.node];
    Queue& queue = node.queues[event.pair];
    Posted& posted = node.at(event.pair, event.number);
    Node& other = *nodes_[queue.peer_node];
    Queue& far = other.queues[queue.peer_pair];
    const bool is_there = !other.is_gone && far.is_connected && !far.has_failed &&
                          far.awaited_packet == queue.first_packet;
    if (!is_there || is_cut_[node.device] || is_cut_[other.device]) {
        // Those behind the first are flushed with it.
        if (event.number != queue.arrived) return;
        schedule(now_ns_ + kRetryNs, kGiveUp, event.node, event.pair, event.number);
        return;
    }
    // One that has to be tried again keeps those behind it waiting.
    if (event.number != queue.arrived) {
        schedule(now_ns_ + kBehindNs, kArrive, event.node, event.pair, event.number);
        return;
    }
    if (posted.write.tells && far.recvs == 0) {
        fault_ = "a write found no receive";
        fail(node, event.pair, kRnrExceeded, event.number);
        return;
    }
    ++queue.arrived;
    const std::byte* memory = node.memory.data() + posted.write.offset;
    posted.bytes.assign(memory, memory + posted.write.bytes);
    posted.is_shown = false;
    std::byte* target =
        other.memory.data() + other.need.pair_bytes * queue.peer_pair + posted.write.remote_offset;
    // Some of it is there at once, in whatever order; the rest comes when it is told.
    for (size_t i = 0; i < posted.bytes.size(); ++i) {
        target[i] = prng_.below(2) == 0 ? posted.bytes[i] : static_cast<std::byte>(0xa5);
    }
    if (posted.write.tells) --far.recvs;
    queue.show_ns = std::max(queue.show_ns, now_ns_) + delay();
    schedule(queue.show_ns, kShow, event.node, event.pair, event.number);
    queue.acknowledge_ns = std::max(queue.acknowledge_ns, now_ns_) + delay();
    schedule(queue.acknowledge_ns, kAcknowledge, event.node, event.pair, event.number);
}

// The receiver is told. By an end that is gone since: it has come all the same.
void FakeVerbs::show(const Event& event) {
    Node& node = *nodes_[event.node];
    const Queue& queue = node.queues[event.pair];
    Posted& posted = node.at(event.pair, event.number);
    posted.is_shown = true;
    Node& other = *nodes_[queue.peer_node];
    if (other.is_gone || other.queues[queue.peer_pair].has_failed) return;
    std::ranges::copy(
        posted.bytes,
        other.memory.begin() + static_cast<ptrdiff_t>(other.need.pair_bytes * queue.peer_pair +
                                                      posted.write.remote_offset));
    if (posted.write.tells) {
        put(other, {queue.peer_pair, true, 0, 0, posted.write.immediate});
    }
}

// Until now the device might have sent it once more.
void FakeVerbs::acknowledge(const Event& event) {
    Node& node = *nodes_[event.node];
    Posted& posted = node.at(event.pair, event.number);
    const std::byte* memory = node.memory.data() + posted.write.offset;
    if (!std::equal(posted.bytes.begin(), posted.bytes.end(), memory)) {
        fault_ = "the memory of a write was changed before it was complete";
    }
    if (posted.write.is_signaled) {
        put(node, {event.pair, false, 0, posted.write.number, 0});
    }
}

// The queue pair is in error: this write, all behind it and all receives are flushed.
void FakeVerbs::fail(Node& node, uint32_t pair, int status, uint64_t number) {
    Queue& queue = node.queues[pair];
    queue.has_failed = true;
    for (uint64_t i = number; i < queue.posted; ++i) {
        put(node, {pair, false, i == number ? status : kFlushed, node.at(pair, i).write.number, 0});
    }
    for (; queue.recvs > 0; --queue.recvs) put(node, {pair, true, kFlushed, 0, 0});
}

void FakeVerbs::put(Node& node, const Completion& completion) {
    if (node.seen.size() == node.entries) {
        node.is_overrun = true;
        return;
    }
    node.seen.push_back(completion);
}

}  // namespace tutti::test
