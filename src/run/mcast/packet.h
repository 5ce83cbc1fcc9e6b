// SPDX-License-Identifier: BSD-3-Clause
// What multicast packets look like on the wire: written and parsed, nothing else.
//
// Source: ours; docs/protocol/multicast.md draws every layout. Little endian, read and written byte
// by byte, so that neither alignment nor the processor matters. Every packet begins with
//
//     0  code[16]   keyed authentication code over all that follows; the transport's
//    16  u8 magic   17 u8 version   18 u8 kind   19 u8 flags
//    20  u32 group  24 u16 sender   26 u48 counter: how many packets the sender has sent
//    32  u16 to     34 u16 that depends on the kind
//
// Invariants (unit test and fuzz/fuzz_packet.cpp):
//   I1  what write() makes, parse() reads back the same;
//   I2  parse() never reads outside the packet, and all that it lets pass is in its bounds;
//   I3  no two packets of a sender have the same counter, whatever they are: repairs and copies are
//       packets of their own. So a member that has seen a counter needs no packet of that
//       counter again, and group, sender and counter (20 to 31) are a nonce under the group's key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

namespace tutti::mcast {

// A member's number in the group: one process a node.
using Member = uint16_t;
// As a destination: the multicast address.
inline constexpr Member kEverybody = 0xffff;
inline constexpr Member kNobody = 0xffff;
inline constexpr uint32_t kMembersMax = 4096;

inline constexpr size_t kCodeBytes = 16;
inline constexpr size_t kHeaderBytes = 36;
// Of the group, its sender and the counter, which stand there together.
inline constexpr size_t kNonceAt = 20;
inline constexpr size_t kNonceBytes = 12;
inline constexpr size_t kDataHeaderBytes = kHeaderBytes + 28;
inline constexpr uint8_t kMagic = 0xc7;
inline constexpr uint8_t kVersion = 2;
// More gaps than this go into the next NAK.
inline constexpr uint32_t kNakRangesMax = 32;
// No control packet is longer, whatever the size of data packets.
inline constexpr size_t kControlBytesMax = kHeaderBytes + 24 + kMembersMax / 8;
// A stream would take centuries to get there; sums of such numbers do not overflow.
inline constexpr uint64_t kSequenceMax = uint64_t{1} << 62;

// A sender that makes 10 million packets a second gets there after 300 days, and sends no more.
inline constexpr uint64_t kCounterMax = (uint64_t{1} << 48) - 1;

// Which message a packet belongs to: the team, its call, and which of the call's messages.
struct MessageName {
    uint32_t team = 0;
    uint32_t call = 0;
    uint32_t message = 0;
    uint16_t lane = 0;
    bool operator==(const MessageName&) const = default;
};

// Part of a message, at its place in the sender's stream. A repair is the same with a flag.
struct Data {
    uint64_t sequence = 0;
    MessageName name;
    uint32_t offset = 0;  // of the payload in the message, bytes
    uint32_t total = 0;   // of the message, bytes
    bool is_repair = false;
    std::span<const std::byte> payload;
};

// The sender's stream reaches up to, but not including, `end`.
struct Heartbeat {
    uint64_t end = 0;
    uint32_t number = 0;
    bool asks = false;  // for acknowledgements, now
};

struct Range {
    uint64_t first = 0;
    uint64_t count = 0;
};

// The sender of this packet misses these packets of `stream`.
struct Nak {
    Member stream = 0;
    bool others_asked = false;  // for some of them, as far as this one heard
    uint64_t base = 0;
    std::span<const std::byte> ranges;  // checked; read by range()
    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(ranges.size() / 8); }
    [[nodiscard]] Range range(uint32_t index) const;
};

// The subtree below the sender of this packet has all of `stream` before `received_end`, all before
// `placed_end` where it was posted for, and room for all before `granted_end`.
struct Ack {
    Member stream = 0;
    uint64_t received_end = 0;
    uint64_t granted_end = 0;
    uint64_t placed_end = 0;
};

// Are you there? Answered by a heartbeat to everybody. And `stream`, in whose tree the sender of
// this packet may be waiting for the other's acknowledgement, reaches up to `end`.
struct Ask {
    uint32_t number = 0;
    Member stream = 0;
    uint64_t end = 0;
};

// The group is given up, since this member was not heard any more. Packets to everybody go to each
// member by itself from then on, until nobody needs anything or that fails too.
struct Failure {
    enum class Phase : uint32_t {
        kDetour,   // the sender of this packet goes on by itself
        kFlushed,  // and all that it ever wrote is at its place on all members
        kOver      // it carries nothing more
    };
    Member dead = 0;
    Phase phase = Phase::kDetour;
};

// One of several from each member when a group is made.
struct Probe {
    uint32_t number = 0;
    Member answerer = kNobody;         // that answers this one
    bool is_train = false;             // one of a row of full packets that measures the rate
    bool is_done = false;              // the sender needs no more probes
    uint64_t sent_ns = 0;              // of the sender's clock; it comes back in the answer
    uint64_t bytes_per_s = 0;          // at which the sender received the train; 0: not known
    std::span<const std::byte> heard;  // a bit for each member that the sender has heard
};

struct ProbeAnswer {
    uint32_t number = 0;
    uint64_t sent_ns = 0;
};

using Body = std::variant<Data, Heartbeat, Nak, Ack, Ask, Failure, Probe, ProbeAnswer>;

struct Packet {
    uint32_t group = 0;
    Member sender = 0;
    Body body;
    // Put in by number(), when the packet leaves.
    uint64_t counter = 0;
    Member to = kEverybody;
};

// Nothing if it is none of ours, or damaged. Spans refer to `bytes`. Never allocates.
std::optional<Packet> parse(std::span<const std::byte> bytes);

// The group that a packet names, before anything else of it is known; nothing if it is too short.
std::optional<uint32_t> group_of(std::span<const std::byte> bytes);

// The packet says that it is data; nothing else of it is looked at.
bool is_data(std::span<const std::byte> bytes);

// Writes the packet and zeroes where the code will be. Returns its length; `out` must be long
// enough: kControlBytesMax, or kDataHeaderBytes and the payload.
size_t write(const Packet& packet, std::span<std::byte> out);

// Of a written packet, each time that one leaves: which one it is, and for whom.
void number(std::span<std::byte> packet, uint64_t counter, Member to);

// For packets that are sent again: sets the flag of a written data packet.
void mark_repair(std::span<std::byte> packet);

// Writes a Nak's ranges, relative to base; returns the bytes. Ascending, apart from each other.
size_t write_ranges(uint64_t base, std::span<const Range> ranges, std::span<std::byte> out);

}  // namespace tutti::mcast
