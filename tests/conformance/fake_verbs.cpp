// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/fake_verbs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/fd.h"
#include "run/transport/verbs/send.h"
#include "run/transport/verbs/slots.h"

namespace tutti::test {
namespace {

using transport::verbs::Add;
using transport::verbs::Completion;
using transport::verbs::DirectWrite;
using transport::verbs::Endpoint;
using transport::verbs::Events;
using transport::verbs::Need;
using transport::verbs::PairCard;
using transport::verbs::PortCard;
using transport::verbs::Region;
using transport::verbs::Write;

constexpr uint64_t kRetryNs = 500'000'000;
constexpr uint64_t kBehindNs = 10'000;
constexpr uint64_t kIdleNs = 10'000'000;
constexpr size_t kExposedAtOnce = 256;
constexpr size_t kBuffers = 64;
constexpr size_t kBufferBytes = 64u << 10;
// Of a long write as much is placed at once, or not yet.
constexpr size_t kPlacedBytes = 256;
constexpr int kArrive = 0;
constexpr int kShow = 1;
constexpr int kAcknowledge = 2;
constexpr int kGiveUp = 3;
constexpr int kTell = 4;

}  // namespace

// A posted write, and what was read of the memory for it.
struct FakeVerbs::Posted {
    Write write;  // of a direct one: number and bytes, and that it is signaled
    DirectWrite direct;
    bool is_direct = false;
    bool is_send = false;
    bool is_add = false;
    Add add;
    uint64_t former = 0;  // of an addition that has arrived
    size_t room = 0;      // of a send that has arrived: where its receive has it
    size_t placed = 0;    // of its bytes, for good
    std::vector<std::byte> bytes;
    bool is_shown = true;
    bool is_acknowledged = true;
    std::vector<std::byte> direct_bytes;  // one of buffers_, until both are true

    std::vector<std::byte>& data() { return is_direct ? direct_bytes : bytes; }
};

struct FakeVerbs::Queue {
    // What a receive has for a send's bytes.
    struct Room {
        size_t offset = 0;
        size_t bytes = 0;
    };
    uint32_t peer_node = 0;
    uint32_t peer_pair = 0;
    bool is_connected = false;
    bool has_failed = false;
    uint32_t recvs = 0;
    uint64_t recvs_ever = 0;
    std::vector<Room> rooms;  // of the last receives, in turn
    uint32_t first_packet = 0;
    uint32_t awaited_packet = 0;  // the other end's first, as it was told
    bool ends_quietly = false;    // what was posted last tells and does not wake
    uint64_t posted = 0;
    uint64_t arrived = 0;
    uint64_t acknowledged = 0;
    uint64_t polled = 0;  // completions have been polled up to this write
    uint64_t arrive_ns = 0;
    uint64_t show_ns = 0;
    uint64_t acknowledge_ns = 0;
    std::vector<Posted> ring;

    void add_recv(const Room& room) {
        rooms[recvs_ever++ % rooms.size()] = room;
        ++recvs;
    }
    [[nodiscard]] const Room& first_room() const {
        return rooms[(recvs_ever - recvs) % rooms.size()];
    }
};

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

struct FakeVerbs::Exposed {
    uint32_t key = 0;  // 0: free
    uint32_t node = 0;
    std::byte* memory = nullptr;
    size_t bytes = 0;
    bool is_target = false;

    [[nodiscard]] bool has(uint64_t address, size_t count) const {
        const auto begin = reinterpret_cast<uint64_t>(memory);
        return address >= begin && address + count <= begin + bytes;
    }
};

struct FakeVerbs::Node {
    uint32_t number = 0;
    uint32_t device = 0;
    Need need;
    bool is_gone = false;
    bool is_overrun = false;
    std::vector<std::byte> memory;
    std::vector<uint64_t> words;  // as the processor sees them
    std::vector<uint64_t> added;  // as the device has them
    std::vector<Queue> queues;
    std::vector<Completion> seen;  // a queue that is polled from the front
    size_t entries = 0;
    Fd told;  // where one may sleep
    bool is_armed = false;
    bool is_armed_for_all = false;
    uint32_t quiet_ends = 0;  // of its queues
    uint64_t tells = 0;

    Posted& at(uint32_t pair, uint64_t which) {
        std::vector<Posted>& ring = queues[pair].ring;
        return ring[which % ring.size()];
    }
};

class FakeEndpoint final : public Endpoint, public transport::verbs::Sends {
  public:
    FakeEndpoint(FakeVerbs& verbs, FakeVerbs::Node& node) : verbs_(verbs), node_(node) {}
    ~FakeEndpoint() override {
        node_.is_gone = true;
        node_.told = Fd();
    }
    std::span<std::byte> memory() override { return node_.memory; }
    std::span<uint64_t> words() override { return node_.words; }
    PairCard card(uint32_t pair) override {
        const uint64_t words = node_.words.empty() ? 0 : 1;
        return {node_.need.pair_bytes * pair,    words, node_.number + 1, pair,
                node_.queues[pair].first_packet, 0};
    }
    Result<Done> connect(uint32_t pair, const PortCard& port, const PairCard& other) override {
        static_cast<void>(port);
        FakeVerbs::Queue& queue = node_.queues[pair];
        queue.peer_node = other.key - 1;
        queue.peer_pair = other.queue_pair;
        queue.awaited_packet = other.first_packet;
        queue.is_connected = true;
        while (queue.recvs < node_.need.recvs) queue.add_recv({});
        return Done{};
    }
    int write(uint32_t pair, const Write& write) override { return post(pair, write, false); }
    int send(uint32_t pair, const Write& write) override { return post(pair, write, true); }
    Sends* sends() override { return this; }
    int write_direct(uint32_t pair, const DirectWrite& write) override { return post(pair, write); }
    int add(uint32_t pair, const Add& add) override { return post(pair, add); }
    Region expose(const std::byte* memory, size_t bytes, bool is_target) override {
        return verbs_.expose(node_, const_cast<std::byte*>(memory), bytes, is_target);
    }
    void conceal(const Region& region) override { verbs_.conceal(region); }
    int recv(uint32_t pair) override { return recv_into(pair, 0, 0); }
    int recv_into(uint32_t pair, size_t offset, size_t bytes) override {
        FakeVerbs::Queue& queue = node_.queues[pair];
        if (queue.recvs >= node_.need.recvs) return ENOMEM;
        queue.add_recv({offset, bytes});
        ++verbs_.recvs_;
        return 0;
    }
    int poll(std::span<Completion> completions) override {
        if (node_.is_overrun) return -1;
        look_for_quiet_ends();
        const size_t count = std::min(completions.size(), node_.seen.size());
        for (size_t i = 0; i < count; ++i) {
            const Completion& one = completions[i] = node_.seen[i];
            if (!one.is_recv) node_.queues[one.pair].polled = one.number;
        }
        node_.seen.erase(node_.seen.begin(), node_.seen.begin() + static_cast<ptrdiff_t>(count));
        return static_cast<int>(count);
    }
    [[nodiscard]] int wait_fd() const override { return node_.told.get(); }
    bool arm(Events of) override {
        uint64_t count = 0;
        if (node_.told.get() < 0) return false;
        look_for_quiet_ends();
        static_cast<void>(!::read(node_.told.get(), &count, sizeof count));
        // Things go on meanwhile.
        for (uint64_t n = verbs_.prng_.below(3); n > 0 && !verbs_.is_idle(); --n) verbs_.pump();
        ++verbs_.arms_;
        node_.is_armed_for_all |= of == Events::kAll;
        return node_.is_armed = true;
    }
    [[nodiscard]] const char* status_text(int status) const override {
        return status == kRetryExceeded  ? "transport retry counter exceeded"
               : status == kRnrExceeded  ? "RNR retry counter exceeded"
               : status == kRemoteAccess ? "remote access error"
                                         : "an error";
    }

  private:
    void look_for_quiet_ends() {
        if (node_.quiet_ends > 0) verbs_.fault_ = "nobody is woken";
    }
    template <class... What>
    int post(uint32_t pair, const What&... what) {
        const FakeVerbs::Queue& queue = node_.queues[pair];
        if (!queue.is_connected) return EINVAL;
        if (queue.posted - queue.polled >= node_.need.sends) return ENOMEM;
        verbs_.post(node_, pair, what...);
        return 0;
    }

    FakeVerbs& verbs_;
    FakeVerbs::Node& node_;
};

class FakeDevice final : public transport::verbs::Device {
  public:
    FakeDevice(FakeVerbs& verbs, uint32_t number) : verbs_(verbs), number_(number) {
        port_.lid = number;
        port_.mtu_bytes = verbs_.rules_.mtu_bytes;
    }
    [[nodiscard]] std::string name() const override { return "fake" + std::to_string(number_); }
    [[nodiscard]] const PortCard& port() const override { return port_; }
    Result<std::unique_ptr<Endpoint>> make_endpoint(const Need& need) override {
        auto node = std::make_unique<FakeVerbs::Node>();
        node->number = static_cast<uint32_t>(verbs_.nodes_.size());
        node->device = number_;
        node->need = need;
        node->memory.resize(need.pairs * need.pair_bytes);
        if (verbs_.rules_.can_add) node->words.resize(need.words);
        node->added.resize(node->words.size());
        node->queues.resize(need.pairs);
        // What is not shown yet at the other end may be older than what is under way here.
        for (FakeVerbs::Queue& queue : node->queues) {
            queue.first_packet = static_cast<uint32_t>(verbs_.prng_.below(1u << 24));
            queue.ring.resize(size_t{4} * need.sends);
            queue.rooms.resize(need.recvs);
            const size_t bytes_max = transport::verbs::kPieceSlots * transport::verbs::kSlotBytes;
            for (FakeVerbs::Posted& posted : queue.ring) posted.bytes.reserve(bytes_max);
        }
        node->entries = size_t{need.pairs} * (need.sends + need.recvs);
        if (verbs_.rules_.cq_entries != 0) node->entries = verbs_.rules_.cq_entries;
        node->seen.reserve(node->entries);
        if (need.may_sleep) node->told = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
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

void FakeVerbs::post(Node& node, uint32_t pair, const Write& write, bool is_send) {
    Queue& queue = node.queues[pair];
    const uint64_t number = queue.posted++;
    Posted& posted = node.at(pair, number);
    TUTTI_ASSERT(posted.is_shown, "the fake's ring is long enough");
    posted.write = write;
    posted.write.tells |= is_send;
    posted.is_send = is_send;
    posted.is_direct = posted.is_add = false;
    slot_bytes_ += write.bytes;
    if (write.offset + write.bytes > node.memory.size()) fault_ = "a write from elsewhere";
    hear_of(node, queue, posted.write);
    if (write.bytes == 0 && !posted.write.tells) ++looks_;
    const bool is_packet = write.bytes <= node.need.mtu_bytes;
    if (!posted.write.tells && !is_packet) ++long_untold_;
    launch(node, pair, number);
}

// What is posted at once has to end with a write that wakes, or with a piece for who looks in
// memory (a write that neither tells nor is empty): else its receiver may sleep over what came
// before.
void FakeVerbs::hear_of(Node& node, Queue& queue, const Write& write) {
    if (!write.tells && write.bytes == 0) return;
    const bool is_quiet = write.tells && !write.wakes;
    node.quiet_ends += is_quiet ? 1 : 0;
    node.quiet_ends -= queue.ends_quietly ? 1 : 0;
    queue.ends_quietly = is_quiet;
}

uint64_t FakeVerbs::tells(uint32_t node) const { return nodes_[node]->tells; }

void FakeVerbs::post(Node& node, uint32_t pair, const DirectWrite& write) {
    Queue& queue = node.queues[pair];
    const uint64_t number = queue.posted++;
    Posted& posted = node.at(pair, number);
    TUTTI_ASSERT(posted.is_shown, "the fake's ring is long enough");
    if (write.bytes > transport::verbs::kWriteBytesMax) fault_ = "a write that is too long";
    posted.write = {.bytes = write.bytes, .tells = false, .is_signaled = true};
    posted.write.number = write.number;
    posted.direct = write;
    posted.is_direct = true;
    posted.is_send = posted.is_add = false;
    launch(node, pair, number);
}

// As a write of no bytes; what it adds comes with it.
void FakeVerbs::post(Node& node, uint32_t pair, const Add& add) {
    Queue& queue = node.queues[pair];
    const uint64_t number = queue.posted++;
    Posted& posted = node.at(pair, number);
    TUTTI_ASSERT(posted.is_shown, "the fake's ring is long enough");
    const size_t words = nodes_[queue.peer_node]->words.size();
    if (add.word >= words || add.former >= node.words.size()) fault_ = "an addition to nothing";
    posted.write = {.tells = false, .is_signaled = add.is_signaled};
    posted.write.number = add.number;
    posted.add = add;
    posted.is_add = true;
    posted.is_direct = posted.is_send = false;
    ++adds_;
    launch(node, pair, number);
}

void FakeVerbs::launch(Node& node, uint32_t pair, uint64_t number) {
    Queue& queue = node.queues[pair];
    ++writes_;
    if (queue.has_failed) {
        put(node, {pair, false, kFlushed, node.at(pair, number).write.number, 0});
        return;
    }
    queue.arrive_ns = std::max(queue.arrive_ns, now_ns_) + delay();
    schedule(queue.arrive_ns, kArrive, node.number, pair, number);
}

FakeVerbs::Exposed* FakeVerbs::find(uint32_t key) {
    const auto found = std::ranges::find(exposed_memory_, key, &Exposed::key);
    return key == 0 || found == exposed_memory_.end() ? nullptr : &*found;
}

Region FakeVerbs::expose(Node& node, std::byte* memory, size_t bytes, bool is_target) {
    exposed_memory_.resize(kExposedAtOnce);
    if (buffers_.capacity() == 0) {
        buffers_.resize(kBuffers);
        for (auto& buffer : buffers_) buffer.reserve(kBufferBytes);
    }
    uint64_t own_bytes = bytes;
    for (const Exposed& one : exposed_memory_) {
        const bool is_own = one.key != 0 && nodes_[one.node]->device == node.device;
        if (is_own) own_bytes += one.bytes;
    }
    const auto free = std::ranges::find(exposed_memory_, 0u, &Exposed::key);
    if (own_bytes > rules_.exposed_bytes_max || free == exposed_memory_.end()) return {};
    *free = {++last_key_, node.number, memory, bytes, is_target};
    ++exposures_;
    ++exposed_;
    return {reinterpret_cast<void*>(uintptr_t{last_key_}), last_key_};
}

void FakeVerbs::conceal(const Region& region) {
    Exposed* exposed = find(region.key);
    if (!exposed) fault_ = "memory was given back twice";
    if (!exposed) return;
    *exposed = {};
    --exposed_;
}

// Where the write reads; nullptr: it must not.
const std::byte* FakeVerbs::source_of(Node& node, uint32_t pair, uint64_t number) {
    const Posted& posted = node.at(pair, number);
    if (!posted.is_direct) return node.memory.data() + posted.write.offset;
    const Exposed* from = find(posted.direct.from.key);
    const auto address = reinterpret_cast<uint64_t>(posted.direct.source);
    const bool may = from && from->node == node.number && from->has(address, posted.write.bytes);
    return may ? posted.direct.source : nullptr;
}

std::byte* FakeVerbs::target_of(Node& node, uint32_t pair, uint64_t number) {
    const Posted& posted = node.at(pair, number);
    const Queue& queue = node.queues[pair];
    Node& other = *nodes_[queue.peer_node];
    if (posted.is_send) return other.memory.data() + posted.room;
    if (!posted.is_direct) {
        return other.memory.data() + other.need.pair_bytes * queue.peer_pair +
               posted.write.remote_offset;
    }
    const Exposed* into = find(posted.direct.key);
    const bool may = into && into->is_target && into->node == other.number &&
                     into->has(posted.direct.address, posted.write.bytes);
    return may ? reinterpret_cast<std::byte*>(posted.direct.address) : nullptr;
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
    if (event.kind == kTell) {
        tell(event);
    } else if (event.kind == kShow) {
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
        refuse(event, kRnrExceeded);
        return;
    }
    if (posted.is_send && posted.write.bytes > far.first_room().bytes) {
        refuse(event, kRemoteInvalid);
        --far.recvs;
        put(other, {queue.peer_pair, true, kLocalLength, 0, 0});
        fail(other, queue.peer_pair, kFlushed, far.acknowledged);
        return;
    }
    posted.room = posted.is_send ? far.first_room().offset : 0;
    const std::byte* memory = source_of(node, event.pair, event.number);
    std::byte* target = target_of(node, event.pair, event.number);
    if (!memory || !target) {
        refuse(event, memory ? kRemoteAccess : kLocalProtection);
        if (memory) fail(other, queue.peer_pair, kFlushed, far.acknowledged);
        return;
    }
    ++queue.arrived;
    if (posted.is_direct && !buffers_.empty()) {
        posted.direct_bytes.swap(buffers_.back());
        buffers_.pop_back();
    }
    std::vector<std::byte>& data = posted.data();
    data.assign(memory, memory + posted.write.bytes);
    posted.is_shown = posted.is_acknowledged = false;
    place(posted, target);
    if (posted.is_add) {
        uint64_t& word = other.added[posted.add.word];
        posted.former = word;
        word += posted.add.amount;
    }
    if (posted.write.tells) --far.recvs;
    queue.show_ns = std::max(queue.show_ns, now_ns_) + delay();
    schedule(queue.show_ns, kShow, event.node, event.pair, event.number);
    queue.acknowledge_ns = std::max(queue.acknowledge_ns, now_ns_) + delay();
    schedule(queue.acknowledge_ns, kAcknowledge, event.node, event.pair, event.number);
}

// Some of it is there at once: in whatever order, or, by that promise, which is one of single
// packets, a beginning. The rest comes when it is told.
void FakeVerbs::place(Posted& posted, std::byte* target) {
    const std::vector<std::byte>& data = posted.data();
    const bool ends_last = rules_.ends_last && data.size() <= rules_.mtu_bytes;
    posted.placed = ends_last ? prng_.below(data.size() + 1) : 0;
    if (ends_last) {
        std::copy_n(data.data(), posted.placed, target);
        // What is there already needs no placing: who sees the end may give the memory back.
        const std::span<const std::byte> rest = std::span(data).subspan(posted.placed);
        if (std::ranges::equal(rest, std::span(target + posted.placed, rest.size()))) {
            posted.placed = data.size();
        }
        return;
    }
    const size_t step = posted.is_direct ? kPlacedBytes : 1;
    for (size_t i = 0; i < data.size(); i += step) {
        const size_t count = std::min(step, data.size() - i);
        if (prng_.below(2) == 0) {
            std::copy_n(data.data() + i, count, target + i);
        } else {
            std::fill_n(target + i, count, static_cast<std::byte>(0xa5));
        }
    }
}

void FakeVerbs::give_back(Posted& posted) {
    if (!posted.is_direct || !posted.is_shown || !posted.is_acknowledged) return;
    if (buffers_.size() < kBuffers) posted.direct_bytes.swap(buffers_.emplace_back());
}

// The receiver is told. By an end that is gone since: it has come all the same.
void FakeVerbs::show(const Event& event) {
    Node& node = *nodes_[event.node];
    const Queue& queue = node.queues[event.pair];
    Posted& posted = node.at(event.pair, event.number);
    posted.is_shown = true;
    Node& other = *nodes_[queue.peer_node];
    // Memory that was given back meanwhile stays as it is, whatever was acknowledged.
    std::byte* target = target_of(node, event.pair, event.number);
    // What was added is there whatever has become of the pair.
    if (posted.is_add && !other.is_gone) {
        const uint32_t word = posted.add.word;
        std::atomic_ref(other.words[word]).store(other.added[word], std::memory_order_release);
    }
    const bool is_there = !other.is_gone && !other.queues[queue.peer_pair].has_failed && target;
    if (is_there) {
        const std::span<const std::byte> rest = std::span(posted.data()).subspan(posted.placed);
        std::ranges::copy(rest, target + posted.placed);
    }
    give_back(posted);
    if (is_there && posted.write.tells) {
        put(other, {queue.peer_pair, true, 0, 0, posted.write.immediate}, posted.write.wakes);
    }
}

// Until now the device might have sent it once more.
void FakeVerbs::acknowledge(const Event& event) {
    Node& node = *nodes_[event.node];
    Posted& posted = node.at(event.pair, event.number);
    const std::byte* memory = source_of(node, event.pair, event.number);
    if (!memory) {
        fail(node, event.pair, kLocalProtection, event.number);
        return;
    }
    if (!std::ranges::equal(posted.data(), std::span(memory, posted.data().size()))) {
        fault_ = "the memory of a write was changed before it was complete";
    }
    posted.is_acknowledged = true;
    ++node.queues[event.pair].acknowledged;
    give_back(posted);
    if (posted.is_add) node.words[posted.add.former] = posted.former;
    if (posted.write.is_signaled) {
        put(node, {event.pair, false, 0, posted.write.number, 0});
    }
}

// The write fails; the answer that says so acknowledges those before it.
void FakeVerbs::refuse(const Event& event, int status) {
    Node& node = *nodes_[event.node];
    const Queue& queue = node.queues[event.pair];
    Event before = event;
    while (!queue.has_failed && queue.acknowledged < event.number) {
        before.number = queue.acknowledged;
        acknowledge(before);
    }
    if (!queue.has_failed) fail(node, event.pair, status, event.number);
}

// The queue pair is in error: this write, all behind it and all receives are flushed, these before
// or after those.
void FakeVerbs::fail(Node& node, uint32_t pair, int status, uint64_t number) {
    Queue& queue = node.queues[pair];
    const bool begins_with_writes = prng_.below(2) == 0;
    queue.has_failed = true;
    if (!begins_with_writes) flush_recvs(node, pair);
    for (uint64_t i = number; i < queue.posted; ++i) {
        put(node, {pair, false, i == number ? status : kFlushed, node.at(pair, i).write.number, 0});
    }
    if (begins_with_writes) flush_recvs(node, pair);
}

void FakeVerbs::flush_recvs(Node& node, uint32_t pair) {
    Queue& queue = node.queues[pair];
    for (; queue.recvs > 0; --queue.recvs) put(node, {pair, true, kFlushed, 0, 0});
}

// wakes: of a receive, what its write says.
void FakeVerbs::put(Node& node, const Completion& completion, bool wakes) {
    if (node.seen.size() == node.entries) {
        node.is_overrun = true;
        return;
    }
    node.seen.push_back(completion);
    ++completions_;
    const bool is_solicited = wakes || completion.status != 0;
    if (!node.is_armed || (!is_solicited && !node.is_armed_for_all)) return;
    node.is_armed = node.is_armed_for_all = false;
    schedule(now_ns_ + delay(), kTell, node.number, 0, 0);
}

// The completion may have been polled meanwhile.
void FakeVerbs::tell(const Event& event) {
    Node& node = *nodes_[event.node];
    const uint64_t once = 1;
    if (node.is_gone) return;
    static_cast<void>(!::write(node.told.get(), &once, sizeof once));
    ++tells_;
    ++node.tells;
}

}  // namespace tutti::test
