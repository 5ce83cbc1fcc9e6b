// SPDX-License-Identifier: BSD-3-Clause
// The messages that are under way in a simulated world: a pool and a hash table over it. Grows when
// more are under way than ever before, and allocates otherwise nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "run/transport/sim/cluster.h"
#include "run/transport/transport.h"

namespace tutti::transport::sim {

inline constexpr uint32_t kNone = UINT32_MAX;

// Memory for payloads, by sizes that are powers of two; what was given back is taken again.
class Payloads {
  public:
    using Bytes = std::unique_ptr<std::byte[]>;
    Bytes take(size_t bytes);
    void give(Bytes memory, size_t bytes);

  private:
    std::array<std::vector<Bytes>, 32> free_;
};

struct Key {
    uint32_t from = 0;  // endpoints, not ranks
    uint32_t to = 0;
    MessageId id;
    bool operator==(const Key&) const = default;
};

// One message: made by whichever of its send and its receive is posted first, gone when both are
// complete.
struct Message {
    Key key;
    uint32_t next = kNone;   // in its chain of the table, or among the free ones
    Ticket* send = nullptr;  // nullptr: not posted, or complete
    Ticket* recv = nullptr;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    size_t bytes = 0;
    size_t room_bytes = 0;  // of the receive
    bool is_sent = false;   // the send was posted
    bool is_asked = false;  // the receive was posted
    bool is_rendezvous = false;
    bool is_requested = false;  // rendezvous: the request has come to the receiver
    bool is_arrived = false;
    uint64_t asked_ns = 0;  // when the receive was posted
    topo::LinkRoute route;
    Payloads::Bytes kept;  // what was sent before it was asked for
};

class Messages {
  public:
    Messages() : chains_(64, kNone) {}
    // The message of this key, made where there is none.
    uint32_t find_or_make(const Key& key);
    void release(uint32_t message);
    Message& operator[](uint32_t message) { return *pool_[message]; }
    [[nodiscard]] size_t under_way() const { return count_; }

  private:
    [[nodiscard]] size_t chain(const Key& key) const;
    void grow();

    std::vector<std::unique_ptr<Message>> pool_;
    std::vector<uint32_t> chains_;  // a power of two
    uint32_t free_ = kNone;
    size_t count_ = 0;
};

}  // namespace tutti::transport::sim
