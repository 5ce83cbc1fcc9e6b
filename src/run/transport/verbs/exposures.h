// SPDX-License-Identifier: BSD-3-Clause
// Memory of a team from which messages go straight to others', or into which they come: registered
// as a whole where it was exposed, by the first message that goes straight there or from there, and
// until conceal(); else for one message alone. So of exposed memory shorter messages go straight:
// those that then take fewer writes than by slots.
//
// To be written to and to be read, memory is registered apart: when a call has failed, nothing may
// write to its buffers any more, while what is being sent from there still goes its way.
//
// Invariant: exposed memory is forgotten when it is concealed and no lease reads there any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "run/transport/transport.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::verbs {

class Exposures {
    struct Exposed;

  public:
    // A message's memory, while it is registered; of no memory there is no handle.
    struct Lease {
        Region region;
        bool is_lent = false;      // that of exposed memory
        Exposed* reads = nullptr;  // which has it, of a send
    };

    // Messages from direct_bytes on go straight, 0: none.
    Exposures(Endpoint& endpoint, size_t direct_bytes)
        : endpoint_(endpoint), direct_bytes_(direct_bytes) {}
    Exposures(const Exposures&) = delete;
    Exposures& operator=(const Exposures&) = delete;

    // As Rc has them.
    [[nodiscard]] uint64_t pays_from(Clock& clock) const;
    [[nodiscard]] static uint64_t pays_from(uint64_t page_ns, uint64_t all_ns, uint64_t copy_ns);
    void use(size_t message_bytes, uint64_t memory_bytes);
    void expose(std::span<std::byte> memory, Memory kind);
    void conceal(std::span<std::byte> memory);
    // At the end; all leases were given back.
    void conceal_all();

    // Is registered by itself, whatever was exposed.
    [[nodiscard]] bool is_long(size_t bytes) const { return bytes >= direct_bytes_; }
    // Grows with each.
    [[nodiscard]] uint64_t count() const { return count_; }
    // A message from there goes straight. declined: count() when its receiver had no memory for one
    // that is too short to be registered by itself; the next ones would fare alike.
    [[nodiscard]] bool goes_straight(const std::byte* data, size_t bytes, uint64_t declined) {
        if (direct_bytes_ == 0) return false;
        if (is_long(bytes)) return true;
        if (bytes < message_bytes_ || declined == count_) return false;
        const Exposed* exposed = find(data, bytes, false);
        return exposed && !exposed->is_source_refused;
    }

    [[nodiscard]] Lease lease_source(const std::byte* data, size_t bytes);
    [[nodiscard]] Lease lease_target(std::byte* data, size_t bytes);
    // What was lent stays registered.
    void give_back(Lease& lease);

  private:
    // Scratch, input and output of a call; and some that a failed one still sends from.
    static constexpr size_t kExposedMax = 8;
    struct Exposed {
        std::span<std::byte> memory;
        Memory kind = Memory::kScratch;
        Region source{};  // as a whole, once a message wanted it
        Region target{};
        bool is_source_refused = false;
        bool is_target_refused = false;
        bool is_read = false;  // a message went from there
        bool is_over = false;  // concealed
        uint32_t reading = 0;  // sends that have `source`
    };

    [[nodiscard]] Exposed* find(const std::byte* memory, size_t bytes, bool is_target);
    void forget_unread(Exposed& one);

    Endpoint& endpoint_;
    const size_t direct_bytes_;
    size_t message_bytes_ = SIZE_MAX;
    uint64_t memory_bytes_ = UINT64_MAX;
    std::array<Exposed, kExposedMax> exposed_;
    uint64_t count_ = 1;
};

}  // namespace tutti::transport::verbs
