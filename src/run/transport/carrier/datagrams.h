// SPDX-License-Identifier: BSD-3-Clause
// The interface of a fabric for a carrier: unreliable packets to one member of a group or to all.
//
// Source: ours; docs/protocol/multicast.md, "Carrier". A process has one for each fabric, for all
// groups. A packet may be lost, doubled, late or foreign at any time; none is longer than agreed.
// After a fatal error of a device all packets are lost: the protocol names the silent members.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "run/mcast/packet.h"

namespace tutti::transport::carrier {

// Which fabric it is; members of a group have the same. Travels, so values are for ever.
enum class Kind : uint32_t { kUd = 1, kUdp4 = 4, kUdp6 = 6 };

// Where a process's datagrams can be reached: fixed size, without pointers, for an allgather.
struct Address {
    uint64_t host = 0;     // equal: one kernel and one network namespace
    uint64_t carrier = 0;  // no other open one has it: what is remembered of it goes by this number
    Kind kind = Kind::kUdp4;
    uint32_t unused = 0;
    std::array<std::byte, 160> of_kind{};  // what only its own fabric reads
    bool operator==(const Address&) const = default;
};

// Of a group, drawn by its fabric. Travels as well.
struct GroupAddress {
    Kind kind = Kind::kUdp4;
    std::array<uint8_t, 16> bytes{};  // what only its own fabric reads
    bool operator==(const GroupAddress&) const = default;
};

// What a group uses: on every member the same, but for shares_host.
struct Path {
    uint32_t packet_bytes_max = 0;  // the least of all members
    // As many packets as every member keeps while its service gets no processor, so that one sender
    // overruns none. A quarter of its room is left for packets without data.
    uint32_t window_packets_max = 0;
    bool shares_host = false;      // this member with another
    uint64_t bytes_per_s_max = 0;  // of the slowest member's link; 0: not known
    bool marks_urgent = false;     // packets bear to their receivers whether they are (urgency.h)
};

// Where the packets of one group go, as the fabric has it; made and read by it alone.
class Way {
  public:
    Way() = default;
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    virtual ~Way() = default;
};

struct WayParams {
    GroupAddress group;
    std::span<const Address> members;
    mcast::Member own = 0;
};

struct Arrived {
    std::span<std::byte> bytes;
    uint64_t age_ns = 0;  // came so long ago; 0: not known
};

struct Batch {
    std::span<const Arrived> packets;  // valid until the next receive()
    bool has_more = false;             // perhaps
};

// So many packets one call receives, and so many wait to be sent, at most.
inline constexpr uint32_t kBatchPackets = 64;

// What packets make readable.
struct WaitFd {
    int fd = -1;
    bool is_for_room = false;  // watched for writing as well, while flush() has said no
};
inline constexpr size_t kWaitFdsMax = 4;

// Which packets wake a sleeper on wait_fds(): urgent ones at least, or every one.
enum class Wake : uint8_t { kUrgent, kAll };

class Datagrams {
  public:
    struct Counters {
        uint64_t sent = 0;
        uint64_t refused = 0;     // of those that were to be sent
        uint64_t own = 0;         // came back and were left out
        uint64_t overflowed = 0;  // came where there was no room
        uint32_t receive_bytes = 0;
    };

    Datagrams() = default;
    Datagrams(const Datagrams&) = delete;
    Datagrams& operator=(const Datagrams&) = delete;
    virtual ~Datagrams() = default;

    // Any thread, at any time. As it is now: it may say how much room there still is.
    [[nodiscard]] virtual Address address() const = 0;
    // Errors: why these members cannot meet here; the same on all of them.
    [[nodiscard]] virtual Result<Path> choose_path(std::span<const Address> members,
                                                   mcast::Member own) const = 0;
    // For people: "eth0, 10.1.0.3, packets of 1472 bytes".
    [[nodiscard]] virtual std::string describe(const Way& way) const = 0;
    // The same all the time.
    [[nodiscard]] virtual std::span<const WaitFd> wait_fds() const = 0;

    // Not under the carrier's lock, one call at a time, while packets come and go: the system may
    // take seconds for it. Errors of join(): no memory, the group's address cannot be had.
    virtual Result<std::unique_ptr<Way>> join(const WayParams& params) = 0;
    // After forget(). Where the process's carrier ends, ways go without either; and in a child that
    // was forked, nothing of this is touched.
    virtual void leave(std::unique_ptr<Way> way) = 0;

    // From here on under the carrier's lock; nothing of it takes memory.

    // Places from which packets are read in turn.
    [[nodiscard]] virtual uint32_t sources() const = 0;
    // What waits at one, without own packets that came back. Takes away what made wait_fds()
    // readable.
    virtual Batch receive(uint32_t source) = 0;
    // Where the next packet is written before add(). Empty: no room before flush().
    [[nodiscard]] virtual std::span<std::byte> space() = 0;
    // What stands in space() goes to a member, or to mcast::kEverybody. Urgent: it wakes who has
    // asked for Wake::kUrgent alone.
    virtual void add(const Way& way, mcast::Member to, size_t bytes, bool is_urgent) = 0;
    // False: the fabric takes no more now, and what is left stays. What it refuses for good is a
    // loss like any other.
    virtual bool flush() = 0;
    // The way will go: what waits for it is sent or lost.
    virtual void forget(const Way& way) = 0;
    // Whether members of some group share this host; whether the age of packets is wanted.
    virtual void set_needs(bool shares_host, bool wants_ages) = 0;
    // Before anybody sleeps on wait_fds(): from now on they become readable (once is enough) when a
    // packet of that kind comes, and when there is room again if that is wanted, since flush() has
    // said no. Others may wake as well: fabrics that do not tell packets apart wake for all, and so
    // does what was once armed for all until it has told. False: something is there already, urgent
    // or not, look again instead.
    virtual bool arm(Wake wake, bool wants_room) = 0;
    [[nodiscard]] virtual Counters counters() const = 0;
};

}  // namespace tutti::transport::carrier
