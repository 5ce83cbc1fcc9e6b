// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/packet.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace tutti::mcast {
namespace {

// On the wire; the numbers are for ever.
enum class Kind : uint8_t {
    kData = 1,
    kHeartbeat = 2,
    kNak = 3,
    kAck = 4,
    kAsk = 5,
    kFailure = 6,
    kProbe = 7,
    kProbeAnswer = 8,
};

// Each kind knows one flag at most. What a kind does not use is zero, so that there is one way only
// to write a packet.
constexpr uint8_t kFlag = 1;
constexpr size_t kKindAt = 18;
constexpr size_t kFlagsAt = 19;
constexpr size_t kCounterAt = 26;
constexpr size_t kToAt = 32;
constexpr size_t kExtraAt = 34;
constexpr size_t kRangeBytes = 8;

template <class Number>
Number load(std::span<const std::byte> bytes, size_t at) {
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(Number); ++i) {
        number |= std::to_integer<uint64_t>(bytes[at + i]) << (8 * i);
    }
    return static_cast<Number>(number);
}

template <class Number>
void store(std::span<std::byte> bytes, size_t at, Number number) {
    for (size_t i = 0; i < sizeof(Number); ++i) {
        bytes[at + i] = static_cast<std::byte>(static_cast<uint64_t>(number) >> (8 * i));
    }
}

struct Head {
    Kind kind;
    bool flag = false;
    uint16_t extra = 0;  // what stands at 34
};

using Bytes = std::span<const std::byte>;

std::optional<Body> parse_data(const Head& head, Bytes bytes) {
    if (bytes.size() < kDataHeaderBytes) return {};
    Data data;
    data.is_repair = head.flag;
    data.name.lane = head.extra;
    data.sequence = load<uint64_t>(bytes, 36);
    data.name.team = load<uint32_t>(bytes, 44);
    data.name.call = load<uint32_t>(bytes, 48);
    data.name.message = load<uint32_t>(bytes, 52);
    data.offset = load<uint32_t>(bytes, 56);
    data.total = load<uint32_t>(bytes, 60);
    data.payload = bytes.subspan(kDataHeaderBytes);
    if (data.sequence >= kSequenceMax) return {};
    if (data.offset > data.total) return {};
    if (data.payload.size() > data.total - data.offset) return {};
    // Only the one packet of an empty message has nothing to carry.
    if (data.payload.empty() && data.total > 0) return {};
    return data;
}

std::optional<Body> parse_heartbeat(const Head& head, Bytes bytes) {
    if (bytes.size() != kHeaderBytes + 12 || head.extra != 0) return {};
    const Heartbeat beat{load<uint64_t>(bytes, 36), load<uint32_t>(bytes, 44), head.flag};
    if (beat.end > kSequenceMax) return {};
    return beat;
}

std::optional<Body> parse_nak(const Head& head, Bytes bytes) {
    if (bytes.size() < kHeaderBytes + 8 + kRangeBytes) return {};
    Nak nak{head.extra, head.flag, load<uint64_t>(bytes, 36), bytes.subspan(kHeaderBytes + 8)};
    if (nak.base >= kSequenceMax) return {};
    if (nak.ranges.size() % kRangeBytes != 0 || nak.count() > kNakRangesMax) return {};
    uint64_t end = 0;
    for (uint32_t i = 0; i < nak.count(); ++i) {
        const Range range = nak.range(i);
        if (range.count == 0 || range.first < end) return {};
        end = range.first + range.count;
    }
    if (end > kSequenceMax) return {};
    return nak;
}

std::optional<Body> parse_ack(const Head& head, Bytes bytes) {
    if (bytes.size() != kHeaderBytes + 24 || head.flag) return {};
    const Ack ack{head.extra, load<uint64_t>(bytes, 36), load<uint64_t>(bytes, 44),
                  load<uint64_t>(bytes, 52)};
    if (ack.granted_end > kSequenceMax || ack.received_end > ack.granted_end) return {};
    if (ack.placed_end > ack.received_end) return {};
    return ack;
}

std::optional<Body> parse_ask(const Head& head, Bytes bytes) {
    if (bytes.size() != kHeaderBytes + 12 || head.flag) return {};
    const Ask ask{load<uint32_t>(bytes, 36), head.extra, load<uint64_t>(bytes, 40)};
    if (ask.end > kSequenceMax) return {};
    return ask;
}

std::optional<Body> parse_failure(const Head& head, Bytes bytes) {
    if (bytes.size() != kHeaderBytes + 4 || head.flag) return {};
    const auto phase = load<uint32_t>(bytes, 36);
    if (phase > static_cast<uint32_t>(Failure::Phase::kOver)) return {};
    return Failure{head.extra, static_cast<Failure::Phase>(phase)};
}

std::optional<Body> parse_probe(const Head& head, Bytes bytes) {
    if (bytes.size() < kHeaderBytes + 24) return {};
    Probe probe;
    probe.answerer = head.extra;
    probe.is_train = head.flag;
    probe.number = load<uint32_t>(bytes, 36);
    const auto heard_bytes = load<uint16_t>(bytes, 40);
    const auto is_done = load<uint16_t>(bytes, 42);
    if (is_done > 1) return {};
    probe.is_done = is_done == 1;
    probe.sent_ns = load<uint64_t>(bytes, 44);
    probe.bytes_per_s = load<uint64_t>(bytes, 52);
    // What follows the bits fills the packets of a train.
    if (heard_bytes > kMembersMax / 8 || heard_bytes > bytes.size() - kHeaderBytes - 24) return {};
    probe.heard = bytes.subspan(kHeaderBytes + 24, heard_bytes);
    if (!probe.is_train && bytes.size() != kHeaderBytes + 24 + heard_bytes) return {};
    return probe;
}

std::optional<Body> parse_body(const Head& head, Bytes bytes) {
    switch (head.kind) {
        case Kind::kData:
            return parse_data(head, bytes);
        case Kind::kHeartbeat:
            return parse_heartbeat(head, bytes);
        case Kind::kNak:
            return parse_nak(head, bytes);
        case Kind::kAck:
            return parse_ack(head, bytes);
        case Kind::kAsk:
            return parse_ask(head, bytes);
        case Kind::kFailure:
            return parse_failure(head, bytes);
        case Kind::kProbe:
            return parse_probe(head, bytes);
        case Kind::kProbeAnswer:
            if (bytes.size() != kHeaderBytes + 12 || head.flag || head.extra != 0) return {};
            return ProbeAnswer{load<uint32_t>(bytes, 36), load<uint64_t>(bytes, 40)};
    }
    return {};
}

// Writes what is behind the common header; returns the length of the whole.
struct BodyWriter {
    std::span<std::byte> out;
    Head head{};

    size_t operator()(const Data& data) {
        head = {Kind::kData, data.is_repair, data.name.lane};
        TUTTI_ASSERT(out.size() >= kDataHeaderBytes + data.payload.size(), "packet too long");
        store(out, 36, data.sequence);
        store(out, 44, data.name.team);
        store(out, 48, data.name.call);
        store(out, 52, data.name.message);
        store(out, 56, data.offset);
        store(out, 60, data.total);
        if (!data.payload.empty()) {
            std::memcpy(out.data() + kDataHeaderBytes, data.payload.data(), data.payload.size());
        }
        return kDataHeaderBytes + data.payload.size();
    }
    size_t operator()(const Heartbeat& beat) {
        head = {Kind::kHeartbeat, beat.asks, 0};
        store(out, 36, beat.end);
        store(out, 44, beat.number);
        return kHeaderBytes + 12;
    }
    size_t operator()(const Nak& nak) {
        head = {Kind::kNak, nak.others_asked, nak.stream};
        store(out, 36, nak.base);
        std::copy(nak.ranges.begin(), nak.ranges.end(), out.begin() + kHeaderBytes + 8);
        return kHeaderBytes + 8 + nak.ranges.size();
    }
    size_t operator()(const Ack& ack) {
        head = {Kind::kAck, false, ack.stream};
        store(out, 36, ack.received_end);
        store(out, 44, ack.granted_end);
        store(out, 52, ack.placed_end);
        return kHeaderBytes + 24;
    }
    size_t operator()(const Ask& ask) {
        head = {Kind::kAsk, false, ask.stream};
        store(out, 36, ask.number);
        store(out, 40, ask.end);
        return kHeaderBytes + 12;
    }
    size_t operator()(const Failure& failure) {
        head = {Kind::kFailure, false, failure.dead};
        store(out, 36, static_cast<uint32_t>(failure.phase));
        return kHeaderBytes + 4;
    }
    size_t operator()(const Probe& probe) {
        head = {Kind::kProbe, probe.is_train, probe.answerer};
        store(out, 36, probe.number);
        store(out, 40, static_cast<uint16_t>(probe.heard.size()));
        store(out, 42, static_cast<uint16_t>(probe.is_done));
        store(out, 44, probe.sent_ns);
        store(out, 52, probe.bytes_per_s);
        std::copy(probe.heard.begin(), probe.heard.end(), out.begin() + kHeaderBytes + 24);
        return kHeaderBytes + 24 + probe.heard.size();
    }
    size_t operator()(const ProbeAnswer& answer) {
        head = {Kind::kProbeAnswer, false, 0};
        store(out, 36, answer.number);
        store(out, 40, answer.sent_ns);
        return kHeaderBytes + 12;
    }
};

}  // namespace

Range Nak::range(uint32_t index) const {
    return {base + load<uint32_t>(ranges, kRangeBytes * index),
            load<uint32_t>(ranges, kRangeBytes * index + 4)};
}

std::optional<uint32_t> group_of(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeaderBytes) return {};
    return load<uint32_t>(bytes, 20);
}

bool is_data(std::span<const std::byte> bytes) {
    return bytes.size() > kKindAt && load<Kind>(bytes, kKindAt) == Kind::kData;
}

std::optional<Packet> parse(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeaderBytes) return {};
    if (load<uint8_t>(bytes, 16) != kMagic || load<uint8_t>(bytes, 17) != kVersion) return {};
    const auto flags = load<uint8_t>(bytes, kFlagsAt);
    if ((flags & ~kFlag) != 0) return {};
    const Head head{load<Kind>(bytes, kKindAt), flags == kFlag, load<uint16_t>(bytes, kExtraAt)};
    const auto to = load<uint16_t>(bytes, kToAt);
    if (to >= kMembersMax && to != kEverybody) return {};
    auto body = parse_body(head, bytes);
    if (!body) return {};
    const uint64_t counter = load<uint64_t>(bytes, kCounterAt) & kCounterMax;
    return Packet{load<uint32_t>(bytes, 20), load<uint16_t>(bytes, 24), *body, counter, to};
}

size_t write(const Packet& packet, std::span<std::byte> out) {
    const bool is_data = std::holds_alternative<Data>(packet.body);
    TUTTI_ASSERT(is_data || out.size() >= kControlBytesMax, "no room for a control packet");
    BodyWriter writer{out};
    const size_t bytes = std::visit(writer, packet.body);
    std::fill_n(out.begin(), kCodeBytes, std::byte{0});
    store(out, 16, kMagic);
    store(out, 17, kVersion);
    store(out, kKindAt, static_cast<uint8_t>(writer.head.kind));
    store(out, kFlagsAt, writer.head.flag ? kFlag : uint8_t{0});
    store(out, 20, packet.group);
    store(out, 24, packet.sender);
    number(out, packet.counter, packet.to);
    store(out, kExtraAt, writer.head.extra);
    return bytes;
}

void number(std::span<std::byte> packet, uint64_t counter, Member to) {
    TUTTI_ASSERT(counter <= kCounterMax, "a sender has used up its counters");
    store(packet, kCounterAt, static_cast<uint32_t>(counter));
    store(packet, kCounterAt + 4, static_cast<uint16_t>(counter >> 32));
    store(packet, kToAt, to);
}

void mark_repair(std::span<std::byte> packet) {
    TUTTI_ASSERT(packet.size() >= kDataHeaderBytes, "not a data packet");
    store(packet, kFlagsAt, kFlag);
}

size_t write_ranges(uint64_t base, std::span<const Range> ranges, std::span<std::byte> out) {
    TUTTI_ASSERT(ranges.size() <= kNakRangesMax, "too many ranges for one NAK");
    TUTTI_ASSERT(out.size() >= kRangeBytes * ranges.size(), "no room for the ranges");
    for (size_t i = 0; i < ranges.size(); ++i) {
        store(out, kRangeBytes * i, static_cast<uint32_t>(ranges[i].first - base));
        store(out, kRangeBytes * i + 4, static_cast<uint32_t>(ranges[i].count));
    }
    return kRangeBytes * ranges.size();
}

}  // namespace tutti::mcast
