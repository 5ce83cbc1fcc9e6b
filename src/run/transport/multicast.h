// SPDX-License-Identifier: BSD-3-Clause
// A team's one multicast route, beside its Transport: one message from a rank to all other ranks of
// the team, over a fabric that replicates packets. Reliable: what is lost on the way is repaired
// below this line. Every implementation passes the same conformance suite (tests/conformance).
//
// Multicasts of a team are numbered over all its calls, from 0, alike on all ranks. On every rank
// each number is posted exactly once, by multicast() on one and by recv_multicast() on all others,
// in ascending order, number n only when all up to n - kMulticastsInFlightMax are complete there.
// They complete in any order; each, at the latest, soon after all ranks have posted it and all
// below it, which is what check/prove counts on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "run/transport/transport.h"

namespace tutti::transport {

// The maker of a schedule cuts longer blocks. Long enough that the cost of a message is small
// beside that of its packets, short enough that the stages of a pipeline are.
inline constexpr size_t kMulticastBytesMax = 16 * 1024;
inline constexpr uint32_t kMulticastsInFlightMax = 32;

// One team's end at one rank. Used by one thread at a time. Nothing waits or allocates.
class Multicast {
  public:
    virtual ~Multicast() = default;
    // The memory belongs to the route until the ticket is complete. bytes <= kMulticastBytesMax.
    virtual void multicast(uint64_t number, const std::byte* data, size_t bytes,
                           Ticket& ticket) = 0;
    // bytes: as many as the sender sends.
    virtual void recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                                Ticket& ticket) = 0;
    // --- of a number that any rank may send: the one that sees that all have come to it does ---
    enum class Sought : uint8_t {
        kNotYet,  // ask again
        kDone,    // it is here, or was sent: the number is complete
        // The group failed before it was sent, as all ranks find of this number: nobody has it, and
        // it is complete.
        kNobody,
        kFailed
    };
    // In its turn, as if it were posted then, by all ranks but the one that offers it; all numbers
    // before it are complete. The memory is the route's until the answer is another than kNotYet.
    virtual Sought seek(uint64_t number, std::byte* data, size_t bytes) {
        static_cast<void>(number), static_cast<void>(data), static_cast<void>(bytes);
        return Sought::kFailed;
    }
    virtual Sought offer(uint64_t number, const std::byte* data, size_t bytes) {
        static_cast<void>(number), static_cast<void>(data), static_cast<void>(bytes);
        return Sought::kFailed;
    }
    // Lets a pending ticket progress and says where it stands; kFailed is final for the team.
    virtual State test(Ticket& ticket) = 0;
    // The team's call has failed: of what is under way nothing is read from its memory nor written
    // there from here on, as far as Transport::cancel() can have that. Nothing is tested or posted
    // any more. May be said again.
    virtual void call_off() {}
    // One line that says what failed, after kFailed.
    [[nodiscard]] virtual std::string error() const = 0;
};

}  // namespace tutti::transport
