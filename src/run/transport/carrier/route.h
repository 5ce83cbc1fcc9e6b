// SPDX-License-Identifier: BSD-3-Clause
// A rank's end of a team's multicast route: through the ring of its node; after the group has
// failed over the team's messages (recovery.h).
//
// What the engine does besides handing it to the executor:
//
//     begin_call(call) when it plans a call with multicast; where is_undecided(), it first goes on
//         with step() until is_decided(), and plans calls from calls_end() on without;
//     step() once a turn of its wait loop, in every call of the team, and now and then elsewhere:
//         others may miss what this rank sent;
//     leave() when the team is freed, and step() from time to time until nobody needs it any more;
//     watch_all(true) when a call has lasted long: a node that waits for no multicast may not know
//         that the others have given the group up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "run/mcast/packet.h"
#include "run/transport/carrier/recovery.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/ring_waits.h"
#include "run/transport/carrier/waker.h"
#include "run/transport/multicast.h"

namespace tutti::transport::carrier {

struct RouteParams {
    Rank rank = 0;  // own, in the team
    // Member of the group of each rank of the team: its node. Must outlive the route.
    std::span<const mcast::Member> member_of_rank;
    // The way on after a failure; must outlive the route. Without one a failure is final.
    Transport* network = nullptr;
};

struct RouteCounters {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t wakes = 0;  // of the service
    // After a failure: multicasts received one by one, and those the ring held that others missed.
    uint64_t received_as_messages = 0;
    uint64_t missed_by_others = 0;
};

class Route final : public Multicast {
  public:
    Route(Ring ring, Waker& waker, const RouteParams& params);
    ~Route() override;
    Route(const Route&) = delete;
    Route& operator=(const Route&) = delete;

    void multicast(uint64_t number, const std::byte* data, size_t bytes, Ticket& ticket) override;
    void recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                        Ticket& ticket) override;
    Sought seek(uint64_t number, std::byte* data, size_t bytes) override;
    Sought offer(uint64_t number, const std::byte* data, size_t bytes) override;
    // Where ranks outnumber processors: whoever sends packets is kept from its processor by those
    // whom they wake, and would be the last that its own release lets go.
    void leave_offers_to_service() { leaves_offers_ = true; }
    State test(Ticket& ticket) override;
    // Others may still need this rank for calls before: step() goes on.
    void call_off() override;
    [[nodiscard]] std::string error() const override;
    // Whose rings on the ring's bell move what is under way here.
    [[nodiscard]] Ringers awaited() const;

    // --- after a failure ---
    // The group has failed, so far as this node knows; whose silence was the cause, for all ranks
    // the same one from when it is_decided().
    [[nodiscard]] bool has_failed() const { return ring_.is_frozen(); }
    [[nodiscard]] mcast::Member dead() const {
        return is_decided() ? recovery_->dead() : ring_.dead();
    }
    // Some of what came was not the members' own, here or elsewhere: calls fail.
    [[nodiscard]] bool is_contradicted() const {
        return ring_.is_contradicted() || (recovery_ && recovery_->is_contradicted());
    }
    // Calls are numbered alike on all ranks.
    void begin_call(uint64_t call);
    // kDone: the rank owes others nothing, so far as it knows. kFailed: there is no way on.
    State step();
    // All ranks have said what calls they have begun; calls from calls_end() on, the same on all
    // ranks, go without multicast.
    [[nodiscard]] bool is_decided() const { return recovery_ && recovery_->is_decided(); }
    [[nodiscard]] uint64_t calls_end() const { return recovery_->calls_end(); }
    // Whether the next call goes by multicast is not known. It is where its first number is here:
    // then it does, and those who sent that may have left it long ago.
    [[nodiscard]] bool is_undecided() const {
        return has_failed() && !is_decided() && !ring_.has(progress_.next);
    }
    // The service finds out whether all nodes are there, until this is false again.
    void watch_all(bool is_wanted) { waits_.watch_all(is_wanted); }
    // Once: the team is freed here. What was posted is complete, or never will be.
    void leave();
    // After that others may come for what they miss of this rank's, or will if the group fails.
    [[nodiscard]] bool is_needed() {
        return has_failed() ? step() == State::kPending : !ring_.is_ended();
    }
    [[nodiscard]] RouteCounters counters() const;

  private:
    struct Posted {
        uint64_t number = 0;
        const std::byte* from = nullptr;  // of a multicast
        std::byte* to = nullptr;
        size_t bytes = 0;
        Rank sender = 0;
        uint32_t tries = 0;
        bool is_send = false;
        bool is_waiting = false;  // the service knows of it
        bool is_message = false;  // after a failure
        uint64_t item = 0;        // of the recovery: a multicast
        Ticket ticket;            // of the network: a receive
    };

    [[nodiscard]] Posted& posted(uint64_t number) {
        return posted_[number % kMulticastsInFlightMax];
    }
    Posted& post(uint64_t number, size_t bytes, Ticket& ticket);
    void expect_turn(uint64_t number, size_t bytes) const;
    Sought try_seek(uint64_t number, std::byte* data, size_t bytes);
    Sought try_offer(uint64_t number, const std::byte* data, size_t bytes);
    Sought seek_without_ring(uint64_t number, std::byte* data, size_t bytes);
    Sought pass_unheld(uint64_t number);
    State read_ring(uint64_t number, std::byte* data, size_t bytes);
    State test_send(Posted& posted);
    State test_recv(Posted& posted);
    State test_message(Posted& posted);
    void make_message(Posted& posted);
    void cancel_messages();
    void hand_over();
    [[nodiscard]] bool goes_by_messages() const {
        return has_handed_over_ && !recovery_->has_failed();
    }
    [[nodiscard]] State without_ring() const;
    void end_wait(Posted& posted);

    Ring ring_;
    RingWaits waits_;
    RouteParams params_;
    Progress progress_;
    std::optional<Recovery> recovery_;
    bool has_handed_over_ = false;
    // After a failure: the next number comes from a rank that has it, as a message.
    bool is_seeking_message_ = false;
    Ringers sought_from_ = 0;  // for the next number, while it is sought or offered in vain
    Ticket sought_;
    bool leaves_offers_ = false;
    std::array<Posted, kMulticastsInFlightMax> posted_;
    RouteCounters counters_;
    bool has_wrong_size_ = false;
};

}  // namespace tutti::transport::carrier
