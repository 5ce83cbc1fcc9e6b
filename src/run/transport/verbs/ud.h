// SPDX-License-Identifier: BSD-3-Clause
// The part of verbs that Tutti uses for unreliable datagrams: one queue pair a process, receives
// posted ahead, address handles, and groups that the queue pair is attached to.
// tests/conformance/fake_ud.h is one without a network. Which promises are relied on stands in
// docs/protocol/ud.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::verbs {

// A receive's data begin behind so many bytes, which are the packet's global route header or, where
// it has none, nothing that means anything.
inline constexpr uint32_t kGrhBytes = 40;

// Where a process's queue pair is, for others. Plain data, which travels.
struct UdCard {
    PortCard port;
    uint32_t queue_pair = 0;
    uint32_t pad = 0;
};

// Numbers of buffers, each of a packet of the port.
struct UdNeed {
    uint32_t receives = 0;
    uint32_t sends = 0;
};

// What a process registers: buffers to receive into, kGrhBytes and a packet each, then those to
// send from.
constexpr size_t registered_bytes(const UdNeed& need, uint32_t packet_bytes) {
    return size_t{need.receives} * (kGrhBytes + packet_bytes) + size_t{need.sends} * packet_bytes;
}

// To one process or to a group.
struct UdRoute {
    void* handle = nullptr;  // the endpoint's
    uint32_t queue_pair = 0;
};

struct UdSend {
    uint32_t place = 0;  // of the buffers to send from
    uint32_t bytes = 0;
    UdRoute to;
    bool is_urgent = false;  // sent as solicited
};

struct UdReceived {
    uint32_t place = 0;        // of the buffers to receive into
    uint32_t bytes = 0;        // the first kGrhBytes included
    uint32_t queue_pair = 0;   // the sender's
    bool has_address = false;  // its address stands in the first kGrhBytes
    int status = 0;            // 0: success; where it is none, only the place counts
};

// Two completion queues, so that sleeping for one does not mean waking for the other.
enum class UdQueue { kReceived, kSent };

using UdGroup = std::array<uint8_t, 4>;  // its IPv4 address

// A process's queue pair. Packets come and go in one thread at a time; what is said of groups and
// routes in one thread at a time as well, which may be another.
class UdEndpoint {
  public:
    virtual ~UdEndpoint() = default;
    [[nodiscard]] virtual const UdCard& card() const = 0;
    // registered_bytes(), in that order.
    [[nodiscard]] virtual std::span<std::byte> memory() = 0;

    // 0, else what errno calls it.
    virtual int post(std::span<const uint32_t> receive_places) = 0;
    // In this order. The completion of the last is told, and says that all before are complete.
    virtual int post(std::span<const UdSend> sends) = 0;
    // How many; below 0: nothing can be relied on any more.
    virtual int poll(std::span<UdReceived> received) = 0;
    // Posted sends that are complete, of all that ever were; below 0 as above.
    virtual int64_t poll_complete() = 0;
    // Readable once a completion has come behind arm(), until it is taken off.
    [[nodiscard]] virtual int wait_fd(UdQueue queue) const = 0;
    // It will tell of the next of these completions, not of those that are there; of the solicited
    // ones, which are packets that were sent so, and failures, only where nothing is asked for. For
    // all may be asked after it. Of sends all are told.
    virtual bool arm(UdQueue queue, Events of) = 0;
    // Takes off what the fd has told, if it has: true then.
    virtual bool take(UdQueue queue) = 0;

    // Errors: the system finds no way there.
    virtual Result<UdRoute> make_route(const UdCard& to) = 0;
    // Only when all that was sent by it is complete.
    virtual void drop(const UdRoute& route) = 0;
    // Takes milliseconds, or seconds. Only of a group that was not joined or was left. The route is
    // dropped by itself. Errors: the network does not have the group.
    virtual Result<UdRoute> join(const UdGroup& group) = 0;
    virtual void leave(const UdGroup& group) = 0;
};

}  // namespace tutti::transport::verbs
